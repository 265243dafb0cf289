"""Calibration of the detector in a process of its own, which ends before the flight."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from aesop_verified.kernel.errors import UsageError
from aesop_verified.monitor import (
    Calibration,
    EmbeddingCache,
    MiniLmSpec,
    NominalObservation,
    PerGroup,
    PerObservation,
    TopK,
    calibrate,
)
from aesop_verified.runtime.clock import NANOSECONDS
from aesop_verified.runtime.worker import CallStatus, Worker
from aesop_verified.runtime.worker_main import Handler

START_SECONDS = 180.0
"""Longest time for a process to load its model, on a machine that is busy."""


@dataclass(frozen=True, slots=True)
class Monitoring:
    """How the detector is calibrated: top-k, alpha, the unit of alpha, dismissals, and nominal texts by flight."""

    top_k: int
    alpha: str
    unit: str
    radius: float | None
    lifetime: int
    history: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class CalibrationTask:
    """Embeds the nominal history, writes the cache and finds the threshold, in a process that ends afterwards."""

    monitoring: Monitoring
    cache_path: str

    def build(self) -> Handler:
        """Load the embedder."""
        embedder = MiniLmSpec().build()

        def handle(_: bytes) -> bytes:
            observations = [NominalObservation(text, flight) for flight, texts in self.monitoring.history for text in texts]
            cache = EmbeddingCache.build(embedder, observations)
            cache.save(self.cache_path)
            unit = PerGroup() if self.monitoring.unit == "flight" else PerObservation()
            return json.dumps(calibrate(cache, TopK(self.monitoring.top_k), alpha=self.monitoring.alpha, unit=unit).to_json()).encode()

        return handle


def calibrated(worker: Worker) -> Calibration:
    """The calibration that a `CalibrationTask` found; raises UsageError with what it raised."""
    worker.wait_ready(START_SECONDS)
    worker.submit(b"")
    result = worker.collect(time.monotonic_ns() + int(START_SECONDS) * NANOSECONDS)
    if result.status is not CallStatus.DONE:
        raise UsageError(f"monitor: the detector cannot be calibrated: {result.detail or result.status.value}")
    return Calibration.from_json(json.loads(result.payload))

