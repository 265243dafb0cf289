"""The flat inner loop term by term, flown hard, and in the loop on the rigid body: w against the declared W."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from random import Random

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import Alarm, AlarmCause, Choice, MachineState, Recovering, StartRefused, StepInput
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.machine import requests, start, start_request, transition
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import identity, matrix, vector
from aesop_verified.planning.planner import Planner, PlannerSpec
from aesop_verified.plants import (
    FlatQuadrotorPlant,
    FlatReference,
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
from aesop_verified.plants.vectors import Vec, from_roll_pitch_yaw, quaternion
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
    home = RecoverySet("home", Polytope.box([-1] * n, [1] * n), AffineLaw(F, vector([0] * 3)))
    X, U = Polytope.box([-99] * n, [99] * n), Polytope.box([-100] * 3, [100] * 3)
    return System(A, B, vector([extra] + [0] * (n - 1)), X, U, W, E, F, (home,), 4, 1, fmpq(1, 2**10), ("home",))


# The inner loop's law, term by term, with derivatives taken along the motion of the body.


def force_at(t: float, a: Vec, j: Vec, s: Vec) -> tuple[Vec, Vec]:
    """The wanted specific force and its rate."""
    f = tuple(a[i] + j[i] * t + s[i] * t * t / 2 + (9.81 if i == 2 else 0.0) for i in range(3))
    return f, tuple(j[i] + s[i] * t for i in range(3))  # type: ignore[return-value]


@given(angles=vectors(0.4), rates=vectors(3.0), a=vectors(3.0), j=vectors(10.0), s=vectors(100.0))
@settings(max_examples=25)
def test_the_attitude_error_obeys_its_second_order_equation(angles: Vec, rates: Vec, a: Vec, j: Vec, s: Vec) -> None:
    """d/dt e_w = -w_n^2 e_R - 2 zeta w_n e_w, on the body, for every attitude and reference."""
    loop = InnerLoop(QuadrotorParameters(), InnerLoopSettings(natural_frequency=10.0, observer_bandwidth=0))
    body, h = RigidBody(QuadrotorParameters(torque_limits=(99.0, 99.0, 99.0))), 1e-5
    body.place(Motion(ZERO, ZERO, quaternion(from_roll_pitch_yaw(angles)), rates), 9.81)

    def errors(t: float) -> tuple[np.ndarray, np.ndarray]:
        f, df = force_at(t, a, j, s)
        wanted, R = flat_attitude(f, df, s), np.array(body.motion.rotation)
        R_d = np.array(wanted.rotation)
        skew = (R_d.T @ R - R.T @ R_d) / 2
        return np.array((skew[2, 1], skew[0, 2], skew[1, 0])), np.array(body.motion.rates) - R.T @ R_d @ wanted.rates

    e_R, e_w = errors(0.0)
    command = loop.command(body.motion, FlatReference(a, j, s))
    body.advance(command, h)
    _, after = errors(h)
    assert (after - e_w) / h == pytest.approx(-100 * e_R - 2 * 0.9 * 10 * e_w, abs=0.1)


@given(angles=vectors(0.4), rates=vectors(3.0), a=vectors(3.0), j=vectors(10.0), s=vectors(100.0))
@settings(max_examples=25)
def test_the_led_thrust_is_thrust_and_lag_times_its_rate(angles: Vec, rates: Vec, a: Vec, j: Vec, s: Vec) -> None:
    lag, h = 0.02, 1e-5
    led = InnerLoop(QuadrotorParameters(motor_lag=lag), InnerLoopSettings(observer_bandwidth=0))
    plain = InnerLoop(QuadrotorParameters(), InnerLoopSettings(observer_bandwidth=0))
    body = RigidBody()
    body.place(Motion(ZERO, ZERO, quaternion(from_roll_pitch_yaw(angles)), rates), 9.81)
    reference = FlatReference(a, j, s)
    found, now = led.command(body.motion, reference).thrust, plain.command(body.motion, reference)
    body.advance(Wrench(now.thrust, ZERO), h)
    f, df = force_at(h, a, j, s)
    later = plain.command(body.motion, FlatReference((f[0], f[1], f[2] - 9.81), df, s)).thrust
    assert found == pytest.approx(now.thrust + lag * (later - now.thrust) / h, abs=1e-3)


def test_a_saturated_thrust_is_not_taken_for_a_disturbance() -> None:
    weak = QuadrotorParameters(thrust_limits=(0.0, 12.0), motor_lag=0.01)
    body, loop = RigidBody(weak), InnerLoop(weak)
    for _ in range(200):
        body.advance(loop.command(body.motion, FlatReference((0.0, 0.0, 6.0), ZERO, ZERO)), 0.002)
    assert body.saturated > 150 and abs(loop.unexplained[2]) < 0.05


def test_the_observer_finds_a_constant_unknown_acceleration() -> None:
    body, loop = RigidBody(QuadrotorParameters(mass=0.5)), InnerLoop(QuadrotorParameters(mass=0.48))
    for _ in range(500):
        body.advance(loop.command(body.motion, FlatReference(ZERO, ZERO, ZERO)), 0.002)
    speed = body.motion.velocity[2]
    body.advance(loop.command(body.motion, FlatReference(ZERO, ZERO, ZERO)), 0.002)
    assert loop.unexplained[2] == pytest.approx(-0.04 * 9.81, abs=0.02) and abs(body.motion.velocity[2] - speed) < 1e-4


def test_a_loop_that_flew_before_starts_afresh() -> None:
    loop = InnerLoop(SLUGGISH)
    windy = FlatQuadrotorPlant(chains_system(), vector([0] * 12), RigidBody(SLUGGISH, wind=Wind((3.0, 0.0, 0.0))), loop)
    for _ in range(5):
        windy.apply(vector([20, 0, 0]))
    assert loop.unexplained != ZERO
    again = FlatQuadrotorPlant(chains_system(), vector([0] * 12), RigidBody(SLUGGISH), loop)
    fresh = FlatQuadrotorPlant(chains_system(), vector([0] * 12), RigidBody(SLUGGISH))
    assert again.apply(vector([20, 0, 0])) == fresh.apply(vector([20, 0, 0]))


@pytest.mark.parametrize(
    ("low", "high", "slanted"), [("-0.001", "0.003", False), ("-0.001", "0.001", True)], ids=["not centred", "not a box"]
)
def test_where_e_is_no_centred_box_the_measurement_is_exact(low: str, high: str, slanted: bool) -> None:
    system = chains_system()
    column = [1, 1 if slanted else 0] + [0] * 10
    E = Disturbance(12, (Summand("e", matrix([[v] for v in column], 1), vector([low]), vector([high])),))
    other = dataclasses.replace(system, estimate_error=E)
    plant = FlatQuadrotorPlant(other, vector(["1/3"] + [0] * 11), RigidBody())
    plant.apply(vector([30, 20, 10]))
    assert plant.measure() == plant.state


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
    _, B = integrator_chains(fmpq(1, 10), 12, 3, [((4, 5, 6, 7), 0), ((0, 1, 2, 3), 1), ((8, 9, 10, 11), 2)])
    swapped = FlatQuadrotorPlant(
        dataclasses.replace(system, B=B), vector([0] * 12), RigidBody(), chains=((4, 5, 6, 7), (0, 1, 2, 3), (8, 9, 10, 11))
    )
    plain = FlatQuadrotorPlant(system, vector([0] * 12), RigidBody())
    w, expected = swapped.apply(vector([10, 20, 30])).entries(), plain.apply(vector([10, 20, 30])).entries()
    assert [*w[4:8], *w[0:4], *w[8:12]] == expected and any(expected)
    with pytest.raises(UsageError, match="not three chains"):
        FlatQuadrotorPlant(system, vector([0] * 12), RigidBody(), chains=((0, 2, 1, 3), (4, 5, 6, 7), (8, 9, 10, 11)))


def test_other_systems_are_refused() -> None:
    with pytest.raises(UsageError, match="not three chains"):
        FlatQuadrotorPlant(chains_system(extra="1"), vector([0] * 12), RigidBody())
    system = chains_system()
    with pytest.raises(UsageError, match="not three chains"):
        FlatQuadrotorPlant(dataclasses.replace(system, B=2 * system.B), vector([0] * 12), RigidBody())
    with pytest.raises(UsageError, match="not three chains"):
        FlatQuadrotorPlant(dataclasses.replace(system, A=2 * system.A), vector([0] * 12), RigidBody())
    with pytest.raises(UsageError, match="multiple of the inner loop's period of 0.03 s"):
        FlatQuadrotorPlant(chains_system(), vector([0] * 12), RigidBody(), InnerLoop(QuadrotorParameters(), InnerLoopSettings(period=0.03)))
    with pytest.raises(UsageError, match="initial state of the plant"):
        FlatQuadrotorPlant(chains_system(), vector([0]), RigidBody())


def test_the_largest_share_is_kept_where_the_bounds_are_not_symmetric() -> None:
    W = Disturbance(2, (Summand("w", identity(2), vector(["-1", 0]), vector(["4", 0])),))
    F = -identity(2)
    home = RecoverySet("home", Polytope.box([-6] * 2, [6] * 2), AffineLaw(F, vector([0] * 2)))
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
