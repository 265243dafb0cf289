"""The flat inner loop: from acceleration, jerk and snap to a wrench (theory 5b; Mellinger 2011, Lee 2010, Faessler 2018).

    f = a + g e3 + R D R^T v / m - d,   f' = j + R D R^T a / m,   f'' = s + R D R^T j / m
    T = m f . R e3
    tau = -J (w_n^2 e_R + 2 zeta w_n e_w) + w x J w - J ([w]x R^T R_d w_d - R^T R_d w_d')
    T_cmd = T + lag T',   tau_cmd = tau + lag tau' (tau' behind a first-order filter)

R_d, w_d, w_d' are the flat attitude of f; e_R = (R_d^T R - R^T R_d)v / 2, e_w = w - R^T R_d w_d. d is the estimate of the
acceleration that nothing here explains (wind, a wrong thrust scale), d' = bandwidth (observed - predicted - d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aesop_verified.kernel.errors import UsageError
from aesop_verified.plants.flatness import flat_attitude
from aesop_verified.plants.quadrotor import Motion, QuadrotorParameters, Wrench
from aesop_verified.plants.vectors import (
    ZERO,
    Mat,
    Vec,
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    product,
    scale,
    sub,
    times,
    transposed,
)


@dataclass(frozen=True, slots=True)
class InnerLoopSettings:
    """Gains and periods.

    Attributes:
        period: s between two commands.
        natural_frequency, damping: of the attitude error, rad/s and 1.
        lead: whether thrust and torque lead the motor lag.
        torque_filter: time constant of the derivative in the torque's lead, s.
        drag_feed_forward: whether the drag of the known parameters is compensated.
        observer_bandwidth: of the unexplained acceleration, rad/s; 0 for none.

    Raises:
        UsageError: when a number is out of its range.
    """

    period: float = 0.002
    natural_frequency: float = 25.0
    damping: float = 0.9
    lead: bool = True
    torque_filter: float = 0.004
    drag_feed_forward: bool = True
    observer_bandwidth: float = 10.0

    def __post_init__(self) -> None:
        if min(self.period, self.natural_frequency, self.damping, self.torque_filter) <= 0 or self.observer_bandwidth < 0:
            raise UsageError(f"expected positive period, natural_frequency, damping and torque_filter, and observer_bandwidth >= 0: {self}")


@dataclass(frozen=True, slots=True)
class FlatReference:
    """Wanted acceleration, jerk and snap in the world frame: m/s^2, m/s^3, m/s^4."""

    acceleration: Vec
    jerk: Vec
    snap: Vec


class InnerLoop:
    """Tracks a flat reference; keeps the filters between commands.

    Args:
        known: the parameters that the loop believes in; they need not be the body's.
        settings: gains.
    """

    def __init__(self, known: QuadrotorParameters, settings: InnerLoopSettings | None = None) -> None:
        self.known = known
        self.settings = InnerLoopSettings() if settings is None else settings
        self._filtered_torque: Vec | None = None
        self._unexplained: Vec = ZERO
        self._before: tuple[Vec, Vec] | None = None
        self._thrust = known.mass * known.gravity

    @property
    def unexplained(self) -> Vec:
        """The estimate of the acceleration that the known parameters do not explain, m/s^2, world frame."""
        return self._unexplained

    def starting_at(self, thrust: float) -> None:
        """Forget the past; the motors give `thrust` newtons."""
        self._filtered_torque, self._unexplained, self._before, self._thrust = None, ZERO, None, thrust

    def command(self, motion: Motion, reference: FlatReference) -> Wrench:
        """The wrench to command now.

        Raises:
            ZeroDivisionError: for a wanted specific force of 0 or along world x, as in `flat_attitude`.
        """
        known, settings = self.known, self.settings
        R, w = motion.rotation, motion.rates
        z = (R[0][2], R[1][2], R[2][2])
        self._observe(motion, R, z)

        force = sub(add(reference.acceleration, (0.0, 0.0, known.gravity)), self._unexplained)
        rate, acceleration = reference.jerk, reference.snap
        if settings.drag_feed_forward and known.drag != ZERO:
            force = add(force, _body_scaled(R, known.drag, motion.velocity, known.mass))
            rate = add(rate, _body_scaled(R, known.drag, reference.acceleration, known.mass))
            acceleration = add(acceleration, _body_scaled(R, known.drag, reference.jerk, known.mass))
        wanted = flat_attitude(force, rate, acceleration)

        thrust = known.mass * dot(force, z)
        torque = self._torque(R, w, wanted.rotation, wanted.rates, wanted.angular_acceleration)
        if settings.lead and known.motor_lag > 0:
            z_rate = apply(R, (w[1], -w[0], 0.0))
            thrust += known.motor_lag * known.mass * (dot(rate, z) + dot(force, z_rate))
            torque = self._led(torque)
        self._follow(thrust)
        return Wrench(thrust, torque)

    def _torque(self, R: Mat, w: Vec, R_d: Mat, w_d: Vec, dw_d: Vec) -> Vec:
        known, settings = self.known, self.settings
        back = product(transposed(R), R_d)  # R^T R_d, desired body to body
        e_R = (0.5 * (back[1][2] - back[2][1]), 0.5 * (back[2][0] - back[0][2]), 0.5 * (back[0][1] - back[1][0]))
        rates, accelerations = apply(back, w_d), apply(back, dw_d)
        e_w = sub(w, rates)
        stiffness, damping = settings.natural_frequency**2, 2 * settings.damping * settings.natural_frequency
        wanted = sub(accelerations, add(cross(w, rates), add(scale(stiffness, e_R), scale(damping, e_w))))
        return add(times(known.inertia, wanted), cross(w, times(known.inertia, w)))

    def _led(self, torque: Vec) -> Vec:
        """tau + lag tau', with tau' from a first-order filter that starts at the first torque."""
        past = torque if self._filtered_torque is None else self._filtered_torque
        step = sub(torque, past)
        share = 1 - math.exp(-self.settings.period / self.settings.torque_filter)
        self._filtered_torque = add(past, scale(share, step))
        return add(torque, scale(self.known.motor_lag / self.settings.torque_filter, step))

    def _follow(self, thrust: float) -> None:
        """What the motors will give, averaged over the coming period."""
        low, high = self.known.thrust_limits
        thrust = min(max(thrust, low), high)
        lag = self.known.motor_lag
        self._thrust = thrust if lag == 0 else thrust + (self._thrust - thrust) * math.exp(-self.settings.period / lag)

    def _observe(self, motion: Motion, R: Mat, z: Vec) -> None:
        settings = self.settings
        if settings.observer_bandwidth > 0:
            if self._before is not None:
                velocity, axis = self._before
                observed = scale(1 / settings.period, sub(motion.velocity, velocity))
                lift = scale(0.5 * self._thrust / self.known.mass, add(axis, z))
                predicted = sub(sub(lift, (0.0, 0.0, self.known.gravity)), _body_scaled(R, self.known.drag, motion.velocity, self.known.mass))
                share = 1 - math.exp(-settings.observer_bandwidth * settings.period)
                error = sub(sub(observed, predicted), self._unexplained)
                self._unexplained = add(self._unexplained, scale(share, error))
            self._before = (motion.velocity, z)


def _body_scaled(R: Mat, diagonal: Vec, v: Vec, mass: float) -> Vec:
    """R diag(diagonal) R^T v / mass."""
    return scale(1 / mass, apply(R, times(diagonal, apply_transposed(R, v))))
