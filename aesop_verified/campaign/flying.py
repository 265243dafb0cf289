"""One scenario flown by one method: the same draws, the same plant, and what became of it, decided exactly."""

from __future__ import annotations

import math
import pickle
import tempfile
import time
import zlib
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from flint import fmpq, fmpq_mat

from aesop_verified.campaign.baselines import Baseline, FallbackSafeMpc, NaiveMpc, SoftMpc, without_consensus
from aesop_verified.campaign.campaign_file import Campaign, Conditions, Plant, Variant, Weighting
from aesop_verified.campaign.draws import Draw, draw
from aesop_verified.campaign.pilot import AesopPilot, Pilot
from aesop_verified.kernel.events import Row
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.model import System
from aesop_verified.kernel.rational import exact, text
from aesop_verified.planning.float_image import Scaling, described_cost
from aesop_verified.planning.planner import Planner, PlannerSpec
from aesop_verified.planning.problem import QuadraticCost
from aesop_verified.plants import CALM, FlatQuadrotorPlant, ModelPlant, ObservedDisturbance, QuadrotorParameters, Wind, quadrotor_body
from aesop_verified.plants import Plant as SimulatedPlant
from aesop_verified.runtime.check import LogOutcome, assured_of, check_log
from aesop_verified.runtime.exact_text import Json, canonical, evidence_json
from aesop_verified.runtime.flight_log import About, FlightLog
from aesop_verified.runtime.loop import StartRefusedError
from aesop_verified.runtime.planner_worker import doubles
from aesop_verified.system.parts import Box

AFTER = 5
"""Steps that are flown on after the region is due: the robot has to stay."""
PATHS = 40
"""Scenarios whose paths are kept for the figure."""
ARRIVED = 0.01
"""A flight without anomalies has arrived when the cost of its state is down to this share of the first one."""
_KEPT_PROGRAMS = 2048
Key: TypeAlias = "tuple[str, str, int]"
"""Variant, method and index of a task."""


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work that travels to a worker: a scenario, to be flown by a method with all its weightings."""

    kit: bytes = field(repr=False)
    variant: str
    method: str
    index: int

    @property
    def key(self) -> Key:
        """What its results are found by."""
        return self.variant, self.method, self.index


@dataclass(frozen=True, slots=True, eq=False)
class _Kit:
    """What every task of a campaign needs, as plain data."""

    assured: bytes
    cost: QuadraticCost
    scaling: Scaling
    dt: str
    initial: tuple[tuple[str, str], ...]
    seed: int
    weightings: tuple[Weighting, ...]
    conditions: Conditions


@dataclass(slots=True)
class Record:
    """What became of a flight; times in steps. One line of the results file.

    Attributes:
        alarm, answered, options, choice, by: the decision (see `Decision`), empty where none was made.
        recovered: from T + 1 steps after the alarm to the end in the region, without a violation on the way.
        recovered_late: the same from T + 1 steps after the answer on.
        arrival: steps from the alarm until it is in the region to stay; None when it is not.
        violations: at how many steps the true state was outside X, or the input outside U.
        cost: of states and inputs up to the first alarm, as the planner counts it.
        to_goal: steps until the robot is at the goal (`ARRIVED`); None when it does not get there.
        slack: plans that used slack variables (baselines); without: steps without a plan of their own.
        uncertified, shifted, refused: steps without a certified plan, shifted plans flown, plans that the kernel refused.
        left_w: steps at which the true disturbance was outside W, and the first of them; logged: as the log has it.
        share: largest observed disturbance, as a share of its bound.
        log: outcome of the re-check.
        path: of the states of `shown`, for the figure.
    """

    variant: str
    method: str
    weighting: str
    index: int
    alarm: int | None = None
    answered: int | None = None
    options: tuple[str, ...] = ()
    choice: str = ""
    by: str = ""
    recovered: bool = False
    recovered_late: bool = False
    arrival: int | None = None
    violations: int = 0
    cost: float = 0.0
    to_goal: int | None = None
    slack: int = 0
    without: int = 0
    uncertified: int = 0
    shifted: int = 0
    refused: int = 0
    left_w: int = 0
    first_left_w: int | None = None
    logged: int = 0
    first_logged: int | None = None
    share: float = 0.0
    log: str = ""
    path: list[list[float]] = field(default_factory=list)

    def to_json(self) -> Json:
        """One line of the results file."""
        return asdict(self) | {"options": list(self.options)}


def kit(campaign: Campaign, variant: Variant, assured: AssuredSystem) -> bytes:
    """Everything that a variant's tasks need beside their own names, small enough to travel with each."""
    system = variant.system
    data = canonical({"system": assured.system.canonical(), "evidence": evidence_json(assured)})
    bounds = tuple((text(fmpq(low or 0)), text(fmpq(high or 0))) for low, high in zip(system.initial.lower, system.initial.upper))
    made = _Kit(
        data, described_cost(system), Scaling.described(system), text(system.dt), bounds, campaign.seed, campaign.weightings,
        variant.conditions,
    )  # fmt: skip
    return zlib.compress(pickle.dumps(made, protocol=4))


def try_plant(data: bytes) -> None:
    """Make the plant of a kit once.

    Raises:
        AesopError: when the system does not fit it, or its simulator is not installed.
    """
    shop = _workshop(data)
    _plant(shop.kit.conditions.plant, shop.assured.system, draw(shop.kit.seed, shop.kit.conditions, 0, shop.initial))


def fly(task: Task) -> tuple[list[Record], float]:
    """Fly a task's scenario; one record a weighting, and the processor time in seconds."""
    begin = time.process_time()
    shop = _workshop(task.kit)
    drawn = draw(shop.kit.seed, shop.kit.conditions, task.index, shop.initial)
    if task.method == "aesop":
        return [shop.aesop(task.variant, drawn)], time.process_time() - begin
    records: list[Record] = []
    for weighting in shop.kit.weightings:
        if records and records[0].slack == 0:
            # The weights are those of the slack variables: a flight that needed none is the same with any.
            first = records[0]
            records.append(Record(**(asdict(first) | {"weighting": weighting.name, "options": first.options})))
        else:
            records.append(shop.baseline(task.variant, task.method, weighting, drawn))
    return records, time.process_time() - begin


class _Workshop:
    """What a process keeps between tasks: the assured system, planners and programs; none of it changes a result."""

    def __init__(self, made: _Kit) -> None:
        self.kit = made
        self.assured = assured_of(made.assured)
        self.dt = exact(made.dt)
        self.initial = Box(*(tuple(exact(pair[side]) for pair in made.initial) for side in (0, 1)))
        spec = PlannerSpec.of(self.assured.system, made.cost, scaling=made.scaling)
        self._planner = Planner(spec, kept_programs=_KEPT_PROGRAMS)
        self._immediate = Planner(without_consensus(spec), kept_programs=_KEPT_PROGRAMS)
        self._soft = SoftMpc(spec)

    def aesop(self, variant: str, drawn: Draw) -> Record:
        """One flight of AESOP, with its log checked again."""
        record = Record(variant, "aesop", "", drawn.index)
        self._planner.forget()
        with tempfile.TemporaryDirectory(prefix="aesop-") as scratch:
            path = Path(scratch) / "flight.jsonl"
            about = About(variant, self.dt, seeds={"campaign": self.kit.seed, "scenario": drawn.index}, settings=self.kit.conditions.to_json())
            log = FlightLog.create(path, self.assured, about)
            try:
                pilot = AesopPilot(self.assured, self.dt, self._planner, drawn, log)
                try:
                    self._flown(record, drawn, pilot)
                    pilot.end()
                except StartRefusedError:
                    record.by = "refused to start"
            finally:
                log.close()
            verdict = check_log(path)
        record.log = verdict.outcome.value
        if verdict.outcome is LogOutcome.VERIFIED and list(verdict.violated_assumptions) != pilot.left_w:
            record.log = "differs"
        record.uncertified, record.shifted = len(pilot.uncertified), pilot.rows[Row.SHIFTED_PLAN]
        record.refused, record.logged = pilot.rows[Row.PLAN_REFUSED], len(pilot.left_w)
        record.first_logged = pilot.left_w[0] if pilot.left_w else None
        return record

    def baseline(self, variant: str, method: str, weighting: Weighting, drawn: Draw) -> Record:
        """One flight of a baseline."""
        record = Record(variant, method, weighting.name, drawn.index)
        self._immediate.forget()
        parts = (self.assured.system, self.assured.input_anchor, self._soft, weighting, drawn)
        pilot: Baseline = NaiveMpc(*parts) if method == "naive" else FallbackSafeMpc(*parts, self._immediate)
        self._flown(record, drawn, pilot)
        record.slack, record.without = pilot.softened, pilot.failed
        return record

    def _flown(self, record: Record, drawn: Draw, pilot: Pilot) -> None:
        system, cost = self.assured.system, self.kit.cost
        plant = _plant(self.kit.conditions.plant, system, drawn)
        observed = ObservedDisturbance(system)
        states, costs, t = [plant.state], [0.0], 0
        while t < self._last(drawn, pilot):
            u = pilot.step(t, plant.measure())
            record.violations += not system.U.contains(u)
            observed.add(plant.apply(u))
            costs.append(costs[-1] + _stage(cost, states[-1], u))
            states.append(plant.state)
            t += 1
        record.violations += sum(not system.X.contains(x) for x in states)
        _judge(record, system, states, pilot)
        first = drawn.anomalies[0][0] if drawn.anomalies else len(states) - 1
        record.cost = costs[min(first, len(costs) - 1)]
        distances = [_distance(cost, x) for x in states]
        record.to_goal = next((k for k, d in enumerate(distances) if d <= ARRIVED * distances[0]), None)
        record.left_w = len(observed.violations)
        record.first_left_w = observed.violations[0].step if observed.violations else None
        record.share = max((s.ratio for s in observed.shares), default=0.0)
        if drawn.index < PATHS:
            record.path = [[round(doubles(x)[i], 3) for i in shown(cost)] for x in states]

    def _last(self, drawn: Draw, pilot: Pilot) -> int:
        """The number of steps to fly, as far as it is known at present."""
        if not drawn.anomalies:
            return self.kit.conditions.duration
        system, decision = self.assured.system, pilot.decision
        if decision is not None:
            wait = max(drawn.latency, system.consensus_horizon + 1)
            return decision.alarm + wait + system.horizon + 1 + AFTER
        # Each anomaly may have to wait until the one before it has been answered.
        return drawn.anomalies[-1][0] + len(drawn.anomalies) * max(drawn.latency, system.consensus_horizon + 1) + system.horizon + AFTER


def _judge(record: Record, system: System, states: list[fmpq_mat], pilot: Pilot) -> None:
    decision = pilot.decision
    if decision is None:
        return
    record.alarm, record.answered, record.options = decision.alarm, decision.answered, decision.options
    record.choice, record.by = decision.name, decision.by
    region = system.recovery(decision.name).polytope
    outside = [k for k, x in enumerate(states) if not region.contains(x)]
    stays_from = outside[-1] + 1 if outside else 0
    if stays_from < len(states):
        record.arrival = max(0, stays_from - decision.alarm)
    due = system.horizon + 1
    record.recovered = record.violations == 0 and stays_from <= decision.alarm + due
    record.recovered_late = record.violations == 0 and stays_from <= decision.answered + due


def shown(cost: QuadraticCost) -> tuple[int, int]:
    """The two states of greatest weight in the mission's cost, in the order of the system; one twice if there is only one."""
    weights = np.diag(cost.Q)
    best = sorted(range(len(weights)), key=lambda i: (-weights[i], i))[:2]
    return min(best), max(best)


@lru_cache(maxsize=2)
def _workshop(data: bytes) -> _Workshop:
    return _Workshop(pickle.loads(zlib.decompress(data)))


def _plant(settings: Plant, system: System, drawn: Draw) -> SimulatedPlant:
    if settings.kind == "model":
        return ModelPlant(system, drawn.initial, drawn.disturbance(), vertex_share=settings.vertex_share)
    wind = CALM
    if settings.gust > 0:
        gust = (settings.gust * math.cos(drawn.heading), settings.gust * math.sin(drawn.heading), 0.0)
        wind = Wind(gust=gust, period=settings.period)
    parameters = QuadrotorParameters(drag=(settings.drag,) * 3) if settings.kind == "rigid_body" else None
    return FlatQuadrotorPlant(system, drawn.initial, quadrotor_body(settings.kind, parameters=parameters, wind=wind))


def _distance(cost: QuadraticCost, x: fmpq_mat) -> float:
    """(x - goal)' Q (x - goal)."""
    e = np.array(doubles(x)) - cost.goal
    return float(e @ cost.Q @ e)


def _stage(cost: QuadraticCost, x: fmpq_mat, u: fmpq_mat) -> float:
    """What a step costs the mission: the distance and (u - rest)' R (u - rest)."""
    v = np.array(doubles(u)) - cost.rest
    return _distance(cost, x) + float(v @ cost.R @ v)
