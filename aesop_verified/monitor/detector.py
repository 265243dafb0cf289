"""The fast detector: one observation in, alarm or no alarm with its cause out; total and without hidden state."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from aesop_verified.monitor.cache import EmbeddingCache
from aesop_verified.monitor.calibration import Calibration
from aesop_verified.monitor.dismissed import DismissedObservations
from aesop_verified.monitor.embedder import Embedder
from aesop_verified.monitor.errors import CalibrationRefused, EmbeddingRefused, ObservationTooLong
from aesop_verified.monitor.scores import Score
from aesop_verified.monitor.vectors import cosines, unit_rows


class Cause(Enum):
    """Why a detection is an alarm, or why not."""

    WITHIN_THRESHOLD = "score within threshold"
    DISMISSED = "above threshold, but dismissed earlier"
    ABOVE_THRESHOLD = "score above threshold"
    NO_OBSERVATION = "no observation"
    TOO_LONG = "observation too long to be read whole"
    UNUSABLE_EMBEDDING = "embedding without a direction or not finite"
    RAISED = "the detector raised an error"
    LATE = "the detector was late"


SILENT_CAUSES = frozenset({Cause.WITHIN_THRESHOLD, Cause.DISMISSED})
"""The only causes that go with "no alarm"; everything else, known or not, is an alarm."""


@dataclass(frozen=True)
class Nearest:
    """The nominal observation most similar to the present one."""

    text: str
    group: str
    similarity: float


@dataclass(frozen=True)
class Detection:
    """The detector's word on one observation.

    No alarm is possible only with a finite score: within the threshold, or dismissed. Anything else cannot be built.
    `embedding` is what `DismissedObservations.remember` takes; `detail` is for the log.
    """

    alarm: bool
    cause: Cause
    threshold: float
    score: float | None = None
    nearest: Nearest | None = None
    detail: str = ""
    embedding: tuple[float, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.alarm is not (self.cause not in SILENT_CAUSES):
            raise ValueError(f"alarm={self.alarm!r} does not go with the cause {self.cause.name}")
        if self.cause is Cause.WITHIN_THRESHOLD and not (
            self.score is not None and self.score <= self.threshold < math.inf
        ):
            raise ValueError(f"score={self.score!r} is not shown to be within threshold={self.threshold!r}")
        if self.cause is Cause.DISMISSED and not (self.score is not None and math.isfinite(self.score)):
            raise ValueError(f"score={self.score!r}: only a finite score can be dismissed")

    def to_json(self) -> dict[str, Any]:
        """Plain values for a log; the embedding is left out."""
        nearest = self.nearest
        return {
            "alarm": self.alarm,
            "cause": self.cause.name.lower(),
            "score": self.score,
            "threshold": self.threshold,
            "nearest": None
            if nearest is None
            else {"text": nearest.text, "group": nearest.group, "similarity": nearest.similarity},
            "detail": self.detail,
        }


def alarm_without_score(cause: Cause, threshold: float, detail: str) -> Detection:
    """The alarm of a detector that gave no score (late, dead, no observation): what the loop uses in its stead."""
    return Detection(alarm=True, cause=cause, threshold=threshold, detail=detail)


class Detector:
    """h of the paper: anomalous unless s(phi(o); D_e) <= tau.

    Raises `CalibrationRefused` when threshold, cache, embedder and score do not belong together, or when the
    threshold is not finite (such a detector would never speak).
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache, score: Score, calibration: Calibration) -> None:
        if embedder.identity != cache.embedder:
            raise CalibrationRefused(
                f"the embedder is {embedder.identity}, the cache was made by {cache.embedder}; use the same"
            )
        if calibration.cache_digest != cache.digest:
            raise CalibrationRefused("the threshold was calibrated on another cache (digests differ); calibrate again")
        if calibration.score != score.name:
            raise CalibrationRefused(
                f"the threshold was calibrated for {calibration.score!r}, the score is {score.name!r}"
            )
        if not math.isfinite(calibration.threshold):
            raise CalibrationRefused(
                f"the threshold is {calibration.threshold!r}, expected a finite number: this detector would never raise an alarm; "
                f"record more nominal groups or state a smaller alpha ({'; '.join(calibration.notes)})"
            )
        self._embedder = embedder
        self._cache = cache
        self._fitted = score.fit(cache.embeddings)
        self._unit = unit_rows(cache.embeddings, what="embedding cache")
        self._threshold = calibration.threshold

    @property
    def threshold(self) -> float:
        """tau."""
        return self._threshold

    def detect(
        self, observation: str | None, *, step: int = 0, dismissed: DismissedObservations | None = None
    ) -> Detection:
        """Judge one observation; never raises, and the same arguments give the same answer every time.

        None or blank text is an alarm (NO_OBSERVATION); so is every error on the way.
        """
        if observation is None or (isinstance(observation, str) and not observation.strip()):
            return alarm_without_score(Cause.NO_OBSERVATION, self._threshold, "no text was given")
        try:
            return self._judge(observation, step, dismissed)
        except EmbeddingRefused as error:
            return alarm_without_score(Cause.UNUSABLE_EMBEDDING, self._threshold, str(error))
        except ObservationTooLong as error:
            return alarm_without_score(Cause.TOO_LONG, self._threshold, str(error))
        except Exception as error:  # noqa: BLE001 - theory 3: a detector that raises counts as an alarm, whatever it raises
            return alarm_without_score(Cause.RAISED, self._threshold, f"{type(error).__name__}: {error}")

    def _judge(self, observation: str, step: int, dismissed: DismissedObservations | None) -> Detection:
        rows = self._embedder.embed([observation])
        if rows.shape[0] != 1:
            raise EmbeddingRefused(f"the embedder returned {rows.shape[0]} rows for one text, expected 1")
        row = rows[0]
        unit = unit_rows(row[None, :], what="embedding", dimension=self._unit.shape[1])[0]
        score = self._fitted.score(row)
        similarity = cosines(self._unit, unit)
        closest = int(np.argmax(similarity))
        found = self._cache.observations[closest]
        cause = Cause.WITHIN_THRESHOLD if score <= self._threshold else Cause.ABOVE_THRESHOLD
        embedding = tuple(float(value) for value in row)
        if cause is Cause.ABOVE_THRESHOLD and dismissed is not None and dismissed.covers(embedding, step=step):
            cause = Cause.DISMISSED
        return Detection(
            alarm=cause not in SILENT_CAUSES,
            cause=cause,
            threshold=self._threshold,
            score=score,
            nearest=Nearest(found.text, found.group, float(similarity[closest])),
            embedding=embedding,
        )
