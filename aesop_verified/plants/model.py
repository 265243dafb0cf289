"""The exact model as the plant: w drawn from W, a measurement rounded within E (theory 1 and 5).

x_{t+1} = A x_t + B u_t + b + w_t with w_t in the declared W; the measurement is xhat_t = x_t + e_t with e_t in E.
The true state is exact; where W leaves room it is rounded toward A x + B u + b, so that its numbers stay short.
"""

from __future__ import annotations

from random import Random

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.model import System
from aesop_verified.kernel.rational import require_shape, rows_of, zeros

GRID = fmpq(1, 2**40)
"""The true state is rounded to multiples of this, in units of each state, where W leaves room."""

DRAWS = 2**20
"""A coordinate that is not at a bound is drawn from this many equal steps between its bounds."""


class ModelPlant:
    """The linear model with a disturbance from W and a measurement within E; no state of its own but x.

    Args:
        system: the exact system.
        initial: the true state at t = 0, shape (n, 1).
        random: seeded generator; the same seed gives the same flight.
        vertex_share: probability with which all of w_t is drawn from the vertices of the summands.

    Raises:
        UsageError: when the initial state has another shape or vertex_share is not in 0..1.
    """

    def __init__(self, system: System, initial: fmpq_mat, random: Random, *, vertex_share: float = 0.5) -> None:
        require_shape("the initial state of the plant", initial, system.n, 1)
        if not 0 <= vertex_share <= 1:
            raise UsageError(f"vertex_share is {vertex_share!r}, expected a probability from 0 to 1")
        self._system, self._random, self._vertex_share = system, random, vertex_share
        self._state = fmpq_mat(initial)
        self._room = _widths(system.disturbance)
        self._steps = _widths(system.estimate_error)

    @property
    def state(self) -> fmpq_mat:
        """The true state, shape (n, 1), exact."""
        return fmpq_mat(self._state)

    def measure(self) -> fmpq_mat:
        """The measurement xhat_t, shape (n, 1), with xhat_t - x_t in E.

        When E is a box around 0, each component is rounded to the nearest multiple of the width of E there, or
        is exact where the width is 0; any other E is drawn from.
        """
        if self._steps is None:
            return self._state + self._draw(self._system.estimate_error)
        x = self._state.entries()
        rounded = [v if width == 0 else width * (v / width + fmpq(1, 2)).floor() for v, width in zip(x, self._steps)]
        return fmpq_mat(self._system.n, 1, rounded)

    def apply(self, sent: fmpq_mat) -> fmpq_mat:
        """Move on one step under the sent input, shape (m, 1); returns the disturbance w_t that acted."""
        require_shape("the sent input", sent, self._system.m, 1)
        expected = self._system.next_state(self._state, sent)
        after = expected + self._draw(self._system.disturbance)
        if self._room is not None:
            entries = zip(expected.entries(), after.entries(), self._room)
            after = fmpq_mat(self._system.n, 1, [_shorter(e, a) if room > 0 else a for e, a, room in entries])
        self._state = after
        return after - expected

    def _draw(self, disturbance: Disturbance) -> fmpq_mat:
        at_vertices = self._random.random() < self._vertex_share
        total = zeros(self._system.n)
        for summand in disturbance.summands:
            total = total + summand.map * self._draw_box(summand, at_vertices)
        return total

    def _draw_box(self, summand: Summand, at_vertices: bool) -> fmpq_mat:
        values = []
        for low, high in zip(summand.lower.entries(), summand.upper.entries()):
            share = fmpq(self._random.randrange(2) if at_vertices else self._random.randrange(DRAWS + 1), 1 if at_vertices else DRAWS)
            values.append(low + (high - low) * share)
        return fmpq_mat(len(values), 1, values)


def _shorter(expected: fmpq, after: fmpq) -> fmpq:
    """The multiple of GRID between `expected` and `after` that is nearest to `after`; `after` when there is none."""
    scaled = after / GRID
    short = GRID * (scaled.floor() if after >= expected else scaled.ceil())
    return short if min(expected, after) <= short <= max(expected, after) else after


def _widths(disturbance: Disturbance) -> list[fmpq] | None:
    """Widths of the sum when it is a box that contains 0 and, for E, is centred there; None when it is not a box."""
    widths = [fmpq(0)] * disturbance.n
    for summand in disturbance.summands:
        rows = rows_of(summand.map)
        for j, (low, high) in enumerate(zip(summand.lower.entries(), summand.upper.entries())):
            touched = [i for i in range(disturbance.n) if rows[i][j] != 0]
            if len(touched) > 1 or low != -high:
                return None
            for i in touched:
                widths[i] += 2 * abs(rows[i][j]) * high
    return widths
