"""The rigid-body quadrotor against closed forms and a second implementation; rotations and flatness."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from aesop_verified.kernel.errors import UsageError
from aesop_verified.plants import (
    InnerLoopSettings,
    Motion,
    QuadrotorParameters,
    RigidBody,
    Wind,
    Wrench,
)
from aesop_verified.plants.flatness import flat_attitude
from aesop_verified.plants.vectors import from_roll_pitch_yaw, normalised, quaternion, roll_pitch_yaw, rotation

EXAMPLES = Path(__file__).parent.parent / "examples"
LEVEL = (1.0, 0.0, 0.0, 0.0)
ZERO = (0.0, 0.0, 0.0)


def vectors(most: float) -> st.SearchStrategy[tuple[float, float, float]]:
    one = st.floats(-most, most, allow_nan=False)
    return st.tuples(one, one, one)


# The body against closed forms.


def test_hover_is_an_equilibrium() -> None:
    body = RigidBody()
    for _ in range(100):
        body.advance(Wrench(9.81, ZERO), 0.01)
    assert body.motion == Motion(ZERO, ZERO, LEVEL, ZERO)
    assert body.saturated == 0 and body.time == pytest.approx(1.0)


@given(velocity=vectors(5.0), seconds=st.floats(0.01, 1.0))
@settings(max_examples=20)
def test_without_thrust_it_falls_on_a_parabola(velocity: tuple[float, float, float], seconds: float) -> None:
    body = RigidBody()
    body.place(Motion(ZERO, velocity, LEVEL, ZERO), 0.0)
    body.advance(Wrench(0.0, ZERO), seconds)
    expected = [velocity[0] * seconds, velocity[1] * seconds, velocity[2] * seconds - 9.81 * seconds**2 / 2]
    assert body.motion.position == pytest.approx(expected, abs=1e-12)


@given(rates=vectors(6.0), inertia=st.tuples(*[st.floats(0.005, 0.02)] * 3))
@example(rates=(0.01, 5.0, 0.01), inertia=(0.008, 0.01, 0.014))  # about the middle axis, which is unstable
@settings(max_examples=30)
def test_without_torque_angular_momentum_and_energy_stay(rates: tuple[float, float, float], inertia: tuple[float, float, float]) -> None:
    body = RigidBody(QuadrotorParameters(inertia=inertia))
    body.place(Motion(ZERO, ZERO, LEVEL, rates), 0.0)
    J = np.diag(inertia)

    def invariants() -> list[float]:
        w = np.array(body.motion.rates)
        return [*(np.array(body.motion.rotation) @ J @ w), w @ J @ w]

    before = invariants()
    body.advance(Wrench(0.0, ZERO), 0.5)
    assert invariants() == pytest.approx(before, abs=1e-8)


def test_thrust_lags_by_its_time_constant() -> None:
    body = RigidBody(QuadrotorParameters(motor_lag=0.02))
    body.place(Motion(ZERO, ZERO, LEVEL, ZERO), 5.0)
    body.advance(Wrench(10.0, (0.5, 0.0, 0.0)), 0.02)
    assert body.wrench.thrust == pytest.approx(10 - 5 * math.exp(-1), abs=1e-5)
    assert body.wrench.torque[0] == pytest.approx(0.5 * (1 - math.exp(-1)), abs=1e-6)


def test_commands_are_cut_to_the_limits_and_counted() -> None:
    body = RigidBody()
    body.advance(Wrench(99.0, (0.0, -7.0, 0.0)), 0.002)
    assert body.wrench == Wrench(25.0, (0.0, -1.0, 0.0))
    assert body.saturated == 1


def test_drag_brings_it_to_the_speed_of_the_wind() -> None:
    body = RigidBody(QuadrotorParameters(drag=(2.0, 2.0, 2.0)), wind=Wind((3.0, -1.0, 0.5)))
    body.advance(Wrench(9.81, ZERO), 12.0)
    assert body.motion.velocity == pytest.approx((3.0, -1.0, 0.5), abs=1e-9)


# The body against a second implementation: rotation matrices, SciPy's DOP853.


def second_implementation(p: QuadrotorParameters, wind: Wind, motion: Motion, thrust: float, command: Wrench, seconds: float) -> np.ndarray:
    J, D, held = np.diag(p.inertia), np.diag(p.drag), np.array([command.thrust, *command.torque])

    def derivative(t: float, y: np.ndarray) -> np.ndarray:
        v, R, w = y[3:6], y[6:15].reshape(3, 3), y[15:18]
        wrench = y[18:22] if p.motor_lag > 0 else held
        hat = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        force = R @ [0, 0, wrench[0]] - R @ D @ R.T @ (v - wind.velocity(t))
        dv = force / p.mass - [0, 0, p.gravity]
        dw = np.linalg.solve(J, wrench[1:] - np.cross(w, J @ w))
        dm = (held - y[18:22]) / p.motor_lag if p.motor_lag > 0 else np.zeros(4)
        return np.concatenate((v, dv, (R @ hat).ravel(), dw, dm))

    begin = np.concatenate((motion.position, motion.velocity, np.array(motion.rotation).ravel(), motion.rates, [thrust, 0, 0, 0]))
    return solve_ivp(derivative, (0, seconds), begin, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]


@given(
    velocity=vectors(3.0), rates=vectors(3.0), angles=vectors(0.6), torque=vectors(0.05), thrust=st.floats(5, 15),
    lag=st.sampled_from([0.0, 0.02, 0.04]), drag=st.tuples(*[st.floats(0, 0.5)] * 3), mean=vectors(3.0),
)  # fmt: skip
@settings(max_examples=40)
def test_a_second_implementation_agrees(velocity, rates, angles, torque, thrust, lag, drag, mean) -> None:  # type: ignore[no-untyped-def]
    p, wind = QuadrotorParameters(motor_lag=lag, drag=drag), Wind(mean, (0.5, 0.0, -0.5), 0.7)
    motion = Motion((1.0, 2.0, 3.0), velocity, quaternion(from_roll_pitch_yaw(angles)), rates)
    body = RigidBody(p, wind=wind)
    body.place(motion, 9.81)
    body.advance(Wrench(thrust, torque), 0.2)
    y = second_implementation(p, wind, motion, 9.81, Wrench(thrust, torque), 0.2)
    assert [*body.motion.position, *body.motion.velocity] == pytest.approx(y[:6].tolist(), abs=1e-7)
    assert np.array(body.motion.rotation).ravel() == pytest.approx(y[6:15], abs=1e-7)
    assert body.motion.rates == pytest.approx(y[15:18], abs=1e-6)


def test_the_integrator_is_of_fourth_order() -> None:
    p, wind, motion, command = QuadrotorParameters(), Wind(), Motion(ZERO, ZERO, LEVEL, (2.0, -3.0, 1.0)), Wrench(12.0, (0.04, 0.03, -0.02))
    exact = second_implementation(p, wind, motion, 12.0, command, 0.4)[:6]

    def error(step: float) -> float:
        body = RigidBody(p, step=step)
        body.place(motion, 12.0)
        body.advance(command, 0.4)
        return float(np.abs(np.array([*body.motion.position, *body.motion.velocity]) - exact).max())

    assert 12 < error(0.04) / error(0.02) < 20


# Rotations and flatness.


@given(angles=st.tuples(st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), st.floats(-3.1, 3.1)))
def test_angles_matrices_and_quaternions_say_the_same(angles: tuple[float, float, float]) -> None:
    R = from_roll_pitch_yaw(angles)
    assert np.array(R) @ np.array(R).T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.array(rotation(quaternion(R))) == pytest.approx(np.array(R), abs=1e-9)
    assert roll_pitch_yaw(R) == pytest.approx(angles, abs=1e-9)


@given(q=st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: math.hypot(*q) > 0.1))
@example(q=(0.0, 1.0, 0.0, 0.0))
@example(q=(0.0, 0.0, 1.0, 0.0))
@example(q=(0.0, 0.0, 0.0, 1.0))
def test_every_rotation_has_its_quaternion_back(q: tuple[float, float, float, float]) -> None:
    unit = normalised(q)
    back = quaternion(rotation(unit))
    assert abs(sum(a * b for a, b in zip(unit, back))) == pytest.approx(1.0, abs=1e-12)


def test_the_twelve_states_are_those_of_the_paper() -> None:
    motion = Motion((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), quaternion(from_roll_pitch_yaw((0.1, -0.2, 0.3))), (7.0, 8.0, 9.0))
    assert motion.twelve == pytest.approx((1, 2, 3, 4, 5, 6, 0.1, -0.2, 0.3, 7, 8, 9))


@given(a=vectors(3.0), j=vectors(10.0), s=vectors(100.0))
@settings(max_examples=50)
def test_rates_and_angular_acceleration_are_the_derivatives_of_the_attitude(a, j, s) -> None:  # type: ignore[no-untyped-def]
    def at(t: float):  # type: ignore[no-untyped-def]
        f = [a[i] + j[i] * t + s[i] * t * t / 2 + (9.81 if i == 2 else 0) for i in range(3)]
        return flat_attitude(tuple(f), tuple(j[i] + s[i] * t for i in range(3)), s)

    h = 1e-5
    before, now, after = at(-h), at(0.0), at(h)
    R = np.array(now.rotation)
    body_rates = R.T @ (np.array(after.rotation) - np.array(before.rotation)) / (2 * h)
    assert now.rates == pytest.approx((body_rates[2, 1], body_rates[0, 2], body_rates[1, 0]), abs=1e-6)
    slope = (np.array(after.rates) - np.array(before.rates)) / (2 * h)
    assert now.angular_acceleration == pytest.approx(slope, abs=1e-4)
    force = np.array([a[0], a[1], a[2] + 9.81])
    assert R @ [0, 0, 1] == pytest.approx(force / np.linalg.norm(force))
    assert R[0, 1] == pytest.approx(0.0, abs=1e-12)  # heading: body y has no component along world x


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mass": 0.0}, "mass is 0.0"),
        ({"mass": math.nan}, "not finite"),
        ({"inertia": (0.1, 0.1, 0.0)}, "inertia"),
        ({"thrust_limits": (2.0, 1.0)}, "thrust_limits"),
        ({"thrust_limits": (-1.0, 1.0)}, "thrust_limits"),
        ({"motor_lag": -0.1}, "must not be negative"),
        ({"drag": (0.0, -0.1, 0.0)}, "must not be negative"),
    ],
)
def test_parameters_are_checked(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        QuadrotorParameters(**arguments)  # type: ignore[arg-type]


def test_steps_periods_and_gains_are_checked() -> None:
    with pytest.raises(UsageError, match="the step is 0.05"):
        RigidBody(QuadrotorParameters(motor_lag=0.02), step=0.05)
    with pytest.raises(UsageError, match="the step is 0"):
        RigidBody(step=0.0)
    with pytest.raises(UsageError, match="period of the wind"):
        Wind(period=0.0)
    with pytest.raises(UsageError, match="natural_frequency"):
        InnerLoopSettings(natural_frequency=0.0)
