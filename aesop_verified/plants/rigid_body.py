"""The paper's 12-state quadrotor with its full nonlinear dynamics, integrated by RK4 in doubles.

    p' = v,   m v' = T R e3 - m g e3 - R D R^T (v - wind(t)),   R' = R [w]x,   J w' = tau - w x J w,
    T' = (T_cmd - T) / lag,   tau' = (tau_cmd - tau) / lag   (T = T_cmd and tau = tau_cmd without lag)

The attitude is integrated as a unit quaternion and normalised after every step; it is reported as roll, pitch, yaw
too, which makes the 12 states of the paper. A simulation: it proves nothing.
"""

from __future__ import annotations

from typing import TypeAlias

from aesop_verified.kernel.errors import UsageError
from aesop_verified.plants.quadrotor import AT_REST, CALM, Motion, QuadrotorParameters, Wind, Wrench
from aesop_verified.plants.vectors import ZERO, Vec, normalised

_State: TypeAlias = "tuple[float, ...]"
"""p, v, q, w, T, tau: 17 numbers."""


class RigidBody:
    """A quadrotor as a rigid body.

    Args:
        parameters: of the body.
        wind: over time.
        step: the largest step of RK4, s.

    Raises:
        UsageError: when the step is not positive, or longer than the motor lag: RK4 would be inaccurate, later unstable.
    """

    def __init__(self, parameters: QuadrotorParameters | None = None, *, wind: Wind = CALM, step: float = 0.002) -> None:
        self._parameters = QuadrotorParameters() if parameters is None else parameters
        lag = self._parameters.motor_lag
        if not step > 0 or 0 < lag < step:
            raise UsageError(f"the step is {step} s with motor_lag {lag} s, expected a positive step no longer than the lag")
        self._wind, self._step = wind, step
        self._time = 0.0
        self._saturated = 0
        self._state: _State = ()
        self.place(AT_REST, self._parameters.mass * self._parameters.gravity)

    @property
    def parameters(self) -> QuadrotorParameters:
        """Of the body."""
        return self._parameters

    @property
    def time(self) -> float:
        """Simulated time in s."""
        return self._time

    @property
    def saturated(self) -> int:
        """How many commands were cut to the thrust and torque limits."""
        return self._saturated

    @property
    def motion(self) -> Motion:
        """The present motion."""
        s = self._state
        return Motion((s[0], s[1], s[2]), (s[3], s[4], s[5]), (s[6], s[7], s[8], s[9]), (s[10], s[11], s[12]))

    @property
    def wrench(self) -> Wrench:
        """What the motors give at present, behind their lag."""
        s = self._state
        return Wrench(s[13], (s[14], s[15], s[16]))

    def place(self, motion: Motion, thrust: float) -> None:
        """Put the body at a motion, with motors that already give `thrust` newtons and no torque."""
        self._state = (*motion.position, *motion.velocity, *normalised(motion.attitude), *motion.rates, thrust, *ZERO)

    def advance(self, command: Wrench, seconds: float) -> None:
        """Move on with a commanded wrench that is held; RK4 in equal steps of at most `step`."""
        held = self._limited(command)
        count = max(1, -int(-seconds / self._step * (1 - 1e-9) // 1))
        h = seconds / count
        for _ in range(count):
            y, t = self._state, self._time
            if self._parameters.motor_lag == 0:
                y = (*y[:13], *held)
            k1 = self._derivative(t, y, held)
            k2 = self._derivative(t + h / 2, tuple([a + h / 2 * k for a, k in zip(y, k1)]), held)
            k3 = self._derivative(t + h / 2, tuple([a + h / 2 * k for a, k in zip(y, k2)]), held)
            k4 = self._derivative(t + h, tuple([a + h * k for a, k in zip(y, k3)]), held)
            y = tuple([a + h / 6 * (p + 2 * (q + r) + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4)])
            self._state = (*y[:6], *normalised((y[6], y[7], y[8], y[9])), *y[10:])
            self._time = t + h

    def _limited(self, command: Wrench) -> tuple[float, float, float, float]:
        p = self._parameters
        thrust = min(max(command.thrust, p.thrust_limits[0]), p.thrust_limits[1])
        x, y, z = (min(max(v, -most), most) for v, most in zip(command.torque, p.torque_limits))
        self._saturated += (thrust, x, y, z) != (command.thrust, *command.torque)
        return thrust, x, y, z

    def _derivative(self, time: float, state: _State, held: tuple[float, float, float, float]) -> _State:
        p = self._parameters
        _, _, _, vx, vy, vz, qw, qx, qy, qz, wx, wy, wz, thrust, tx, ty, tz = state
        ax, ay, az = _drag(state, p, self._wind.velocity(time)) if p.drag != ZERO else ZERO
        lift = thrust / p.mass
        ax += lift * 2 * (qx * qz + qw * qy)
        ay += lift * 2 * (qy * qz - qw * qx)
        az += lift * (1 - 2 * (qx * qx + qy * qy)) - p.gravity
        jx, jy, jz = p.inertia
        lag = p.motor_lag
        motors = (0.0, 0.0, 0.0, 0.0) if lag == 0 else (
            (held[0] - thrust) / lag, (held[1] - tx) / lag, (held[2] - ty) / lag, (held[3] - tz) / lag,
        )  # fmt: skip
        return (
            vx, vy, vz, ax, ay, az,
            0.5 * (-qx * wx - qy * wy - qz * wz), 0.5 * (qw * wx + qy * wz - qz * wy),
            0.5 * (qw * wy - qx * wz + qz * wx), 0.5 * (qw * wz + qx * wy - qy * wx),
            (tx - (jz - jy) * wy * wz) / jx, (ty - (jx - jz) * wz * wx) / jy, (tz - (jy - jx) * wx * wy) / jz,
            *motors,
        )  # fmt: skip


def _drag(state: _State, p: QuadrotorParameters, wind: Vec) -> Vec:
    """-R D R^T (v - wind) / m."""
    qw, qx, qy, qz = state[6:10]
    x, y, z = state[3] - wind[0], state[4] - wind[1], state[5] - wind[2]
    a, b, c = 1 - 2 * (qy * qy + qz * qz), 2 * (qx * qy - qw * qz), 2 * (qx * qz + qw * qy)
    d, e, f = 2 * (qx * qy + qw * qz), 1 - 2 * (qx * qx + qz * qz), 2 * (qy * qz - qw * qx)
    g, h, i = 2 * (qx * qz - qw * qy), 2 * (qy * qz + qw * qx), 1 - 2 * (qx * qx + qy * qy)
    u = -p.drag[0] / p.mass * (a * x + d * y + g * z)
    v = -p.drag[1] / p.mass * (b * x + e * y + h * z)
    w = -p.drag[2] / p.mass * (c * x + f * y + i * z)
    return (a * u + b * v + c * w, d * u + e * v + f * w, g * u + h * v + i * w)
