"""RotorPy's `Multirotor` (MIT licence, `pip install rotorpy`) as a body: rotor drag, parasitic drag, motors, wind.

The inner loop may know its mass, inertia, rotor geometry, motor time constant and its rotor drag linearised at hover
speed, all read from it. Parasitic drag, translational lift and the rotors' speed dependence stay unknown to the loop.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aesop_verified.kernel.errors import UsageError
from aesop_verified.plants.optional import simulator
from aesop_verified.plants.quadrotor import AT_REST, CALM, Motion, QuadrotorParameters, Wind, Wrench
from aesop_verified.plants.rotors import Rotors
from aesop_verified.plants.vectors import Vec

VEHICLES = ("hummingbird", "crazyflie")


class RotorPyBody:
    """A multirotor of RotorPy behind rotor thrusts.

    Args:
        vehicle: one of `VEHICLES`.
        wind: over time.

    Raises:
        SimulatorMissing: without rotorpy.
        UsageError: for another vehicle.
    """

    def __init__(self, vehicle: str = "hummingbird", *, wind: Wind = CALM) -> None:
        if vehicle not in VEHICLES:
            raise UsageError(f"vehicle is {vehicle!r}, expected one of {', '.join(VEHICLES)}")
        data = simulator(f"rotorpy.vehicles.{vehicle}_params", "rotorpy", "RotorPyBody").quad_params
        make = simulator("rotorpy.vehicles.multirotor", "rotorpy", "RotorPyBody").Multirotor
        self._vehicle: Any = make(data, control_abstraction="cmd_motor_thrusts", aero=True)
        self._wind, self._time = wind, 0.0
        v = self._vehicle
        limits = (float(v.k_eta * v.rotor_speed_min**2), float(v.k_eta * v.rotor_speed_max**2))
        self.rotors = Rotors(v.f_to_TM, limits)
        mass, gravity, count = float(v.mass), float(v.g), int(v.num_rotors)
        hover_speed = math.sqrt(mass * gravity / (count * v.k_eta))
        sideways, along = float(count * v.k_d * hover_speed), float(count * v.k_z * hover_speed)
        self._parameters = QuadrotorParameters(
            mass, (float(v.Ixx), float(v.Iyy), float(v.Izz)), gravity, self.rotors.thrust_limits, self.rotors.torque_limits,
            motor_lag=float(v.tau_m), drag=(sideways, sideways, along),
        )  # fmt: skip
        self._state: dict[str, Any] = {}
        self.place(AT_REST, mass * gravity)

    @property
    def parameters(self) -> QuadrotorParameters:
        """As read from RotorPy's vehicle."""
        return self._parameters

    @property
    def motion(self) -> Motion:
        """The present motion."""
        s = self._state
        x, y, z, w = (float(v) for v in s["q"])
        return Motion(_vec(s["x"]), _vec(s["v"]), (w, x, y, z), _vec(s["w"]))

    def place(self, motion: Motion, thrust: float) -> None:
        """Put it at a motion with rotors that share `thrust` equally."""
        w, x, y, z = motion.attitude
        count = int(self._vehicle.num_rotors)
        speed = math.sqrt(max(0.0, thrust) / (count * self._vehicle.k_eta))
        self._state = {
            "x": np.array(motion.position), "v": np.array(motion.velocity), "q": np.array((x, y, z, w)), "w": np.array(motion.rates),
            "wind": np.array(self._wind.velocity(self._time)), "rotor_speeds": np.full(count, speed),
        }  # fmt: skip

    def advance(self, command: Wrench, seconds: float) -> None:
        """Move on with a held wrench, as rotor thrusts; the wind is held too."""
        self._state["wind"] = np.array(self._wind.velocity(self._time))
        self._state = self._vehicle.step(self._state, {"cmd_motor_thrusts": self.rotors.thrusts(command)}, seconds)
        self._time += seconds


def _vec(values: Any) -> Vec:
    x, y, z = (float(v) for v in values)
    return (x, y, z)
