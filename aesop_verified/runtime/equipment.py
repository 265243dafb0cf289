"""The processes that a scenario flies with: planner, detector and reasoner, each started, calibrated and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.monitor import Calibration, DetectorSpec, MiniLmSpec, TopK
from aesop_verified.planning.planner import PlannerSpec
from aesop_verified.reasoner import LocalGgufSpec, ReasonerSpec
from aesop_verified.runtime.calibration import START_SECONDS, calibrated
from aesop_verified.runtime.clock import NANOSECONDS
from aesop_verified.runtime.detector_worker import DetectorTask, DetectorWorker, DismissalRule
from aesop_verified.runtime.planner_worker import PlannerTask, PlannerWorker, doubles, warm_up_requests
from aesop_verified.runtime.reasoner_worker import ReasonerTask, ReasonerWorker
from aesop_verified.runtime.scenario import Scenario
from aesop_verified.runtime.worker import Worker, WorkerFailed

REASONER_CHOICES = ("auto", "local", "scripted", "endpoint")


@dataclass(eq=False)
class Equipment:
    """What a flight is flown with; close it, or use it as a context.

    Attributes:
        reasoner_name: which reasoner answers, in words, for the output.
    """

    planner: PlannerWorker
    detector: DetectorWorker
    reasoner: ReasonerWorker
    calibration: Calibration
    reasoner_name: str
    reasoner_spec: ReasonerSpec
    workers: list[Worker] = field(default_factory=list)

    def __enter__(self) -> Equipment:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers:
            worker.close()


def equip(
    scenario: Scenario, assured: AssuredSystem, calibrating: Worker, cache_path: Path, choice: str, say: Callable[[str], None], *, niceness: int = 5
) -> Equipment:
    """Start planner, detector and reasoner and wait until all are ready.

    Args:
        calibrating: a worker with the `CalibrationTask`; it is closed here.
        cache_path: where that task writes the cache.
        niceness: by how much the reasoner's process gives way to the others.
        choice: one of `REASONER_CHOICES`; auto takes what the scenario prefers and falls back to its script.

    Raises:
        UsageError, WorkerFailed: when the detector cannot be calibrated or a process cannot start.
    """
    system = assured.system
    started: list[Worker] = [calibrating]

    def worker(*arguments: object, grace_ns: int = NANOSECONDS) -> Worker:
        made = Worker(*arguments, grace_ns=grace_ns)  # type: ignore[arg-type]
        started.append(made)
        return made

    try:
        state = tuple(doubles(scenario.initial))
        planning = worker("planner", PlannerTask(PlannerSpec.described(scenario.system, system), warm_up_requests(system), state, 8.0))
        spec, name = _reasoner(scenario, choice)
        answering = worker("reasoner", ReasonerTask(spec, niceness), grace_ns=0)
        calibration = calibrated(calibrating)
        calibrating.close()
        say(f"detector calibrated: alarm when the score is above {calibration.threshold:.3f}; {calibration.statement}")
        rule = None if scenario.monitoring.radius is None else DismissalRule(scenario.monitoring.radius, scenario.monitoring.lifetime)
        detector_spec = DetectorSpec(MiniLmSpec(), str(cache_path), TopK(scenario.monitoring.top_k), calibration)
        detecting = worker("detector", DetectorTask(detector_spec, rule))
        try:
            answering.wait_ready(START_SECONDS)
        except WorkerFailed as error:
            if choice != "auto":
                raise
            say(f"{error}; the script answers instead")
            answering.close()
            spec, name = scenario.script, "the script of the scenario (the preferred reasoner cannot start here)"
            answering = worker("reasoner", ReasonerTask(spec, niceness), grace_ns=0)
            answering.wait_ready(START_SECONDS)
        for made in (planning, detecting):
            made.wait_ready(START_SECONDS)
    except BaseException:
        for made in started:
            made.close()
        raise
    descriptions = {r.name: r.description or r.name for r in scenario.system.recovery_regions}
    reasoner = ReasonerWorker(answering, descriptions, robot=scenario.robot, task=scenario.task)
    return Equipment(PlannerWorker(planning, system), DetectorWorker(detecting), reasoner, calibration, name, spec, started)


def _reasoner(scenario: Scenario, choice: str) -> tuple[ReasonerSpec, str]:
    wanted = scenario.prefer if choice == "auto" else choice
    if wanted == "local":
        return LocalGgufSpec(), "SmolLM2-135M-Instruct on this machine (a very small model: it answers badly, and need not answer well)"
    if wanted == "endpoint":
        if scenario.endpoint is None:
            raise UsageError("--reasoner endpoint: the scenario has no reasoner.endpoint; add its base_url and model")
        return scenario.endpoint, f"{scenario.endpoint.model} at {scenario.endpoint.base_url}"
    return scenario.script, "the script of the scenario (no model)"
