"""The disturbance as it was observed: largest share of the declared W a component, and every step that left W."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.model import System
from aesop_verified.kernel.rational import require_shape


@dataclass(frozen=True, slots=True)
class ObservedShare:
    """One component of w over a flight.

    Attributes:
        state: index of the component.
        largest: the w of the largest share of its bound, in the unit of the state; 0 when it never acted.
        declared: the bound of W on that side.
        step: when; None when it never acted.
    """

    state: int
    largest: float = 0.0
    declared: float = 0.0
    step: int | None = None

    @property
    def ratio(self) -> float:
        """|largest| / declared; 0 without a disturbance, infinite where W allows none."""
        if self.largest == 0:
            return 0.0
        return abs(self.largest) / self.declared if self.declared > 0 else math.inf


@dataclass(frozen=True, slots=True)
class LeftW:
    """The violated assumption w in W, as an event.

    Attributes:
        step: t of w_t.
        state: the component that leaves the bounding box of W by most.
        excess: by how much, exactly.
    """

    step: int
    state: int
    excess: fmpq


class ObservedDisturbance:
    """Collects w step by step; exact, against the bounding box of the declared W."""

    def __init__(self, system: System) -> None:
        self._disturbance = system.disturbance
        sides = system.disturbance.bounding_box().h.entries()
        self._upper, self._lower = sides[0::2], sides[1::2]
        self._largest: list[tuple[fmpq, int] | None] = [None] * system.n
        self._left: list[LeftW] = []
        self._steps = 0

    @property
    def steps(self) -> int:
        """How many steps were observed."""
        return self._steps

    @property
    def violations(self) -> tuple[LeftW, ...]:
        """Every step that left W, in order."""
        return tuple(self._left)

    @property
    def shares(self) -> tuple[ObservedShare, ...]:
        """For each component of the state, its largest share of the bound."""
        found = []
        for i, largest in enumerate(self._largest):
            if largest is None:
                found.append(ObservedShare(i, declared=float(max(self._upper[i], self._lower[i]))))
            else:
                value, step = largest
                found.append(ObservedShare(i, float(value), float(self._bound(i, value)), step))
        return tuple(found)

    def add(self, w: fmpq_mat) -> LeftW | None:
        """Observe the w of the next step, shape (n, 1); returns the violated assumption, or None."""
        require_shape("the observed disturbance", w, self._disturbance.n, 1)
        for i, value in enumerate(w.entries()):
            before = self._largest[i]
            # |value| / bound > |before| / its bound, without dividing: a bound may be 0.
            if value != 0 and (before is None or abs(value) * self._bound(i, before[0]) > abs(before[0]) * self._bound(i, value)):
                self._largest[i] = (value, self._steps)
        excess = self._disturbance.excess(w)
        left = None if excess is None else LeftW(self._steps, *excess)
        if left is not None:
            self._left.append(left)
        self._steps += 1
        return left

    def _bound(self, i: int, value: fmpq) -> fmpq:
        return self._upper[i] if value > 0 else self._lower[i]
