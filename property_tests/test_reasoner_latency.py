"""The latency statistic: exact binomial ranks, time-outs, one rounding to steps."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aesop_verified.reasoner import ReasonerError, bound_rank, consensus_horizon_for, latency_bound, steps_for


def test_theorys_own_example() -> None:
    assert bound_rank(298, "0.99", "0.05") is None
    assert bound_rank(299, "0.99", "0.05") == 299


def test_small_ranks_by_hand() -> None:
    # P(Bin(1, 1/2) <= 0) = 1/2; P(Bin(2, 1/2) <= 0) = 1/4, <= 1: 3/4; P(Bin(3, 1/2) <= 1) = 1/2, <= 2: 7/8.
    assert bound_rank(1, "1/2", "1/2") == 1
    assert bound_rank(1, "1/2", "0.49") is None
    assert bound_rank(2, "1/2", "1/4") == 2
    assert bound_rank(2, "1/2", "0.2499") is None
    assert bound_rank(3, "1/2", "1/2") == 2
    assert bound_rank(3, "1/2", "0.49") == 3
    assert bound_rank(0, "1/2", "1/2") is None


@settings(deadline=None)
@given(
    st.integers(0, 40),
    st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50),
    st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50),
)
def test_rank_is_the_smallest_of_its_definition(count: int, p: Fraction, delta: Fraction) -> None:
    def at_most(j: int) -> Fraction:
        return sum((comb(count, i) * p**i * (1 - p) ** (count - i) for i in range(j + 1)), Fraction(0))

    ranks = [k for k in range(1, count + 1) if at_most(k - 1) >= 1 - delta]
    assert bound_rank(count, p, delta) == (ranks[0] if ranks else None)
    assert (not ranks) == (p**count > delta)


def test_bound_is_the_ranked_measurement_and_time_outs_are_infinite() -> None:
    # n = 5, p = 1/2, delta = 1/5: P(Bin <= 3) = 26/32 >= 4/5 (and P(<= 2) = 1/2), so the 4th smallest.
    bound = latency_bound([50, 10, 40, 20, 30], "1/2", "1/5")
    assert bound is not None and (bound.rank, bound.bound_ns) == (4, 40)
    assert "1/2" in bound.statement and "n = 5" in bound.statement
    one_late = latency_bound([None, 10, 40, 20, 30], "1/2", "1/5")
    assert one_late is not None and one_late.bound_ns == 40
    two_late = latency_bound([None, 10, None, 20, 30], "1/2", "1/5")
    assert two_late is not None and two_late.bound_ns is None and "infinite" in two_late.statement
    assert latency_bound([1, 2], "0.99", "0.05") is None
    assert latency_bound([], "0.99", "0.05") is None


@pytest.mark.parametrize("bad", [-1, 1.5, True, "3", float("nan")])
def test_latencies_are_whole_nanoseconds(bad: object) -> None:
    with pytest.raises(ReasonerError, match="latency 1 is"):
        latency_bound([3, bad], "1/2", "1/2")  # type: ignore[list-item]


@pytest.mark.parametrize("bad", [0.99, "0", "1", "2", "x", True])
def test_probabilities_are_exact_and_proper(bad: object) -> None:
    with pytest.raises(ReasonerError, match="p="):
        bound_rank(3, bad, "1/2")  # type: ignore[arg-type]
    with pytest.raises(ReasonerError, match="delta="):
        bound_rank(3, "1/2", bad)  # type: ignore[arg-type]


def test_times_are_summed_exactly_and_rounded_up_once() -> None:
    assert steps_for(["0.04", "0.04", "0.02"], "0.1") == 1  # rounded one by one they would be 3
    assert steps_for(["0.1", "0.1", "0.1"], "0.1") == 3  # 0.30000000000000004 in floats, which would be 4
    assert steps_for(["0.1", Decimal("0.2"), Fraction(1, 10**12)], "0.1") == 4
    assert steps_for([], "0.1") == 0
    with pytest.raises(ReasonerError, match="times_seconds"):
        steps_for([0.1], "0.1")  # type: ignore[list-item]
    for dt, times in (("0", ["1"]), ("-1", ["1"]), ("1", ["-1"])):
        with pytest.raises(ReasonerError, match="expected a positive step"):
            steps_for(times, dt)


def test_horizon_counts_the_read_at_the_start_of_step_k_plus_1() -> None:
    assert [consensus_horizon_for(steps) for steps in (0, 1, 2, 16)] == [0, 0, 1, 15]
    with pytest.raises(ReasonerError, match="steps=-1"):
        consensus_horizon_for(-1)
