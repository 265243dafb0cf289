"""Polytopes and what is certified about them: hand values, each with its empty, flat, unbounded and row-less twin."""

from __future__ import annotations

import itertools

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from aesop_verified.kernel.errors import ExactnessError, UsageError
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
from aesop_verified.kernel.polytope import Polytope, Violation
from aesop_verified.kernel.rational import identity, matrix, vector, zeros
from aesop_verified.kernel.verdict import Proved, Refuted, Unknown

SQUARE = Polytope.box([0, 0], [1, 1])  # rows x <= 1, -x <= 0, y <= 1, -y <= 0
EMPTY = Polytope.box([1], [0])
SEGMENT = Polytope.box([0, "1/2"], [1, "1/2"])
POINT = Polytope.box([2], [2])
PLANE = Polytope.whole_space(2)
HALF = Polytope.of([[1, 0]], [0], n=2)  # x <= 0


def reason(result: object) -> str:
    assert isinstance(result, Unknown), result
    return result.reason


def test_box_rows_and_membership_by_hand() -> None:
    assert SQUARE.G == matrix([[1, 0], [-1, 0], [0, 1], [0, -1]], 2) and SQUARE.h == vector([1, 0, 1, 0])
    assert SQUARE.dimension_of_space == 2 and SQUARE.rows == 4
    inside = [("1/2", "1/2"), (0, 0), (1, 1), (0, 1)]
    outside = [("3/2", "1/2"), ("1/2", "3/2"), (fmpq(1) + fmpq(1, 10**40), 0), (0, fmpq(-1, 10**40))]
    assert all(SQUARE.contains(vector(p)) for p in inside)
    assert not any(SQUARE.contains(vector(p)) for p in outside)


def test_the_worst_violation_is_named() -> None:
    assert SQUARE.violation(vector([2, 4])) == Violation(2, fmpq(3))
    assert SQUARE.violation(vector([4, 2])) == Violation(0, fmpq(3))
    assert SQUARE.violation(vector([2, 2])) == Violation(0, fmpq(1))  # the first of equals
    assert SQUARE.violation(vector([-1, 1])) == Violation(1, fmpq(1))
    assert SQUARE.violation(vector([1, 1])) is None
    assert EMPTY.violation(vector(["1/2"])) == Violation(0, fmpq(1, 2))
    assert POINT.violation(vector([2])) is None and POINT.violation(vector([1])) == Violation(1, fmpq(1))
    assert PLANE.violation(vector([9, 9])) is None


def test_operations_by_hand() -> None:
    assert SQUARE.translated(vector([2, 3])).same_rows(Polytope.box([2, 3], [3, 4]))
    assert SQUARE.shrunk([fmpq(1, 4)] * 4).same_rows(Polytope.box(["1/4", "1/4"], ["3/4", "3/4"]))
    assert POINT.product(EMPTY).same_rows(Polytope.box([2, 1], [2, 0]))
    assert PLANE.product(POINT).same_rows(Polytope.of([[0, 0, 1], [0, 0, -1]], [2, -2], n=3))
    both = SQUARE.intersection(HALF)
    assert both.rows == 5 and both.contains(vector([0, 1])) and not both.contains(vector(["1/9", 0]))
    assert PLANE.intersection(HALF).same_rows(HALF)
    # {x : 2 x + y - 1 in [0, 1]}
    back = Polytope.box([0], [1]).preimage(matrix([[2, 1]], 2), vector([-1]))
    assert back.same_rows(Polytope.of([[2, 1], [-2, -1]], [2, -1], n=2))
    assert SQUARE.same_rows(Polytope.box([0, 0], [1, 1]))
    assert not SQUARE.same_rows(Polytope.box([0, 0], [1, 2])) and not HALF.same_rows(Polytope.of([[0, 1]], [0], n=2))


def test_P37_operands_and_arguments_are_left_alone() -> None:
    G, h = matrix([[1], [1], [-1]], 1), vector([1, 2, 1])
    kept = Polytope(G, h)
    kept.shrunk([fmpq(1)] * 3), kept.translated(vector([5])), kept.intersection(kept), kept.product(kept)
    G[0, 0], h[0, 0] = fmpq(9), fmpq(9)  # flint's matrices can be written to; a set owns its own
    assert kept.G == matrix([[1], [1], [-1]], 1) and kept.h == vector([1, 2, 1])


def test_malformed_sets_are_refused() -> None:
    with pytest.raises(UsageError, match="dimension of at least 1"):
        Polytope(zeros(0, 0), zeros(0))
    with pytest.raises(UsageError, match="offset vector h"):
        Polytope(identity(2), vector([1]))
    with pytest.raises(ExactnessError, match="facet matrix G"):
        Polytope([[1.0]], vector([1]))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="2 lower and 1 upper"):
        Polytope.box([0, 0], [1])
    with pytest.raises(UsageError, match="dimension 2 and 1"):
        SQUARE.intersection(POINT)
    with pytest.raises(UsageError, match="the point has shape 1 x 1, expected 2 x 1"):
        SQUARE.contains(vector([1]))


# --- inclusion --------------------------------------------------------------------------------------------------


def test_inclusion_by_hand() -> None:
    s = InclusionStatement.of(SQUARE, Polytope.of([[1, 1]], [2], n=2))
    L = matrix([[1, 0, 1, 0]], 4)
    result = check_inclusion(s, FarkasRows(L))
    assert isinstance(result, Proved) and result.certificate.multipliers == L
    tight = InclusionStatement.of(SQUARE, Polytope.of([[1, 1]], ["1999999999/1000000000"], n=2))
    assert "too weak" in reason(check_inclusion(tight, FarkasRows(L)))
    refuted = check_inclusion(tight, WitnessPoint(vector([1, 1])))
    assert isinstance(refuted, Refuted)
    assert (refuted.witness.facet, refuted.witness.amount) == (0, fmpq(1, 10**9)) and refuted.witness.point == vector([1, 1])
    assert "is in the outer set" in reason(check_inclusion(s, WitnessPoint(vector([1, 1]))))
    assert "not in the inner set" in reason(check_inclusion(tight, WitnessPoint(vector([2, 2]))))
    assert "negative" in reason(check_inclusion(s, FarkasRows(matrix([[1, -1, 1, 0]], 4))))
    assert "do not reproduce" in reason(check_inclusion(s, FarkasRows(matrix([[1, 0, 2, 0]], 4))))
    with pytest.raises(UsageError, match="Farkas multipliers"):
        check_inclusion(s, FarkasRows(matrix([[1, 0, 1]], 3)))


@pytest.mark.parametrize(("margin", "proved"), [("1/2", True), ("51/100", False), (0, True), (-5, True)])
def test_inclusion_under_a_map_with_offset_and_margin(margin: str | int, proved: bool) -> None:
    """2 x - 1/2 for x in [0, 1] is at most 3/2; with margin 1/2 exactly 2."""
    s = InclusionStatement.of(
        Polytope.box([0], [1]), Polytope.of([[1]], [2], n=1), M=matrix([[2]], 1), c=vector(["-1/2"]), margin=[fmpq(margin) if isinstance(margin, int) else vector([margin])[0, 0]]
    )  # fmt: skip
    assert isinstance(check_inclusion(s, FarkasRows(matrix([[2, 0]], 2))), Proved) is proved
    assert isinstance(check_inclusion(s, WitnessPoint(vector([1]))), Refuted) is not proved


def test_inclusion_twins() -> None:
    # Into a set without rows everything goes; into a bounded set the whole space does not.
    assert isinstance(check_inclusion(InclusionStatement.of(SQUARE, PLANE), FarkasRows(zeros(0, 4))), Proved)
    assert isinstance(check_inclusion(InclusionStatement.of(PLANE, PLANE), FarkasRows(zeros(0, 0))), Proved)
    assert "do not reproduce" in reason(check_inclusion(InclusionStatement.of(PLANE, HALF), FarkasRows(zeros(1, 0))))
    assert isinstance(check_inclusion(InclusionStatement.of(PLANE, HALF), WitnessPoint(vector([1, 0]))), Refuted)
    # The empty set is in {x <= -7}: y G = 1, y h <= -7.
    low = InclusionStatement.of(EMPTY, Polytope.of([[1]], [-7], n=1))
    assert isinstance(check_inclusion(low, FarkasRows(matrix([[8, 7]], 2))), Proved)
    assert isinstance(check_inclusion(low, FarkasRows(matrix([[7, 6]], 2))), Unknown)
    # Flat in flat, and a square not in a segment.
    thin = InclusionStatement.of(SEGMENT, SEGMENT)
    assert isinstance(check_inclusion(thin, FarkasRows(identity(4))), Proved)
    assert isinstance(check_inclusion(InclusionStatement.of(SQUARE, SEGMENT), WitnessPoint(vector([0, 1]))), Refuted)


def test_inclusion_statements_check_their_shapes() -> None:
    with pytest.raises(UsageError, match="give the affine map"):
        InclusionStatement.of(SQUARE, POINT)
    for wrong in ({"M": identity(2)}, {"c": vector([1, 2])}, {"margin": [fmpq(0)]}):
        with pytest.raises(UsageError):
            InclusionStatement.of(SQUARE, POINT, **{"M": matrix([[1, 0]], 2), **wrong})  # type: ignore[arg-type]


@given(st.lists(st.integers(-2, 2), min_size=8, max_size=8), st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_a_proved_inclusion_holds_at_every_grid_point(numbers: list[int], weights: list[int]) -> None:
    """Whatever is offered as evidence: Proved only if no point of a fine grid contradicts it."""
    inner = Polytope.of([numbers[:2], numbers[2:4], [1, 0], [-1, 0]], [numbers[4], numbers[5], 2, 2], n=2)
    L = matrix([weights[:4], weights[4:]], 4)
    G = L * inner.G
    outer = Polytope(G, L * inner.h - vector([int(v > 1) for v in numbers[6:]]))
    result = check_inclusion(InclusionStatement.of(inner, outer), FarkasRows(L))
    grid = [vector([fmpq(a, 2), fmpq(b, 2)]) for a, b in itertools.product(range(-4, 5), repeat=2)]
    assert isinstance(result, Proved) == (max(numbers[6:]) <= 1)
    if isinstance(result, Proved):
        assert all(outer.contains(x) for x in grid if inner.contains(x))


# --- emptiness, boundedness, dimension, support ------------------------------------------------------------------


def test_P09_P10_P19_emptiness_by_hand() -> None:
    assert isinstance(check_empty(EMPTY, matrix([[1, 1]], 2)), Proved)
    hair = Polytope.of([[1], [-1]], [1, -1 - fmpq(1, 2**52)], n=1)
    assert isinstance(check_empty(hair, matrix([[1, 1]], 2)), Proved)
    spare = Polytope.of([[1], [-1], [1]], [0, -1, 9], n=1)
    assert isinstance(check_empty(spare, matrix([["1/2", "1/2", 0]], 3)), Proved)
    assert "not a contradiction" in reason(check_empty(POINT, matrix([[1, 1]], 2)))  # 0 <= 0 is none
    assert "do not cancel" in reason(check_empty(EMPTY, matrix([[1, 2]], 2)))
    assert "negative" in reason(check_empty(Polytope.of([[1], [1]], [1, 2], n=1), matrix([[1, -1]], 2)))
    assert "not a contradiction" in reason(check_empty(PLANE, zeros(1, 0)))
    assert isinstance(check_empty(PLANE, WitnessPoint(vector([0, 0]))), Refuted)
    assert isinstance(check_empty(POINT, WitnessPoint(vector([2]))), Refuted)
    assert "not in the set" in reason(check_empty(POINT, WitnessPoint(vector([1]))))
    with pytest.raises(UsageError):
        check_empty(EMPTY, matrix([[1, 1, 1]], 3))


def _dimension(points: list[list[object]], normals: list[list[object]], values: list[object], upper: fmpq_mat, lower: fmpq_mat, n: int) -> DimensionEvidence:
    return DimensionEvidence(matrix(points, len(points[0])), matrix(normals, n), vector(values), upper, lower)  # type: ignore[arg-type]


def test_dimension_by_hand() -> None:
    # Full: a triangle of points; flat: the segment at y = 1/2; a point; empty; the plane.
    full = _dimension([[0, 1, 0], [0, 0, 1]], [], [], zeros(0, 4), zeros(0, 4), 2)
    flat = _dimension([[0, 1], ["1/2", "1/2"]], [[0, 1]], ["1/2"], matrix([[0, 0, 1, 0]], 4), matrix([[0, 0, 0, 1]], 4), 2)
    point = _dimension([[2]], [[1]], [2], matrix([[1, 0]], 2), matrix([[0, 1]], 2), 1)
    for polytope, evidence, expected in ((SQUARE, full, 2), (SEGMENT, flat, 1), (POINT, point, 0), (PLANE, full, 2)):
        if polytope is PLANE:
            evidence = DimensionEvidence(full.points, full.normals, full.values, zeros(0, 0), zeros(0, 0))
        result = check_dimension(polytope, evidence)
        assert isinstance(result, Proved) and result.certificate.dimension == expected
    empty = check_dimension(EMPTY, matrix([[1, 1]], 2))
    assert isinstance(empty, Proved) and empty.certificate.dimension == -1
    assert isinstance(check_dimension(POINT, matrix([[1, 1]], 2)), Unknown)


def test_dimension_evidence_that_shows_nothing() -> None:
    zero = zeros(0, 4)
    assert "not in the set" in reason(check_dimension(SQUARE, _dimension([[0, 2, 0], [0, 0, 1]], [], [], zero, zero, 2)))
    assert "affinely" in reason(check_dimension(SQUARE, _dimension([[0, "1/2", 1], [0, "1/2", 1]], [], [], zero, zero, 2)))
    big = Polytope.box([0, 0], [2, 2])  # x - x_0 is what counts, not x + x_0
    assert "affinely" in reason(check_dimension(big, _dimension([[1, 1, 1], [0, 1, 2]], [], [], zero, zero, 2)))
    assert "affinely" in reason(check_dimension(SEGMENT, _dimension([[1, 1], ["1/2", "1/2"]], [[0, 1]], ["1/2"], zeros(1, 4), zeros(1, 4), 2)))
    up, down = matrix([[0, 0, 1, 0]], 4), matrix([[0, 0, 0, 1]], 4)
    one_point = [[0], ["1/2"]]
    twice = _dimension(one_point, [[0, 1], [0, 2]], ["1/2", 1], matrix([[0, 0, 1, 0], [0, 0, 2, 0]], 4), matrix([[0, 0, 0, 1], [0, 0, 0, 2]], 4), 2)
    assert "normals are not independent" in reason(check_dimension(SEGMENT, twice))
    for upper, lower in ((up, up), (down, down), (up, matrix([[0, 0, 0, 2]], 4))):
        off = _dimension([[0, 1], ["1/2", "1/2"]], [[0, 1]], ["1/2"], upper, lower, 2)
        assert "constant" in reason(check_dimension(SEGMENT, off))
    square = _dimension([[0, 1], ["1/2", "1/2"]], [[0, 1]], ["1/2"], up, down, 2)
    assert "constant" in reason(check_dimension(SQUARE, square))
    with pytest.raises(UsageError, match="0 points in dimension 2, expected 1 to 3"):
        check_dimension(SQUARE, DimensionEvidence(zeros(2, 0), zero, zeros(0), zero, zero))
    with pytest.raises(UsageError, match="4 points"):
        check_dimension(SQUARE, DimensionEvidence(zeros(2, 4), zero, zeros(0), zero, zero))
    for wrong in ({"points": zeros(3, 3)}, {"normals": zeros(1, 2)}, {"values": zeros(1)}):
        with pytest.raises(UsageError):
            check_dimension(SQUARE, DimensionEvidence(**{"points": matrix([[0, 1, 0], [0, 0, 1]], 3), "normals": zeros(0, 2), "values": zeros(0), "upper": zero, "lower": zero, **wrong}))


def test_P21_boundedness_by_hand() -> None:
    assert isinstance(check_bounded(SQUARE, BoundingBox(vector([1, 0, 1, 0]), identity(4))), Proved)
    assert isinstance(check_bounded(SQUARE, BoundingBox(vector([1, 0, "99/100", 0]), identity(4))), Unknown)
    assert isinstance(check_bounded(Polytope.of([[-1, 0, 0], [1, 0, 0]], [-1, 0], n=3), matrix([[1, 1]], 2)), Proved)
    assert isinstance(check_bounded(SQUARE, matrix([[1, 1, 1, 1]], 4)), Unknown)
    assert isinstance(check_bounded(HALF, Ray(vector([0, 0]), vector([0, 1]))), Refuted)
    assert isinstance(check_bounded(PLANE, Ray(vector([0, 0]), vector([1, 0]))), Refuted)
    assert "start" in reason(check_bounded(HALF, Ray(vector([1, 0]), vector([0, 1]))))
    for direction in ([0, 0], [1, 0]):
        assert "zero or leaves" in reason(check_bounded(HALF, Ray(vector([0, 0]), vector(direction))))
    with pytest.raises(UsageError):
        check_bounded(SQUARE, BoundingBox(vector([1, 0]), identity(4)))
    with pytest.raises(UsageError):
        check_bounded(HALF, Ray(vector([0, 0]), vector([0])))


def test_support_by_hand() -> None:
    result = check_support(SQUARE, vector([2, -1]), vector([1, 0]), matrix([[2, 0, 0, 1]], 4))
    assert isinstance(result, Proved) and result.certificate.value == 2
    assert "no other point" in reason(check_support(SQUARE, vector([2, -1]), vector([1, 1]), matrix([[2, 0, 0, 1]], 4)))
    assert "not in the set" in reason(check_support(SQUARE, vector([2, -1]), vector([2, 0]), matrix([[2, 0, 0, 1]], 4)))
    flat = check_support(SEGMENT, vector([0, 3]), vector([0, "1/2"]), matrix([[0, 0, 3, 0]], 4))
    assert isinstance(flat, Proved) and flat.certificate.value == fmpq(3, 2)
    whole = check_support(PLANE, vector([0, 0]), vector([5, 5]), zeros(1, 0))
    assert isinstance(whole, Proved) and whole.certificate.value == 0
    assert isinstance(check_support(PLANE, vector([1, 0]), vector([5, 5]), zeros(1, 0)), Unknown)
    with pytest.raises(UsageError):
        check_support(SQUARE, vector([1]), vector([1, 0]), zeros(1, 4))
