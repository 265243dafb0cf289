"""Durations as whole numbers of steps, exactly: 0.3 s at 0.1 s is 3 steps, and 0.25 s is none."""

from __future__ import annotations

from flint import fmpq

from aesop_verified.kernel.errors import UsageError
from aesop_verified.system.numbers import NumberRefused, decimal, split_quantity
from aesop_verified.system.units import UnitRefused, conversion

EXPECTED = "a whole number of steps such as 40, or a time such as '4 s'"


def seconds(text: str) -> fmpq:
    """The number of seconds of a time such as "100 ms"; a bare number is in seconds. Raises UsageError."""
    try:
        value, unit = split_quantity(text)
        return value * conversion(unit, "s") if unit else value
    except (NumberRefused, UnitRefused) as refused:
        raise UsageError(str(refused)) from None


def whole_steps(duration: int | str, dt: fmpq) -> int:
    """The number of steps of length dt that `duration` is: a count (40, "40", "40 steps"), or a time ("4 s").

    Args:
        duration: at least 0.
        dt: the time step in seconds, > 0.

    Raises:
        UsageError: when a time is not a whole multiple of dt; nothing is ever rounded.
    """
    try:
        value, unit = split_quantity(str(duration))
        counted = unit in ("", "step", "steps")
        steps = value if counted else value * conversion(unit, "s") / dt
    except (NumberRefused, UnitRefused) as refused:
        raise UsageError(str(refused)) from None
    if steps.q == 1 and steps >= 0:
        return int(steps.p)
    advice = ""
    if not counted and steps > 0:
        near = [k for k in (steps.floor(), steps.floor() + 1) if k > 0]
        advice = f"; that is {decimal(steps)} steps of {decimal(dt)} s: write {' or '.join(f'{decimal(k * dt)} s ({k} steps)' for k in near)}"
    raise UsageError(f"found {str(duration)!r}, expected {EXPECTED}{advice}")
