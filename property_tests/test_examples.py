"""The robots of `examples/` that are no quadrotor: synthesised, assured, planned for and flown, exactly simulated.

Every flight runs through the kernel's machine against a plant whose disturbance and estimation error sit at
vertices of W and E, with the planner in the loop and with no solver at all after the first plan.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from aesop_verified.evidence.verification import verify
from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.events import (
    Alarm,
    AlarmCause,
    Answer,
    Choice,
    Clear,
    MachineState,
    Nominal,
    Recovering,
    Request,
    Row,
    StepInput,
    StepResult,
)
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.machine import requests, start, start_request, transition
from aesop_verified.kernel.plan import Plan, check_plan
from aesop_verified.kernel.rational import exact, vector
from aesop_verified.kernel.verdict import Proved, Verdict
from aesop_verified.planning.float_image import floats
from aesop_verified.planning.planner import Planned, Planner, PlannerSpec, PlanningOutcome
from aesop_verified.planning.pricing import NoPlan
from aesop_verified.planning.selection import AsManyAsAffordable, SelectionPolicy
from aesop_verified.plants.model import ModelPlant
from aesop_verified.recovery import assured
from aesop_verified.runtime import About, FlightLog, LogOutcome, Loop, Proposal, check_log
from aesop_verified.system import SystemDescription, load, loads, to_yaml
from aesop_verified.testing import HonestPlanner, Powers, Tally, adversarial_flight
from aesop_verified.testing.flight import Flight, FlightStep
from aesop_verified.testing.planner import floats as honest_floats

EXAMPLES = Path(__file__).parents[1] / "examples"
ROBOTS = ("warehouse-robot", "constant-speed-fork", "ground-vehicle", "coupled-tanks")


@dataclass(frozen=True)
class Robot:
    """An example with its proof; planners are made afresh, so that no flight depends on another."""

    description: SystemDescription
    assured: AssuredSystem

    def planner(self, policy: SelectionPolicy | None = None) -> Planner:
        return Planner(PlannerSpec.described(self.description, self.assured.system, policy=policy))


@cache
def robot(name: str) -> Robot:
    description = load(EXAMPLES / f"{name}.yaml")
    return Robot(description, assured(description))


def vertex(D: Disturbance, draw: random.Random) -> fmpq_mat:
    """A sum of vertices of the summands."""
    total = fmpq_mat(D.n, 1)
    for s in D.summands:
        v = [lo if draw.random() < 0.5 else hi for lo, hi in zip(s.lower.entries(), s.upper.entries())]
        total = total + s.map * vector(v)
    return total


Reply = Callable[[int, tuple[str, ...], int], "Answer | None"]
"""From the trigger, the options and k to what is read in that step."""


def silent(trigger: int, options: tuple[str, ...], k: int) -> Answer | None:
    return None


def last_option_at(steps: int) -> Reply:
    return lambda trigger, options, k: Choice(trigger, options[-1]) if k == steps else None


def clear_at(steps: int) -> Reply:
    return lambda trigger, options, k: Clear(trigger) if k == steps else None


@dataclass(frozen=True)
class Flown:
    """A flight, and what the planner said in each of its steps (empty without a planner)."""

    flight: Flight
    outcomes: list[PlanningOutcome]


def fly(
    r: Robot, start_at: fmpq_mat, *, steps: int, planner: Planner | None, seed: int, alarm_at: int | None = None, reply: Reply = silent
) -> Flown:
    """Fly `steps` steps from an estimate; without a planner only the first plan comes from one."""
    system, draw = r.assured.system, random.Random(seed)
    estimate = start_at
    truth = estimate - vertex(system.estimate_error, draw)
    state: MachineState | None = None
    record: list[FlightStep] = []
    outcomes: list[PlanningOutcome] = []
    asked: tuple[int, int, tuple[str, ...]] | None = None
    for t in range(steps):
        alarm = Alarm(AlarmCause.SCORE, "something on the way") if t == alarm_at else None
        answer = reply(asked[0], asked[2], t - asked[1]) if asked is not None else None
        bare = StepInput(estimate, answer=answer)
        request = start_request(system) if state is None else requests(r.assured, state, bare)[0]
        candidates: tuple[Plan, ...] = ()
        if planner is not None or state is None:
            outcome = (planner or r.planner()).plan(request, floats(estimate).ravel())
            outcomes.append(outcome)
            candidates = outcome.plans(system)
        read = StepInput(estimate, answer=answer, candidates=candidates, alarm=alarm)
        result = start(r.assured, read) if state is None else transition(r.assured, state, read)
        assert isinstance(result, StepResult), f"refused to start: {result}"
        record.append(FlightStep(truth, state, read, result, False, False))
        if result.question is not None:
            asked = (result.question.trigger, t, result.question.options)
        truth = system.next_state(truth, result.input) + vertex(system.disturbance, draw)
        estimate = truth + vertex(system.estimate_error, draw)
        state = result.state
    return Flown(Flight(r.assured, tuple(record)), outcomes)


def claims_hold(flown: Flown) -> None:
    """All four claims in every step, none of them on credit."""
    flown.flight.check_claims()
    assert flown.flight.keeps_assumptions
    assert all(s.result.certified for s in flown.flight.steps)


def corner(r: Robot, index: int) -> fmpq_mat:
    corners = list(r.description.initial.vertices())
    return corners[index % len(corners)]


@pytest.mark.parametrize("name", ROBOTS)
def test_every_recovery_set_is_proved_and_the_first_plan_is_certified_from_every_initial_vertex(name: str) -> None:
    r = robot(name)
    assert {c.name for c in r.assured.certificates} == set(r.description.recovery_names)
    planner, system = r.planner(), r.assured.system
    for x in r.description.initial.vertices():
        outcome = planner.plan(start_request(system), floats(x).ravel())
        assert isinstance(outcome, Planned), outcome
        for plan in outcome.plans(system):
            assert isinstance(check_plan(system, x, plan), Proved)
        assert len(outcome.candidates[0].options) >= 2


@pytest.mark.parametrize("name", ROBOTS)
def test_the_file_survives_being_completed_and_written(name: str) -> None:
    r = robot(name)
    system = r.assured.system
    synthesised = [system.recovery(region.name) for region in r.description.to_synthesise]
    gain = system.gain if r.description.tube_gain is None else None
    completed = r.description.completed(gain, synthesised)
    again = loads(to_yaml(completed))
    assert again == completed
    assert again.build().hash() == system.hash()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("solver", ["planner in the loop", "no solver"])
@pytest.mark.parametrize("name", ROBOTS)
def test_a_choice_at_the_last_moment_is_carried_out(name: str, solver: str, seed: int) -> None:
    r = robot(name)
    T, K = r.assured.system.horizon, r.assured.system.consensus_horizon
    planner = r.planner() if solver == "planner in the loop" else None
    flown = fly(r, corner(r, seed), steps=4 + T + 6, planner=planner, seed=seed, alarm_at=3, reply=last_option_at(K + 1))
    claims_hold(flown)
    rows = flown.flight.rows
    assert rows[Row.ANSWER_CHOICE] == 1 and rows[Row.WAITING] == K and rows[Row.DEADLINE] == 0
    last = flown.flight.steps[-1].result.state.mode
    assert isinstance(last, Recovering) and last.k > T
    if planner is None:
        assert rows[Row.SHIFTED_PLAN] == len(flown.flight.steps) - 1
    else:
        assert rows[Row.SHIFTED_PLAN] == 0, "the planner's plans were not used"


@pytest.mark.parametrize("solver", ["planner in the loop", "no solver"])
@pytest.mark.parametrize("name", ROBOTS)
def test_without_an_answer_the_deadline_decides(name: str, solver: str) -> None:
    r = robot(name)
    T = r.assured.system.horizon
    planner = r.planner() if solver == "planner in the loop" else None
    flown = fly(r, corner(r, 0), steps=T + 5, planner=planner, seed=5, alarm_at=0)
    claims_hold(flown)
    assert flown.flight.rows[Row.DEADLINE] == 1
    first, last = flown.flight.steps[0].result.state.held.plan.options, flown.flight.steps[-1].result.state.mode
    assert isinstance(last, Recovering) and last.name == r.assured.system.fallback(first)


@pytest.mark.parametrize("solver", ["planner in the loop", "no solver"])
@pytest.mark.parametrize("name", ROBOTS)
def test_after_a_harmless_anomaly_the_flight_goes_on(name: str, solver: str) -> None:
    r = robot(name)
    planner = r.planner() if solver == "planner in the loop" else None
    flown = fly(r, corner(r, 1), steps=30, planner=planner, seed=7, alarm_at=2, reply=clear_at(2))
    claims_hold(flown)
    assert flown.flight.rows[Row.ANSWER_CLEAR] == 1
    assert isinstance(flown.flight.steps[-1].result.state.mode, Nominal)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_theorem_holds_for_the_robot_whatever_the_solver_the_detector_and_the_reasoner_do(name: str) -> None:
    r = robot(name)
    system, x = r.assured.system, corner(r, 0)
    outcome = r.planner().plan(start_request(system), floats(x).ravel())
    (plan, *_) = outcome.plans(system)
    first = check_plan(system, x, plan)
    assert isinstance(first, Proved)
    honest, tally = HonestPlanner(system), Tally()
    powers = Powers(steps=system.horizon + system.consensus_horizon + 5)

    @settings(max_examples=5, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.data())
    def fly_against(data: st.DataObject) -> None:
        flight = adversarial_flight(r.assured, first.certificate, data, powers=powers, planner=honest)
        flight.check_claims()
        tally.add(flight)

    fly_against()
    assert tally.flights >= 2, tally.lines()
    assert tally.rows[Row.ALARM] and tally.rows[Row.RECOVERING] + tally.rows[Row.RECOVERED], tally.lines()


def test_the_warehouse_robot_arrives_and_gains_its_charging_bay_on_the_way() -> None:
    r = robot("warehouse-robot")
    flown = fly(r, corner(r, 0), steps=90, planner=r.planner(), seed=3)
    claims_hold(flown)
    first, last = flown.outcomes[0], flown.outcomes[-1]
    assert isinstance(first, Planned) and "no plan reaches it" in first.dropped["charging_bay"]
    assert isinstance(last, Planned) and "charging_bay" in last.candidates[0].options
    assert abs(flown.flight.steps[-1].true_state[0, 0] - 18) < fmpq(1, 2)


# The pair at the fork, by hand: after the K + 1 = 6 shared inputs 15 are left, 0.3 m each, so the two ends are at
# most 9 m apart; 21 steps on, the roads are 0.4 (x + 21) - 8 m apart, and each of the two is tightened by
# R_21, 21 (0.02 + 0.2 * 0.05 + q / 20) m, q being the quantum: x <= 18.35 less a little.
PAIR_ENDS = (9 + 8 - 2 * 21 * fmpq(3, 100)) / fmpq(2, 5) - 21


@pytest.mark.parametrize("policy", [None, AsManyAsAffordable(absolute=1e9)], ids=["default", "at any price"])
def test_at_the_fork_the_pair_dies_one_road_is_dropped_with_its_reason_and_the_flight_goes_on(policy: SelectionPolicy | None) -> None:
    r = robot("constant-speed-fork")
    planner = r.planner(policy)
    flown = fly(r, corner(r, 0), steps=120, planner=planner, seed=11)
    claims_hold(flown)
    kept = [s.result.state.held.plan.options for s in flown.flight.steps]
    when = next(t for t, options in enumerate(kept) if len(options) == 1)
    assert all(len(options) == 2 for options in kept[:when]) and all(len(options) == 1 for options in kept[when:])
    assert len(set(kept[when + 15 :])) == 1, "15 m after the fork there is no way back to the other road"
    x = [s.read.measurement[0, 0] for s in flown.flight.steps if s.read.measurement is not None]
    assert x[when] > PAIR_ENDS - fmpq(1, 100) and x[when - 1] < PAIR_ENDS
    outcome = flown.outcomes[when]
    assert isinstance(outcome, Planned)
    assert isinstance(outcome.prices["left_road", "right_road"], NoPlan)
    assert not any(isinstance(outcome.prices[name,], NoPlan) for name in ("left_road", "right_road")), "a single road was lost too"
    ((lost, reason),) = outcome.dropped.items()
    assert lost not in kept[when] and "together with" in reason and "infeasible" in reason
    assert abs(flown.flight.steps[-1].true_state[1, 0]) > 15, "120 m on, the road that was kept is far from the middle"


def test_at_the_fork_a_pair_that_is_held_while_waiting_outlives_the_fork() -> None:
    r = robot("constant-speed-fork")
    flown = fly(r, corner(r, 0), steps=60, planner=r.planner(), seed=13, alarm_at=18, reply=last_option_at(6))
    claims_hold(flown)
    assert flown.flight.steps[18].result.state.held.plan.options == ("left_road", "right_road")
    last = flown.flight.steps[-1]
    assert isinstance(last.result.state.mode, Recovering) and last.result.state.mode.name == "right_road"
    assert r.assured.system.recovery("right_road").polytope.contains(last.true_state)


@pytest.mark.parametrize("name", ["constant-speed-fork", "ground-vehicle"])
def test_a_robot_without_an_equilibrium_has_none(name: str) -> None:
    system = robot(name).assured.system
    n, m = system.n, system.m
    joined = fmpq_mat(n, n + m + 1, [
        v for i in range(n)
        for v in [*(system.A[i, j] - (i == j) for j in range(n)), *(system.B[i, j] for j in range(m)), system.b[i, 0]]
    ])  # fmt: skip
    homogeneous = fmpq_mat(n, n + m, [joined[i, j] for i in range(n) for j in range(n + m)])
    assert joined.rank() == homogeneous.rank() + 1


@pytest.mark.parametrize(("name", "blocks"), [("warehouse-robot", 2), ("ground-vehicle", 1), ("coupled-tanks", 1)])
def test_which_examples_split_by_axis(name: str, blocks: int) -> None:
    r = robot(name)
    assert len(r.planner().spec.model.blocks) == blocks


class PlannerInProcess:
    """The planner as the loop's service, without a process of its own."""

    def __init__(self, r: Robot) -> None:
        self._system, self._planner = r.assured.system, r.planner()
        self._found: tuple[Plan, ...] = ()

    def submit(self, requests: tuple[Request, ...], state: fmpq_mat) -> None:
        self._found = tuple(p for request in requests for p in self._planner.plan(request, floats(state).ravel()).plans(self._system))

    def collect(self, deadline_ns: int) -> Proposal:
        return Proposal(self._found)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_flight_of_the_loop_keeps_its_numbers_short_and_its_log_verifies(name: str, tmp_path: Path) -> None:
    r = robot(name)
    about = About(name, r.description.dt, r.description.state_names, r.description.input_names)
    log = FlightLog.create(tmp_path / "flight.jsonl", r.assured, about)
    loop = Loop(r.assured, dt=r.description.dt, planner=PlannerInProcess(r), log=log)
    plant = ModelPlant(r.assured.system, r.description.initial.centre(), random.Random(17))
    for _ in range(60):
        measured = plant.measure()
        assert max(int(v.q).bit_length() for v in measured.entries()) < 80, "the measurement grew"
        report = loop.step(measured)
        assert report.certified and report.assumption is None, report.events
        plant.apply(report.input)
    assert loop.end()
    verdict = check_log(tmp_path / "flight.jsonl")
    assert verdict.outcome is LogOutcome.VERIFIED, verdict.reason
    assert verdict.logged_steps == 60


def test_the_planner_of_the_tests_reads_states_that_are_longer_than_a_double() -> None:
    long = fmpq(3**700, 2**1200)
    assert long.p > 2**1024
    assert honest_floats(fmpq_mat(1, 1, [long]))[0, 0] == pytest.approx(3**700 / 2**1200)


def test_reach_is_searched_along_a_state_that_x_does_not_bound() -> None:
    report = verify(robot("constant-speed-fork").description, second_opinion=False)
    assert report.verdict is Verdict.PROVED
    (left,) = [r for r in report.reach if r.name == "left_road"]
    assert left.intervals is not None
    x = next(i for i in left.intervals if i.state == "x")
    assert fmpq(-5120) == exact(x.lower) and 25 < exact(x.upper) < 30 and not x.whole


def test_a_box_that_the_law_cannot_hold_for_lack_of_input_is_not_called_invariant() -> None:
    report = verify(robot("coupled-tanks").description, second_opinion=False, reach=False)
    low = next(a for a in report.asked if a.name == "low")
    assert low.escape is not None and low.escape.sentence == "the law leaves U: q1 + q2 <= ~0.999999 fails"
    assert "robustly invariant" not in low.sentence
