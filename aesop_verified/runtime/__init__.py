"""The loop around the kernel: worker processes that it can abandon, deadlines, the flight log and its re-check."""

from aesop_verified.runtime.check import LogOutcome, LogVerdict, ReplayedStep, check_log, check_log_bytes
from aesop_verified.runtime.clock import Clock, MonotonicClock
from aesop_verified.runtime.detector_worker import DetectorTask, DetectorWorker, DismissalRule
from aesop_verified.runtime.flight_log import About, FlightLog, ViolatedAssumption
from aesop_verified.runtime.log_file import Durability
from aesop_verified.runtime.loop import Deadlines, Loop, StartRefusedError, StepReport
from aesop_verified.runtime.measurement import Measured, MeasurementReader
from aesop_verified.runtime.planner_worker import PlannerTask, PlannerWorker, warm_up_requests
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
    "warm_up_requests",
]
