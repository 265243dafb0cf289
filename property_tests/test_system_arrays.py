"""System descriptions from Python: exact numbers in, floats refused unless their meaning is said."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from aesop_verified.kernel.errors import ExactnessError, UsageError
from aesop_verified.kernel.rational import from_double, rows_of, vector
from aesop_verified.system import (
    SystemDescription,
    bounds_polytope,
    box_summand,
    exact_doubles,
    from_arrays,
    from_control,
    quadratic_costs,
    region_to_synthesise,
    region_with_law,
    rows_polytope,
    shortest_decimals,
)

INF = float("inf")


def cart(**changes: Any) -> SystemDescription:
    arguments: dict[str, Any] = {
        "name": "cart",
        "dt": "0.5 s",
        "A": [[1, "1/2"], [0, 1]],
        "B": [["1/8"], ["1/2"]],
        "state_set": ([-10, -3], [10, 3]),
        "input_set": ([-2], [2]),
        "tube_gain": [[-1, "-1.5"]],
        "recovery_regions": [region_to_synthesise("pad", ([3, -1], [7, 1]), [5, 0])],
        "initial": [0, 0],
        "costs": quadratic_costs([1, "0.1"], ["0.1"], goal=[8, 0]),
        "horizon": "5 s",
        "consensus_horizon": "2 s",
    }
    return from_arrays(**(arguments | changes))


def test_arrays_become_the_exact_system() -> None:
    d = cart(states=["x", "v"], inputs=["a"], scale={"a": 2}, disturbance=[box_summand("w", ["-1/8"], ["1/8"], map=[[0], [1]])])
    assert rows_of(d.A) == [[1, fmpq(1, 2)], [0, 1]]
    assert (d.horizon, d.consensus_horizon, d.horizon_text) == (10, 4, "11 inputs, 5.5 s")
    assert list(d.state_scale) == [1, 1] and list(d.input_scale) == [2]
    assert d.disturbance_set().support(vector([3, 4])) == fmpq(1, 2)
    assert rows_of(d.costs.terminal) == [[1, 0], [0, fmpq(1, 10)]]
    assert d.costs.recovery_input == fmpq(1, 10_000)


def test_numpy_goes_in_and_out() -> None:
    A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])
    d = cart(A=exact_doubles(A), B=exact_doubles(B), dt="0.1", horizon="1 s", consensus_horizon="0.3 s", state_set=(np.array([-10, -3]), np.array([10, 3])))
    assert d.A[0, 1] == from_double(0.1) != fmpq(1, 10)
    arrays = d.to_numpy()
    np.testing.assert_array_equal(arrays.A, A)
    np.testing.assert_array_equal(arrays.B, B)
    assert arrays.X[0].shape == (4, 2) and arrays.X[1].tolist() == [10.0, 10.0, 3.0, 3.0]
    assert arrays.b.shape == (2,) and arrays.tube_gain is not None and arrays.tube_gain.shape == (1, 2)
    assert cart(tube_gain=None).to_numpy().tube_gain is None


def test_z09_a_fraction_stays_itself_and_a_float_is_refused() -> None:
    for value in (Fraction(2, 7), "2/7", fmpq(2, 7)):
        assert cart(A=[[1, value], [0, 1]]).A[0, 1] == fmpq(2, 7)
    with pytest.raises(ExactnessError, match=r"A\[0\]\[1\].*0\.2857142857142857.*shortest_decimals"):
        cart(A=[[1, 2 / 7], [0, 1]])
    with pytest.raises(ExactnessError, match=r"A\[0\]\[0\]"):
        cart(A=np.eye(2))
    with pytest.raises(ExactnessError, match=r"A\[0\]\[0\].*True"):
        cart(A=[[True, 0], [0, 1]])


def test_shortest_decimals_say_what_a_person_typed() -> None:
    assert shortest_decimals([[0.1, 1e-7]])[0].tolist() == [fmpq(1, 10), fmpq(1, 10**7)]
    assert exact_doubles(0.5)[()] == fmpq(1, 2)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_both_conversions_round_back_to_the_double(value: float) -> None:
    for convert in (exact_doubles, shortest_decimals):
        exact = convert([value])[0]
        assert int(exact.p) / int(exact.q) == value


def test_nan_is_refused_with_its_index() -> None:
    with pytest.raises(ExactnessError, match=r"NaN at index \[1, 0\]"):
        exact_doubles([[0.0, 1.0], [np.nan, 2.0]])
    with pytest.raises(ExactnessError, match=r"B\[1\]\[0\].*nan"):
        cart(B=[[0], [float("nan")]])


def test_q18_infinite_bounds() -> None:
    """x <= inf is dropped, x <= -inf is infeasible, x <= NaN is rejected; each with |x| <= 1."""
    unit = bounds_polytope([-1], [1])
    free = unit.intersection(rows_polytope([[1]], [INF], n=1))
    assert free.same_rows(unit)
    nothing = unit.intersection(rows_polytope([[1]], [-INF], n=1))
    assert nothing.rows == 3 and not any(nothing.contains(vector([x])) for x in (-1, 0, 1, -(10**30)))
    with pytest.raises(ExactnessError, match=r"rows\.h\[0\].*nan"):
        rows_polytope([[1]], [float("nan")], n=1)


def test_q18_infinite_bounds_of_a_box() -> None:
    half = bounds_polytope([-INF, 0], [3, INF])
    assert rows_of(half.G) == [[1, 0], [0, -1]] and half.h.entries() == [3, 0]
    assert bounds_polytope([-INF], [INF]).rows == 0
    assert not bounds_polytope([INF], [INF]).contains(vector([10**100]))
    assert not bounds_polytope([-INF], [-INF]).contains(vector([-(10**100)]))
    with pytest.raises(ExactnessError, match=r"bounds\.lower\[1\].*nan"):
        bounds_polytope([0, np.nan], [1, 1])
    with pytest.raises(ExactnessError, match=r"bounds\.upper\[0\].*0\.1"):
        bounds_polytope([0], [0.1])
    with pytest.raises(ExactnessError, match=r"A\[0\]\[0\].*finite"):
        cart(A=[[INF, 0], [0, 1]])
    with pytest.raises(UsageError, match=r"pad\.inside\.upper\[0\]"):
        region_to_synthesise("pad", ([0, 0], [-INF, 1]), [0, 0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": [[1, 0]]}, "A has shape 1 x 2, expected 2 x 2"),
        ({"A": [[1, 0], [0]]}, r"A\[1\]: found 1 entries, expected 2"),
        ({"A": [1, 0]}, "A: found a flat list"),
        ({"b": [0]}, "b has shape 1 x 1, expected 2 x 1"),
        ({"dt": 0}, "dt is 0"),
        ({"dt": "1 m"}, "'m'"),
        ({"horizon": "5.2 s"}, "10.4 steps of 0.5 s"),
        ({"horizon": 3, "consensus_horizon": 3}, "expected 0 <= K < T"),
        ({"tube_gain": [[1, 2, 3]]}, "tube gain has shape 1 x 3, expected 1 x 2"),
        ({"states": ["x", "x"]}, "distinct"),
        ({"states": ["X", "v"]}, "'X'"),
        ({"states": ["no", "v"]}, "truth value"),
        ({"recovery_regions": []}, "at least one"),
        ({"recovery_regions": [region_with_law("nominal", bounds_polytope([0, 0], [1, 1]), [0])]}, "meaning of its own"),
        ({"fallback_order": ["ship"]}, "fallback order"),
        ({"scale": {"x9": 1}}, "x9"),
        ({"scale": {"x1": 0}}, "positive"),
        ({"costs": quadratic_costs([1, -1], [1])}, "convex"),
        ({"quantum": -1}, "at least 0"),
        ({"initial": ([-INF, 0], [INF, 0])}, "no bounds on component 0"),
        ({"estimate_error": [box_summand("e", [1, 1], [2, 2])]}, "does not contain 0"),
        ({"disturbance": [box_summand("w", [1, 1], [0, 0])]}, "expected lower <= upper"),
        ({"disturbance": [box_summand("w", [0, 0], [0, 0])] * 2}, "distinct names"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cart(**changes)


def test_a_complete_description_builds_the_kernel_system() -> None:
    tank = cart(
        A=[[1]], B=[[1]], state_set=([0], [10]), input_set=([-1], [1]), tube_gain=[["-1/2"]], initial=([4], [6]), quantum=0,
        costs=quadratic_costs([1], [1]), recovery_regions=[region_with_law("low", bounds_polytope([1], [3]), [1]), region_to_synthesise("high", ([7], [9]), [8])],
    )  # fmt: skip
    high = region_with_law("high", bounds_polytope([7], [9]), [4])
    with pytest.raises(UsageError, match=r"\['high'\] are to be synthesised"):
        tank.build()
    synthesised = cart_set(high, tank)
    system = tank.build(recovery_sets=[synthesised])
    assert system.names == ("low", "high") and system.recovery("low").law(vector([2])) == vector([0])
    assert tank.completed(recovery_sets=[synthesised]).to_synthesise == ()
    with pytest.raises(UsageError, match="another one"):
        tank.build(tube_gain=fmpq_mat(1, 1, [1]))
    with pytest.raises(UsageError, match="expected one of"):
        tank.build(recovery_sets=[synthesised, synthesised])
    assert [v.entries() for v in tank.initial.vertices()] == [[4], [6]] and tank.initial.centre() == vector([5])


def cart_set(region: Any, d: SystemDescription) -> Any:
    return from_arrays(
        name="other", dt=1, A=[[1]], B=[[1]], state_set=([0], [10]), input_set=([-1], [1]), tube_gain=d.tube_gain, initial=[5],
        costs=d.costs, recovery_regions=[region], horizon=2, consensus_horizon=0,
    ).given_recovery_sets()[0]  # fmt: skip


def test_from_control_flips_the_sign_of_the_gain() -> None:
    plant = SimpleNamespace(A=np.array([[1, 0.5], [0, 1]]), B=np.array([[0.125], [0.5]]), dt=0.5, state_labels=["x[0]", "x[1]"], input_labels=["a"])
    d = from_control(plant, dt="0.5", K=np.array([[1.0, 1.5]]), **cart_arguments())
    assert d.tube_gain is not None and rows_of(d.tube_gain) == [[-1, fmpq(-3, 2)]]
    assert d.state_names == ("x1", "x2") and d.input_names == ("a",)
    assert d.A[0, 1] == fmpq(1, 2) and d.B[0, 0] == fmpq(1, 8)


def test_from_control_reads_a_real_state_space() -> None:
    control = pytest.importorskip("control")
    plant = control.ss([[1, 0.1], [0, 1]], [[0.005], [0.1]], np.eye(2), 0, 0.1, states=["x", "v"], inputs=["a"])
    K, _, poles = control.dlqr(plant, np.eye(2), np.eye(1))
    d = from_control(plant, dt="0.1", K=K, numbers=shortest_decimals, **cart_arguments())
    assert d.state_names == ("x", "v") and d.A[0, 1] == fmpq(1, 10)
    arrays = d.to_numpy()
    assert arrays.tube_gain is not None
    np.testing.assert_allclose(sorted(np.linalg.eigvals(arrays.A + arrays.B @ arrays.tube_gain)), sorted(poles), rtol=1e-9)
    with pytest.raises(UsageError, match="continuous"):
        from_control(control.ss([[0]], [[1]], [[1]], 0), dt="0.1", **cart_arguments())


def cart_arguments() -> dict[str, Any]:
    return {
        "name": "cart", "state_set": ([-10, -3], [10, 3]), "input_set": ([-2], [2]), "initial": [0, 0], "horizon": 10, "consensus_horizon": 4,
        "recovery_regions": [region_to_synthesise("pad", ([3, -1], [7, 1]), [5, 0])], "costs": quadratic_costs([1, 1], [1]),
    }  # fmt: skip


@pytest.mark.parametrize(("dt", "message"), [(0, "continuous.*c2d"), (True, "without a time step"), (None, "without a time step"), (0.1, "expected the time step 1/2 s")])
def test_from_control_refuses_another_time_step(dt: Any, message: str) -> None:
    plant = SimpleNamespace(A=np.eye(2), B=np.ones((2, 1)), dt=dt)
    with pytest.raises(UsageError, match=message):
        from_control(plant, dt="0.5", **cart_arguments())
