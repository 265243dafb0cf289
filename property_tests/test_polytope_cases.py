"""Public reports of faults in polytope tools (P..), each with the right answer: exact here, with evidence."""

from __future__ import annotations

import math

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.inclusion import InclusionStatement, WitnessPoint, check_empty, check_inclusion
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import matrix, vector
from aesop_verified.kernel.verdict import Proved, Refuted
from aesop_verified.recovery.find import (
    find_bounded,
    find_dimension,
    find_empty,
    find_subset,
    find_support,
)
from aesop_verified.recovery.generators import area, generators, hull_vertices
from aesop_verified.recovery.lp import Infeasible, Optimal, Unbounded, maximise
from aesop_verified.recovery.pontryagin import Kind, pontryagin_difference, same_set
from aesop_verified.recovery.projection import minkowski_sum, project
from aesop_verified.recovery.redundancy import remove_redundant


def dimension(P: Polytope) -> int:
    result = find_dimension(P)
    assert isinstance(result, Proved)
    return result.certificate.dimension


def is_empty(P: Polytope) -> bool:
    result = find_empty(P)
    assert isinstance(result, (Proved, Refuted))
    return isinstance(result, Proved)


def is_subset(inner: Polytope, outer: Polytope) -> bool:
    result = find_subset(inner, outer)
    assert isinstance(result, (Proved, Refuted))
    if isinstance(result, Refuted):
        assert inner.contains(result.witness.point)
        assert not outer.contains(result.witness.point)
    return isinstance(result, Proved)


def row_set(P: Polytope) -> set[tuple[str, ...]]:
    return {tuple(str(P.G[i, j]) for j in range(P.dimension_of_space)) + (str(P.h[i, 0]),) for i in range(P.rows)}


def points(*rows: tuple[int | fmpq, ...]) -> set[tuple[fmpq, ...]]:
    return {tuple(fmpq(v) for v in row) for row in rows}


SEGMENT = Polytope.of([[1, 0], [-1, 0], [0, 1], [0, -1]], ["1/2", "-1/2", 1, 0], n=2)


def test_P01_projection_is_minimal() -> None:
    P = Polytope.of([[0, 1], [0, -1], [1, -1], [-1, 1]], [1, 1, 1, 1], n=2)
    found = project(P, [0])
    assert found.polytope.rows == 2
    assert same_set(found.polytope, Polytope.box([-2], [2]))
    assert remove_redundant(found.polytope).polytope.rows == 2


def test_P01_sum_of_cubes_through_a_lift_has_six_rows() -> None:
    cube = Polytope.box([-1] * 3, [1] * 3)
    found = minkowski_sum(cube, cube).polytope
    assert found.rows == 6
    assert same_set(found, Polytope.box([-2] * 3, [2] * 3))


def test_P03_a_flat_set_is_not_empty() -> None:
    assert not is_empty(SEGMENT)
    assert dimension(SEGMENT) == 1
    assert remove_redundant(SEGMENT).kept == (0, 1, 2, 3)


def test_P03_twin_a_point_and_an_empty_set() -> None:
    assert dimension(Polytope.box([3, 4], [3, 4])) == 0
    assert dimension(Polytope.box([3, 4], [2, 4])) == -1


def test_P04_vertices_and_rays_of_an_unbounded_set() -> None:
    C = Polytope.of([[-1, 0], [0, -1], [1, -1]], [0, 0, 1], n=2)
    found = generators(C)
    assert set(found.vertices) == points((0, 0), (1, 0))
    assert found.unbounded
    assert set(found.rays) == points((0, 1), (1, 1))
    assert isinstance(find_bounded(C), Refuted)


def test_P06_membership_tests_every_row() -> None:
    box = Polytope.box([0, 0], [1, 1])
    assert not box.contains(vector(["1/2", "3/2"]))
    assert [box.contains(vector(p)) for p in (["1/2", "1/2"], ["3/2", "1/2"], ["1/2", "3/2"])] == [True, False, False]


def test_P07_intersection_leaves_its_operand_alone() -> None:
    # The segment from (3, 12/5) to (6, 24/5): y = 4/5 x, 3 <= x <= 6.
    segment = Polytope.of([["4/5", -1], ["-4/5", 1], [1, 0], [-1, 0]], [0, 0, 6, -3], n=2)
    before = row_set(segment)
    met = segment.intersection(Polytope.of([[1, 0], [-1, 0]], ["297/100", "-297/100"], n=2))
    assert is_empty(met)
    assert row_set(segment) == before and segment.rows == 4
    near = vector(["297/100", "297/125"])
    assert not met.contains(near) and not segment.contains(near)


def test_P09_disjoint_sets_have_an_empty_intersection_with_a_certificate() -> None:
    met = Polytope.of([[1, 0], [0, 1]], [0, 0], n=2).intersection(Polytope.of([[-1, 0], [0, -1]], ["-1/4", "-1/4"], n=2))
    result = find_empty(met)
    assert isinstance(result, Proved)
    assert isinstance(check_empty(met, result.certificate.multipliers), Proved)
    assert isinstance(check_empty(met, matrix([[1, 0, 1, 0]], 4)), Proved)
    assert dimension(met) == -1


@pytest.mark.parametrize("gap", [fmpq(1, 2**52), fmpq(5, 10**8)])
def test_P10_a_gap_below_any_tolerance_is_a_gap(gap: fmpq) -> None:
    assert is_empty(Polytope.of([[1], [-1]], [1, -(1 + gap)], n=1))
    assert not is_empty(Polytope.of([[1], [-1]], [1, -1], n=1))


def test_P12_containment_of_sets_without_vertices() -> None:
    P, Q = Polytope.of([[1, 0]], [0], n=2), Polytope.of([[1, 0]], [-1], n=2)
    assert is_subset(Q, P)
    assert not is_subset(P, Q)
    origin = check_inclusion(InclusionStatement.of(P, Q), WitnessPoint(vector([0, 0])))
    assert isinstance(origin, Refuted) and origin.witness.amount == 1


def test_P13_projection_of_a_flat_set() -> None:
    P = Polytope.box([0, 0, 0], [1, 0, 0])
    found = project(P, [0, 1]).polytope
    assert same_set(found, Polytope.box([0, 0], [1, 0]))
    assert dimension(found) == 1


def test_P15_sum_with_parallel_generators() -> None:
    cube = Polytope.box([-1] * 3, [1] * 3)
    found = minkowski_sum(cube, cube).polytope
    doubled = Polytope(cube.G, cube.h * 2)
    assert is_subset(found, doubled) and is_subset(doubled, found)


def test_P16_one_direction_at_two_scales() -> None:
    P = Polytope.of([["12/5", 0], [0, "1/10"], ["-12/5", 0], [0, "-1/10"], [0, -1]], ["6/25", "17/100", 0, "7/100", 0], n=2)
    assert remove_redundant(P).kept == (0, 1, 2, 4)
    assert set(generators(P).vertices) == points((0, 0), (0, fmpq(17, 10)), (fmpq(1, 10), 0), (fmpq(1, 10), fmpq(17, 10)))


def test_P18_redundant_rows_do_not_change_the_area() -> None:
    P = Polytope.of([[-1, 0], [0, -1], [1, 0], [0, 1], [-1, -4], [3, 2]], [0, 0, 1, 1, 0, 3], n=2)
    assert area(P) == fmpq(2, 3)
    assert area(remove_redundant(P).polytope) == fmpq(2, 3)
    assert set(generators(P).vertices) == points((0, 0), (0, 1), (fmpq(1, 3), 1), (1, 0))


def test_P19_no_rows_and_contradicting_rows_are_opposites() -> None:
    whole, nothing = Polytope.whole_space(2), Polytope.of([[1, 0], [-1, 0]], [0, -1], n=2)
    assert not is_empty(whole) and whole.contains(vector([10**9, -7]))
    assert is_empty(nothing) and not nothing.contains(vector([0, 0]))
    assert remove_redundant(whole).polytope.rows == 0
    assert is_empty(remove_redundant(nothing).polytope)


def test_P21_an_empty_set_is_bounded() -> None:
    P = Polytope.of([[-1, 0, 0], [1, 0, 0]], [-1, 0], n=3)
    assert is_empty(P)
    assert isinstance(find_bounded(P), Proved)
    assert isinstance(find_bounded(Polytope.of([[-1, 0, 0], [1, 0, 0]], [0, 1], n=3)), Refuted)


def test_P22_no_rows_is_a_set_and_no_dimension_is_not() -> None:
    whole = Polytope(matrix([], 2), vector([]))
    assert remove_redundant(whole).polytope.rows == 0
    assert dimension(whole) == 2
    with pytest.raises(UsageError, match="dimension of at least 1"):
        Polytope(matrix([], 0), vector([]))


def test_P24_containment_in_a_flat_set() -> None:
    inner, outer = Polytope.box(["-1/2", "-1/2"], ["1/2", "1/2"]), Polytope.box([-1, 0], [1, 0])
    assert not is_subset(inner, outer)
    named = check_inclusion(InclusionStatement.of(inner, outer), WitnessPoint(vector([0, "1/2"])))
    assert isinstance(named, Refuted) and named.witness.amount == fmpq(1, 2)
    assert is_subset(Polytope.box(["-1/2", 0], ["1/2", 0]), outer)


def test_P25_equalities_count_in_an_intersection() -> None:
    unit = Polytope.box([0, 0], [1, 1])
    assert is_empty(unit.intersection(Polytope.box([5, 0], [5, 1])))
    assert not is_empty(unit.intersection(Polytope.box([1, 0], [1, 1])))


def test_P27_small_and_flat_sets_are_not_always_contained() -> None:
    unit = Polytope.box([0, 0], [1, 1])
    assert not is_subset(Polytope.box([5] * 4, ["5.01"] * 4), Polytope.box([0] * 4, [1] * 4))
    assert not is_subset(Polytope.box([5, 0], [5, 1]), unit)
    assert not is_subset(Polytope.box([0, 0], ["1.00000001", 1]), unit)


def test_P28_near_parallel_rows_are_both_kept() -> None:
    t = 3e-4
    s, c = (fmpq(*math.floor(v * 2**60).as_integer_ratio()) / 2**60 for v in (math.sin(t), math.cos(t)))
    P = Polytope.of([[0, 1], [s, c], [0, -1], [1, 0], [-1, 0]], [1, 1, 1, 1000, 1000], n=2)
    outside = vector([-999, "6/5"])
    reduced = remove_redundant(P)
    assert not P.contains(outside) and not reduced.polytope.contains(outside)
    assert {0, 1} <= set(reduced.kept)


def test_P30_kept_rows_are_identical() -> None:
    P = Polytope.of([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]], ["0.3", "0.7", "0.3", "0.1", "0.5"], n=2)
    found = remove_redundant(P)
    assert found.kept == (0, 1, 2, 3, 4)
    assert found.polytope.same_rows(P)
    assert found.polytope.h[0, 0] == fmpq(3, 10)


def test_P31_an_empty_difference_says_so() -> None:
    found = pontryagin_difference(Polytope.box([-5, -5], [5, 5]), Polytope.box([-10, -10], [10, 10]))
    assert found.kind is Kind.EMPTY
    assert dimension(found.polytope) == -1


def test_P33_difference_with_edge_operands() -> None:
    P = Polytope.box([0, 0], [1, 1])
    empty = pontryagin_difference(P, Polytope.box([1, 1], [0, 0]))
    assert empty.kind is Kind.WHOLE_SPACE and empty.polytope.rows == 0
    half_plane = pontryagin_difference(P, Polytope.of([[1, 0]], [0], n=2))
    assert half_plane.kind is Kind.EMPTY and is_empty(half_plane.polytope)
    shifted = pontryagin_difference(P, Polytope.box([2, 0], [2, 0]))
    assert shifted.kind is Kind.ORDINARY and same_set(shifted.polytope, Polytope.box([-2, 0], [-1, 1]))


def test_P34_a_coplanar_mean_is_no_vertex() -> None:
    points = [[fmpq(v) for v in p] for p in ((1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1), (0, 0, 1), (0, 0, 0))]
    found = hull_vertices(points)
    assert len(found) == 5 and (fmpq(0), fmpq(0), fmpq(1)) not in found


@pytest.mark.parametrize("level", [0, 1])
def test_P36_difference_of_flat_sets(level: int) -> None:
    P = Polytope.box([0, level], [1, level])
    found = pontryagin_difference(P, Polytope.box(["-1/10", 0], ["1/10", 0]))
    assert same_set(found.polytope, Polytope.box(["1/10", level], ["9/10", level]))
    assert dimension(found.polytope) == 1


def test_P36_the_rule_for_an_equality() -> None:
    """h_Q(a) + h_Q(-a) = 0 is needed, and the new offset is b - h_Q(a): Q at height 2 moves the result, a thick Q empties it."""
    P = Polytope.box([0, 1], [1, 1])
    moved = pontryagin_difference(P, Polytope.box(["-1/10", 2], ["1/10", 2]))
    assert moved.kind is Kind.ORDINARY and same_set(moved.polytope, Polytope.box(["1/10", -1], ["9/10", -1]))
    thick = pontryagin_difference(P, Polytope.box(["-1/10", 0], ["1/10", "1/1000000"]))
    assert thick.kind is Kind.EMPTY and is_empty(thick.polytope)


def test_P37_operations_leave_their_operands_alone() -> None:
    B = Polytope.of([[1, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], [1, 2, 1, 1, 1], n=2)
    kept = Polytope(B.G + B.G * 0, B.h + B.h * 0)
    small = Polytope.box(["-1/10", "-1/10"], ["1/10", "1/10"])
    pontryagin_difference(B, small)
    remove_redundant(B)
    minkowski_sum(B, small)
    assert B.rows == 5 and B.same_rows(kept)


small = st.integers(-3, 3)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_linear_program_has_evidence_that_the_kernel_accepts(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 3))
    rows = data.draw(st.lists(st.lists(small, min_size=n, max_size=n), min_size=1, max_size=7))
    sides = data.draw(st.lists(small, min_size=len(rows), max_size=len(rows)))
    c = vector(data.draw(st.lists(small, min_size=n, max_size=n)))
    P = Polytope.of(rows, sides, n=n)
    answer = maximise(c, P)
    if isinstance(answer, Infeasible):
        assert isinstance(check_empty(P, answer.multipliers), Proved)
    elif isinstance(answer, Unbounded):
        assert P.contains(answer.point) and all(v <= 0 for v in (P.G * answer.direction).entries())
        assert (c.transpose() * answer.direction)[0, 0] > 0
    else:
        assert isinstance(answer, Optimal)
        support = find_support(P, c)
        assert isinstance(support, Proved) and support.certificate.value == answer.value
    assert isinstance(find_dimension(P), Proved)
    assert isinstance(find_bounded(P), (Proved, Refuted))
    reduced = remove_redundant(P).polytope
    assert same_set(P, reduced)
    assert remove_redundant(reduced).polytope.rows == reduced.rows
    if not isinstance(answer, Infeasible):
        assert not isinstance(check_empty(P, WitnessPoint(answer.point)), Proved)
