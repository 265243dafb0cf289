"""What is said of a quadrotor: parameters, wind, motion, wrench, and the protocol of a simulated body.

Frames: world ENU, body FLU (`vectors`). SI units throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from aesop_verified.kernel.errors import UsageError
from aesop_verified.plants.vectors import LEVEL, ZERO, Mat, Vec, roll_pitch_yaw, rotation


@dataclass(frozen=True, slots=True)
class QuadrotorParameters:
    """A quadrotor as a rigid body; the defaults are a plausible vehicle of 1 kg.

    Attributes:
        mass: kg.
        inertia: diagonal of J in the body frame, kg m^2.
        gravity: m/s^2.
        thrust_limits: smallest and largest collective thrust along body z, N.
        torque_limits: largest torque about body x, y, z either way, N m.
        motor_lag: time constant of thrust and torque, s; 0 for none. With motors that share it, a lag of the wrench
            is a lag of the motors, because the wrench is linear in their thrusts.
        drag: diagonal of the linear drag in the body frame, N s/m: F = -R diag(drag) R^T (v - wind).

    Raises:
        UsageError: when a number is not finite, mass or inertia are not positive, or a limit is reversed.
    """

    mass: float = 1.0
    inertia: Vec = (0.008, 0.008, 0.014)
    gravity: float = 9.81
    thrust_limits: tuple[float, float] = (0.0, 25.0)
    torque_limits: Vec = (1.0, 1.0, 0.3)
    motor_lag: float = 0.0
    drag: Vec = ZERO

    def __post_init__(self) -> None:
        numbers = (self.mass, *self.inertia, self.gravity, *self.thrust_limits, *self.torque_limits, self.motor_lag, *self.drag)
        if not all(math.isfinite(v) for v in numbers):
            raise UsageError(f"a parameter of the quadrotor is not finite: {self}")
        if self.mass <= 0 or min(self.inertia) <= 0:
            raise UsageError(f"mass is {self.mass} and inertia {self.inertia}, expected positive numbers in kg and kg m^2")
        if min(self.gravity, self.motor_lag, *self.drag, *self.torque_limits) < 0:
            raise UsageError(f"gravity, motor_lag, drag and torque_limits must not be negative: {self}")
        if not 0 <= self.thrust_limits[0] <= self.thrust_limits[1]:
            raise UsageError(f"thrust_limits is {self.thrust_limits}, expected 0 <= smallest <= largest in N")


@dataclass(frozen=True, slots=True)
class Wind:
    """wind(t) = mean + gust sin(2 pi t / period), in the world frame.

    Attributes:
        mean, gust: m/s.
        period: s.

    Raises:
        UsageError: when the period is not positive.
    """

    mean: Vec = ZERO
    gust: Vec = ZERO
    period: float = 3.0

    def __post_init__(self) -> None:
        if not self.period > 0:
            raise UsageError(f"the period of the wind is {self.period} s, expected a positive number")

    def velocity(self, time: float) -> Vec:
        """The wind in m/s at a time in s."""
        phase = math.sin(2 * math.pi * time / self.period)
        return (self.mean[0] + self.gust[0] * phase, self.mean[1] + self.gust[1] * phase, self.mean[2] + self.gust[2] * phase)


CALM = Wind()


@dataclass(frozen=True, slots=True)
class Wrench:
    """What the motors do: thrust along body z in N, torque about the body axes in N m."""

    thrust: float
    torque: Vec


@dataclass(frozen=True, slots=True)
class Motion:
    """Where a body is and how it moves.

    Attributes:
        position, velocity: in the world frame, m and m/s.
        attitude: unit quaternion (w, x, y, z), body to world.
        rates: angular velocity in the body frame, rad/s.
    """

    position: Vec
    velocity: Vec
    attitude: tuple[float, float, float, float]
    rates: Vec

    @property
    def rotation(self) -> Mat:
        """R, body to world."""
        return rotation(self.attitude)

    @property
    def twelve(self) -> tuple[float, ...]:
        """The paper's 12 states: position, velocity, roll-pitch-yaw (rad), body rates."""
        return (*self.position, *self.velocity, *roll_pitch_yaw(self.rotation), *self.rates)


AT_REST = Motion(ZERO, ZERO, LEVEL, ZERO)


class QuadrotorBody(Protocol):
    """A simulated quadrotor: ours, or one that this project did not write."""

    @property
    def parameters(self) -> QuadrotorParameters:
        """What its inner loop may know of it."""

    @property
    def motion(self) -> Motion:
        """The present motion."""

    def place(self, motion: Motion, thrust: float) -> None:
        """Put it at a motion, with motors that already give `thrust` newtons and no torque."""

    def advance(self, command: Wrench, seconds: float) -> None:
        """Move on with a commanded wrench that is held."""
