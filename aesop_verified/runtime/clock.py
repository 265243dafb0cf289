"""Time, passed in: the loop and the runner read no clock of their own."""

from __future__ import annotations

import time
from typing import Protocol

NANOSECONDS = 1_000_000_000
"""In a second."""


class Clock(Protocol):
    """A monotonic clock in whole nanoseconds."""

    def now_ns(self) -> int:
        """The time; only differences mean anything."""
        ...

    def sleep_until(self, time_ns: int) -> None:
        """Return at `time_ns`, at once when it has passed."""
        ...


class MonotonicClock:
    """The machine's monotonic clock."""

    def now_ns(self) -> int:
        """See `Clock`."""
        return time.monotonic_ns()

    def sleep_until(self, time_ns: int) -> None:
        """See `Clock`."""
        remaining = time_ns - time.monotonic_ns()
        if remaining > 0:
            time.sleep(remaining / NANOSECONDS)
