"""Observations that the reasoner has called harmless: remembered for a bounded time, number and distance.

The paper names this as future work ("the same anomaly is still there"). A dismissal is a bounded licence: when
it ends, or an entry is dropped for space, the observation alarms again, which is the safe side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from aesop_verified.monitor.errors import MonitorError
from aesop_verified.monitor.vectors import cosines, unit_rows

MAXIMUM_RADIUS: Final = 0.2
"""Largest radius accepted, in cosine distance 1 - cos; wider, a dismissal would cover other scenes."""


@dataclass(frozen=True)
class Dismissal:
    """One remembered embedding and the step at which the reasoner dismissed it."""

    embedding: tuple[float, ...]
    step: int


@dataclass(frozen=True)
class DismissedObservations:
    """An immutable memory; `remember` returns a new one, `covers` only reads.

    `radius`: cosine distance, 0 to `MAXIMUM_RADIUS`; `lifetime`: steps for which a dismissal holds, counted
    from the step after it; `capacity`: entries kept, the oldest goes first.
    """

    radius: float
    lifetime: int
    capacity: int
    entries: tuple[Dismissal, ...] = field(default=())

    def __post_init__(self) -> None:
        if not (0.0 <= self.radius <= MAXIMUM_RADIUS):
            raise MonitorError(f"radius={self.radius!r}: expected a cosine distance from 0 to {MAXIMUM_RADIUS}")
        if self.lifetime < 1 or self.capacity < 1:
            raise MonitorError(f"lifetime={self.lifetime!r}, capacity={self.capacity!r}: expected at least 1 of each")

    def remember(self, embedding: Sequence[float], *, step: int) -> DismissedObservations:
        """Add a dismissal made at `step`; expired entries and, over capacity, the oldest are dropped."""
        unit_rows(np.asarray(embedding)[None, :], what="dismissed embedding")
        alive = [entry for entry in self.entries if self._alive(entry, step)]
        alive.append(Dismissal(tuple(float(value) for value in embedding), step))
        return replace(self, entries=tuple(alive[-self.capacity :]))

    def covers(self, embedding: Sequence[float], *, step: int) -> bool:
        """True only if a living entry lies within the radius of `embedding` (e,)."""
        alive = [entry.embedding for entry in self.entries if self._alive(entry, step)]
        if not alive:
            return False
        vector = unit_rows(np.asarray(embedding)[None, :], what="embedding")[0]
        similarity = cosines(unit_rows(np.array(alive), what="dismissed embeddings", dimension=vector.size), vector)
        return bool((1.0 - similarity <= self.radius).any())

    def _alive(self, entry: Dismissal, step: int) -> bool:
        return 0 <= step - entry.step <= self.lifetime
