"""The loop around the kernel: worker processes that it can abandon, deadlines, the flight log and its re-check.

Names are imported when they are first used: a worker process with a model in it need not hold the planner too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aesop_verified.runtime.check import LogOutcome, LogVerdict, ReplayedStep, check_log, check_log_bytes
    from aesop_verified.runtime.clock import Clock, MonotonicClock
    from aesop_verified.runtime.detector_worker import DetectorTask, DetectorWorker, DismissalRule
    from aesop_verified.runtime.flight_log import About, FlightLog, ViolatedAssumption
    from aesop_verified.runtime.log_file import Durability
    from aesop_verified.runtime.loop import Deadlines, Loop, StartRefusedError, StepReport
    from aesop_verified.runtime.measurement import Measured, MeasurementReader
    from aesop_verified.runtime.planner_worker import PlannerTask, PlannerWorker, doubles, warm_up_requests
    from aesop_verified.runtime.reasoner_worker import ReasonerTask, ReasonerWorker, Said
    from aesop_verified.runtime.services import (
        DetectionService,
        Dismissal,
        PlanningService,
        Proposal,
        ReasoningService,
        Sighting,
    )
    from aesop_verified.runtime.worker import CallResult, CallStatus, Worker, WorkerFailed

_HOMES = {
    "check": ("LogOutcome", "LogVerdict", "ReplayedStep", "check_log", "check_log_bytes",),
    "clock": ("Clock", "MonotonicClock",),
    "detector_worker": ("DetectorTask", "DetectorWorker", "DismissalRule",),
    "flight_log": ("About", "FlightLog", "ViolatedAssumption",),
    "log_file": ("Durability",),
    "loop": ("Deadlines", "Loop", "StartRefusedError", "StepReport",),
    "measurement": ("Measured", "MeasurementReader",),
    "planner_worker": ("PlannerTask", "PlannerWorker", "doubles", "warm_up_requests",),
    "reasoner_worker": ("ReasonerTask", "ReasonerWorker", "Said",),
    "services": ("DetectionService", "Dismissal", "PlanningService", "Proposal", "ReasoningService", "Sighting",),
    "worker": ("CallResult", "CallStatus", "Worker", "WorkerFailed",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "About",
    "CallResult",
    "CallStatus",
    "Clock",
    "Deadlines",
    "DetectionService",
    "DetectorTask",
    "DetectorWorker",
    "Dismissal",
    "DismissalRule",
    "Durability",
    "FlightLog",
    "LogOutcome",
    "LogVerdict",
    "Loop",
    "Measured",
    "MeasurementReader",
    "MonotonicClock",
    "PlannerTask",
    "PlannerWorker",
    "PlanningService",
    "Proposal",
    "ReasonerTask",
    "ReasonerWorker",
    "ReasoningService",
    "ReplayedStep",
    "Said",
    "Sighting",
    "StartRefusedError",
    "StepReport",
    "ViolatedAssumption",
    "Worker",
    "WorkerFailed",
    "check_log",
    "check_log_bytes",
    "doubles",
    "warm_up_requests",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
