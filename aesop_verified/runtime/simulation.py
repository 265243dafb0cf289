"""A scenario from its file to its verdicts: prove the system, start the processes, fly, re-run the log, check."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.plants import ModelPlant
from aesop_verified.recovery import assured as assure_description
from aesop_verified.runtime.calibration import CalibrationTask
from aesop_verified.runtime.check import LogVerdict, check_log
from aesop_verified.runtime.clock import NANOSECONDS, MonotonicClock
from aesop_verified.runtime.equipment import Equipment, equip
from aesop_verified.runtime.exact_text import Json
from aesop_verified.runtime.flight_checks import FlightCheck, check_flight
from aesop_verified.runtime.flight_log import About, FlightLog
from aesop_verified.runtime.flying import Flight, FlightSample, Pace, fly
from aesop_verified.runtime.loop import Deadlines, Loop
from aesop_verified.runtime.memory import proportional_kilobytes, stalled_ns
from aesop_verified.runtime.scenario import Scenario
from aesop_verified.runtime.story import Moment, story
from aesop_verified.runtime.worker import Worker

LOG_NAME = "flight.jsonl"
_PATIENT = Deadlines(planner=5 * NANOSECONDS, detector=5 * NANOSECONDS)
"""When the plant waits: long enough for a machine that is busy, short enough for a process that hangs."""
_MEMORY_EVERY = 5
"""Steps between two looks at the memory."""
Watch = Callable[[FlightSample], None]


@dataclass(frozen=True, eq=False)
class Simulated:
    """A flown scenario.

    Attributes:
        moments: what happened and why.
        checks: what must hold, with verdicts.
        reasoner: who answered, in words.
        threshold: of the detector.
        peak_kilobytes: largest sum of the memory of all processes that was seen in flight; shared pages count once.
    """

    flight: Flight
    assured: AssuredSystem
    log: LogVerdict
    log_path: Path
    moments: list[Moment]
    checks: list[FlightCheck]
    reasoner: str
    threshold: float
    peak_kilobytes: int


def simulate(
    scenario: Scenario, folder: Path, *, reasoner: str, pace: Pace, say: Callable[[str], None], watching: Callable[[], AbstractContextManager[Watch]]
) -> Simulated:
    """Fly a scenario; the log is `flight.jsonl` in `folder`.

    Args:
        reasoner: one of `equipment.REASONER_CHOICES`.
        say: takes lines about the work in hand.
        watching: a context that gives what is called after every step.

    Raises:
        AesopError: when the system is not proved, a process cannot start, or no first plan is certified.
    """
    with tempfile.TemporaryDirectory(prefix="aesop-") as scratch:
        cache_path = Path(scratch) / "nominal.npz"
        calibrating = Worker("detector", CalibrationTask(scenario.monitoring, str(cache_path)))
        try:
            say("proving the recovery sets invariant")
            assured = assure_description(scenario.system)
            say("starting planner, detector and reasoner")
            equipment = equip(scenario, assured, calibrating, cache_path, reasoner, say, niceness=5 if pace is Pace.REAL else 0)
        except BaseException:
            calibrating.close()
            raise
        say(f"reasoner: {equipment.reasoner_name}")
        with equipment:
            flight, peak = _flown(scenario, assured, equipment, folder / LOG_NAME, pace, watching)
    say("running the log again")
    log = check_log(folder / LOG_NAME)
    checks = check_flight(flight, assured, log)
    moments = story(flight, equipment.reasoner.said)
    return Simulated(flight, assured, log, folder / LOG_NAME, moments, checks, equipment.reasoner_name, equipment.calibration.threshold, peak)


def _flown(
    scenario: Scenario, assured: AssuredSystem, equipment: Equipment, path: Path, pace: Pace, watching: Callable[[], AbstractContextManager[Watch]]
) -> tuple[Flight, int]:
    plant = ModelPlant(assured.system, scenario.initial, random.Random(scenario.seed), vertex_share=scenario.vertex_share)
    log = FlightLog.create(path, assured, _about(scenario, equipment))
    loop = Loop(
        assured, dt=scenario.system.dt, planner=equipment.planner, detector=equipment.detector, reasoner=equipment.reasoner, log=log,
        deadlines=None if pace is Pace.REAL else _PATIENT,
    )  # fmt: skip
    peak = 0
    try:
        with watching() as watch:

            def both(sample: FlightSample) -> None:
                nonlocal peak
                if sample.step % _MEMORY_EVERY == 0:
                    peak = max(peak, proportional_kilobytes([os.getpid(), *(w.pid for w in equipment.workers)]))
                watch(sample)

            flight = fly(scenario, loop, plant, MonotonicClock(), pace=pace, watch=both, stalled_ns=lambda: stalled_ns(equipment.reasoner.worker.pid))
        loop.end()
    finally:
        log.close()
    return flight, peak


def _about(scenario: Scenario, equipment: Equipment) -> About:
    settings: dict[str, object] = {
        "scenario": scenario.path.name, "steps": scenario.steps, "detector": equipment.calibration.to_json(),
        "reasoner": equipment.reasoner_spec.to_json(), "robot": scenario.robot, "task": scenario.task,
        "plant": {"kind": "model", "vertex_share": str(scenario.vertex_share)},
    }  # fmt: skip
    system = scenario.system
    return About(scenario.name, system.dt, system.state_names, system.input_names, {"plant": scenario.seed, "observations": scenario.seed}, settings)


def result_json(found: Simulated) -> Json:
    """The result of a flight as plain values."""
    flight, system = found.flight, found.assured.system
    return {
        "schema_version": 1,
        "scenario": flight.scenario.name,
        "system_sha256": system.hash(),
        "reasoner": found.reasoner,
        "detector_threshold": found.threshold,
        "steps": len(flight.samples),
        "log": {"file": found.log_path.name, "outcome": found.log.outcome.value, "summary": found.log.summary, "sha256": found.log.last_hash},
        "checks": [{"statement": c.statement, "verdict": c.verdict.value, "detail": c.detail} for c in found.checks],
        "moments": [{"step": m.step, "row": m.row, "what": m.what, "why": m.why} for m in found.moments],
        "decision_ms": {"p50": flight.quantile_ms(0.5), "p99": flight.quantile_ms(0.99), "max": flight.quantile_ms(1.0)},
        "largest_lag_ms": max((s.lag_ns for s in flight.samples), default=0) / 1e6,
        "late_steps": [s.step for s in late_steps(flight)],
        "peak_memory_mb": found.peak_kilobytes / 1024,
    }


def late_steps(flight: Flight) -> list[FlightSample]:
    """Steps whose input came later than one time step after the call (the first one waits on the ground)."""
    dt_ns = int((flight.scenario.system.dt * NANOSECONDS).floor())
    return [s for s in flight.samples[1:] if s.report.decision_ns > dt_ns]
