"""Planner, detector and reasoner hang in native code with Python's lock held, and no step of the flight is late."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from aesop_verified.kernel.events import Nominal, Recovering, Row, Waiting
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.rational import vector
from aesop_verified.planning.planner import PlannerSpec
from aesop_verified.plants import ModelPlant
from aesop_verified.recovery import assured
from aesop_verified.runtime import (
    About,
    Deadlines,
    DetectorWorker,
    FlightLog,
    LogOutcome,
    Loop,
    PlannerTask,
    PlannerWorker,
    ReasonerWorker,
    StepReport,
    Worker,
    check_log,
    warm_up_requests,
)
from aesop_verified.runtime.worker_main import Builder
from aesop_verified.system import SystemDescription, load
from property_tests.runtime_services import AlarmsOn, HangsAt, Says

CART = Path(__file__).parent.parent / "examples" / "double-integrator.yaml"
DEADLINES = Deadlines(planner=100_000_000, detector=100_000_000)
GRACE_NS = 20_000_000
BUDGET_NS = 500_000_000
"""One step of the cart: dt = 0.5 s. A step waits 0.1 s at most; the rest is for a machine that is busy."""


@dataclass
class Rig:
    """A loop with its workers, and the plant that it flies."""

    proved: AssuredSystem
    loop: Loop
    plant: ModelPlant
    planner: Worker
    detector: Worker
    reasoner: Worker

    def fly(self, steps: int, observation: str = "a wall") -> list[StepReport]:
        reports = []
        for _ in range(steps):
            report = self.loop.step(self.plant.measure(), observation)
            assert self.loop.state is not None
            if self.loop.state.step > 0:
                assert report.decision_ns < BUDGET_NS, f"step {self.loop.state.step} took {report.decision_ns / 1e6:.0f} ms"
            self.plant.apply(report.input)
            reports.append(report)
        return reports


@pytest.fixture(scope="module")
def cart() -> tuple[SystemDescription, AssuredSystem]:
    description = load(CART)
    return description, assured(description)


@pytest.fixture
def rig(cart: tuple[SystemDescription, AssuredSystem], tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """`request.param` maps a service to the call in which it hangs."""
    description, proved = cart
    hangs: dict[str, int] = request.param

    def builder(name: str, inner: Builder) -> Builder:
        return HangsAt(inner, hangs[name]) if name in hangs else inner

    spec = PlannerSpec.described(description, proved.system)
    planner = Worker("planner", builder("planner", PlannerTask(spec, warm_up_requests(proved.system), (0.0, 0.0))), grace_ns=GRACE_NS)
    detector = Worker("detector", builder("detector", AlarmsOn("fire")), grace_ns=GRACE_NS)
    reasoner = Worker("reasoner", builder("reasoner", Says(b"right_pad")), grace_ns=0)
    for worker in (planner, detector, reasoner):
        worker.wait_ready(60)
    log = FlightLog.create(tmp_path / "flight.jsonl", proved, About("cart", description.dt))
    loop = Loop(
        proved, dt=description.dt, planner=PlannerWorker(planner, proved.system), detector=DetectorWorker(detector),
        reasoner=ReasonerWorker(reasoner, {}, robot="a cart", task="drive"), log=log, deadlines=DEADLINES,
    )  # fmt: skip
    yield Rig(proved, loop, ModelPlant(proved.system, vector([0, 0]), Random(1)), planner, detector, reasoner)
    for worker in (planner, detector, reasoner):
        worker.close()
    loop.end()
    assert check_log(tmp_path / "flight.jsonl").outcome is LogOutcome.VERIFIED


def rows(report: StepReport) -> set[Row]:
    return {e.row for e in report.events}


@pytest.mark.parametrize("rig", [{"planner": 3}], indirect=True)
def test_the_planner_hangs_and_the_shifted_plan_is_flown_until_it_is_back(rig: Rig) -> None:
    reports = rig.fly(6)
    assert all(r.certified for r in reports)
    assert reports[1].proposal.note["status"] == "done" and reports[2].proposal.note["status"] == "late"
    assert Row.SHIFTED_PLAN in rows(reports[2]) and isinstance(reports[2].mode, Nominal)
    rig.planner.wait_ready(60)
    assert rig.planner.respawns == 1
    again = rig.fly(1)[0]
    assert again.proposal.note["status"] == "done" and again.certified


@pytest.mark.parametrize("rig", [{"detector": 3}], indirect=True)
def test_the_detector_hangs_which_is_an_alarm(rig: Rig) -> None:
    reports = rig.fly(3)
    assert rows(reports[2]) >= {Row.DETECTOR_FAULT, Row.ALARM} and isinstance(reports[2].mode, Waiting)
    assert reports[2].sighting.note["status"] == "late"
    rig.detector.wait_ready(60)
    assert rig.detector.respawns == 1 and rig.fly(1)[0].sighting.note["status"] == "done"


@pytest.mark.parametrize("rig", [{"reasoner": 1}], indirect=True)
def test_the_reasoner_hangs_and_the_deadline_decides(rig: Rig) -> None:
    K = rig.proved.system.consensus_horizon
    rig.fly(1)
    waiting = rig.fly(1 + K, "a fire")
    assert all(isinstance(r.mode, Waiting) for r in waiting)
    decided = rig.fly(1, "a fire")[0]
    assert Row.DEADLINE in rows(decided) and decided.mode == Recovering("left_pad", K + 1)
    rig.reasoner.wait_ready(60)
    assert rig.reasoner.respawns == 1


@pytest.mark.parametrize("rig", [{"planner": 2, "detector": 2, "reasoner": 1}], indirect=True)
def test_all_three_hang_at_once_and_the_flight_ends_in_its_recovery_set(rig: Rig) -> None:
    system = rig.proved.system
    reports = rig.fly(1) + rig.fly(system.consensus_horizon + system.horizon + 4)
    assert all(r.certified for r in reports)
    mode = reports[-1].mode
    assert isinstance(mode, Recovering) and mode.k > system.horizon
    assert system.recovery(mode.name).polytope.contains(rig.plant.state)


@pytest.mark.parametrize("rig", [{}], indirect=True)
def test_without_a_hang_the_answer_is_taken(rig: Rig) -> None:
    rig.fly(1)
    rig.fly(1, "a fire")
    time.sleep(0.3)
    decided = rig.fly(1, "a fire")[0]
    while isinstance(decided.mode, Waiting):
        time.sleep(0.3)
        decided = rig.fly(1, "a fire")[0]
    assert isinstance(decided.mode, Recovering) and decided.mode.name == "right_pad"
