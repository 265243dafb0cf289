"""Discharging the obligations about sets: evidence from exact linear programs, decided by the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flint import fmpq_mat

from aesop_verified.evidence import certificates as files
from aesop_verified.evidence.obligations import Ledger
from aesop_verified.evidence.wording import Witness, components, excess, row
from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.inclusion import (
    EmptinessCertificate,
    FarkasRows,
    InclusionStatement,
    WitnessPoint,
    check_empty,
    check_inclusion,
)
from aesop_verified.kernel.invariance import RecoveryEvidence, RecoveryStatements, check_recovery_set
from aesop_verified.kernel.model import System, grid_shrunk
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import text
from aesop_verified.kernel.verdict import Proved, Refuted, Result, Verdict
from aesop_verified.recovery.find import (
    find_bounded,
    find_dimension,
    find_inclusion,
    inclusion_evidence,
    member,
)
from aesop_verified.recovery.lp import Infeasible, LinearProgram
from aesop_verified.recovery.second_opinion import Agrees, SecondOpinion
from aesop_verified.system.description import SystemDescription
from aesop_verified.system.parts import Box, Variable

FARKAS = "Farkas rows, kernel"
WITNESS = "witness point, kernel"


class Sets:
    """Discharges the obligations about sets of one description into a ledger."""

    def __init__(self, description: SystemDescription, ledger: Ledger, opinion: SecondOpinion | None) -> None:
        self.description, self.ledger, self._opinion = description, ledger, opinion

    def well_formed(self) -> None:
        """X and U not empty, U bounded, 0 in E."""
        d = self.description
        self._nonempty("PO-X-NONEMPTY", "", d.state_set, d.states)
        self._nonempty("PO-U-NONEMPTY", "", grid_shrunk(d.input_set, d.quantum), d.inputs)
        self._bounded("PO-U-BOUNDED", d.input_set, d.inputs)
        self._zero_in_estimate_error()

    def _nonempty(self, id: str, subject: str, P: Polytope, variables: Sequence[Variable]) -> None:
        self.ledger.start(id, subject)
        result = find_dimension(P)
        if not isinstance(result, Proved):
            self.ledger.unknown(id, subject, "no evidence of its dimension was found")
            return
        found = result.certificate
        certificate = files.dimension(f"{id} {subject}".strip(), found)
        if found.dimension >= 0:
            self.ledger.add(id, subject, Verdict.PROVED, f"dimension {found.dimension} of {P.dimension_of_space}, kernel", certificate=certificate)
            return
        assert isinstance(found.evidence, EmptinessCertificate)  # what the kernel gives for dimension -1
        multipliers = found.evidence.multipliers
        used = [i for i, v in enumerate(multipliers.entries()) if v]
        gap = -(multipliers * P.h)[0, 0] / max(abs(v) for v in multipliers.entries())
        sentence = "no point satisfies all of: " + ", ".join(row(P, i, variables) for i in used)
        witness = Witness(sentence, (), text(gap), excess(P, used[0], gap, variables)[1])
        self.ledger.add(id, subject, Verdict.REFUTED, "Farkas contradiction, kernel", certificate=certificate, witness=witness)

    def _bounded(self, id: str, P: Polytope, variables: Sequence[Variable]) -> None:
        self.ledger.start(id)
        result = find_bounded(P)
        if isinstance(result, Proved):
            self.ledger.add(id, "", Verdict.PROVED, FARKAS, certificate=files.boundedness(id, P, result.certificate))
        elif isinstance(result, Refuted):
            witness = Witness("the set goes on for ever in this direction", components(variables, result.witness.direction), "", "")
            certificate = files.boundedness(id, P, result.witness)
            self.ledger.add(id, "", Verdict.REFUTED, "ray, kernel", certificate=certificate, witness=witness)
        else:
            self.ledger.unknown(id, "", result.reason)

    def _zero_in_estimate_error(self) -> None:
        self.ledger.start("PO-E-ZERO")
        E = self.description.estimate_error_set()
        # 0 lies in a sum of images of boxes if it lies in each box; for the file's summands that is required.
        outside = [(s, i) for s in E.summands for i, (lo, hi) in enumerate(zip(s.lower.entries(), s.upper.entries())) if not lo <= 0 <= hi]
        n = sum(s.lower.nrows() for s in E.summands)
        lower = [v for s in E.summands for v in s.lower.entries()]
        upper = [v for s in E.summands for v in s.upper.entries()]
        box = Polytope.box(lower, upper) if n else Polytope.whole_space(1)
        statement = InclusionStatement.of(Polytope.box([0] * max(n, 1), [0] * max(n, 1)), box)
        result = find_inclusion(statement)
        opinion = self._second(result, statement)
        if isinstance(result, Proved):
            certificate = files.inclusion_result("PO-E-ZERO", statement, result.certificate)
            self.ledger.add("PO-E-ZERO", "", Verdict.PROVED, FARKAS if n else "no estimate error declared", certificate=certificate, second_opinion=opinion)
        elif isinstance(result, Refuted) and outside:
            s, i = outside[0]
            nearest = s.lower[i, 0] if s.lower[i, 0] > 0 else s.upper[i, 0]
            witness = Witness(f"component {i} of the summand {s.name!r} cannot be 0", (), text(abs(nearest)), text(abs(nearest)))
            certificate = files.inclusion_result("PO-E-ZERO", statement, result.witness)
            self.ledger.add("PO-E-ZERO", "", Verdict.REFUTED, WITNESS, certificate=certificate, witness=witness, second_opinion=opinion)
        else:
            self.ledger.unknown("PO-E-ZERO", "", "no evidence was found")

    def nothing_asked(self, name: str, P: Polytope) -> None:
        """The asked box within X, which is empty."""
        self._nonempty("PO-RECOVERY-NONEMPTY", name, P, self.description.states)

    def recovery(self, system: System, name: str) -> None:
        """The obligations about one recovery set."""
        recovery = system.recovery(name)
        self._nonempty("PO-RECOVERY-NONEMPTY", name, recovery.polytope, self.description.states)
        statements = RecoveryStatements.of(system, recovery)
        program = LinearProgram(recovery.polytope)
        point = program.feasible_point()
        if isinstance(point, Infeasible):
            for id in ("PO-RECOVERY-INSIDE", "PO-RECOVERY-LAW", "PO-RECOVERY-INVARIANT"):
                self.ledger.start(id, name)
                self.ledger.unknown(id, name, "the set is empty")
            return
        d = self.description
        inside = self._inclusion("PO-RECOVERY-INSIDE", name, statements.inside, d.states, program, "this state of the set is outside X")
        law = self._inclusion("PO-RECOVERY-LAW", name, statements.law, d.inputs, program, "at this state the law leaves U")

        def whole(invariance: FarkasRows | WitnessPoint) -> files.Certificate | None:
            evidence = RecoveryEvidence(point, invariance, inside, law)
            words = f"recovery set {name} is robustly invariant under its law, inside X, and its law maps into U"
            proved = isinstance(check_recovery_set(system, name, evidence), Proved)
            return files.recovery_set(words, system, name, evidence) if proved else None

        sentence = "from this state the next one can leave the set"
        self._inclusion("PO-RECOVERY-INVARIANT", name, statements.invariance, d.states, program, sentence, whole)

    def _inclusion(
        self, id: str, subject: str, statement: InclusionStatement, outer_variables: Sequence[Variable], program: LinearProgram | None,
        sentence: str, whole: Callable[[FarkasRows | WitnessPoint], files.Certificate | None] = lambda _: None,
    ) -> FarkasRows | WitnessPoint:  # fmt: skip
        """Discharge an inclusion; `whole` may give a certificate that says more than the inclusion does."""
        self.ledger.start(id, subject)
        evidence = inclusion_evidence(statement, program)
        result = check_inclusion(statement, evidence)
        opinion = self._second(result, statement)
        words = f"{id} {subject}".strip()
        if isinstance(result, Proved):
            certificate = whole(evidence) or files.inclusion(words, statement, evidence)
            self.ledger.add(id, subject, Verdict.PROVED, f"{statement.outer.rows} {FARKAS}", certificate=certificate, second_opinion=opinion)
        elif isinstance(result, Refuted):
            escape = result.witness
            amount, amount_shown = excess(statement.outer, escape.facet, escape.amount, outer_variables)
            witness = Witness(
                f"{sentence}: {row(statement.outer, escape.facet, outer_variables)} fails",
                components(self.description.states, escape.point), text(amount), amount_shown,
            )  # fmt: skip
            certificate = files.inclusion(words, statement, evidence)
            self.ledger.add(id, subject, Verdict.REFUTED, WITNESS, certificate=certificate, witness=witness, second_opinion=opinion)
        else:
            self.ledger.unknown(id, subject, result.reason)
        return evidence

    def _second(self, result: Result[Any, Any], statement: InclusionStatement) -> str:
        if self._opinion is None:
            return ""
        answer = self._opinion.on(result, statement)
        return f"Z3 agrees on {answer.facets} facets" if isinstance(answer, Agrees) else f"Z3: no opinion ({answer.reason})"

    def tightened(self, system: System) -> None:
        """X - R_k, U - F R_k and X_R - R_k are not empty."""
        d, T, tight = self.description, system.horizon, system.tightening
        self._members(system, "PO-TIGHT-STATE", "", "states", [tight.state_set(system, k) for k in range(T + 1)], d.states)
        self._members(system, "PO-TIGHT-INPUT", "", "inputs", [tight.input_set(system, k) for k in range(T + 1)], d.inputs)
        for name in system.names:
            sets = [tight.recovery_set(system, name, k) for k in range(T + 2)]
            self._members(system, "PO-TIGHT-RECOVERY", name, name, sets, d.states)

    def _members(self, system: System, id: str, subject: str, which: str, sets: Sequence[Polytope], variables: Sequence[Variable]) -> None:
        self.ledger.start(id, subject)
        points: dict[int, fmpq_mat] = {}
        point = member(sets[-1])
        for k, P in enumerate(sets):
            if point is None or not P.contains(point):
                found = LinearProgram(P).feasible_point()
                if isinstance(found, Infeasible):
                    self._no_member(id, subject, k, P, found, variables)
                    return
                points[k] = found
            else:
                points[k] = point
        certificate = files.tightened(f"{id} {subject}".strip(), system, which, points)
        self.ledger.add(id, subject, Verdict.PROVED, f"{len(sets)} members, kernel", certificate=certificate)

    def _no_member(self, id: str, subject: str, k: int, P: Polytope, found: Infeasible, variables: Sequence[Variable]) -> None:
        result = check_empty(P, found.multipliers)
        if not isinstance(result, Proved):
            self.ledger.unknown(id, subject, "emptiness was not confirmed")
            return
        used = [i for i, v in enumerate(found.multipliers.entries()) if v]
        gap = -(found.multipliers * P.h)[0, 0] / max(found.multipliers.entries())
        sentence = f"at k = {k} the disturbance leaves nothing: " + " and ".join(row(P, i, variables) for i in used[:4])
        witness = Witness(sentence, (), text(gap), excess(P, used[0], gap, variables)[1])
        certificate = files.emptiness(f"{id} {subject} at k = {k} is empty".replace("  ", " "), P, result.certificate)
        self.ledger.add(id, subject, Verdict.REFUTED, "Farkas contradiction, kernel", certificate=certificate, witness=witness)

    def initial_inside(self) -> None:
        """The initial box plus E + (-E) is in X: the true state, its estimate, and X - (-E) for the estimate (theory 5)."""
        d = self.description
        E = d.estimate_error_set()
        margin = [a + b for a, b in zip(E.supports(d.state_set.G), E.supports(-d.state_set.G))]
        statement = InclusionStatement.of(d.initial.polytope(), d.state_set, margin=margin)
        self._inclusion("PO-INITIAL-INSIDE", "", statement, d.states, None, "this initial state, with the estimate's error, can be outside X")


def first_estimates(description: SystemDescription) -> Box:
    """The smallest box that holds every first estimate: the initial box plus E."""
    initial, E = description.initial, description.estimate_error_set()
    return widened(initial, E)


def widened(box: Box, E: Disturbance) -> Box:
    """The bounding box of box + E."""
    reach = E.bounding_box().h.entries()
    lower = tuple(None if lo is None else lo - reach[2 * i + 1] for i, lo in enumerate(box.lower))
    upper = tuple(None if hi is None else hi + reach[2 * i] for i, hi in enumerate(box.upper))
    return Box(lower, upper)

