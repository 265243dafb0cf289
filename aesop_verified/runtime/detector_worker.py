"""The detector in a worker process: an observation goes in, alarm or no alarm comes out; whatever goes wrong is an alarm."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import Alarm, AlarmCause
from aesop_verified.monitor import Cause, Detector, DetectorSpec, DismissedObservations
from aesop_verified.runtime.exact_text import Json, Unreadable, canonical, field, loggable, optional, words
from aesop_verified.runtime.services import LONGEST_OBSERVATION, Dismissal, Sighting, shown
from aesop_verified.runtime.worker import CallStatus, Worker
from aesop_verified.runtime.worker_main import Handler


@dataclass(frozen=True)
class DismissalRule:
    """For how long and how far an answer 0 silences like observations: cosine distance and steps."""

    radius: float
    lifetime: int
    capacity: int = 8


@dataclass(frozen=True)
class DetectorTask:
    """Builds a detector in a worker process."""

    spec: DetectorSpec
    dismissal: DismissalRule | None = None

    def build(self) -> Handler:
        """Load embedder and cache; the call keeps nothing from one observation to the next but embeddings."""
        detector = self.spec.build()
        embeddings: dict[str, tuple[float, ...] | None] = {}

        def dismissed(entries: list[list[Any]]) -> DismissedObservations | None:
            if self.dismissal is None or not entries:
                return None
            memory = DismissedObservations(self.dismissal.radius, self.dismissal.lifetime, self.dismissal.capacity)
            for text, step in entries:
                if text not in embeddings:
                    embeddings[text] = detector.detect(text).embedding
                known = embeddings[text]
                if known is not None:
                    memory = memory.remember(known, step=step)
            return memory

        def handle(payload: bytes) -> bytes:
            call = json.loads(payload)
            return _judged(detector, call["observation"], call["step"], dismissed(call["dismissed"]))

        return handle


def _judged(detector: Detector, observation: str, step: int, dismissed: DismissedObservations | None) -> bytes:
    found = detector.detect(observation, step=step, dismissed=dismissed).to_json()
    clean = {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in found.items()}
    return json.dumps(clean, allow_nan=False).encode()


_CAUSES = {
    Cause.ABOVE_THRESHOLD.name.lower(): AlarmCause.SCORE,
    Cause.NO_OBSERVATION.name.lower(): AlarmCause.NO_OBSERVATION,
    Cause.LATE.name.lower(): AlarmCause.LATE,
}
_MOST_BYTES = 64 * LONGEST_OBSERVATION
_SILENT = frozenset({Cause.WITHIN_THRESHOLD.name.lower(), Cause.DISMISSED.name.lower()})


def sighting_of(payload: bytes, observation: str) -> Sighting:
    """The judgement from a worker's answer; silent only when it says so twice, and garbage is an alarm."""
    try:
        if len(payload) > _MOST_BYTES:
            raise Unreadable(f"found {len(payload)} bytes, expected at most {_MOST_BYTES}")
        value = json.loads(payload)
        cause, alarm = field(value, "cause", words), field(value, "alarm", lambda v: v)
        score = field(value, "score", lambda v: optional(v, float))
        threshold = field(value, "threshold", lambda v: optional(v, float))
        if not isinstance(alarm, bool) or alarm == (cause in _SILENT) or (not alarm and score is None):
            raise Unreadable(f"found alarm = {alarm!r} with the cause {cause!r} and the score {score!r}")
        if cause == Cause.WITHIN_THRESHOLD.name.lower() and score is not None and threshold is not None and score > threshold:
            raise Unreadable(f"found the score {score} above the threshold {threshold} with the cause {cause!r}")
        note: Json = {"status": "done", "cause": cause, "score": score, "threshold": threshold, "nearest": value.get("nearest"), "detail": value.get("detail", "")}
        note = loggable(note, _MOST_BYTES)
        if "status" not in note:
            raise Unreadable(f"the note {note} cannot be logged")
    except (UsageError, ValueError, RecursionError) as error:
        return Sighting(Alarm(AlarmCause.RAISED, observation), {"status": "garbage", "detail": str(error)[:500]})
    if not alarm:
        return Sighting(None, note)
    return Sighting(Alarm(_CAUSES.get(cause, AlarmCause.RAISED), observation), note)


class DetectorWorker:
    """A `DetectionService` in a worker process."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._sighting: Sighting | None = None
        self._observation = ""

    def submit(self, observation: str | None, step: int, dismissed: tuple[Dismissal, ...]) -> None:
        """See `DetectionService`."""
        self._observation = shown(observation)
        self._sighting = None
        if observation is None or not observation.strip():
            self._sighting = Sighting(Alarm(AlarmCause.NO_OBSERVATION, self._observation), {"status": "done", "cause": "no_observation"})
        elif len(observation) > LONGEST_OBSERVATION:
            note = {"status": "done", "cause": "too_long", "detail": f"{len(observation)} characters, expected at most {LONGEST_OBSERVATION}"}
            self._sighting = Sighting(Alarm(AlarmCause.RAISED, self._observation), note)
        else:
            call = {"observation": observation, "step": step, "dismissed": [[d.observation, d.step] for d in dismissed]}
            if not self.worker.submit(canonical(call)):
                self._sighting = Sighting(Alarm(AlarmCause.LATE, self._observation), {"status": CallStatus.UNAVAILABLE.value})

    def collect(self, deadline_ns: int) -> Sighting:
        """See `DetectionService`."""
        if self._sighting is not None:
            return self._sighting
        result = self.worker.collect(deadline_ns)
        if result.status is CallStatus.DONE:
            return sighting_of(result.payload, self._observation)
        cause = AlarmCause.RAISED if result.status is CallStatus.RAISED else AlarmCause.LATE
        return Sighting(Alarm(cause, self._observation), {"status": result.status.value, "detail": result.detail})
