"""Finders: each decides a statement about polytopes by an exact linear program and has the kernel check it.

What comes back was said by the kernel; nothing here can make a `Proved`.
"""

from __future__ import annotations

from flint import fmpq, fmpq_mat

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
    SupportCertificate,
    WitnessPoint,
    check_bounded,
    check_dimension,
    check_empty,
    check_inclusion,
    check_support,
)
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import column, from_columns, rows_of, stacked, zeros
from aesop_verified.kernel.verdict import Result
from aesop_verified.recovery.lp import Infeasible, LinearProgram, Optimal, Unbounded


def inclusion_evidence(statement: InclusionStatement, program: LinearProgram | None = None) -> FarkasRows | WitnessPoint:
    """Evidence for or against an inclusion, facet by facet; for a non-empty inner set one of the two always exists.

    An empty inner set is included in everything, but Farkas rows are not complete there: a row exists when the
    outer normal is a combination of inner ones, to which a multiple of the emptiness multipliers is added until
    the bound is low enough. Where there is none the kernel will answer `Unknown`; ask `find_empty` first.
    """
    s = statement
    program = program or LinearProgram(s.inner)
    mapped = s.outer.G * s.M
    target = (s.outer.h - s.margin - s.outer.G * s.c).entries()
    rows: list[fmpq_mat] = []
    worst: tuple[fmpq, fmpq_mat] | None = None
    for normal, bound in zip(rows_of(mapped), target):
        c = fmpq_mat(s.inner.dimension_of_space, 1, normal)
        answer = program.maximise(c)
        if isinstance(answer, Infeasible):
            rows.append(_row_of_empty(s.inner, c, bound, answer))
        elif isinstance(answer, Unbounded):
            return WitnessPoint(_far_enough(answer, c, bound))
        else:
            excess = answer.value - bound
            if excess > 0 and (worst is None or excess > worst[0]):
                worst = (excess, answer.point)
            rows.append(answer.multipliers)
    if worst is not None:
        return WitnessPoint(worst[1])
    return FarkasRows(stacked(*rows) if rows else zeros(0, s.inner.rows))


def _far_enough(answer: Unbounded, c: fmpq_mat, bound: fmpq) -> fmpq_mat:
    """The point of the ray at which c^T x passes the bound by at least 1."""
    value = (c.transpose() * answer.point)[0, 0]
    slope = (c.transpose() * answer.direction)[0, 0]
    steps = (bound + 1 - value) / slope
    return answer.point + answer.direction * (steps if steps > 0 else fmpq(0))


def _row_of_empty(inner: Polytope, c: fmpq_mat, bound: fmpq, answer: Infeasible) -> fmpq_mat:
    """y >= 0 with y G = c^T and y h <= bound, for an empty set: any y0 with y0 G = c^T plus a multiple."""
    # max of 0 over the dual cone {y >= 0, G^T y = c}, written as rows over y.
    r = inner.rows
    transposed = inner.G.transpose()
    cone = Polytope(
        stacked(transposed, -transposed, fmpq_mat(r, r, [-fmpq(i == j) for i in range(r) for j in range(r)])),
        stacked(c, -c, zeros(r)),
    )
    found = LinearProgram(cone).feasible_point()
    if isinstance(found, Infeasible):
        return zeros(1, r)  # the kernel then says why this shows nothing: Farkas rows are not complete here
    value = (found.transpose() * inner.h)[0, 0]
    gain = (answer.multipliers * inner.h)[0, 0]
    factor = (bound - value) / gain
    return found.transpose() + answer.multipliers * (factor if factor > 0 else fmpq(0))


def find_inclusion(statement: InclusionStatement, program: LinearProgram | None = None) -> Result[InclusionCertificate, Escape]:
    """Decide an inclusion under an affine map; `program` may be shared between statements with one inner set."""
    return check_inclusion(statement, inclusion_evidence(statement, program))


def find_subset(inner: Polytope, outer: Polytope) -> Result[InclusionCertificate, Escape]:
    """Decide whether inner is a subset of outer."""
    return find_inclusion(InclusionStatement.of(inner, outer))


def find_empty(polytope: Polytope) -> Result[EmptinessCertificate, WitnessPoint]:
    """Decide emptiness; a member refutes it."""
    found = LinearProgram(polytope).feasible_point()
    return check_empty(polytope, found.multipliers if isinstance(found, Infeasible) else WitnessPoint(found))


def find_bounded(polytope: Polytope) -> Result[BoundingBox | EmptinessCertificate, Ray]:
    """Decide boundedness; a member with a direction that never leaves refutes it."""
    program = LinearProgram(polytope)
    n = polytope.dimension_of_space
    bounds, rows = [], []
    for i in range(n):
        for sign in (1, -1):
            answer = program.maximise(fmpq_mat(n, 1, [fmpq(sign * (i == j)) for j in range(n)]))
            if isinstance(answer, Infeasible):
                return check_bounded(polytope, answer.multipliers)
            if isinstance(answer, Unbounded):
                return check_bounded(polytope, Ray(answer.point, answer.direction))
            bounds.append(answer.value)
            rows.append(answer.multipliers)
    return check_bounded(polytope, BoundingBox(fmpq_mat(2 * n, 1, bounds), stacked(*rows)))


def find_support(polytope: Polytope, direction: fmpq_mat) -> Result[SupportCertificate, None] | Infeasible | Unbounded:
    """The support value h_P(direction), certified; or why there is none (empty, or infinite)."""
    answer = LinearProgram(polytope).maximise(direction)
    if not isinstance(answer, Optimal):
        return answer
    return check_support(polytope, direction, answer.point, answer.multipliers)


def dimension_evidence(polytope: Polytope) -> DimensionEvidence | fmpq_mat:
    """Points that span the set and equalities that confine it, found one direction after the other.

    Invariant: `points` are affinely independent members, `normals` are independent and constant on the set;
    each round looks along a direction orthogonal to all found so far, so it adds a point or a normal.
    """
    n = polytope.dimension_of_space
    program = LinearProgram(polytope)
    start = program.feasible_point()
    if isinstance(start, Infeasible):
        return start.multipliers
    points: list[fmpq_mat] = [start]
    normals: list[fmpq_mat] = []
    values: list[fmpq] = []
    upper: list[fmpq_mat] = []
    lower: list[fmpq_mat] = []
    while len(points) - 1 + len(normals) < n:
        spanned = [p - points[0] for p in points[1:]] + normals
        direction = _orthogonal(spanned, n)
        base = (direction.transpose() * points[0])[0, 0]
        found = None
        ends = []
        for sign in (fmpq(1), fmpq(-1)):
            answer = program.maximise(direction * sign)
            if isinstance(answer, Unbounded):
                found = answer.point + answer.direction
                if (direction.transpose() * found)[0, 0] == base:
                    found = found + answer.direction
                break
            if isinstance(answer, Optimal):
                ends.append(answer)
                if answer.value != sign * base:
                    found = answer.point
                    break
        if found is not None:
            points.append(found)
        else:
            normals.append(direction)
            values.append(base)
            upper.append(ends[0].multipliers)
            lower.append(ends[1].multipliers)
    r = polytope.rows
    return DimensionEvidence(
        from_columns(points, n),
        stacked(*(v.transpose() for v in normals)) if normals else zeros(0, n),
        fmpq_mat(len(values), 1, values),
        stacked(*upper) if upper else zeros(0, r),
        stacked(*lower) if lower else zeros(0, r),
    )


def _orthogonal(vectors: list[fmpq_mat], n: int) -> fmpq_mat:
    """A non-zero vector orthogonal to fewer than n vectors, preferring unit vectors."""
    if not vectors:
        return fmpq_mat(n, 1, [fmpq(i == 0) for i in range(n)])
    reduced, rank = stacked(*(v.transpose() for v in vectors)).rref()
    pivots = [next(j for j in range(n) if reduced[i, j] != 0) for i in range(rank)]
    free = next(j for j in range(n) if j not in pivots)
    entries = [fmpq(j == free) for j in range(n)]
    for i, j in enumerate(pivots):
        entries[j] = -reduced[i, free]
    return fmpq_mat(n, 1, entries)


def find_dimension(polytope: Polytope) -> Result[DimensionCertificate, None]:
    """Certify the affine dimension, -1 for the empty set."""
    return check_dimension(polytope, dimension_evidence(polytope))


def member(polytope: Polytope) -> fmpq_mat | None:
    """Some point of the set, as central as the mean of its extreme points along the axes; None when empty."""
    n = polytope.dimension_of_space
    program = LinearProgram(polytope)
    found: list[fmpq_mat] = []
    for i in range(n):
        for sign in (1, -1):
            answer = program.maximise(fmpq_mat(n, 1, [fmpq(sign * (i == j)) for j in range(n)]))
            if isinstance(answer, Infeasible):
                return None
            found.append(answer.point)
    total = zeros(n)
    for p in found:
        total = total + p
    return column(total * fmpq(1, len(found)), 0)
