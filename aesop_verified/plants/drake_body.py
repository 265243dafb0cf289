"""Drake's `QuadrotorPlant` (BSD licence, `pip install drake`) as a body: 12 states, no drag, no motor lag.

Its state is position, roll-pitch-yaw, velocity and the time derivatives of roll-pitch-yaw; its inputs are four rotor
thrusts. Mass, inertia and gravity are its accessors'; which rotor does what is read off its derivatives at hover.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aesop_verified.plants.optional import simulator
from aesop_verified.plants.quadrotor import Motion, QuadrotorParameters, Wrench
from aesop_verified.plants.rotors import Rotors
from aesop_verified.plants.vectors import Vec, from_roll_pitch_yaw, quaternion, roll_pitch_yaw

THRUST_TO_WEIGHT = 2.5
"""Drake's rotors have no limits; these ones stop at this thrust-to-weight ratio and do not pull downwards."""


class DrakeBody:
    """Drake's quadrotor behind rotor thrusts.

    Args:
        accuracy: of Drake's error-controlled integrator.

    Raises:
        SimulatorMissing: without drake.
    """

    def __init__(self, *, accuracy: float = 1e-7) -> None:
        examples = simulator("pydrake.examples", "drake", "DrakeBody")
        analysis = simulator("pydrake.systems.analysis", "drake", "DrakeBody")
        self._plant: Any = examples.QuadrotorPlant()
        self._simulator: Any = analysis.Simulator(self._plant)
        self._simulator.get_mutable_integrator().set_target_accuracy(accuracy)
        self._context: Any = self._simulator.get_mutable_context()
        self._port: Any = self._plant.get_input_port(0)
        inertia = np.array(self._plant.inertia())
        mass, gravity = float(self._plant.m()), float(self._plant.g())
        self.rotors = Rotors(self._allocation(mass, gravity, inertia), (0.0, THRUST_TO_WEIGHT * mass * gravity / 4))
        jx, jy, jz = (float(v) for v in np.diag(inertia))
        self._parameters = QuadrotorParameters(mass, (jx, jy, jz), gravity, self.rotors.thrust_limits, self.rotors.torque_limits)

    @property
    def parameters(self) -> QuadrotorParameters:
        """As read from Drake's plant."""
        return self._parameters

    @property
    def motion(self) -> Motion:
        """The present motion."""
        x = [float(v) for v in self._context.get_continuous_state_vector().CopyToVector()]
        angles: Vec = (x[3], x[4], x[5])
        return Motion((x[0], x[1], x[2]), (x[6], x[7], x[8]), quaternion(from_roll_pitch_yaw(angles)), _rates(angles, (x[9], x[10], x[11])))

    def place(self, motion: Motion, thrust: float) -> None:
        """Put it at a motion; its rotors have no lag, so the thrust does not matter."""
        angles = roll_pitch_yaw(motion.rotation)
        self._context.SetContinuousState([*motion.position, *angles, *motion.velocity, *_angle_rates(angles, motion.rates)])
        self._simulator.Initialize()

    def advance(self, command: Wrench, seconds: float) -> None:
        """Move on with a held wrench, as rotor thrusts."""
        self.hold(self.rotors.thrusts(command).tolist(), seconds)

    def hold(self, thrusts: list[float], seconds: float) -> None:
        """Move on with held rotor thrusts in N."""
        self._port.FixValue(self._context, [t / self._plant.force_constant() for t in thrusts])
        self._simulator.AdvanceTo(self._context.get_time() + seconds)

    def _allocation(self, mass: float, gravity: float, inertia: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """M: what a newton more of each rotor does to the derivatives at hover, times mass and inertia."""
        unit = 1.0 / self._plant.force_constant()
        hover = [mass * gravity / 4 * unit] * 4
        columns = []
        for rotor in range(4):
            self._port.FixValue(self._context, [u + unit * (i == rotor) for i, u in enumerate(hover)])
            change = np.array(self._plant.EvalTimeDerivatives(self._context).CopyToVector())
            columns.append([change[8] * mass, *(inertia @ change[9:12])])
        return np.array(columns).T


def _rates(angles: Vec, derivatives: Vec) -> Vec:
    """Body rates from the derivatives of roll, pitch, yaw."""
    (roll, pitch, _), (p, q, r) = angles, derivatives
    return (
        p - r * math.sin(pitch),
        q * math.cos(roll) + r * math.sin(roll) * math.cos(pitch),
        -q * math.sin(roll) + r * math.cos(roll) * math.cos(pitch),
    )


def _angle_rates(angles: Vec, rates: Vec) -> Vec:
    """The inverse of `_rates`, for |pitch| < pi/2."""
    (roll, pitch, _), (p, q, r) = angles, rates
    turn = q * math.sin(roll) + r * math.cos(roll)
    return (p + turn * math.tan(pitch), q * math.cos(roll) - r * math.sin(roll), turn / math.cos(pitch))
