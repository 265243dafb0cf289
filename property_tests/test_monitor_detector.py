"""Cache, calibration and detector with a table of known embeddings."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aesop_verified.monitor import (
    CacheRefused,
    Calibration,
    CalibrationRefused,
    Cause,
    Detection,
    Detector,
    DismissedObservations,
    EmbeddingCache,
    EmbeddingRefused,
    MonitorError,
    NominalObservation,
    PerGroup,
    PerObservation,
    PerWindow,
    TopK,
    alarm_without_score,
    calibrate,
    calibrate_conformal,
    leave_out_scores,
)
from property_tests.monitor_samples import BASE, TableEmbedder, cache_of


def detector() -> Detector:
    cache = cache_of(*BASE)
    return Detector(TableEmbedder(), cache, TopK(1), calibrate(cache, TopK(1), alpha="3/4", unit=PerObservation()))


# --- calibration -------------------------------------------------------------------------------------------------


def test_leave_out_is_by_group_by_hand() -> None:
    # Without its own group "east" sees north (0) and north east (0.6); north sees 0, 0, 0.8; north east 0.6, 0.6, 0.8.
    assert leave_out_scores(cache_of(*BASE), TopK(1)) == pytest.approx([-0.6, -0.6, -0.8, -0.8], abs=1e-6)
    assert leave_out_scores(cache_of(*BASE), TopK(2)) == pytest.approx([-0.3, -0.3, -0.4, -0.7], abs=1e-6)


def test_threshold_by_hand() -> None:
    cache = cache_of(*BASE)
    half = calibrate(cache, TopK(1), alpha="1/2", unit=PerObservation())
    assert half.threshold == pytest.approx(-0.8, abs=1e-6)
    assert (half.rank, half.count) == (2, 4)
    most = calibrate(cache, TopK(1), alpha="3/4", unit=PerObservation())
    assert most.threshold == pytest.approx(-0.6, abs=1e-6)
    assert most.rank == 3
    flights = calibrate(cache, TopK(1), alpha="2/3", unit=PerGroup())
    assert flights.threshold == pytest.approx(-0.8, abs=1e-6)
    assert (flights.rank, flights.count) == (2, 3)
    assert "promises nothing" in half.statement


def test_one_group_is_refused_and_a_twin_group_is_noted() -> None:
    with pytest.raises(CalibrationRefused, match="found one group"):
        calibrate(cache_of(("east", "a"), ("north", "a")), TopK(1), alpha="1/2", unit=PerObservation())
    twins = calibrate(cache_of(("east", "a"), ("east", "b")), TopK(1), alpha="1/2", unit=PerObservation())
    assert twins.threshold == pytest.approx(-1.0)
    assert any("repeats" in note for note in twins.notes)


def test_k_may_not_exceed_what_is_left_without_the_largest_group() -> None:
    calibrate(cache_of(*BASE), TopK(2), alpha="1/2", unit=PerObservation())
    with pytest.raises(CalibrationRefused, match="without the group 'a' only 2"):
        calibrate(cache_of(*BASE), TopK(3), alpha="1/2", unit=PerObservation())


def test_identical_nominal_texts_do_not_alarm_at_their_own_threshold() -> None:
    cache = cache_of(("north east", "a"), ("north east", "b"), ("north east", "c"))
    calibration = calibrate(cache, TopK(1), alpha="0.95", unit=PerObservation())
    assert not Detector(TableEmbedder(), cache, TopK(1), calibration).detect("north east").alarm


def test_R01_rewritten_units_agree() -> None:
    cache = cache_of(
        ("east", "a"), ("north", "a"), ("north east", "b"), ("east", "b"), ("north", "c"), ("north east", "c")
    )
    for alpha in ("1/3", "1/2", "2/3", "0.95"):
        single = calibrate(cache, TopK(1), alpha=alpha, unit=PerObservation())
        assert calibrate(cache, TopK(1), alpha=alpha, unit=PerWindow(1)).threshold == single.threshold
        whole = calibrate(cache, TopK(1), alpha=alpha, unit=PerGroup())
        assert calibrate(cache, TopK(1), alpha=alpha, unit=PerWindow(2)).threshold == whole.threshold


def test_windows_do_not_overlap_and_short_groups_are_refused() -> None:
    cache = cache_of(("east", "a"), ("north", "a"), ("east", "a"), ("north east", "b"), ("north east", "b"))
    windowed = calibrate(cache, TopK(1), alpha="1/2", unit=PerWindow(2))
    assert windowed.count == 2
    assert any("1 observations" in note for note in windowed.notes)
    with pytest.raises(CalibrationRefused, match="group 'b' has 2 observations, expected at least 3"):
        calibrate(cache, TopK(1), alpha="1/2", unit=PerWindow(3))


def test_conformal_counts_flights_not_frames() -> None:
    held_out = cache_of(*[("north", f"h{i // 10}") for i in range(30)])
    result = calibrate_conformal(cache_of(("east", "a")), held_out, TopK(1), alpha="3/4")
    assert (result.count, result.rank) == (3, 3)
    assert result.threshold == pytest.approx(0.0, abs=1e-7)
    assert "exchangeable" in result.statement and "1/4" in result.statement
    infinite = calibrate_conformal(cache_of(("east", "a")), held_out, TopK(1), alpha="0.76")
    assert infinite.threshold == math.inf
    assert "at least 4 are needed" in infinite.notes[0]


def test_conformal_takes_the_worst_frame_of_each_flight() -> None:
    held_out = cache_of(("east", "h"), ("north", "h"), ("east", "i"), ("north east", "i"))
    result = calibrate_conformal(cache_of(("east", "a")), held_out, TopK(1), alpha="1/3")  # flights: 0 and -0.6, rank 1
    assert result.threshold == pytest.approx(-0.6, abs=1e-6)


def test_a_threshold_that_is_the_largest_value_says_so() -> None:
    cache = cache_of(*BASE)
    assert calibrate(cache, TopK(1), alpha="3/4", unit=PerGroup()).rank == 3
    largest = calibrate(cache, TopK(1), alpha="0.76", unit=PerObservation())
    assert largest.rank == 4 and any("with fewer than 5 values" in note for note in largest.notes)
    inner = calibrate(cache, TopK(1), alpha="3/4", unit=PerObservation())
    assert inner.rank == 3 and not any("with fewer than" in note for note in inner.notes)


def test_conformal_refuses_shared_groups_and_other_embedders() -> None:
    with pytest.raises(CalibrationRefused, match=r"\['a'\]"):
        calibrate_conformal(cache_of(("east", "a")), cache_of(("north", "a")), TopK(1), alpha="1/2")
    other = EmbeddingCache.build(TableEmbedder("2"), [NominalObservation("east", "b")])
    with pytest.raises(CalibrationRefused, match="use one embedder"):
        calibrate_conformal(cache_of(("east", "a")), other, TopK(1), alpha="1/2")


# --- detector ----------------------------------------------------------------------------------------------------


def test_detection_names_score_threshold_and_nearest_text() -> None:
    quiet = detector().detect("north")
    assert (quiet.alarm, quiet.cause, quiet.score) == (False, Cause.WITHIN_THRESHOLD, -1.0)
    loud = detector().detect("west")
    assert (loud.alarm, loud.cause) == (True, Cause.ABOVE_THRESHOLD)
    assert loud.score == pytest.approx(0.0)
    assert loud.nearest is not None
    assert (loud.nearest.text, loud.nearest.group) == ("north", "b")
    assert loud.nearest.similarity == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("observation", "cause"),
    [
        (None, Cause.NO_OBSERVATION),
        ("", Cause.NO_OBSERVATION),
        (" \n\t", Cause.NO_OBSERVATION),
        ("nan", Cause.UNUSABLE_EMBEDDING),
        ("inf", Cause.UNUSABLE_EMBEDDING),
        ("zero", Cause.UNUSABLE_EMBEDDING),
        ("not in the table", Cause.RAISED),
        (42, Cause.RAISED),
    ],
)
def test_M06_what_is_not_shown_nominal_is_an_alarm(observation: object, cause: Cause) -> None:
    found = detector().detect(observation)  # type: ignore[arg-type]
    assert (found.alarm, found.cause, found.score) == (True, cause, None)


@pytest.mark.parametrize("score", [math.nan, math.inf, None, 0.5000001])
def test_M06_no_quiet_detection_can_be_built_without_a_score_within_the_threshold(score: float | None) -> None:
    with pytest.raises(ValueError, match="not shown to be within"):
        Detection(alarm=False, cause=Cause.WITHIN_THRESHOLD, threshold=0.5, score=score)
    for threshold in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not shown to be within"):
            Detection(alarm=False, cause=Cause.WITHIN_THRESHOLD, threshold=threshold, score=0.0)


@settings(deadline=None)
@given(st.sampled_from(Cause), st.booleans())
def test_alarm_and_cause_agree(cause: Cause, alarm: bool) -> None:
    silent = cause in (Cause.WITHIN_THRESHOLD, Cause.DISMISSED)
    if alarm is silent:
        with pytest.raises(ValueError, match="does not go with"):
            Detection(alarm=alarm, cause=cause, threshold=1.0, score=0.0)
    else:
        assert Detection(alarm=alarm, cause=cause, threshold=1.0, score=0.0).alarm is alarm
    if not silent:
        assert alarm_without_score(cause, 0.0, "late").alarm


def test_R02_the_same_trace_twice_gives_identical_results() -> None:
    one = detector()
    trace = ["north", None, "west", "nan", "east", "west"]
    memory = DismissedObservations(radius=0.1, lifetime=3, capacity=2).remember([-1.0, 0.0], step=1)
    first = [one.detect(item, step=step, dismissed=memory) for step, item in enumerate(trace)]
    assert [one.detect(item, step=step, dismissed=memory) for step, item in enumerate(trace)] == first
    assert [detector().detect(item, step=step, dismissed=memory) for step, item in enumerate(trace)] == first


def test_parts_that_do_not_belong_together_are_refused() -> None:
    cache, other = cache_of(*BASE), cache_of(*BASE[1:])
    good = calibrate(cache, TopK(1), alpha="1/2", unit=PerObservation())
    with pytest.raises(CalibrationRefused, match="another cache"):
        Detector(TableEmbedder(), other, TopK(1), good)
    with pytest.raises(CalibrationRefused, match="top-2"):
        Detector(TableEmbedder(), cache, TopK(2), good)
    with pytest.raises(CalibrationRefused, match="the cache was made by"):
        Detector(TableEmbedder("2"), cache, TopK(1), good)
    for threshold in (math.inf, math.nan, -math.inf):
        with pytest.raises(CalibrationRefused, match="expected a finite number"):
            Detector(TableEmbedder(), cache, TopK(1), dataclasses.replace(good, threshold=threshold))


# --- dismissals --------------------------------------------------------------------------------------------------


def test_dismissal_silences_near_observations_for_its_lifetime_only() -> None:
    one, memory = detector(), DismissedObservations(radius=0.05, lifetime=2, capacity=1)
    embedding = one.detect("west").embedding
    assert embedding is not None
    held = memory.remember(embedding, step=10)
    causes = {step: one.detect("west", step=step, dismissed=held).cause for step in (9, 10, 11, 12, 13)}
    assert causes == {
        9: Cause.ABOVE_THRESHOLD,
        10: Cause.DISMISSED,
        11: Cause.DISMISSED,
        12: Cause.DISMISSED,
        13: Cause.ABOVE_THRESHOLD,
    }
    assert memory.entries == ()
    assert not held.covers([-0.6, 0.8], step=11)  # cosine distance 0.4
    assert one.detect("nan", step=11, dismissed=held).alarm


def test_dismissals_are_bounded_in_number_and_radius() -> None:
    memory = DismissedObservations(radius=0.0, lifetime=100, capacity=2)
    for step, embedding in enumerate(([1.0, 0.0], [0.0, 1.0], [-1.0, 0.0])):
        memory = memory.remember(embedding, step=step)
    assert [memory.covers(e, step=3) for e in ([1.0, 0.0], [0.0, 1.0], [-1.0, 0.0])] == [False, True, True]
    for radius in (-0.1, 0.21, math.nan, math.inf):
        with pytest.raises(MonitorError, match="radius"):
            DismissedObservations(radius=radius, lifetime=1, capacity=1)
    with pytest.raises(MonitorError, match="lifetime=0"):
        DismissedObservations(radius=0.1, lifetime=0, capacity=1)
    with pytest.raises(EmbeddingRefused):
        memory.remember([math.nan, 0.0], step=0)


def test_calibration_survives_pickle_and_json() -> None:
    finite = calibrate(cache_of(*BASE), TopK(1), alpha="1/2", unit=PerObservation())
    infinite = calibrate_conformal(cache_of(("east", "a")), cache_of(("north", "h")), TopK(1), alpha="0.9")
    assert infinite.threshold == math.inf
    for result in (finite, infinite):
        assert pickle.loads(pickle.dumps(result)) == result
        assert Calibration.from_json(json.loads(json.dumps(result.to_json(), allow_nan=False))) == result
    assert finite.alpha == Fraction(1, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": math.nan}, "threshold: found nan"),
        ({"threshold": -math.inf}, "threshold: found -inf"),
        ({"threshold": "low"}, "calibration.threshold: found 'low'"),
        ({"alpha": "2"}, "strictly between 0 and 1"),
        ({"rank": True}, "calibration.rank: found True"),
        ({"method": "guess"}, "calibration.method: found 'guess'"),
        ({"notes": [1]}, "calibration.notes"),
        ({"extra": 1}, "expected an object with the keys"),
    ],
)
def test_malformed_calibrations_name_the_field(change: dict[str, object], message: str) -> None:
    good = calibrate(cache_of(*BASE), TopK(1), alpha="1/2", unit=PerObservation()).to_json()
    with pytest.raises(CalibrationRefused, match=message):
        Calibration.from_json({**good, **change})


def test_detections_are_plain_values() -> None:
    loud = detector().detect("west").to_json()
    assert json.loads(json.dumps(loud, allow_nan=False)) == loud
    assert (loud["alarm"], loud["cause"]) == (True, "above_threshold")
    assert detector().detect(None).to_json()["nearest"] is None


def test_texts_that_are_not_unicode_are_refused_or_alarm() -> None:
    with pytest.raises(CacheRefused, match="observation 0 is not valid Unicode"):
        EmbeddingCache(
            TableEmbedder().identity, (NominalObservation("\ud800", "a"),), np.ones((1, 2), dtype=np.float32)
        )
    assert detector().detect("\ud800").alarm
