"""The threshold tau of Eq. (2): over observations, windows or whole flights; and its conformal variant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from aesop_verified.monitor.cache import EmbeddingCache
from aesop_verified.monitor.errors import CalibrationRefused
from aesop_verified.monitor.quantile import (
    ExactNumber,
    conformal_quantile,
    conformal_rank,
    empirical_quantile,
    empirical_rank,
    exact_fraction,
    exact_level,
)
from aesop_verified.monitor.scores import Score


class Method(Enum):
    """How tau was found."""

    EMPIRICAL = "empirical quantile, group leave-out"
    CONFORMAL = "split conformal, held-out groups"


@dataclass(frozen=True)
class PerObservation:
    """alpha is a share of single observations."""

    def __str__(self) -> str:
        return "observation"


@dataclass(frozen=True)
class PerWindow:
    """alpha is a share of windows of `steps` successive observations (non-overlapping, inside one group)."""

    steps: int

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise CalibrationRefused(f"steps={self.steps!r}: expected a whole number of at least 1")

    def __str__(self) -> str:
        return f"window of {self.steps} steps"


@dataclass(frozen=True)
class PerGroup:
    """alpha is a share of whole groups (flights)."""

    def __str__(self) -> str:
        return "group"


Unit = PerObservation | PerWindow | PerGroup


@dataclass(frozen=True)
class Calibration:
    """A threshold with everything needed to judge it; an observation is anomalous unless s <= threshold."""

    threshold: float
    alpha: Fraction
    rank: int
    count: int
    method: Method
    unit: str
    score: str
    groups: int
    largest_group: int
    cache_digest: str
    statement: str
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values; alpha as "p/q", an infinite threshold as "infinity"; `from_json` reads them back exactly."""
        return {
            **{item.name: getattr(self, item.name) for item in fields(self)},
            "threshold": "infinity" if math.isinf(self.threshold) else self.threshold,
            "alpha": str(self.alpha),
            "method": self.method.name.lower(),
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, value: Any) -> Calibration:
        """Read what `to_json` wrote; raises `CalibrationRefused`, naming the field, for anything else."""
        kinds: dict[str, type] = {
            "threshold": float,
            "alpha": str,
            "rank": int,
            "count": int,
            "method": str,
            "unit": str,
            "score": str,
            "groups": int,
            "largest_group": int,
            "cache_digest": str,
            "statement": str,
            "notes": list,
        }
        if not isinstance(value, dict) or set(value) != set(kinds):
            raise CalibrationRefused(
                f"calibration: found {value!r:.80}, expected an object with the keys {sorted(kinds)}"
            )
        read = dict(value)
        if read["threshold"] == "infinity":
            read["threshold"] = math.inf
        for key, kind in kinds.items():
            if type(read[key]) is not kind:
                raise CalibrationRefused(
                    f"calibration.{key}: found {value[key]!r:.60}, expected {kind.__name__}; calibrate again"
                )
        if math.isnan(read["threshold"]) or read["threshold"] == -math.inf:
            raise CalibrationRefused(
                f"calibration.threshold: found {read['threshold']!r}, expected a number; calibrate again"
            )
        if read["method"] not in (method.name.lower() for method in Method):
            raise CalibrationRefused(f"calibration.method: found {read['method']!r}, expected empirical or conformal")
        if not all(isinstance(note, str) for note in read["notes"]):
            raise CalibrationRefused("calibration.notes: expected texts only")
        read["alpha"] = exact_level(read["alpha"])
        read["method"] = Method[read["method"].upper()]
        read["notes"] = tuple(read["notes"])
        return cls(**read)


def false_alarm_level(*, alarms_per_hour: ExactNumber, step_seconds: ExactNumber, steps: int) -> Fraction:
    """alpha = 1 - (alarms per hour) x (hours per unit), for units of `steps` steps of `step_seconds` each.

    An hour holds 3600 / (steps x step_seconds) units; if a share 1 - alpha of them holds a false alarm, the
    expected number of such units an hour is the budget. `steps = 1` is the budget for single observations.
    """
    rate = exact_fraction(alarms_per_hour, what="alarms_per_hour")
    dt = exact_fraction(step_seconds, what="step_seconds")
    if rate <= 0 or dt <= 0 or steps < 1:
        raise CalibrationRefused(
            f"alarms_per_hour={rate}, step_seconds={dt}, steps={steps}: expected positive numbers; a budget of no false "
            "alarm at all has no finite threshold"
        )
    share = rate * dt * steps / 3600
    if share >= 1:
        raise CalibrationRefused(
            f"a budget of {rate} false alarms an hour is {share} a unit of {steps} steps, expected less than 1; "
            "state a smaller budget or use a shorter window"
        )
    return 1 - share


def window_maxima(scores: Sequence[float], steps: int) -> list[float]:
    """max over scores[i], ..., scores[i + steps - 1] for every i at which the whole window exists."""
    values = _finite_scores(scores)
    if steps < 1:
        raise CalibrationRefused(f"steps={steps!r}: expected at least 1")
    return [max(values[start : start + steps]) for start in range(len(values) - steps + 1)]


def _finite_scores(scores: Sequence[float]) -> list[float]:
    for index, value in enumerate(scores):
        if not math.isfinite(value):
            raise CalibrationRefused(f"score {index} is {value!r}, expected a finite number")
    return [float(value) for value in scores]


def leave_out_scores(cache: EmbeddingCache, score: Score) -> list[float]:
    """s(e_i; D_e without the group of e_i), in row order.

    The leave-out is by group: a twin of e_i (the next frame of the same flight) left in would score -1 and drag
    tau down. Raises `CalibrationRefused` unless there are two groups and k <= N - (largest group).
    """
    sizes = cache.group_sizes
    if len(sizes) < 2:
        raise CalibrationRefused(
            f"found one group ({next(iter(sizes))!r}), expected at least two: leaving it out leaves nothing to compare with; "
            "record a second flight or label the observations by flight"
        )
    largest = max(sizes, key=lambda group: sizes[group])
    remaining = len(cache.observations) - sizes[largest]
    if score.minimum_rows > remaining:
        raise CalibrationRefused(
            f"{score.name} needs {score.minimum_rows} reference embeddings, but without the group {largest!r} only {remaining} "
            "of them remain; choose a smaller k or record more groups"
        )
    labels = np.array(cache.groups, dtype=object)
    result = [math.nan] * len(labels)
    for group in sizes:
        inside = labels == group
        fitted = score.fit(cache.embeddings[~inside])
        for row in np.flatnonzero(inside):
            result[int(row)] = fitted.score(cache.embeddings[row])
    return _finite_scores(result)


def _per_group(cache: EmbeddingCache, scores: Sequence[float]) -> dict[str, list[float]]:
    grouped: dict[str, list[float]] = {group: [] for group in cache.group_sizes}
    for group, value in zip(cache.groups, scores, strict=True):
        grouped[group].append(value)
    return grouped


def _unit_scores(cache: EmbeddingCache, scores: Sequence[float], unit: Unit) -> tuple[list[float], list[str]]:
    if isinstance(unit, PerObservation):
        return list(scores), []
    grouped = _per_group(cache, scores)
    if isinstance(unit, PerGroup):
        return [max(values) for values in grouped.values()], []
    maxima: list[float] = []
    left = 0
    for group, values in grouped.items():
        if len(values) < unit.steps:
            raise CalibrationRefused(
                f"group {group!r} has {len(values)} observations, expected at least {unit.steps}, the window; a shorter "
                "stretch has a smaller maximum and would lower the threshold: use a shorter window or drop this group"
            )
        maxima += window_maxima(values, unit.steps)[:: unit.steps]
        left += len(values) % unit.steps
    notes = [f"{left} observations at the ends of groups fill no whole window and were not used"] if left else []
    return maxima, notes


def calibrate(cache: EmbeddingCache, score: Score, *, alpha: ExactNumber, unit: Unit) -> Calibration:
    """tau = inf{q : |{i : s_i <= q}| / N >= alpha}, Eq. (2), with group leave-out scores (or their maxima per unit).

    Returns the ceil(alpha N)-th smallest. The statement is about the recorded data, not about future flights;
    `calibrate_conformal` gives the latter.
    """
    level = exact_level(alpha)
    scores = leave_out_scores(cache, score)
    values, notes = _unit_scores(cache, scores, unit)
    threshold = empirical_quantile(values, level)
    rank = empirical_rank(level, len(values))
    above = sum(not value <= threshold for value in values)
    sizes = cache.group_sizes
    twins = len(cache.observations) - len({item.text for item in cache.observations})
    if twins:
        notes.append(
            f"{twins} texts are repeats of others; repeats in different groups score as perfectly nominal and lower the threshold"
        )
    if rank == len(values):
        notes.append(
            f"tau is the largest of the {len(values)} values: with fewer than {math.ceil(1 / (1 - level))} values the level {level} "
            "cannot be told from 1"
        )
    statement = (
        f"{above} of {len(values)} recorded nominal cases (unit: {unit}) lie above tau; tau is number {rank} from the lowest, "
        f"alpha = {level}. This describes the recorded data; it promises nothing about other flights."
    )
    return Calibration(
        threshold,
        level,
        rank,
        len(values),
        Method.EMPIRICAL,
        str(unit),
        score.name,
        len(sizes),
        max(sizes.values()),
        cache.digest,
        statement,
        tuple(notes),
    )


def calibrate_conformal(
    cache: EmbeddingCache, held_out: EmbeddingCache, score: Score, *, alpha: ExactNumber
) -> Calibration:
    """tau = the ceil((N+1) alpha)-th smallest of N held-out group scores, or infinity if that exceeds N.

    Each held-out group gives one score, the largest of its observations against `cache`: frames of one flight
    are not exchangeable, so 3 flights of 10 frames are 3 scores and not 30. Then, for one new group that is
    exchangeable with the held-out ones, P(any of its observations alarms) <= 1 - alpha.
    """
    level = exact_level(alpha)
    if held_out.embedder != cache.embedder:
        raise CalibrationRefused(
            f"the held-out observations were embedded by {held_out.embedder}, the cache by {cache.embedder}; use one embedder"
        )
    shared = sorted(set(held_out.groups) & set(cache.groups))
    if shared:
        raise CalibrationRefused(
            f"the groups {shared} are in the cache and among the held-out ones, expected no group in both; hold whole flights out"
        )
    fitted = score.fit(cache.embeddings)
    grouped = _per_group(held_out, [fitted.score(row) for row in held_out.embeddings])
    values = [max(group) for group in grouped.values()]
    threshold = conformal_quantile(values, level)
    rank = conformal_rank(level, len(values))
    sizes = held_out.group_sizes
    single = max(sizes.values()) == 1
    thing = "observation" if single else "group (flight)"
    condition = (
        f"If one new nominal {thing} is exchangeable with the {len(values)} held-out ones, then the probability that it raises "
        f"a false alarm is at most {1 - level}, on average over the draw of the held-out data. Nothing is promised for a second "
        "one with the same data, or for other places, sensors or seasons."
    )
    notes: tuple[str, ...] = ()
    if math.isinf(threshold):
        needed = math.ceil(level / (1 - level))
        notes = (
            f"no finite threshold: rank {rank} exceeds {len(values)} held-out groups; at least {needed} are needed",
        )
    return Calibration(
        threshold,
        level,
        rank,
        len(values),
        Method.CONFORMAL,
        thing,
        score.name,
        len(sizes),
        max(sizes.values()),
        cache.digest,
        condition,
        notes,
    )
