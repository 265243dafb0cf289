"""Re-check of certificate files with the kernel alone (plus the standard library, to read them).

A file is a claim with its evidence. The kernel decides again from the evidence: *proved* or *refuted* is what
the file shows, *refused* is a file whose evidence shows nothing.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from flint import fmpq_mat

from aesop_verified.evidence.canonical import Reader, encoded, sha256, system_of
from aesop_verified.evidence.plan_set import plan_set
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.inclusion import (
    BoundingBox,
    DimensionEvidence,
    FarkasRows,
    InclusionStatement,
    Ray,
    WitnessPoint,
    check_bounded,
    check_dimension,
    check_empty,
    check_inclusion,
    check_support,
)
from aesop_verified.kernel.invariance import RecoveryEvidence, check_recovery_set
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import check_plan
from aesop_verified.kernel.rational import text, vector
from aesop_verified.kernel.verdict import Proved, Refuted, Unknown

_MOST_VERTICES = 4096
_MOST_BYTES = 1 << 28


class Outcome(enum.Enum):
    """What re-checking a file showed."""

    PROVED = "proved"
    REFUTED = "refuted"
    REFUSED = "refused"

    @property
    def exit_code(self) -> int:
        """0 when the statement is proved, else 1."""
        return 0 if self is Outcome.PROVED else 1


@dataclass(frozen=True, slots=True)
class Checked:
    """The result for one file.

    Attributes:
        kind: of the file.
        statement: its words; they are the writer's, what counts are the kind and the numbers.
        outcome: what the kernel says.
        detail: the numbers that matter, or why the file is refused.
        sha256: of the file's bytes.
    """

    kind: str
    statement: str
    outcome: Outcome
    detail: str
    sha256: str


def check_file(path: str | Path) -> Checked:
    """Re-check one certificate file.

    Raises:
        UsageError: when the file cannot be read or is no certificate file.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); expected a certificate file") from None
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path}: found more than {_MOST_BYTES} bytes, expected a certificate file")
    try:
        return check_bytes(data)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def check_bytes(data: bytes) -> Checked:
    """Re-check the bytes of a certificate file."""
    reader = Reader(_loaded(data))
    if reader.integer("schema_version") != 1:
        raise UsageError(f"schema_version: found {reader.integer('schema_version')}, expected 1")
    kind = reader.text("kind")
    if kind not in _CHECKS:
        raise UsageError(f"kind: found {kind!r}, expected one of {sorted(_CHECKS)}")
    outcome, detail = _CHECKS[kind](reader)
    return Checked(kind, reader.text("statement"), outcome, detail, sha256(data))


def _loaded(data: bytes) -> object:
    def refuse(token: str) -> object:
        raise UsageError(f"found the number {token}, expected exact numbers as text")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise UsageError("a key occurs twice in one object")
        return found

    try:
        return json.loads(data.decode("utf-8"), parse_float=refuse, parse_constant=refuse, object_pairs_hook=once)
    except UsageError:
        raise
    except (ValueError, RecursionError) as error:  # JSON, UTF-8, or an integer of thousands of digits
        raise UsageError(f"this is no JSON ({error}); expected a certificate file") from None


_Answer = tuple[Outcome, str]


def _answer(result: Proved[Any] | Refuted[Any] | Unknown, proved: str, refuted: Callable[[Any], str]) -> _Answer:
    if isinstance(result, Proved):
        return Outcome.PROVED, proved
    if isinstance(result, Refuted):
        return Outcome.REFUTED, refuted(result.witness)
    return Outcome.REFUSED, result.reason


def _inclusion_evidence(r: Reader) -> FarkasRows | WitnessPoint:
    return FarkasRows(r.matrix("multipliers")) if r.has("multipliers") else WitnessPoint(r.vector("point"))


def _inclusion(r: Reader) -> _Answer:
    s = InclusionStatement.of(r.polytope("inner"), r.polytope("outer"), M=r.matrix("M"), c=r.vector("c"), margin=r.vector("margin").entries())
    result = check_inclusion(s, _inclusion_evidence(r))
    return _answer(result, f"{s.outer.rows} facets", lambda w: f"facet {w.facet} exceeded by {text(w.amount)}")


def _emptiness(r: Reader) -> _Answer:
    evidence = r.matrix("multipliers") if r.has("multipliers") else WitnessPoint(r.vector("point"))
    return _answer(check_empty(r.polytope("polytope"), evidence), "empty", lambda _: "it has a member")


def _dimension(r: Reader) -> _Answer:
    evidence: DimensionEvidence | fmpq_mat
    if r.has("multipliers"):
        evidence = r.matrix("multipliers")
    else:
        evidence = DimensionEvidence(r.matrix("points"), r.matrix("normals"), r.vector("values"), r.matrix("upper"), r.matrix("lower"))
    result = check_dimension(r.polytope("polytope"), evidence)
    if isinstance(result, Proved) and result.certificate.dimension != r.integer("dimension"):
        return Outcome.REFUSED, f"the evidence shows dimension {result.certificate.dimension}, the file claims {r.integer('dimension')}"
    return _answer(result, f"dimension {r.integer('dimension')}", str)


def _boundedness(r: Reader) -> _Answer:
    evidence: BoundingBox | Ray | fmpq_mat
    if r.has("emptiness"):
        evidence = r.matrix("emptiness")
    elif r.has("bounds"):
        evidence = BoundingBox(r.vector("bounds"), r.matrix("multipliers"))
    else:
        evidence = Ray(r.vector("point"), r.vector("direction"))
    return _answer(check_bounded(r.polytope("polytope"), evidence), "bounded", lambda _: "it contains a ray")


def _support(r: Reader) -> _Answer:
    result = check_support(r.polytope("polytope"), r.vector("direction"), r.vector("maximiser"), r.matrix("multipliers"))
    return _answer(result, "the support value is attained and bounded", str)


_known_systems: dict[bytes, System] = {}


def _system_at(r: Reader) -> System:
    """The system of a file; many files of one run hold the same, whose tightened sets cost a second to compute."""
    key = encoded(r.read("system", lambda v: v))
    if key not in _known_systems:
        if len(_known_systems) > 7:
            _known_systems.clear()
        _known_systems[key] = system_of(r.object("system"))
    return _known_systems[key]


def _system(r: Reader) -> _Answer:
    found = _system_at(r).hash()
    if found != r.text("hash"):
        return Outcome.REFUSED, f"the system's hash is {found}, the file claims {r.text('hash')}"
    return Outcome.PROVED, f"hash {found}"


def _recovery_set(r: Reader) -> _Answer:
    system = _system_at(r)
    parts = [_inclusion_evidence(r.object(label)) for label in ("invariance", "inside", "law")]
    result = check_recovery_set(system, r.text("name"), RecoveryEvidence(r.vector("member"), *parts))
    return _answer(result, f"recovery set {r.text('name')} of system {system.hash()[:12]}", lambda w: f"{w.statement}: facet {w.escape.facet} exceeded by {text(w.escape.amount)}")


def _tightened(r: Reader) -> _Answer:
    system, which = _system_at(r), r.text("which")
    if which in ("states", "inputs") and which in system.names:
        raise UsageError(f"which: found {which!r}, which is a recovery set and a part of the system; rename the recovery set")
    points = r.object("points")
    last = system.horizon + 1 if which not in ("states", "inputs") else system.horizon
    for k in range(last + 1):
        if which == "states":
            target = system.tightening.state_set(system, k)
        elif which == "inputs":
            target = system.tightening.input_set(system, k)
        else:
            target = system.tightening.recovery_set(system, system.recovery(which).name, k)
        violation = target.violation(points.vector(str(k)))
        if violation is not None:
            return Outcome.REFUSED, f"the point for k = {k} is outside by {text(violation.amount)} at facet {violation.facet}"
    return Outcome.PROVED, f"members for k = 0..{last} of {which}, system {system.hash()[:12]}"


def _plan(r: Reader) -> _Answer:
    system = _system_at(r)
    result = check_plan(system, r.vector("state"), r.plan("plan"))
    return _answer(result, f"the plan satisfies Eq. (3) on the tightened sets of system {system.hash()[:12]}", lambda v: f"{v.constraint} of branch {v.branch} at step {v.step} by {text(v.amount)}")


def _plans_at_vertices(r: Reader) -> _Answer:
    system, lower, upper = _system_at(r), r.vector("lower").entries(), r.vector("upper").entries()
    if not len(lower) == len(upper) == system.n or any(lo > hi for lo, hi in zip(lower, upper)):
        raise UsageError(f"lower and upper: expected {system.n} bounds each, lower <= upper")
    sides = [sorted({lo, hi}) for lo, hi in zip(lower, upper)]
    if 2 ** sum(len(s) - 1 for s in sides) > _MOST_VERTICES:
        raise UsageError(f"the box has more than {_MOST_VERTICES} vertices")
    entries = r.objects("plans")
    plans = {tuple(e.vector("state").entries()): e.plan("plan") for e in entries}
    shape = {(p.options, p.consensus, p.horizon) for p in plans.values()}
    # SOUNDNESS: plans for one Y, K and T form a convex set over (state, inputs); for different Y they do not.
    if shape and (len(shape) != 1 or next(iter(shape))[1:] != (system.consensus_horizon, system.horizon)):
        return Outcome.REFUSED, "the plans are not all for one and the same set of options and the full horizons"
    for corner in product(*sides):
        plan = plans.get(corner)
        if plan is None:
            return Outcome.REFUSED, f"no plan at the vertex {[text(v) for v in corner]}"
        result = check_plan(system, vector(corner), plan)
        if not isinstance(result, Proved):
            return Outcome.REFUSED, f"the plan at the vertex {[text(v) for v in corner]} is not certified"
    return Outcome.PROVED, f"{len(plans)} vertices, options {', '.join(next(iter(shape))[0])}, system {system.hash()[:12]}"


def _no_plan(r: Reader) -> _Answer:
    system, state, options = _system_at(r), r.vector("state"), r.object("options")
    for name in system.names:
        result = check_empty(plan_set(system, state, name), options.matrix(name))
        if not isinstance(result, Proved):
            return Outcome.REFUSED, f"option {name}: the multipliers do not show that it has no plan"
    return Outcome.PROVED, f"no plan keeps any of {', '.join(system.names)}, system {system.hash()[:12]}"


_CHECKS: dict[str, Callable[[Reader], _Answer]] = {
    "inclusion": _inclusion, "emptiness": _emptiness, "dimension": _dimension, "boundedness": _boundedness, "support": _support,
    "system": _system, "recovery_set": _recovery_set, "tightened_sets": _tightened, "plan": _plan, "plans_at_vertices": _plans_at_vertices,
    "no_plan": _no_plan,
}  # fmt: skip
