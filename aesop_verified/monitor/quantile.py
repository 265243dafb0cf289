"""Ranks of quantiles in exact arithmetic: no float ceiling, no clamped index, no negative zero index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from aesop_verified.monitor.errors import CalibrationRefused

ExactNumber = Fraction | Decimal | str | int


def exact_fraction(value: ExactNumber, *, what: str) -> Fraction:
    """Read a decimal or fraction exactly; a float is refused (0.95 is not 19/20, and the ceiling would feel it)."""
    if isinstance(value, bool) or not isinstance(value, (Fraction, Decimal, str, int)):
        raise CalibrationRefused(
            f"{what}: found {value!r} of type {type(value).__name__}, expected an exact number; write it as text, "
            'for example "0.95" or "19/20"'
        )
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise CalibrationRefused(f'{what}: {value!r} is no number; write for example "0.95" or "19/20"') from None


def exact_level(alpha: ExactNumber) -> Fraction:
    """alpha of Eq. (2) as a fraction, strictly between 0 and 1."""
    level = exact_fraction(alpha, what="alpha")
    if not 0 < level < 1:
        raise CalibrationRefused(f'alpha: found {level}, expected a level strictly between 0 and 1, for example "0.95"')
    return level


def empirical_rank(alpha: ExactNumber, count: int) -> int:
    """ceil(alpha N): the rank of the smallest q that bounds at least alpha N of N scores, Eq. (2). In 1..N."""
    if count < 1:
        raise CalibrationRefused(f"found {count} scores, expected at least 1; record nominal observations first")
    return math.ceil(exact_level(alpha) * count)


def conformal_rank(alpha: ExactNumber, count: int) -> int:
    """ceil((N + 1) alpha): the rank of split conformal prediction; may be N + 1, which no score reaches."""
    if count < 0:
        raise CalibrationRefused(f"found {count} scores, expected 0 or more")
    return math.ceil(exact_level(alpha) * (count + 1))


def _ascending(scores: Sequence[float]) -> list[float]:
    for index, score in enumerate(scores):
        if not math.isfinite(score):
            raise CalibrationRefused(f"score {index} is {score!r}, expected a finite number; a NaN has no rank")
    return sorted(scores)


def empirical_quantile(scores: Sequence[float], alpha: ExactNumber) -> float:
    """tau of Eq. (2): the ceil(alpha N)-th smallest score."""
    return _ascending(scores)[empirical_rank(alpha, len(scores)) - 1]


def conformal_quantile(scores: Sequence[float], alpha: ExactNumber) -> float:
    """The ceil((N+1) alpha)-th smallest score, or +infinity if that exceeds N (no finite threshold is guaranteed).

    References: Angelopoulos and Bates 2022, section 1; theory section 8.
    """
    ordered = _ascending(scores)
    rank = conformal_rank(alpha, len(ordered))
    return ordered[rank - 1] if rank <= len(ordered) else math.inf
