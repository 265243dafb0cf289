"""Bodies that this project did not write, against ours and against the flat inner loop; skipped where not installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import identity, vector
from aesop_verified.plants import (
    BODIES,
    DrakeBody,
    FlatQuadrotorPlant,
    Motion,
    MujocoBody,
    QuadrotorBody,
    QuadrotorParameters,
    RigidBody,
    RotorPyBody,
    SimulatorMissing,
    Wind,
    Wrench,
    quadrotor_body,
)
from aesop_verified.plants.rotors import Rotors
from aesop_verified.plants.vectors import from_roll_pitch_yaw, quaternion
from aesop_verified.system.chains import integrator_chains

ZERO = (0.0, 0.0, 0.0)
MODULES = {"drake": ("pydrake.examples",), "rotorpy": ("rotorpy.vehicles.multirotor",), "mujoco": ("mujoco",)}
MAKERS: dict[str, Callable[[], QuadrotorBody]] = {"drake": DrakeBody, "rotorpy": RotorPyBody, "mujoco": MujocoBody}


def made(name: str) -> QuadrotorBody:
    for module in MODULES[name]:
        pytest.importorskip(module)
    if name == "mujoco" and importlib.util.find_spec("drone_models") is None:
        pytest.skip("drone-models is not installed")  # importing it is refused after scipy, so it is only looked for
    return MAKERS[name]()


def flat_system() -> System:
    """Three chains of four integrators with the W of an inner loop that is good to 0.3 m/s^2."""
    n, step = 12, fmpq(1, 10)
    A, B = integrator_chains(step, n, 3, [((0, 1, 2, 3), 0), ((4, 5, 6, 7), 1), ((8, 9, 10, 11), 2)])
    half = vector(["0.0015", "0.03", 0, 0] * 3)
    F = fmpq_mat(3, n)
    home = RecoverySet("home", Polytope.box([-1] * n, [1] * n), AffineLaw(F, vector([0] * 3)))
    W = Disturbance(n, (Summand("w", identity(n), -half, half),))
    X, U = Polytope.box([-99] * n, [99] * n), Polytope.box([-100] * 3, [100] * 3)
    return System(A, B, vector([0] * n), X, U, W, Disturbance(n), F, (home,), 4, 1, fmpq(0), ("home",))


def twin(body: QuadrotorBody, **arguments: object) -> RigidBody:
    """Our rigid body with the parameters that were read from another simulator."""
    return RigidBody(body.parameters, **arguments)  # type: ignore[arg-type]


def state_of(body: QuadrotorBody) -> np.ndarray:
    motion = body.motion
    return np.concatenate((motion.position, motion.velocity, np.array(motion.rotation).ravel(), motion.rates))


TILTED = Motion((1.0, -2.0, 3.0), (0.5, 1.0, -0.5), quaternion(from_roll_pitch_yaw((0.3, -0.2, 0.5))), (0.4, -0.8, 0.6))


@pytest.mark.parametrize("name", MAKERS)
def test_a_motion_that_is_placed_is_read_back(name: str) -> None:
    body = made(name)
    body.place(TILTED, 1.0)
    read = body.motion
    assert [*read.position, *read.velocity, *read.rates] == pytest.approx([*TILTED.position, *TILTED.velocity, *TILTED.rates], abs=1e-12)
    assert np.array(read.rotation) == pytest.approx(np.array(TILTED.rotation), abs=1e-12)


@pytest.mark.parametrize("name", MAKERS)
def test_each_part_of_a_wrench_moves_it_the_way_it_moves_ours(name: str) -> None:
    for axis in range(4):
        body = made(name)
        p = body.parameters
        ours = twin(body)
        weight = p.mass * p.gravity
        parts = [0.2 * weight, *(0.1 * limit for limit in p.torque_limits)]
        push = [part if i == axis else 0.0 for i, part in enumerate(parts)]
        command = Wrench(weight + push[0], (push[1], push[2], push[3]))
        for b in (body, ours):
            b.place(Motion(ZERO, ZERO, (1.0, 0.0, 0.0, 0.0), ZERO), weight)
            for _ in range(10):
                b.advance(command, 0.002)
        moved = np.array([ours.motion.velocity[2], *ours.motion.rates])
        found = np.array([body.motion.velocity[2], *body.motion.rates])
        assert moved[axis] > 0 and found == pytest.approx(moved, abs=0.1 * moved[axis])


@pytest.mark.parametrize("name", MAKERS)
def test_its_parameters_are_its_own(name: str) -> None:
    p = made(name).parameters
    weight = p.mass * p.gravity
    assert 0.01 < p.mass < 2 and p.gravity == pytest.approx(9.81) and min(p.inertia) > 0
    assert p.thrust_limits[0] < weight < p.thrust_limits[1] / 1.5
    assert (max(p.drag) > 0) == (name != "drake") and (p.motor_lag > 0) == (name == "rotorpy")


@pytest.mark.parametrize("name", MAKERS)
def test_flown_hard_w_stays_in_the_declared_set(name: str) -> None:
    plant = FlatQuadrotorPlant(flat_system(), vector([0] * 12), made(name))
    # One axis after the other: 2 m/s^2 and back, with the jerk at 10 m/s^3 in between.
    pulse = [100, 0, -100, -100, 0, 100]
    for axis in range(3):
        for s in pulse:
            w = plant.apply(vector([s if i == axis else 0 for i in range(3)]))
            assert w.nrows() == 12
    assert plant.observed.violations == () and plant.observed.steps == 18
    assert 0 < max(share.ratio for share in plant.observed.shares) < 0.6


@given(thrusts=st.lists(st.tuples(*[st.floats(0.0, 1.0)] * 4), min_size=3, max_size=8))
@settings(max_examples=25)
def test_our_rigid_body_is_drakes_on_the_same_thrusts(thrusts: list[tuple[float, float, float, float]]) -> None:
    """Rotor thrusts within 0.1 N of hover, held for 50 ms each, from a tilted turning start."""
    pytest.importorskip("pydrake.examples")
    drake = DrakeBody(accuracy=1e-10)
    p = drake.parameters
    ours = twin(drake)
    for body in (drake, ours):
        body.place(TILTED, 0.0)
    hover = p.mass * p.gravity / 4
    for change in thrusts:
        rotors = [hover + 0.1 * (2 * c - 1) for c in change]
        total = drake.rotors.wrench(rotors)
        drake.hold(rotors, 0.05)
        ours.advance(total, 0.05)
        assert state_of(drake) == pytest.approx(state_of(ours), abs=2e-7)


def test_the_agreement_with_drake_is_that_of_the_integrator() -> None:
    """With half the step our difference to Drake is about a sixteenth: what is left is our RK4, not another physics."""
    pytest.importorskip("pydrake.examples")

    def difference(step: float) -> float:
        drake = DrakeBody(accuracy=1e-12)
        ours = twin(drake, step=step)
        for body in (drake, ours):
            body.place(TILTED, 0.0)
            for _ in range(5):
                body.advance(Wrench(8.0, (0.004, -0.003, 0.002)), 0.08)
        return float(np.abs(state_of(drake) - state_of(ours)).max())

    assert 12 < difference(0.04) / difference(0.02) < 20


def test_our_rigid_body_is_mujocos_with_its_drag() -> None:
    body = made("mujoco")
    ours = twin(body)
    random = Random(3)
    for b in (body, ours):
        b.place(TILTED, 0.0)
    for _ in range(50):
        p = body.parameters
        command = Wrench(p.mass * p.gravity * random.uniform(0.8, 1.2), tuple(0.02 * limit * random.uniform(-1, 1) for limit in p.torque_limits))  # type: ignore[arg-type]
        for b in (body, ours):
            b.advance(command, 0.01)
    assert state_of(body) == pytest.approx(state_of(ours), abs=2e-4)


def test_wind_blows_in_rotorpy_and_mujoco() -> None:
    pytest.importorskip("rotorpy.vehicles.multirotor")
    made("mujoco")
    for body in (RotorPyBody(wind=Wind((3.0, 0.0, 0.0))), MujocoBody(wind=Wind((3.0, 0.0, 0.0)))):
        weight = body.parameters.mass * body.parameters.gravity
        body.place(Motion(ZERO, ZERO, (1.0, 0.0, 0.0, 0.0), ZERO), weight)
        body.advance(Wrench(weight, ZERO), 0.05)
        expected = 0.05 * 3.0 * body.parameters.drag[0] / body.parameters.mass
        assert body.motion.velocity[0] == pytest.approx(expected, rel=0.15)


# Without the simulators.


@pytest.mark.parametrize(
    ("make", "module", "command"),
    [
        (DrakeBody, "pydrake.examples", "pip install drake"),
        (RotorPyBody, "rotorpy.vehicles.hummingbird_params", "pip install rotorpy"),
        (MujocoBody, "mujoco", "pip install mujoco"),
    ],
)
def test_a_missing_simulator_is_named_with_its_command(make: Callable[[], object], module: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SimulatorMissing, match=f"{make.__name__} needs the module {module}.*{command}"):  # type: ignore[attr-defined]
        make()


def test_other_vehicles_are_refused_before_anything_is_imported() -> None:
    with pytest.raises(UsageError, match="vehicle is 'albatross', expected one of hummingbird, crazyflie"):
        RotorPyBody("albatross")


def test_other_drones_are_refused() -> None:
    made("mujoco")
    with pytest.raises(UsageError, match="drone is 'albatross', expected one of cf2x_L250"):
        MujocoBody("albatross")


PLUS = [[1, 1, 1, 1], [0, 0.2, 0, -0.2], [-0.2, 0, 0.2, 0], [0.01, -0.01, 0.01, -0.01]]


@given(thrusts=st.tuples(*[st.floats(0.0, 5.0)] * 4))
def test_rotors_turn_wrenches_into_thrusts_and_back(thrusts: tuple[float, float, float, float]) -> None:
    rotors = Rotors(PLUS, (-1.0, 6.0))
    assert rotors.thrusts(rotors.wrench(thrusts)) == pytest.approx(thrusts, abs=1e-9)
    assert rotors.saturated == 0


def test_rotors_are_cut_to_their_limits_and_counted() -> None:
    rotors = Rotors(PLUS, (0.0, 5.0))
    assert rotors.thrusts(Wrench(40.0, ZERO)).tolist() == [5.0] * 4
    assert rotors.saturated == 1
    assert rotors.thrust_limits == (0.0, 20.0) and rotors.torque_limits == pytest.approx((1.0, 1.0, 0.1))
    with pytest.raises(UsageError, match="independent rows"):
        Rotors([[1, 1, 1, 1]] * 4, (0.0, 5.0))
    with pytest.raises(UsageError, match=r"expected \(4, N\)"):
        Rotors([[1, 1, 1, 1]], (0.0, 5.0))


# By name.


@pytest.mark.parametrize("name", BODIES)
def test_bodies_are_made_by_name(name: str) -> None:
    if name in MODULES:
        made(name)
    body = quadrotor_body(name)
    assert body.motion.position == ZERO and body.parameters.mass > 0


def test_names_and_arguments_of_bodies_are_checked() -> None:
    heavy = QuadrotorParameters(mass=2.0)
    assert quadrotor_body("rigid_body", parameters=heavy).parameters is heavy
    with pytest.raises(UsageError, match="the body is 'kite', expected one of rigid_body, drake, rotorpy, mujoco"):
        quadrotor_body("kite")
    with pytest.raises(UsageError, match="'drake' brings its own parameters"):
        quadrotor_body("drake", parameters=heavy)
    with pytest.raises(UsageError, match="'drake' has no aerodynamics"):
        quadrotor_body("drake", wind=Wind((1.0, 0.0, 0.0)))
