"""From measured latencies to K (theory section 9): an exact order-statistic bound, and one rounding to steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from aesop_verified.reasoner.errors import ReasonerError

Exact = Fraction | Decimal | str | int


def _fraction(value: Exact, what: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (Fraction, Decimal, str, int)):
        raise ReasonerError(
            f'{what}={value!r} (type={type(value).__name__}): expected an exact number, written as text such as "0.99"'
        )
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ReasonerError(f'{what}={value!r}: expected a number such as "0.99" or "99/100"') from None


def _probability(value: Exact, what: str) -> Fraction:
    fraction = _fraction(value, what)
    if not 0 < fraction < 1:
        raise ReasonerError(f"{what}={fraction}: expected a number strictly between 0 and 1")
    return fraction


@dataclass(frozen=True)
class LatencyBound:
    """With confidence 1 - delta, the p-quantile of the latency is at most `bound_ns` (None: infinite, a time-out)."""

    bound_ns: int | None
    rank: int
    count: int
    p: Fraction
    delta: Fraction

    @property
    def statement(self) -> str:
        """In words, with p, delta and n."""
        bound = "infinite (a time-out)" if self.bound_ns is None else f"{Fraction(self.bound_ns, 10**6)} ms"
        return (
            f"with confidence {1 - self.delta} at least a share {self.p} of answers takes at most {bound}: the {self.rank}-th smallest "
            f"of n = {self.count} independent measurements. K itself is enforced by a timer and does not rest on this."
        )


def bound_rank(count: int, p: Exact, delta: Exact) -> int | None:
    """min{k <= n : P(Bin(n, p) <= k - 1) >= 1 - delta}, exactly; None if there is none (p^n > delta)."""
    chance, risk = _probability(p, "p"), _probability(delta, "delta")
    if count < 0:
        raise ReasonerError(f"count={count}: expected 0 or more")
    a, b = chance.numerator, chance.denominator - chance.numerator
    # P(Bin <= k - 1) >= 1 - delta  <=>  d^n - sum_{i<k} C(n,i) a^i b^(n-i) <= delta d^n, in integers.
    remaining = chance.denominator**count
    allowed = risk * remaining
    term = b**count  # C(n,0) a^0 b^n; the next term is term * a (n - i) / (b (i + 1)), an integer again
    for k in range(1, count + 1):
        remaining -= term
        if remaining <= allowed:
            return k
        term = term * a * (count - k + 1) // (b * k)
    return None


def latency_bound(latencies: Sequence[int | None], p: Exact, delta: Exact) -> LatencyBound | None:
    """Distribution-free upper confidence bound of the p-quantile from independent latencies.

    Parameters: `latencies` in integer nanoseconds, None for a time-out (counts as infinite); `p`, `delta` exact.
    Returns None when n is too small for any bound (p^n > delta; p = 0.99, delta = 0.05 needs n >= 299).
    """
    for index, value in enumerate(latencies):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise ReasonerError(
                f"latency {index} is {value!r}, expected whole nanoseconds of at least 0, or None for a time-out"
            )
    rank = bound_rank(len(latencies), p, delta)
    if rank is None:
        return None
    finite = sorted(value for value in latencies if value is not None)
    bound = finite[rank - 1] if rank <= len(finite) else None
    return LatencyBound(bound, rank, len(latencies), _probability(p, "p"), _probability(delta, "delta"))


def steps_for(times_seconds: Sequence[Exact], step_seconds: Exact) -> int:
    """ceil(sum of all times / dt): the whole way from observation to readable answer, rounded up once.

    Rounding each time on its own would count a part step for each of them.
    """
    dt = _fraction(step_seconds, "step_seconds")
    times = [_fraction(time, f"times_seconds[{index}]") for index, time in enumerate(times_seconds)]
    if dt <= 0 or any(time < 0 for time in times):
        raise ReasonerError(
            f"step_seconds={dt}, times_seconds={times}: expected a positive step and times of at least 0"
        )
    return math.ceil(sum(times, Fraction(0)) / dt)


def consensus_horizon_for(steps: int) -> int:
    """The smallest K at which an answer that is readable `steps` steps after the alarm is in time.

    An answer is in time if it is read at the start of step t_anom + K + 1 or earlier (theory section 2), so
    K = max(0, steps - 1).
    """
    if steps < 0:
        raise ReasonerError(f"steps={steps}: expected 0 or more")
    return max(0, steps - 1)
