"""The boxes in which recovery sets were asked for, as they stand; and subsets offered for sets that are not invariant."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq_mat

from aesop_verified.evidence import certificates as files
from aesop_verified.evidence.obligations import AskedBox, Offer
from aesop_verified.evidence.wording import Witness, components, excess, quantity, row
from aesop_verified.kernel.inclusion import InclusionCertificate
from aesop_verified.kernel.invariance import RecoveryStatements
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import text
from aesop_verified.kernel.verdict import Proved, Refuted
from aesop_verified.recovery.escape import box_vertices, facet_escape, point_escape
from aesop_verified.recovery.find import find_inclusion
from aesop_verified.recovery.invariant_subset import Invariant, invariant_subset
from aesop_verified.recovery.lp import LinearProgram, Optimal
from aesop_verified.recovery.redundancy import remove_redundant
from aesop_verified.recovery.second_opinion import SecondOpinion
from aesop_verified.system.description import SystemDescription
from aesop_verified.system.parts import SynthesisRequest

_VERTEX_DIMENSION = 4  # up to which all vertices are tried when no single facet is to blame


def asked_box(description: SystemDescription, system: System, name: str, opinion: SecondOpinion | None = None) -> AskedBox | None:
    """Whether the asked box, cut to X, is invariant as it stands; None for a set that was given.

    A state from which every input leads out is looked for first, then one that escapes under the law.
    """
    content = description.region(name).content
    if not isinstance(content, SynthesisRequest):
        return None
    asked = content.inside.polytope()
    cut = remove_redundant(asked.intersection(description.state_set))
    own = [k for k, i in enumerate(cut.kept) if i < asked.rows]  # facets of the box itself, not of X
    recovery = system.recovery(name).polytope
    arrival = system.tightening.recovery_set(system, name, system.horizon + 1)
    bounded = [j for j, (lo, hi) in enumerate(zip(content.inside.lower, content.inside.upper)) if lo is not None or hi is not None]
    subset = f"{recovery.rows} facets, {extents(description, recovery, bounded)}; plans of full length aim at {extents(description, arrival, bounded)}"
    found = escape_of(description, system, cut.polytope, name, own, content.around, opinion)
    found = found or escape_of(description, system, cut.polytope, name, None, content.around, opinion)
    if found is None:
        return _under_the_law(description, system, name, cut.polytope, subset, opinion)
    witness, certificate = found
    return AskedBox(name, witness, f"the box as asked is not control invariant; certified inside it: {subset}", certificate)


def _under_the_law(
    description: SystemDescription, system: System, name: str, box: Polytope, subset: str, opinion: SecondOpinion | None
) -> AskedBox:
    """The asked box under the law that its certified subset has."""
    recovery = system.recovery(name)
    statements = RecoveryStatements.of(system, RecoverySet(name, box, recovery.law))
    law = find_inclusion(statements.law)
    if opinion is not None:
        opinion.on(law, statements.law)
    if isinstance(law, Refuted):
        amount, amount_shown = excess(system.input_set, law.witness.facet, law.witness.amount, description.inputs)
        sentence = f"the law leaves U: {row(system.input_set, law.witness.facet, description.inputs)} fails"
        witness = Witness(sentence, components(description.states, law.witness.point), text(amount), amount_shown)
        certificate = files.inclusion_result(f"{name}: on the box as asked {sentence}", statements.law, law.witness)
        return AskedBox(name, witness, f"the law cannot hold all of the box as asked; certified inside it: {subset}", certificate)
    statement = statements.invariance
    result = find_inclusion(statement)
    if opinion is not None:
        opinion.on(result, statement)
    if isinstance(result, Proved):
        certificate = files.inclusion_result(f"{name}: the box as asked is invariant under the law", statement, result.certificate)
        return AskedBox(name, None, f"the box as asked is robustly invariant under the law; certified: {subset}", certificate)
    if isinstance(result, Refuted):
        escape = result.witness
        amount, amount_shown = excess(box, escape.facet, escape.amount, description.states)
        sentence = f"under the law the next state can break {row(box, escape.facet, description.states)}"
        witness = Witness(sentence, components(description.states, escape.point), text(amount), amount_shown)
        certificate = files.inclusion_result(f"{name}: {sentence}", statement, escape)
        return AskedBox(name, witness, f"the box as asked is not invariant under the law; certified inside it: {subset}", certificate)
    return AskedBox(name, None, f"whether the box as asked is invariant was not decided; certified inside it: {subset}", None)


def escape_of(
    description: SystemDescription, system: System, P: Polytope, name: str, facets: Sequence[int] | None = None,
    near: fmpq_mat | None = None, opinion: SecondOpinion | None = None,
) -> tuple[Witness, files.Certificate | None] | None:  # fmt: skip
    """A state of P from which every input leads out, by one of the facets (all by default)."""
    d = description
    W, U = system.total_disturbance, system.input_set
    found = facet_escape(system.A, system.B, system.b, P, U, W, facets=facets, near=near)
    if found is None and facets is None and d.n <= _VERTEX_DIMENSION:
        found = point_escape(system.A, system.B, system.b, P, U, W, box_vertices(P))
    if found is None:
        return None
    point = components(d.states, found.state)
    if found.facet is None or found.amount is None:
        return Witness("whatever the input, the next state can leave the set", point, "", ""), None
    amount, amount_shown = excess(P, found.facet, found.amount, d.states)
    sentence = f"whatever the input, the next state can break {row(P, found.facet, d.states)}"
    certificate = None
    if isinstance(found.certificate, InclusionCertificate):
        if opinion is not None:
            opinion.on(find_inclusion(found.certificate.statement), found.certificate.statement)
        words = f"{name}: from {', '.join(f'{n} = {v} {u}'.strip() for n, u, v in point)} every input exceeds {row(P, found.facet, d.states)} by at least {text(amount)}"
        certificate = files.inclusion_result(words, found.certificate.statement, found.certificate)
    return Witness(sentence, point, text(amount), amount_shown), certificate


def extents(description: SystemDescription, P: Polytope, states: Sequence[int] | None = None) -> str:
    """The bounding box of a set in words, for all states or the given ones."""
    program = LinearProgram(P)
    parts = []
    for j, v in enumerate(description.states):
        if states is not None and j not in states:
            continue
        from_to = []
        for sign in (-1, 1):
            direction = [[int(sign * (i == j)) for i in range(description.n)]]
            answer = program.maximise(Polytope.of(direction, [0], n=description.n).G.transpose())
            from_to.append(quantity(sign * answer.value, "") if isinstance(answer, Optimal) else "unbounded")
        if from_to != ["unbounded", "unbounded"]:
            parts.append(f"{v.name} {from_to[0]} .. {from_to[1]}{v.unit and f' {v.unit}'}")
    return ", ".join(parts)


def offer(description: SystemDescription, system: System, name: str, opinion: SecondOpinion | None = None) -> Offer | None:
    """A certified invariant subset of a given set under its own law, when one is found."""
    recovery = system.recovery(name)
    inside = recovery.polytope.intersection(system.X).intersection(system.input_set.preimage(recovery.law.gain, recovery.law.offset))
    closed, drift = system.A + system.B * recovery.law.gain, system.B * recovery.law.offset + system.b
    found = invariant_subset(closed, drift, remove_redundant(inside).polytope, system.total_disturbance)
    if not isinstance(found, Invariant):
        return None
    subset = RecoverySet(name, remove_redundant(found.polytope).polytope, recovery.law)
    statement = RecoveryStatements.of(system, subset).invariance
    result = find_inclusion(statement)
    if opinion is not None:
        opinion.on(result, statement)
    if not isinstance(result, Proved):
        return None
    sentence = f"a robustly invariant subset of {name} under the same law, {subset.polytope.rows} facets: {extents(description, subset.polytope)}"
    return Offer(name, sentence, files.inclusion_result(sentence, statement, result.certificate))
