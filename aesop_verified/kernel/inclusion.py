"""Checks of statements about polytopes, each from evidence found elsewhere (theory 6).

Every statement has two kinds of evidence, one that proves it and one that refutes it. The kernel only
multiplies and compares: Farkas multipliers and points are found by untrusted code. Evidence that shows
nothing gives `Unknown`, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import (
    from_columns,
    identity,
    require_shape,
    signed_units,
    vector,
    zeros,
)
from aesop_verified.kernel.verdict import Proved, Refuted, Result, Unknown


@dataclass(frozen=True, slots=True, eq=False)
class FarkasRows:
    """Multipliers L, one row a facet of the outer set, one column a facet of the inner set."""

    multipliers: fmpq_mat


@dataclass(frozen=True, slots=True, eq=False)
class WitnessPoint:
    """A point of the inner set, shape (n, 1)."""

    point: fmpq_mat


@dataclass(frozen=True, slots=True, eq=False)
class InclusionStatement:
    """For every x with inner.contains(x): outer.G (M x + c) + margin <= outer.h.

    `margin` has one entry a facet of the outer set; with margin = h_W(outer.G) the statement says that the
    image of `inner` plus every w in W lies in `outer`.
    """

    inner: Polytope
    outer: Polytope
    M: fmpq_mat
    c: fmpq_mat
    margin: fmpq_mat

    @classmethod
    def of(
        cls,
        inner: Polytope,
        outer: Polytope,
        *,
        M: fmpq_mat | None = None,
        c: fmpq_mat | None = None,
        margin: Sequence[fmpq] | None = None,
    ) -> InclusionStatement:
        """Without M and c, plain inclusion: inner is a subset of outer."""
        n, p = inner.dimension_of_space, outer.dimension_of_space
        if M is None:
            if n != p:
                raise UsageError(f"the inner set has dimension {n} and the outer {p}; give the affine map between them")
            M = identity(n)
        c = zeros(p) if c is None else c
        margin_vector = zeros(outer.rows) if margin is None else vector(margin)
        require_shape("the map of an inclusion", M, p, n)
        require_shape("the offset of an inclusion", c, p, 1)
        require_shape("the margin of an inclusion", margin_vector, outer.rows, 1)
        return cls(inner, outer, M, c, margin_vector)


@dataclass(frozen=True, slots=True, eq=False)
class InclusionCertificate:
    """L >= 0, L G_in = G_out M, L h_in + G_out c + margin <= h_out."""

    statement: InclusionStatement
    multipliers: fmpq_mat


@dataclass(frozen=True, slots=True, eq=False)
class Escape:
    """`point` is in the inner set and its image violates row `facet` of the outer set by `amount`."""

    point: fmpq_mat
    facet: int
    amount: fmpq


def check_inclusion(statement: InclusionStatement, evidence: FarkasRows | WitnessPoint) -> Result[InclusionCertificate, Escape]:
    """Decide an inclusion under an affine map from the evidence given (Farkas; theory 6, kind 1)."""
    s = statement
    if isinstance(evidence, WitnessPoint):
        if s.inner.violation(evidence.point) is not None:
            return Unknown("the witness point is not in the inner set")
        target = Polytope(s.outer.G, s.outer.h - s.margin)
        violation = target.violation(s.M * evidence.point + s.c)
        if violation is None:
            return Unknown("the image of the witness point is in the outer set")
        return Refuted(Escape(evidence.point, violation.facet, violation.amount))
    L = evidence.multipliers
    require_shape("the Farkas multipliers", L, s.outer.rows, s.inner.rows)
    # SOUNDNESS: the three conditions of Farkas' lemma, affine form, exact.
    if any(v < 0 for v in L.entries()):
        return Unknown("a Farkas multiplier is negative")
    if L * s.inner.G != s.outer.G * s.M:
        return Unknown("the Farkas multipliers do not reproduce the outer normals: L G_in differs from G_out M")
    excess = L * s.inner.h + s.outer.G * s.c + s.margin - s.outer.h
    if any(v > 0 for v in excess.entries()):
        return Unknown("the bound that the Farkas multipliers give is too weak: L h_in + G_out c + margin exceeds h_out")
    return Proved(InclusionCertificate(s, L))


@dataclass(frozen=True, slots=True, eq=False)
class EmptinessCertificate:
    """lambda >= 0, lambda^T G = 0, lambda^T h < 0: no point satisfies all rows."""

    polytope: Polytope
    multipliers: fmpq_mat


def check_empty(polytope: Polytope, evidence: fmpq_mat | WitnessPoint) -> Result[EmptinessCertificate, WitnessPoint]:
    """Decide emptiness: multipliers of shape (1, r) prove it, a member refutes it."""
    if isinstance(evidence, WitnessPoint):
        if polytope.contains(evidence.point):
            return Refuted(evidence)
        return Unknown("the witness point is not in the set")
    require_shape("the emptiness multipliers", evidence, 1, polytope.rows)
    if any(v < 0 for v in evidence.entries()):
        return Unknown("an emptiness multiplier is negative")
    if any(v != 0 for v in (evidence * polytope.G).entries()):
        return Unknown("the emptiness multipliers do not cancel the rows")
    if not (evidence * polytope.h)[0, 0] < 0:
        return Unknown("the combination of the rows is not a contradiction")
    return Proved(EmptinessCertificate(polytope, evidence))


@dataclass(frozen=True, slots=True, eq=False)
class DimensionEvidence:
    """What shows that a polytope has affine dimension d in 0..n.

    Attributes:
        points: d + 1 affinely independent members, as columns, shape (n, d + 1).
        normals: n - d independent normals, shape (n - d, n), constant on the set.
        values: their constant values, shape (n - d, 1).
        upper: Farkas multipliers for normals x <= values, shape (n - d, r).
        lower: Farkas multipliers for -normals x <= -values, shape (n - d, r).
    """

    points: fmpq_mat
    normals: fmpq_mat
    values: fmpq_mat
    upper: fmpq_mat
    lower: fmpq_mat


@dataclass(frozen=True, slots=True, eq=False)
class DimensionCertificate:
    """The affine dimension of a polytope, -1 when it is empty."""

    polytope: Polytope
    dimension: int
    evidence: DimensionEvidence | EmptinessCertificate


def check_dimension(polytope: Polytope, evidence: DimensionEvidence | fmpq_mat) -> Result[DimensionCertificate, None]:
    """Certify the affine dimension; multipliers of emptiness certify -1."""
    if isinstance(evidence, fmpq_mat):
        empty = check_empty(polytope, evidence)
        if isinstance(empty, Proved):
            return Proved(DimensionCertificate(polytope, -1, empty.certificate))
        return Unknown("the emptiness multipliers show nothing")
    n = polytope.dimension_of_space
    d = evidence.points.ncols() - 1
    if not 0 <= d <= n:
        raise UsageError(f"the evidence has {d + 1} points in dimension {n}, expected 1 to {n + 1}")
    require_shape("the points", evidence.points, n, d + 1)
    require_shape("the normals", evidence.normals, n - d, n)
    require_shape("the values", evidence.values, n - d, 1)
    points = [fmpq_mat(n, 1, [evidence.points[i, j] for i in range(n)]) for j in range(d + 1)]
    if not all(polytope.contains(p) for p in points):
        return Unknown("one of the points is not in the set")
    # SOUNDNESS: d independent directions inside, n - d independent equalities outside.
    if from_columns([p - points[0] for p in points], n).rank() != d:
        return Unknown("the points are not affinely independent")
    if evidence.normals.rank() != n - d:
        return Unknown("the normals are not independent")
    for sign, multipliers in ((1, evidence.upper), (-1, evidence.lower)):
        outer = Polytope(evidence.normals * fmpq(sign), evidence.values * fmpq(sign))
        if not isinstance(check_inclusion(InclusionStatement.of(polytope, outer), FarkasRows(multipliers)), Proved):
            return Unknown("a normal is not shown to be constant on the set")
    return Proved(DimensionCertificate(polytope, d, evidence))


@dataclass(frozen=True, slots=True, eq=False)
class BoundingBox:
    """Evidence of boundedness: upper bounds on +-x_i in the order +x_1, -x_1, ..., with Farkas rows (2n, r)."""

    bounds: fmpq_mat
    multipliers: fmpq_mat


@dataclass(frozen=True, slots=True, eq=False)
class Ray:
    """Evidence of unboundedness: a member and a direction != 0 with G direction <= 0."""

    point: fmpq_mat
    direction: fmpq_mat


def check_bounded(polytope: Polytope, evidence: BoundingBox | Ray | fmpq_mat) -> Result[BoundingBox | EmptinessCertificate, Ray]:
    """Decide boundedness: a box (or emptiness, which is bounded) proves it, a ray from a member refutes it."""
    n = polytope.dimension_of_space
    if isinstance(evidence, fmpq_mat):
        empty = check_empty(polytope, evidence)
        return Proved(empty.certificate) if isinstance(empty, Proved) else Unknown("the emptiness multipliers show nothing")
    if isinstance(evidence, Ray):
        require_shape("the direction", evidence.direction, n, 1)
        if not polytope.contains(evidence.point):
            return Unknown("the ray does not start in the set")
        if all(v == 0 for v in evidence.direction.entries()) or any(v > 0 for v in (polytope.G * evidence.direction).entries()):
            return Unknown("the direction is zero or leaves the set")
        return Refuted(evidence)
    require_shape("the bounds", evidence.bounds, 2 * n, 1)
    box = Polytope(signed_units(n), evidence.bounds)
    included = check_inclusion(InclusionStatement.of(polytope, box), FarkasRows(evidence.multipliers))
    return Proved(evidence) if isinstance(included, Proved) else Unknown("the set is not shown to lie in the box")


@dataclass(frozen=True, slots=True, eq=False)
class SupportCertificate:
    """h_P(direction) = value: attained at `maximiser`, and an upper bound by `multipliers` (1, r)."""

    polytope: Polytope
    direction: fmpq_mat
    value: fmpq
    maximiser: fmpq_mat
    multipliers: fmpq_mat


def check_support(polytope: Polytope, direction: fmpq_mat, maximiser: fmpq_mat, multipliers: fmpq_mat) -> Result[SupportCertificate, None]:
    """Certify the support value h_P(direction) = max over P of direction^T x (strong duality, exact)."""
    require_shape("the direction", direction, polytope.dimension_of_space, 1)
    if not polytope.contains(maximiser):
        return Unknown("the maximiser is not in the set")
    value = (direction.transpose() * maximiser)[0, 0]
    half_space = Polytope(direction.transpose(), vector([value]))
    bound = check_inclusion(InclusionStatement.of(polytope, half_space), FarkasRows(multipliers))
    if not isinstance(bound, Proved):
        return Unknown("the multipliers do not show that no other point is better")
    return Proved(SupportCertificate(polytope, direction, value, maximiser, multipliers))
