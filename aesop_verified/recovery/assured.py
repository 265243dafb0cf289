"""From a description to a system that the kernel has proved ready to fly on (theory 6)."""

from __future__ import annotations

from collections.abc import Callable

from flint import fmpq_mat

from aesop_verified.kernel.errors import AesopError
from aesop_verified.kernel.invariance import (
    AssuredSystem,
    RecoveryDefect,
    RecoveryEvidence,
    RecoveryStatements,
    assure,
)
from aesop_verified.kernel.model import System
from aesop_verified.kernel.rational import text
from aesop_verified.kernel.verdict import Proved, Refuted
from aesop_verified.recovery.find import inclusion_evidence
from aesop_verified.recovery.lp import Infeasible, LinearProgram
from aesop_verified.recovery.synthesis import synthesise
from aesop_verified.system.description import SystemDescription


class NotAssured(AesopError):
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
        NotAssured: when a recovery set that the description gives is not one.
    """
    return assured_system(synthesise(description, progress).system, description.state_names)


def assured_system(system: System, state_names: tuple[str, ...] | None = None) -> AssuredSystem:
    """Find evidence for a complete system and have the kernel prove every recovery set invariant."""
    evidence: dict[str, RecoveryEvidence] = {}
    for name in system.names:
        found = recovery_evidence(system, name)
        if isinstance(found, Infeasible):
            raise NotAssured(f"recovery_sets.{name}: the set is empty, expected a non-empty set; see the certificate that `aesop verify` writes")
        evidence[name] = found
    result = assure(system, evidence)
    if isinstance(result, Proved):
        return result.certificate
    if isinstance(result, Refuted):
        raise NotAssured(defect_text(result.witness, state_names))
    raise NotAssured(result.reason)


_MEANING = {
    "invariance": "is not robustly invariant under its law: from this state the next one can leave the set",
    "inside": "is not inside X: this state of it is outside",
    "law": "has a law that leaves U: at this state the input is outside (U is what survives rounding to the quantum)",
}


def defect_text(defect: RecoveryDefect, state_names: tuple[str, ...] | None) -> str:
    """A sentence with the state as named values and by how much it fails."""
    return (
        f"a recovery set {_MEANING[defect.statement]}: {state_text(defect.escape.point, state_names)}, "
        f"facet {defect.escape.facet} exceeded by {text(defect.escape.amount)}"
    )


def state_text(point: fmpq_mat, names: tuple[str, ...] | None) -> str:
    """A state as "name = value" pairs."""
    labels = names or tuple(f"x{i}" for i in range(point.nrows()))
    return ", ".join(f"{label} = {text(v)}" for label, v in zip(labels, point.entries()))
