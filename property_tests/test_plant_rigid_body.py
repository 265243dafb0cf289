"""The rigid-body quadrotor against closed forms and a second implementation, and its flat inner loop in the loop."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import Alarm, AlarmCause, Choice, MachineState, Recovering, StartRefused, StepInput
from aesop_verified.kernel.machine import requests, start, start_request, transition
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import identity, vector
from aesop_verified.planning.planner import Planner, PlannerSpec
from aesop_verified.plants import (
    FlatQuadrotorPlant,
    InnerLoop,
    InnerLoopSettings,
    ModelPlant,
    Motion,
    Plant,
    QuadrotorParameters,
    RigidBody,
    Wind,
    Wrench,
)
from aesop_verified.plants.flatness import flat_attitude
from aesop_verified.plants.observed import ObservedDisturbance
from aesop_verified.plants.vectors import from_roll_pitch_yaw, normalised, quaternion, roll_pitch_yaw, rotation
from aesop_verified.recovery import assured
from aesop_verified.system import load
from aesop_verified.system.chains import integrator_chains
from aesop_verified.testing.planner import floats

EXAMPLES = Path(__file__).parent.parent / "examples"
LEVEL = (1.0, 0.0, 0.0, 0.0)
ZERO = (0.0, 0.0, 0.0)


def vectors(most: float) -> st.SearchStrategy[tuple[float, float, float]]:
    one = st.floats(-most, most, allow_nan=False)
    return st.tuples(one, one, one)


def chains_system(*, e: str = "0.3", rounding: str = "0.001", dt: str = "0.1", extra: str = "0") -> System:
    """Three chains of four integrators with the W of an inner loop that is good to e m/s^2; `extra` W on the jerk of x."""
    step, n = fmpq(*map(int, (dt.replace("0.", ""), 10 ** (len(dt) - 2)))), 12
    A, B = integrator_chains(step, n, 3, [((0, 1, 2, 3), 0), ((4, 5, 6, 7), 1), ((8, 9, 10, 11), 2)])
    error = vector([e])[0, 0]
    half = [error * step**2 / 2, error * step, 0, 0] * 3
    W = Disturbance(n, (Summand("w", identity(n), vector([-v for v in half]), vector(half)),))
    E = Disturbance(n, (Summand("e", identity(n), vector([f"-{rounding}"] * 2 + [0] * 10), vector([rounding] * 2 + [0] * 10)),))
    F = fmpq_mat(3, n)
    home = RecoverySet("home", Polytope.box([-1] * n, [1] * n), F, vector([0] * 3))
    X, U = Polytope.box([-99] * n, [99] * n), Polytope.box([-100] * 3, [100] * 3)
    return System(A, B, vector([extra] + [0] * (n - 1)), X, U, W, E, F, (home,), 4, 1, fmpq(1, 2**10), ("home",))


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


# The inner loop, driven to the limits of the system file: |a| <= 3, |j| <= 10, |snap| <= 100.


def hardest_snaps(random: Random, steps: int) -> list[fmpq_mat]:
    """Snaps that chase speeds of +-1.5 m/s, another one every second, with every axis inside its limits."""
    states = [[0.0, 0.0, 0.0] for _ in range(3)]
    sent, goals = [], [0.0, 0.0, 0.0]
    for step in range(steps):
        chosen = []
        if step % 10 == 0:
            goals = [random.choice((-1.5, 1.5)) for _ in range(3)]
        for x, goal in zip(states, goals):
            options = []
            for s in (-100, -50, 0, 50, 100):
                v, a, j = x[0] + x[1] * 0.1 + x[2] * 0.005 + s * 1e-3 / 6, x[1] + x[2] * 0.1 + s * 0.005, x[2] + s * 0.1
                if abs(j) <= 10 and abs(a) <= 3 and abs(a + j * abs(j) / 200) <= 2.9:
                    options.append((abs(v + a * 0.3 - goal), s, [v, a, j]))
            _, s, x[:] = min(options)
            chosen.append(s)
        sent.append(vector(chosen))
    return sent


def flown(parameters: QuadrotorParameters, loop: InnerLoopSettings, *, known: QuadrotorParameters | None = None, wind: Wind | None = None, seed: int = 1):  # type: ignore[no-untyped-def]
    body = RigidBody(parameters, wind=wind or Wind())
    plant = FlatQuadrotorPlant(chains_system(), vector([0] * 12), body, InnerLoop(known or parameters, loop))
    for sent in hardest_snaps(Random(seed), 60):
        plant.apply(sent)
    return plant


def worst(plant: FlatQuadrotorPlant) -> float:
    return max(share.ratio for share in plant.observed.shares)


SLUGGISH = QuadrotorParameters(motor_lag=0.02, drag=(0.3, 0.3, 0.1))


@pytest.mark.parametrize(
    ("parameters", "most"),
    [(QuadrotorParameters(), 0.08), (QuadrotorParameters(motor_lag=0.02), 0.12), (QuadrotorParameters(motor_lag=0.04), 0.3), (SLUGGISH, 0.2)],
    ids=["no lag", "20 ms", "40 ms", "20 ms and drag"],
)
def test_w_stays_in_the_declared_set_when_flown_hard(parameters: QuadrotorParameters, most: float) -> None:
    plant = flown(parameters, InnerLoopSettings())
    assert plant.observed.violations == () and plant.observed.steps == 60
    assert 0 < worst(plant) < most


def test_without_lead_w_is_several_times_larger() -> None:
    lag = QuadrotorParameters(motor_lag=0.02)
    assert worst(flown(lag, InnerLoopSettings(lead=False, observer_bandwidth=0))) > 2 * worst(flown(lag, InnerLoopSettings(observer_bandwidth=0)))


def test_a_lag_that_is_25_percent_wrong_and_a_mass_2_percent_wrong_stay_in_w() -> None:
    known = QuadrotorParameters(mass=1.02, motor_lag=0.025, drag=(0.3, 0.3, 0.1))
    assert flown(SLUGGISH, InnerLoopSettings(), known=known).observed.violations == ()


def test_wind_that_nobody_compensates_is_an_event_with_its_step() -> None:
    plant = flown(SLUGGISH, InnerLoopSettings(observer_bandwidth=0), wind=Wind((3.0, 0.0, 0.0)))
    first = plant.observed.violations[0]
    assert (first.step, first.state) == (0, 1) and first.excess > 0
    assert plant.observed.shares[1].ratio > 2
    assert len(flown(SLUGGISH, InnerLoopSettings(), wind=Wind((3.0, 0.0, 0.0))).observed.violations) < len(plant.observed.violations)


def test_acceleration_and_jerk_are_the_models_exactly() -> None:
    plant = flown(SLUGGISH, InnerLoopSettings())
    before = plant.state
    sent = vector(["100/3", "-1/7", 0])
    w = plant.apply(sent)
    expected = chains_system().next_state(before, sent)
    assert plant.state == expected + w
    assert all(w[i, 0] == 0 for chain in (2, 3) for i in (chain, chain + 4, chain + 8))
    assert any(w[i, 0] != 0 for i in (0, 1, 4, 5, 8, 9))


def test_a_measurement_is_rounded_within_e() -> None:
    plant = flown(SLUGGISH, InnerLoopSettings())
    error = (plant.measure() - plant.state).entries()
    assert all(abs(v) <= fmpq(1, 1000) for v in error[:2]) and all(v == 0 for v in error[2:])
    assert (plant.measure()[0, 0] * 500).q == 1


def test_it_starts_on_a_moving_state() -> None:
    x = vector([1, "0.5", 2, 5, 0, 0, -1, 0, 2, 0, "0.5", -5])
    plant = FlatQuadrotorPlant(chains_system(), x, RigidBody())
    assert [plant.state[i, 0] for i in (2, 3, 6, 7, 10, 11)] == [x[i, 0] for i in (2, 3, 6, 7, 10, 11)]
    plant.apply(vector([0, 0, 50]))
    assert worst(plant) < 0.1


def test_the_order_of_the_states_may_be_another() -> None:
    system = chains_system()
    plant = FlatQuadrotorPlant(system, vector([0] * 12), RigidBody())
    turned = FlatQuadrotorPlant(system, vector([0] * 12), RigidBody(), chains=((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)))
    assert plant.apply(vector([10, 20, 30])) == turned.apply(vector([10, 20, 30]))
    with pytest.raises(UsageError, match="not three chains"):
        FlatQuadrotorPlant(system, vector([0] * 12), RigidBody(), chains=((0, 2, 1, 3), (4, 5, 6, 7), (8, 9, 10, 11)))


def test_other_systems_are_refused() -> None:
    with pytest.raises(UsageError, match="not three chains"):
        FlatQuadrotorPlant(chains_system(extra="1"), vector([0] * 12), RigidBody())
    with pytest.raises(UsageError, match="multiple of the inner loop's period of 0.03 s"):
        FlatQuadrotorPlant(chains_system(), vector([0] * 12), RigidBody(), InnerLoop(QuadrotorParameters(), InnerLoopSettings(period=0.03)))
    with pytest.raises(UsageError, match="initial state of the plant"):
        FlatQuadrotorPlant(chains_system(), vector([0]), RigidBody())


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


def test_the_largest_share_is_kept_where_the_bounds_are_not_symmetric() -> None:
    W = Disturbance(2, (Summand("w", identity(2), vector(["-1", 0]), vector(["4", 0])),))
    F = -identity(2)
    home = RecoverySet("home", Polytope.box([-6] * 2, [6] * 2), F, vector([0] * 2))
    system = System(identity(2), identity(2), vector([0, 0]), Polytope.box([-9] * 2, [9] * 2), Polytope.box([-9] * 2, [9] * 2), W, Disturbance(2), F, (home,), 4, 1, fmpq(0), ("home",))  # fmt: skip
    observed = ObservedDisturbance(system)
    for w in ([2, 0], ["-3/4", 0], [1, 0]):
        assert observed.add(vector(w)) is None
    share = observed.shares[0]
    assert (share.largest, share.declared, share.step, share.ratio) == (-0.75, 1.0, 1, 0.75)
    assert observed.shares[1].ratio == 0.0
    left = observed.add(vector([0, "1/10"]))
    assert left is not None and (left.step, left.state, left.excess) == (3, 1, fmpq(1, 10))
    assert observed.shares[1].ratio == math.inf


# In the loop: the system file, the planner and the kernel's transition function, on the rigid body.


def test_the_flat_quadrotor_flies_its_example_on_the_rigid_body() -> None:
    description = load(EXAMPLES / "quadrotor-flat.yaml")
    proved = assured(description)
    system = proved.system
    planner = Planner(PlannerSpec.described(description, system))
    plant = FlatQuadrotorPlant(system, vector([10, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]), RigidBody(SLUGGISH))
    state: MachineState | None = None
    alarm_at, answer_at, steps = 4, 14, 4 + system.horizon + 4
    for t in range(steps):
        measured = plant.measure()
        alarm = Alarm(AlarmCause.SCORE, "smoke") if t == alarm_at else None
        answer = Choice(state.next_trigger - 1, "rooftop") if t == answer_at and state is not None else None
        read = StepInput(measured, answer, (), alarm)
        wanted = (start_request(system),) if state is None else requests(proved, state, read)
        plans = tuple(plan for r in wanted for plan in planner.plan(r, floats(measured)[:, 0]).plans(system))
        read = StepInput(measured, answer, plans, alarm)
        result = start(proved, read) if state is None else transition(proved, state, read)
        assert not isinstance(result, StartRefused), result
        assert result.certified, f"step {t}: {result.events}"
        assert system.X.contains(plant.state), f"claim 1 at step {t}"
        if t >= alarm_at + system.horizon + 1:
            assert system.recovery("rooftop").polytope.contains(plant.state), f"claim 3 at step {t}"
        state = result.state
        plant.apply(result.input)
    assert state is not None and isinstance(state.mode, Recovering) and state.mode.name == "rooftop"
    assert plant.observed.violations == () and worst(plant) < 0.2, plant.observed.shares


def test_both_plants_are_plants() -> None:
    system = chains_system()
    plants: list[Plant] = [ModelPlant(system, vector([0] * 12), Random(1)), FlatQuadrotorPlant(system, vector([0] * 12), RigidBody())]
    for plant in plants:
        x, sent = plant.measure(), vector([1, 2, 3])
        before = plant.state
        w = plant.apply(sent)
        assert x.nrows() == 12 and plant.state == system.next_state(before, sent) + w
        assert system.disturbance.excess(w) is None
