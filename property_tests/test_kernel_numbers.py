"""Exact numbers, the quantum grid, verdicts: hand values."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import pytest
from flint import fmpq, fmpq_mat, fmpz
from hypothesis import example, given
from hypothesis import strategies as st

from aesop_verified.kernel.errors import AesopError, ExactnessError, UnsoundStep, UsageError
from aesop_verified.kernel.inclusion import (
    FarkasRows,
    InclusionStatement,
    WitnessPoint,
    check_inclusion,
)
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.model import grid_shrunk, quantised
from aesop_verified.kernel.plan import CertifiedPlan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import (
    column,
    exact,
    from_columns,
    from_double,
    identity,
    matrix,
    require_shape,
    rows_of,
    stacked,
    stacked_columns,
    text,
    vector,
    zeros,
)
from aesop_verified.kernel.verdict import Proved, Refuted, Unknown, Verdict
from aesop_verified.testing.textbook import fork_plan, integrator_fork

_GRID = fmpq(1, 2**30)


@pytest.mark.parametrize(
    ("given_value", "p", "q"),
    [
        (3, 3, 1), (-2, -2, 1), (0, 0, 1), (fmpz(7), 7, 1), (Fraction(6, 4), 3, 2), (fmpq(2, 7), 2, 7),
        ("2/7", 2, 7), ("-4/6", -2, 3), ("+4/6", 2, 3), ("0.1", 1, 10), ("-0.125", -1, 8), ("+1.50", 3, 2), ("-0", 0, 1),
        ("007", 7, 1), ("1e-3", 1, 1000), ("1E3", 1000, 1), ("1.5e+2", 150, 1), ("-2.5e1", -25, 1), ("12.34e-1", 617, 500),
    ],
)  # fmt: skip
def test_exact_takes_what_denotes_a_rational(given_value: object, p: int, q: int) -> None:
    assert exact(given_value) == fmpq(p, q)  # type: ignore[arg-type]


def test_Z09_a_fraction_stays_a_fraction() -> None:
    assert text(exact("2/7")) == "2/7" and text(exact("-6/3")) == "-2" and text(exact("1/2")) == "1/2" and exact(Fraction(2, 7)) * 7 == 2
    with pytest.raises(ExactnessError, match="from_double"):
        exact(2 / 7)  # type: ignore[arg-type]
    assert from_double(2 / 7) == fmpq(2573485501354569, 9007199254740992) != fmpq(2, 7)


@pytest.mark.parametrize("bad", [0.5, math.nan, True, None, Decimal("0.1"), [1], b"1"])
def test_exact_refuses_other_types(bad: object) -> None:
    with pytest.raises(ExactnessError):
        exact(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "bad", ["", " 1", "1 ", "1.", ".5", "nan", "inf", "-inf", "1/0", "0/0", "1/-2", "1/2/3", "0x10", "1_000", "1e", "e5", "1e12345", "--1", "٣", "1,5", "9" * 20_001],
)  # fmt: skip
def test_exact_refuses_other_texts(bad: str) -> None:
    with pytest.raises(ExactnessError):
        exact(bad)


def test_long_numbers_are_read_whole() -> None:
    """Python's int() stops at 4,300 digits; a certificate may hold longer numbers."""
    assert exact("7" * 5000) == fmpq((10**5000 - 1) // 9 * 7)
    assert exact("1/" + "3" * 5000) * fmpq((10**5000 - 1) // 3) == 1
    assert exact("0." + "0" * 5000 + "1") == fmpq(1, 10**5001)
    assert exact("9" * 20_000) + 1 == fmpq(10) ** 20_000
    assert len(text(exact("-" + "7" * 5000 + "/3"))) == 5003


@pytest.mark.parametrize("value", [0.1, -0.0, 5e-324, 1.7976931348623157e308, 2.0**-30])
def test_from_double_is_the_doubles_own_value(value: float) -> None:
    r = from_double(value)
    assert Fraction(int(r.p), int(r.q)) == Fraction(value)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "0.1", None])
def test_from_double_refuses_what_is_no_finite_double(bad: object) -> None:
    with pytest.raises(ExactnessError, match="finite"):
        from_double(bad)  # type: ignore[arg-type]


@given(st.fractions())
def test_text_and_exact_are_inverse(value: Fraction) -> None:
    assert exact(text(exact(value))) == exact(value)
    assert text(exact(value)) == str(value)


def test_matrices_by_hand() -> None:
    m = matrix([[1, "1/2"], [3, -4]], 2)
    assert m == fmpq_mat(2, 2, [1, fmpq(1, 2), 3, -4])
    assert rows_of(m) == [[1, fmpq(1, 2)], [3, -4]] and column(m, 1) == vector(["1/2", -4])
    assert from_columns([vector([1, 3]), vector(["1/2", -4])], 2) == m
    assert stacked(m) == m and stacked_columns(m) == m
    assert stacked(m, identity(2)) == matrix([[1, "1/2"], [3, -4], [1, 0], [0, 1]], 2)
    assert stacked_columns(m, vector([5, 6])) == matrix([[1, "1/2", 5], [3, -4, 6]], 3)
    assert zeros(2, 3) == fmpq_mat(2, 3) and zeros(2) == vector([0, 0])
    empty = matrix([], 3)
    assert (empty.nrows(), empty.ncols()) == (0, 3) and rows_of(empty) == [] and stacked(empty, empty).nrows() == 0
    with pytest.raises(UsageError, match="row 1 has 1 entries, expected 2"):
        matrix([[1, 2], [3]], 2)


@pytest.mark.parametrize(("rows", "columns"), [(2, 1), (1, 2), (2, 2)])
def test_require_shape_names_the_matrix(rows: int, columns: int) -> None:
    require_shape("x", zeros(rows, columns), rows, columns)
    with pytest.raises(UsageError, match=f"x has shape {rows} x {columns}, expected 3 x {columns}"):
        require_shape("x", zeros(rows, columns), 3, columns)
    with pytest.raises(UsageError, match=f"expected {rows} x 3"):
        require_shape("x", zeros(rows, columns), rows, 3)
    with pytest.raises(ExactnessError, match="x is a list"):
        require_shape("x", [[1.0]], 1, 1)  # type: ignore[arg-type]


# --- the quantum grid -------------------------------------------------------------------------------------------


def test_a_bound_of_one_tenth_becomes_the_largest_grid_number_below() -> None:
    shrunk = grid_shrunk(Polytope.box(["-1/10"], ["1/10"]), _GRID)
    assert shrunk.h == vector([fmpq(107374182, 2**30)] * 2)  # 2^30 / 10 = 107374182.4
    assert not Polytope.box([0], ["1/10"]).contains(vector([from_double(0.1)]))
    assert shrunk.contains(quantised(vector([from_double(0.1)]), _GRID))


def test_grid_shrunk_by_hand() -> None:
    U = Polytope.of([[2, 0], [-3, 0], [0, 1], [1, 1], [0, 0]], [3, 1, "1/2", 1, 7], n=2)
    shrunk = grid_shrunk(U, fmpq(1, 2))
    assert shrunk.G == matrix([[1, 0], [-1, 0], [0, 1], [1, 1], [0, 0]], 2)
    # 3/2 is on the grid; 1/3 becomes 0; 1/2 is on the grid; 1 - (1/4) (1 + 1); a row without entries stays.
    assert shrunk.h == vector(["3/2", 0, "1/2", "1/2", 7])
    assert grid_shrunk(U, fmpq(0)).same_rows(U)
    assert grid_shrunk(Polytope.whole_space(2), _GRID).rows == 0


def test_a_flat_input_set_off_the_grid_has_no_grid_inputs() -> None:
    off = grid_shrunk(Polytope.box(["1/3"], ["1/3"]), fmpq(1, 2))
    assert off.h == vector([0, "-1/2"]) and not off.contains(vector([0])) and not off.contains(vector(["1/3"]))
    on = grid_shrunk(Polytope.box(["1/2"], ["1/2"]), fmpq(1, 2))
    assert on.contains(vector(["1/2"]))


@pytest.mark.parametrize(
    ("value", "rounded"),
    [("1/4", "1/2"), ("-1/4", 0), ("1/5", 0), ("-1/5", 0), ("3/4", 1), ("-3/4", "-1/2"), (1, 1), ("7/8", 1), ("-7/8", -1)],
)
def test_quantised_to_the_nearest_halves_up(value: str | int, rounded: str | int) -> None:
    assert quantised(vector([value]), fmpq(1, 2)) == vector([rounded])
    assert quantised(vector([value]), fmpq(0)) == vector([value])


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.fractions(-3, 3)), max_size=6),
    st.tuples(st.fractions(-3, 3), st.fractions(-3, 3)),
    st.sampled_from([fmpq(1, 2), fmpq(1, 3), _GRID]),
)
@example([(1, 1, Fraction(1))], (Fraction(1, 4), Fraction(1, 4)), fmpq(1, 2))
def test_rounding_an_input_of_the_shrunk_set_stays_in_U(
    rows: list[tuple[int, int, Fraction]], u: tuple[Fraction, Fraction], quantum: fmpq
) -> None:
    U = Polytope.of([[a, b] for a, b, _ in rows], [h for _, _, h in rows], n=2)
    point = vector(u)
    rounded = quantised(point, quantum)
    assert all(abs(d) <= quantum / 2 for d in (rounded - point).entries())
    assert all((v / quantum).q == 1 for v in rounded.entries())
    if grid_shrunk(U, quantum).contains(point):
        assert U.contains(rounded) and U.contains(point)
    if all((v / quantum).q == 1 for v in point.entries()) and all((a == 0) != (b == 0) for a, b, _ in rows):
        assert grid_shrunk(U, quantum).contains(point) == U.contains(point)  # nothing of the grid is lost to box rows


# --- verdicts ---------------------------------------------------------------------------------------------------


def _results() -> list[object]:
    s = InclusionStatement.of(Polytope.box([0], [1]), Polytope.box([0], [2]))
    narrow = InclusionStatement.of(Polytope.box([0], [2]), Polytope.box([0], [1]))
    return [
        check_inclusion(s, FarkasRows(identity(2))),
        check_inclusion(narrow, WitnessPoint(vector([2]))),
        check_inclusion(narrow, FarkasRows(identity(2))),
    ]


def test_three_verdicts_and_no_truth_value() -> None:
    results = _results()
    assert [type(r) for r in results] == [Proved, Refuted, Unknown]
    assert [r.verdict for r in results] == [Verdict.PROVED, Verdict.REFUTED, Verdict.UNKNOWN]  # type: ignore[attr-defined]
    for r in results:
        for ask in (bool, lambda v: v and 1, lambda v: not v, lambda v: [1] if v else []):
            with pytest.raises(TypeError, match=r"isinstance\(result, Proved\)"):
                ask(r)  # type: ignore[no-untyped-call]


def test_Z01_no_result_counts_as_success_by_itself() -> None:
    with pytest.raises(TypeError):
        assert _results()[2]


def test_proved_cannot_be_forged() -> None:
    real = _results()[0]
    assert isinstance(real, Proved)
    with pytest.raises(UnsoundStep, match="only be made by a kernel check"):
        Proved("a claim")
    with pytest.raises(UnsoundStep):
        Proved[str]("a claim")
    for forge in (copy.copy, copy.deepcopy, pickle.dumps, lambda r: dataclasses.replace(r, certificate="other")):
        with pytest.raises(UnsoundStep):
            forge(real)  # type: ignore[no-untyped-call]
    with pytest.raises(UnsoundStep, match="subclass"):
        type("Forged", (Proved,), {"__post_init__": lambda self: None})
    with pytest.raises(dataclasses.FrozenInstanceError):
        real.certificate = "other"  # type: ignore[misc]
    assert issubclass(UnsoundStep, AesopError) and not issubclass(UnsoundStep, UsageError)


def test_what_the_loop_runs_on_cannot_be_forged() -> None:
    assured = integrator_fork()
    plan = fork_plan(assured)
    with pytest.raises(UnsoundStep, match="AssuredSystem"):
        AssuredSystem(assured.system, assured.certificates)
    with pytest.raises(UnsoundStep, match="CertifiedPlan"):
        CertifiedPlan(plan.plan, plan.state, plan.next_state)
    with pytest.raises(UnsoundStep):
        dataclasses.replace(plan, state=vector([9]))
