"""A quadrotor behind its flat inner loop, as the plant of a system of three fourth-order chains (theory 5b).

Position and velocity are those of the body. Acceleration and jerk are software states: they are integrated exactly
as in the planning model, driven by the sent snap, so w acts on position and velocity only and is the tracking
error of the inner loop, w = x_{t+1} - (A x_t + B u_t + b), observed every step.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.model import System
from aesop_verified.kernel.rational import from_double, require_shape, text
from aesop_verified.plants.flatness import flat_attitude
from aesop_verified.plants.inner_loop import FlatReference, InnerLoop
from aesop_verified.plants.observed import ObservedDisturbance
from aesop_verified.plants.quadrotor import Motion, QuadrotorBody
from aesop_verified.plants.vectors import ZERO, Vec, norm, quaternion
from aesop_verified.system.chains import integrator_chains

CHAINS = ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11))
"""For x, y and z of the world: the indices of position, velocity, acceleration and jerk; snap is the input of the same number."""


class FlatQuadrotorPlant:
    """A body that flies snap commands; the sent input is held for one time step.

    Args:
        system: the exact system; its dynamics are three chains of integrators and nothing else.
        initial: the true state at t = 0, shape (12, 1); the body starts on it, with the attitude that it asks for.
        body: the simulated quadrotor; it is placed.
        inner: by default an inner loop that knows the body's parameters.
        chains: where the states of each chain are.

    Raises:
        UsageError: when the system is not three such chains, or the time step is no multiple of the inner loop's period.
    """

    def __init__(
        self, system: System, initial: fmpq_mat, body: QuadrotorBody, inner: InnerLoop | None = None, *, chains: Sequence[Sequence[int]] = CHAINS
    ) -> None:
        require_shape("the initial state of the plant", initial, system.n, 1)
        self._system, self._body = system, body
        self._chains = tuple(tuple(chain) for chain in chains)
        self._inner = InnerLoop(body.parameters) if inner is None else inner
        dt = _time_step(system, self._chains)
        period = self._inner.settings.period
        self._count = round(float(dt) / period)
        if self._count < 1 or abs(self._count * period - float(dt)) > 1e-9:
            raise UsageError(f"the time step is {text(dt)} s, expected a multiple of the inner loop's period of {period} s")
        self._period = float(dt) / self._count
        self._widths = _rounding(system)
        self._observed = ObservedDisturbance(system)
        self._software = fmpq_mat(initial)
        self._place()

    @property
    def state(self) -> fmpq_mat:
        """The true state, shape (12, 1): the doubles of the body's position and velocity, and the software states."""
        x = fmpq_mat(self._software)
        motion = self._body.motion
        for axis, (p, v, _, _) in enumerate(self._chains):
            x[p, 0] = from_double(motion.position[axis])
            x[v, 0] = from_double(motion.velocity[axis])
        return x

    @property
    def body(self) -> QuadrotorBody:
        """The simulated quadrotor."""
        return self._body

    @property
    def observed(self) -> ObservedDisturbance:
        """What w was so far, against the declared W."""
        return self._observed

    def measure(self) -> fmpq_mat:
        """The state, rounded to the nearest multiple of the width of E where E is a box around 0; else exact."""
        x = self.state
        for i, width in enumerate(self._widths):
            if width > 0:
                x[i, 0] = width * (x[i, 0] / width + fmpq(1, 2)).floor()
        return x

    def apply(self, sent: fmpq_mat) -> fmpq_mat:
        """Hold a snap, shape (3, 1), for one time step; returns w and observes it."""
        require_shape("the sent input", sent, self._system.m, 1)
        before = self.state
        expected = self._system.next_state(before, sent)
        acceleration, jerk = self._flat(before, 2), self._flat(before, 3)
        snap: Vec = (float(sent[0, 0]), float(sent[1, 0]), float(sent[2, 0]))
        for i in range(self._count):
            # The command is held for a period: the reference of its middle is the best one.
            reference = _after((i + 0.5) * self._period, acceleration, jerk, snap)
            self._body.advance(self._inner.command(self._body.motion, reference), self._period)
        self._software = expected
        w = self.state - expected
        self._observed.add(w)
        return w

    def _flat(self, x: fmpq_mat, derivative: int) -> Vec:
        a, b, c = (float(x[chain[derivative], 0]) for chain in self._chains)
        return (a, b, c)

    def _place(self) -> None:
        x, known = self._software, self._inner.known
        acceleration = self._flat(x, 2)
        force = (acceleration[0], acceleration[1], acceleration[2] + known.gravity)
        wanted = flat_attitude(force, self._flat(x, 3), ZERO)
        motion = Motion(self._flat(x, 0), self._flat(x, 1), quaternion(wanted.rotation), wanted.rates)
        thrust = known.mass * norm(force)
        self._body.place(motion, thrust)
        self._inner.starting_at(thrust)


def _after(t: float, a: Vec, j: Vec, s: Vec) -> FlatReference:
    """a + j t + s t^2/2 and j + s t."""
    half = t * t / 2
    return FlatReference(
        (a[0] + j[0] * t + s[0] * half, a[1] + j[1] * t + s[1] * half, a[2] + j[2] * t + s[2] * half),
        (j[0] + s[0] * t, j[1] + s[1] * t, j[2] + s[2] * t),
        s,
    )


def _time_step(system: System, chains: tuple[tuple[int, ...], ...]) -> fmpq:
    """dt, after checking that A, B and b are the chains sampled with it."""
    if (system.n, system.m) != (12, 3) or [len(c) for c in chains] != [4, 4, 4]:
        raise UsageError(
            f"the system has {system.n} states and {system.m} inputs in chains of {[len(c) for c in chains]}, expected 12 states and 3 inputs "
            "in three chains of position, velocity, acceleration and jerk"
        )
    dt = fmpq(system.A[chains[0][0], chains[0][1]])
    A, B = integrator_chains(dt, 12, 3, [(chain, axis) for axis, chain in enumerate(chains)])
    if dt <= 0 or system.A != A or system.B != B or any(v != 0 for v in system.b.entries()):
        raise UsageError(
            f"the dynamics are not three chains of four integrators with the time step {text(dt)} s, which a flat quadrotor flies; "
            "take `kind: integrator_chains`, or pass `chains` with the order of the states"
        )
    return dt


def _rounding(system: System) -> list[fmpq]:
    """The width of E a component where E is a box centred at 0, else all 0: then measurements are exact."""
    E = system.estimate_error
    sides = E.bounding_box().h.entries()
    single = all(sum(s.map[i, j] != 0 for i in range(system.n)) == 1 for s in E.summands for j in range(s.map.ncols()))
    centred = all(up == low for up, low in zip(sides[0::2], sides[1::2]))
    return [2 * up if single and centred else fmpq(0) for up in sides[0::2]]
