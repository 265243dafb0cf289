"""Certificate files: what each kind holds. Self-contained, canonical JSON, re-checked by `recheck` with the kernel alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq_mat

from aesop_verified.evidence.canonical import Json, encoded, mat, plan_json, poly, sha256, vec
from aesop_verified.kernel.inclusion import (
    BoundingBox,
    DimensionCertificate,
    DimensionEvidence,
    EmptinessCertificate,
    Escape,
    FarkasRows,
    InclusionCertificate,
    InclusionStatement,
    Ray,
    WitnessPoint,
)
from aesop_verified.kernel.invariance import RecoveryEvidence
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import Plan
from aesop_verified.kernel.polytope import Polytope

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate file: its bytes and their SHA-256."""

    data: bytes
    sha256: str

    @classmethod
    def of(cls, kind: str, statement: str, body: Json) -> Certificate:
        """A file of that kind; `statement` says in words what it shows."""
        data = encoded({"schema_version": SCHEMA_VERSION, "kind": kind, "statement": statement} | body)
        return cls(data, sha256(data))


def inclusion(statement: str, s: InclusionStatement, evidence: FarkasRows | WitnessPoint) -> Certificate:
    """outer.G (M x + c) + margin <= outer.h for every x of inner: Farkas rows, or a point that shows otherwise."""
    body: Json = {"inner": poly(s.inner), "outer": poly(s.outer), "M": mat(s.M), "c": vec(s.c), "margin": vec(s.margin)}
    return Certificate.of("inclusion", statement, body | _inclusion_evidence(evidence))


def _inclusion_evidence(evidence: FarkasRows | WitnessPoint) -> Json:
    if isinstance(evidence, FarkasRows):
        return {"multipliers": mat(evidence.multipliers)}
    return {"point": vec(evidence.point)}


def inclusion_result(statement: str, s: InclusionStatement, witness: InclusionCertificate | Escape) -> Certificate:
    """The file for a decided inclusion."""
    evidence = FarkasRows(witness.multipliers) if isinstance(witness, InclusionCertificate) else WitnessPoint(witness.point)
    return inclusion(statement, s, evidence)


def emptiness(statement: str, polytope: Polytope, evidence: EmptinessCertificate | WitnessPoint) -> Certificate:
    """The set is empty: multipliers, or a member that shows otherwise."""
    shown: Json = {"multipliers": mat(evidence.multipliers)} if isinstance(evidence, EmptinessCertificate) else {"point": vec(evidence.point)}
    return Certificate.of("emptiness", statement, {"polytope": poly(polytope)} | shown)


def dimension(statement: str, certificate: DimensionCertificate) -> Certificate:
    """The affine dimension of a set."""
    e = certificate.evidence
    body: Json = {"polytope": poly(certificate.polytope), "dimension": certificate.dimension}
    if isinstance(e, DimensionEvidence):
        shown: Json = {"points": mat(e.points), "normals": mat(e.normals), "values": vec(e.values), "upper": mat(e.upper), "lower": mat(e.lower)}
    else:
        shown = {"multipliers": mat(e.multipliers)}
    return Certificate.of("dimension", statement, body | shown)


def boundedness(statement: str, polytope: Polytope, evidence: BoundingBox | EmptinessCertificate | Ray) -> Certificate:
    """The set is bounded: a box, or emptiness; or a ray that shows otherwise."""
    if isinstance(evidence, BoundingBox):
        shown: Json = {"bounds": vec(evidence.bounds), "multipliers": mat(evidence.multipliers)}
    elif isinstance(evidence, Ray):
        shown = {"point": vec(evidence.point), "direction": vec(evidence.direction)}
    else:
        shown = {"emptiness": mat(evidence.multipliers)}
    return Certificate.of("boundedness", statement, {"polytope": poly(polytope)} | shown)


def support(statement: str, polytope: Polytope, direction: fmpq_mat, maximiser: fmpq_mat, multipliers: fmpq_mat) -> Certificate:
    """The support value of a set in a direction."""
    body: Json = {"polytope": poly(polytope), "direction": vec(direction), "maximiser": vec(maximiser), "multipliers": mat(multipliers)}
    return Certificate.of("support", statement, body)


def system(statement: str, s: System) -> Certificate:
    """The exact system and its hash."""
    return Certificate.of("system", statement, {"system": s.canonical(), "hash": s.hash()})


def recovery_set(statement: str, s: System, name: str, evidence: RecoveryEvidence) -> Certificate:
    """A recovery set is non-empty, robustly invariant under its law, inside X, and its law maps into U."""
    parts: Json = {label: _inclusion_evidence(getattr(evidence, label)) for label in ("invariance", "inside", "law")}
    return Certificate.of("recovery_set", statement, {"system": s.canonical(), "name": name, "member": vec(evidence.point)} | parts)


def tightened(statement: str, s: System, which: str, points: Mapping[int, fmpq_mat]) -> Certificate:
    """X - R_k ("states"), U - F R_k ("inputs") or X_R - R_k (a recovery set's name) have these members."""
    body: Json = {"system": s.canonical(), "which": which, "points": {str(k): vec(p) for k, p in points.items()}}
    return Certificate.of("tightened_sets", statement, body)


def plan(statement: str, s: System, state: fmpq_mat, p: Plan) -> Certificate:
    """A plan of Eq. (3) at a state."""
    return Certificate.of("plan", statement, {"system": s.canonical(), "state": vec(state), "plan": plan_json(p)})


def plans_at_vertices(
    statement: str, s: System, lower: fmpq_mat, upper: fmpq_mat, plans: Sequence[tuple[fmpq_mat, Plan]]
) -> Certificate:
    """A plan for one and the same set of options at every vertex of a box: hence, by convexity, at all its states."""
    body: Json = {
        "system": s.canonical(), "lower": vec(lower), "upper": vec(upper),
        "plans": [{"state": vec(state), "plan": plan_json(p)} for state, p in plans],
    }  # fmt: skip
    return Certificate.of("plans_at_vertices", statement, body)


def no_plan(statement: str, s: System, state: fmpq_mat, multipliers: Mapping[str, fmpq_mat]) -> Certificate:
    """No plan keeps any option from a state: for each option the set of its plans is empty, by Farkas multipliers."""
    body: Json = {"system": s.canonical(), "state": vec(state), "options": {name: mat(y) for name, y in multipliers.items()}}
    return Certificate.of("no_plan", statement, body)
