"""From a description to a system that the kernel has proved ready to fly on (theory 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aesop_verified.kernel.invariance import (
    AssuredSystem,
    RecoveryDefect,
    RecoveryEvidence,
    RecoveryStatements,
    assure,
    check_recovery_set,
)
from aesop_verified.kernel.machine import decimal_text
from aesop_verified.kernel.model import System
from aesop_verified.kernel.verdict import NotProved, Proved, Refuted, Unknown, Verdict
from aesop_verified.recovery.find import inclusion_evidence
from aesop_verified.recovery.lp import Infeasible, LinearProgram
from aesop_verified.recovery.synthesis import synthesise
from aesop_verified.system.describe import facet_text, with_unit
from aesop_verified.system.description import SystemDescription
from aesop_verified.system.parts import Variable


class NotAssured(NotProved):
    """A recovery set of the description is empty, or is shown not to be invariant, or was not decided."""


def recovery_evidence(system: System, name: str, program: LinearProgram | None = None) -> RecoveryEvidence | Infeasible:
    """Farkas rows or a witness for each statement about one recovery set; multipliers when the set is empty."""
    recovery = system.recovery(name)
    program = program or LinearProgram(recovery.polytope)
    point = program.feasible_point()
    if isinstance(point, Infeasible):
        return point
    statements = RecoveryStatements.of(system, recovery)
    return RecoveryEvidence(
        point,
        inclusion_evidence(statements.invariance, program),
        inclusion_evidence(statements.inside, program),
        inclusion_evidence(statements.law, program),
    )


def assured(description: SystemDescription, progress: Callable[[str], None] = lambda _: None) -> AssuredSystem:
    """Synthesise what the description leaves open, and have the kernel prove every recovery set invariant.

    Raises:
        SynthesisFailed, NotStabilisable: when no recovery set or gain was found.
        NotAssured: when a recovery set that the description gives is not one; it names every one that is not.
    """
    return assured_system(synthesise(description, progress).system, description.states, description.inputs)


def assured_system(system: System, states: Sequence[Variable] = (), inputs: Sequence[Variable] = ()) -> AssuredSystem:
    """Find evidence for a complete system and have the kernel prove every recovery set invariant; names are for messages."""
    states = states or [Variable(f"x{i}") for i in range(system.n)]
    inputs = inputs or [Variable(f"u{i}") for i in range(system.m)]
    evidence: dict[str, RecoveryEvidence] = {}
    problems, verdict = [], Verdict.UNKNOWN
    for name in system.names:
        found = recovery_evidence(system, name)
        if isinstance(found, Infeasible):
            verdict = Verdict.REFUTED
            problems.append(f"recovery_sets.{name}: the set is empty, expected a non-empty set; {_conflict(system, name, found, states)}")
            continue
        evidence[name] = found
        result = check_recovery_set(system, name, found)
        if isinstance(result, Refuted):
            verdict = Verdict.REFUTED
            problems.append(f"recovery_sets.{name}: {defect_text(system, name, result.witness, states, inputs)}")
        elif isinstance(result, Unknown):
            problems.append(f"recovery_sets.{name}: {result.reason}")
    if not problems:
        whole = assure(system, evidence)
        if isinstance(whole, Proved):
            return whole.certificate
        problems = [str(whole)]
    raise NotAssured("\n".join(problems), verdict)


def _conflict(system: System, name: str, empty: Infeasible, states: Sequence[Variable]) -> str:
    P = system.recovery(name).polytope
    rows = [facet_text(P, i, states) for i, y in enumerate(empty.multipliers.entries()) if y != 0]
    return f"no state satisfies {' and '.join(rows)} together"


def defect_text(system: System, name: str, defect: RecoveryDefect, states: Sequence[Variable], inputs: Sequence[Variable]) -> str:
    """Which statement fails, at which state, which facet breaks and by how much, and what to do."""
    recovery, facet = system.recovery(name), defect.escape.facet
    at = ", ".join(f"{v.name} = {with_unit(value, v.unit)}" for v, value in zip(states, defect.escape.point.entries()))
    if defect.statement == "invariance":
        broken = facet_text(recovery.polytope, facet, states)
        said = f"the set is not robustly invariant under its law: from {at} the next state can break {broken}"
        cure = "cut the corners of the set, change the law, or write `synthesise` to have an invariant subset found"
    elif defect.statement == "inside":
        said = f"the set is not inside X: {at} is in it and breaks {facet_text(system.X, facet, states)}"
        cure = "make the set smaller or X wider"
    else:
        said = f"its law leaves U: at {at} it breaks {facet_text(system.input_set, facet, inputs)} (U is what survives rounding to the quantum)"
        cure = "make the set smaller, U wider, or change the law"
    return f"{said} by {decimal_text(defect.escape.amount)}; {cure}"
