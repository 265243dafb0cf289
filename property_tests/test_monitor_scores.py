"""Scores and quantiles of the monitor, against hand arithmetic and second computations."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aesop_verified.monitor import (
    CalibrationRefused,
    EmbeddingRefused,
    Mahalanobis,
    TopK,
    conformal_quantile,
    conformal_rank,
    empirical_quantile,
    empirical_rank,
    false_alarm_level,
    window_maxima,
)
from aesop_verified.monitor.vectors import checked_rows, cosines, unit_rows

LEVELS = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000)
SCORES = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=30)


def test_top_1_is_the_papers_displayed_formula() -> None:
    # By hand: cosines of (3, 4) with (1, 0), (0, 2), (5, 0) are 3/5, 4/5, 3/5.
    fitted = TopK(1).fit([[1.0, 0.0], [0.0, 2.0], [5.0, 0.0]])
    assert fitted.score([3.0, 4.0]) == pytest.approx(-0.8, abs=1e-15)


def test_top_k_averages_the_k_largest() -> None:
    rows = [[1.0, 0.0], [0.0, 2.0], [5.0, 0.0]]
    assert TopK(2).fit(rows).score([3.0, 4.0]) == pytest.approx(-(0.8 + 0.6) / 2, abs=1e-15)
    assert TopK(3).fit(rows).score([3.0, 4.0]) == pytest.approx(-(0.8 + 0.6 + 0.6) / 3, abs=1e-15)


def test_top_k_needs_k_rows() -> None:
    with pytest.raises(CalibrationRefused, match="found 2 reference embeddings, expected at least 3"):
        TopK(3).fit([[1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("k", [0, -1, True, 1.0])
def test_k_is_a_positive_whole_number(k: object) -> None:
    with pytest.raises(CalibrationRefused, match="k="):
        TopK(k)  # type: ignore[arg-type]


def test_a_twins_cosine_does_not_depend_on_the_other_rows() -> None:
    generator = np.random.default_rng(7)
    for size in [2, 3, 7, 31, 383, 384, 768] * 10:
        rows = generator.normal(size=(9, size)).astype(np.float32)
        full = cosines(unit_rows(rows, what="rows"), unit_rows(rows[3:4], what="row")[0])[3]
        alone = cosines(unit_rows(rows[3:5], what="rows"), unit_rows(rows[3:4], what="row")[0])[0]
        assert full == alone
        assert full == pytest.approx(1.0, abs=1e-14)


def test_E02_zero_norm_never_ranks() -> None:
    stored = [[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]
    with pytest.raises(EmbeddingRefused, match="row 2 has zero norm") as refused:
        TopK(2).fit(stored)
    assert refused.value.row == 2
    similarity = cosines(unit_rows(stored[:2], what="stored"), np.array([1.0, 0.0]))
    assert list(np.argsort(-similarity)) == [0, 1]
    assert TopK(2).fit(stored[:2]).score([1.0, 0.0]) == pytest.approx(-(1 + math.sqrt(0.5)) / 2, abs=1e-15)
    with pytest.raises(EmbeddingRefused, match="zero norm"):
        TopK(2).fit(stored[:2]).score([0.0, 0.0])


@pytest.mark.parametrize(
    ("bad", "component"), [([math.nan, 1.0], 0), ([math.inf, 0.0], 0), ([0.0, -math.inf], 1), ([1.0, math.nan], 1)]
)
@pytest.mark.parametrize("score", [TopK(1), Mahalanobis(0.5)])
def test_E03_non_finite_is_rejected_with_its_component(
    bad: list[float], component: int, score: TopK | Mahalanobis
) -> None:
    good = [[1.0, 1.0], [1.0, 0.0]]
    with pytest.raises(EmbeddingRefused) as refused:
        score.fit([*good, bad])
    assert (refused.value.row, refused.value.component) == (2, component)
    with pytest.raises(EmbeddingRefused) as refused:
        score.fit(good).score(bad)
    assert (refused.value.row, refused.value.component) == (0, component)


def test_tiny_and_huge_vectors_keep_their_direction() -> None:
    for scale in (5e-324 * 2**20, 1e-200, 1e200, 1e308):
        assert unit_rows([[0.75 * scale, scale]], what="row")[0] == pytest.approx([0.6, 0.8], rel=1e-6)


@pytest.mark.parametrize("bad", [[1.0, 2.0], [["a", "b"]], [[True, False]], [[1j, 0.0]], 3.0])
def test_only_real_matrices_are_rows(bad: object) -> None:
    with pytest.raises(EmbeddingRefused, match="expected real numbers of shape"):
        checked_rows(bad, what="rows")


def test_dimension_mismatch_is_refused() -> None:
    with pytest.raises(EmbeddingRefused, match="found 3 components a row, expected 2"):
        TopK(1).fit([[1.0, 0.0]]).score([1.0, 0.0, 0.0])


def test_mahalanobis_by_hand() -> None:
    # Rows (+-2, 0), (0, +-1): mean 0, C = diag(2, 1/2), tr/e = 5/4. Shrinkage 1/2: S = diag(13/8, 7/8).
    fitted = Mahalanobis(0.5).fit([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert fitted.score([1.0, 1.0]) == pytest.approx(math.sqrt(8 / 13 + 8 / 7), rel=1e-14)


def test_mahalanobis_agrees_with_a_plain_solve() -> None:
    generator = np.random.default_rng(3)
    rows, point = generator.normal(size=(6, 10)), generator.normal(size=10)  # fewer rows than components
    sigma = 0.8 * np.cov(rows.T, bias=True)
    sigma += 0.2 * np.trace(np.cov(rows.T, bias=True)) / 10 * np.eye(10)
    gap = point - rows.mean(axis=0)
    assert Mahalanobis(0.2).fit(rows).score(point) == pytest.approx(
        math.sqrt(gap @ np.linalg.solve(sigma, gap)), rel=1e-10
    )


def test_mahalanobis_refuses_equal_rows_and_bad_shrinkage() -> None:
    with pytest.raises(CalibrationRefused, match="variance 0.0"):
        Mahalanobis().fit([[1.0, 2.0]] * 3)
    for shrinkage in (0.0, -0.1, 1.5, math.nan):
        with pytest.raises(CalibrationRefused, match="shrinkage"):
            Mahalanobis(shrinkage)


def test_ranks_by_hand() -> None:
    assert [empirical_rank("0.95", n) for n in (1, 19, 20, 21, 100)] == [1, 19, 19, 20, 95]
    # In floats 0.55 * 100 = 55.00000000000001 and 0.07 * 100 = 7.000000000000001: a float ceiling is one too high.
    assert math.ceil(0.55 * 100) == 56 and empirical_rank("0.55", 100) == 55
    assert math.ceil(0.07 * 100) == 8 and empirical_rank("0.07", 100) == 7
    assert empirical_quantile([3.0, 1.0, 2.0, 2.0], "1/2") == 2.0
    assert empirical_quantile([3.0, 1.0, 2.0, 2.0], "0.76") == 3.0


@settings(deadline=None)
@given(SCORES, LEVELS)
@example([1.0], Fraction(1, 1000))
@example([2.0, 2.0, 2.0], Fraction(999, 1000))
def test_empirical_quantile_is_the_infimum_of_equation_2(scores: list[float], alpha: Fraction) -> None:
    reaches = [q for q in scores if Fraction(sum(s <= q for s in scores), len(scores)) >= alpha]
    assert empirical_quantile(scores, alpha) == min(reaches)


def test_C02_no_negative_zero_index() -> None:
    # The case's alpha is the miss rate 1/10; ours is the level 9/10. ceil(6 * 9/10) = 6 > 5.
    assert conformal_rank("9/10", 5) == 6
    assert conformal_quantile([1.0, 2.0, 3.0, 4.0, 5.0], "9/10") == math.inf


def test_C03_rank_is_not_clamped() -> None:
    first_finite = next(
        n for n in range(1, 20) if math.isfinite(conformal_quantile([float(i) for i in range(n)], "9/10"))
    )
    assert first_finite == 9
    assert conformal_rank("9/10", 9) == 9
    assert conformal_quantile([], "9/10") == math.inf


@settings(deadline=None)
@given(st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=25), LEVELS)
def test_conformal_threshold_covers_every_exchangeable_draw(values: list[float], alpha: Fraction) -> None:
    # Each of the N + 1 values is equally likely to be the new one: count those that exceed the threshold of the rest.
    alarms = sum(not value <= conformal_quantile(values[:i] + values[i + 1 :], alpha) for i, value in enumerate(values))
    assert Fraction(alarms, len(values)) <= 1 - alpha


@pytest.mark.parametrize("alpha", [0.95, "0", "1", "-1/2", "nan", "1/0", "x", True, None])
def test_level_is_exact_and_inside_the_open_interval(alpha: object) -> None:
    with pytest.raises(CalibrationRefused, match="alpha"):
        empirical_rank(alpha, 10)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_quantile_refuses_scores_without_a_rank(bad: float) -> None:
    for quantile in (empirical_quantile, conformal_quantile):
        with pytest.raises(CalibrationRefused, match="score 1 is"):
            quantile([0.0, bad], "1/2")
    with pytest.raises(CalibrationRefused, match="found 0 scores"):
        empirical_quantile([], "1/2")


def test_false_alarm_budget_by_hand() -> None:
    # 2 alarms an hour, windows of 50 steps of 0.1 s: 720 windows an hour, so 1/360 of them may alarm.
    assert false_alarm_level(alarms_per_hour="2", step_seconds="0.1", steps=50) == Fraction(359, 360)
    with pytest.raises(CalibrationRefused, match="expected less than 1"):
        false_alarm_level(alarms_per_hour=36000, step_seconds="0.1", steps=1)
    with pytest.raises(CalibrationRefused, match="no finite threshold"):
        false_alarm_level(alarms_per_hour=0, step_seconds="0.1", steps=1)


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5).map(float), max_size=12), st.integers(1, 6))
def test_window_maxima_are_the_maxima_of_whole_windows(values: list[float], steps: int) -> None:
    found = window_maxima(values, steps)
    assert len(found) == max(0, len(values) - steps + 1)
    for start, value in enumerate(found):
        window = values[start : start + steps]
        assert value in window and all(value >= other for other in window)


def _eventually(robustness: list[float], steps: int) -> list[float]:
    lowest = min(robustness)  # the trace ends: windows are cut there, which padding with the minimum expresses
    return window_maxima(robustness + [lowest] * (steps - 1), steps)


def test_R01_both_writings_give_robustness_3() -> None:
    req = [0.0, 0.0, 0.0, 6.0, 6.0, 0.0, 0.0, 0.0]
    gnt = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 6.0]
    in_range = [min(g - 3, 10 - g) for g in gnt]
    one = [max(-(r - 3), e) for r, e in zip(req, _eventually(in_range, 6), strict=True)]
    at_least, at_most = [g - 3 for g in gnt], [10 - g for g in gnt]
    granted = [min(pair) for pair in zip(at_least, at_most, strict=True)]
    soon = _eventually(granted, 6)
    requested = [r - 3 for r in req]
    named = [max(-request, grant) for request, grant in zip(requested, soon, strict=True)]
    assert one == named == [3.0] * 8
    assert -window_maxima([-value for value in one], 8)[0] == 3.0
