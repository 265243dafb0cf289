"""The planner: choice of Y_t, requests of every mode, certified by the kernel, from a worker process too."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import Alarm, AlarmCause, Choice, Request, Row, StepInput, StepResult
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.machine import requests, start, start_request, transition
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.plan import Plan, check_plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import from_double, matrix, vector, zeros
from aesop_verified.kernel.verdict import Proved
from aesop_verified.planning.float_image import Scaling, described_cost, floats
from aesop_verified.planning.planner import NothingPlanned, Planned, Planner, PlannerSpec
from aesop_verified.planning.pricing import NoPlan, PriceBook, ProgramStore
from aesop_verified.planning.problem import QuadraticCost
from aesop_verified.planning.selection import EVERY_SUBSET_UP_TO, AsManyAsAffordable, LeastCost
from aesop_verified.planning.status import SolveStatus
from aesop_verified.recovery import assured, synthesise
from aesop_verified.system import SystemDescription, load
from property_tests.planning_catalogue import fork, model

EXAMPLES = Path(__file__).parents[1] / "examples"


@cache
def cart() -> tuple[SystemDescription, System]:
    """The double integrator of the examples, with synthesised recovery sets."""
    description = load(EXAMPLES / "double-integrator.yaml")
    return description, synthesise(description).system


def certified(system: System, state: list[float], plan: Plan) -> bool:
    exact_state = fmpq_mat(system.n, 1, [from_double(v) for v in state])
    return isinstance(check_plan(system, exact_state, plan), Proved)


def planned(outcome: Planned | NothingPlanned) -> Planned:
    assert isinstance(outcome, Planned), outcome
    return outcome


def choose(state: list[float], policy: AsManyAsAffordable | LeastCost) -> tuple[tuple[tuple[str, ...], ...], dict[str, str]]:
    m = fork(3, 1)
    choice = policy.choose(tuple(m.terminals), PriceBook(ProgramStore(m), 1, 3, np.array(state)))
    return choice.ranking, dict(choice.dropped)


@pytest.mark.parametrize("policy", [AsManyAsAffordable(absolute=1.0), LeastCost()])
def test_at_a_pair_dead_end_singletons_are_the_candidates(policy: AsManyAsAffordable | LeastCost) -> None:
    ranking, dropped = choose([0, 0], policy)
    assert sorted(ranking) == [("left",), ("right",)]
    assert set(dropped) == {"left", "right"} - set(ranking[0])
    assert "together with" in next(iter(dropped.values())) and "infeasible" in next(iter(dropped.values()))


def test_an_option_out_of_reach_is_dropped_with_its_reason() -> None:
    ranking, dropped = choose([0, 4], AsManyAsAffordable(absolute=1.0))
    assert ranking == (("left",),)
    assert "no plan reaches it" in dropped["right"] and "infeasible" in dropped["right"]


def two_stops(T: int = 3) -> PriceBook:
    """x+ = x + u on a line, goal 0, from x = 2: with the right region open u_0 >= -1/2."""
    sets = {"left": [(-9.0, -1.0)], "right": [(4.5, 9.0)]}
    m = model([[1]], [[1]], X=[(-9, 9)], U=[(-1, 1)], sets=sets, T=T, K=0, Q=[1], P=[1])
    return PriceBook(ProgramStore(m), 0, T, np.array([2.0]))


def test_the_cost_limit_decides_how_many_options_are_kept() -> None:
    book = two_stops()
    both, left, right = (book.price(options) for options in (("left", "right"), ("left",), ("right",)))
    assert not any(isinstance(price, NoPlan) for price in (both, left, right))
    assert both.nominal > min(left.nominal, right.nominal) + 1e-3  # type: ignore[union-attr]
    generous = AsManyAsAffordable(step_share=0, absolute=100.0).choose(("left", "right"), book)
    assert generous.ranking[0] == ("left", "right") and not generous.dropped
    assert {("left",), ("right",)} <= set(generous.ranking)
    strict = AsManyAsAffordable(step_share=0).choose(("left", "right"), book)
    assert strict.ranking == (("left",), ("right",)) and set(strict.dropped) == {"right"}
    assert "the limit is" in strict.dropped["right"]


def test_a_share_of_one_step_of_delay_lets_the_robot_arrive() -> None:
    """A limit of more than a step's delay holds the robot where both options are open; a share below 1 does not."""

    def final(policy: AsManyAsAffordable) -> float:
        sets = {"far": [(6.0, 9.0)], "home": [(-1.0, 1.0)]}
        m = model([[1]], [[1]], X=[(-9, 9)], U=[(-1, 1)], sets=sets, T=3, K=0, Q=[1], P=[1])
        x, store = 6.0, ProgramStore(m)
        for _ in range(14):
            book = PriceBook(store, 0, 3, np.array([x]))
            options = policy.choose(("far", "home"), book).ranking[0]
            answer = book.solutions([options])[0]
            assert not isinstance(answer, NoPlan)
            x += float(answer.inputs["nominal"][0, 0])
        return x

    assert final(AsManyAsAffordable()) == pytest.approx(0.0, abs=0.1)
    assert final(AsManyAsAffordable(step_share=0, relative=2.0)) > 1.5


def test_with_many_options_sets_are_grown_one_by_one() -> None:
    count = EVERY_SUBSET_UP_TO + 3
    sets = {f"r{i}": [(-1.0 - i / 10, 1.0 + i / 10)] for i in range(count)}
    m = model([[1]], [[1]], X=[(-9, 9)], U=[(-1, 1)], sets=sets, T=3, K=1, Q=[1], P=[1])
    store = ProgramStore(m)
    choice = AsManyAsAffordable(absolute=10.0).choose(tuple(sets), PriceBook(store, 1, 3, np.array([0.5])))
    assert choice.ranking[0] == tuple(sets)
    assert store.solves <= 2 * count


def test_refused_parameters_name_the_field() -> None:
    with pytest.raises(UsageError, match="step_share"):
        AsManyAsAffordable(step_share=-1)
    with pytest.raises(UsageError, match="relative"):
        AsManyAsAffordable(relative=float("nan"))
    with pytest.raises(UsageError, match=r"cost\.R"):
        QuadraticCost.diagonal([1], [0], [0])


def test_every_request_of_a_flight_is_answered_by_a_plan_that_the_kernel_certifies() -> None:
    description, system = cart()
    planner = Planner(PlannerSpec.described(description, system))
    A, B, rng = floats(system.A), floats(system.B), np.random.default_rng(1)
    w = floats(system.disturbance.summands[0].upper).ravel()
    map_w = floats(system.disturbance.summands[0].map)
    K, T = system.consensus_horizon, system.horizon
    x, modes = [0.0, 0.0], set()
    requests = [Request(system.names, False, K, T)] * 8
    requests += [Request(system.names, True, K - k, T - k) for k in range(1, K + 1)]
    requests += [Request(("left_pad",), True, 0, max(0, T - k)) for k in range(K + 1, T + 6)]
    for request in requests:
        outcome = planned(planner.plan(request, x))
        for candidate, plan in zip(outcome.candidates, outcome.plans(system)):
            assert request.admits(plan) and certified(system, x, plan), candidate.options
            assert all((v / system.quantum).q == 1 for v in plan.nominal.entries())
        modes.add((request.exact_options, len(request.options), request.horizon == 0))
        u = floats(outcome.plans(system)[0].first_input).ravel()
        moved = A @ x + B @ u + map_w @ (w * rng.choice([-1.0, 1.0], len(w)))
        x = [float(v) for v in np.round(moved * 2**20) / 2**20]
    assert modes == {(False, 2, False), (True, 2, False), (True, 1, False), (True, 1, True)}
    assert system.recovery("left_pad").polytope.contains(fmpq_mat(2, 1, [from_double(v) for v in x]))


@pytest.mark.parametrize("request_", [Request(("left_pad", "right_pad"), False, 4, 10), Request(("left_pad", "right_pad"), True, 2, 8), Request(("right_pad",), True, 0, 0)])
def test_prepared_programs_are_all_that_a_step_needs(request_: Request) -> None:
    description, system = cart()
    planner = Planner(PlannerSpec.described(description, system), price_every_subset=True)
    planner.prepare(request_)
    built = planner.programs_built
    assert built > 0
    planned(planner.plan(request_, [4.5, 0.0] if request_.horizon == 0 else [0.5, 0.0]))
    assert planner.programs_built == built


def test_a_flight_on_the_planner_never_falls_back() -> None:
    """The kernel's machine through Nominal, Waiting and Recovering, under disturbances at the ends of W."""
    description, _ = cart()
    ready = assured(description)
    system = ready.system
    planner = Planner(PlannerSpec.described(description, system))
    rng, x = np.random.default_rng(5), vector([0, 0])
    ends = [s.upper for s in system.measured_disturbance.summands]
    state, rows = None, []
    for t in range(30):
        answer = Choice(0, "right_pad") if t == 10 else None
        alarm = Alarm(AlarmCause.SCORE, "debris on the pad") if t == 7 else None
        opened = StepInput(x, answer)
        wanted = (start_request(system),) if state is None else requests(ready, state, opened)
        floats_x = floats(x).ravel().tolist()
        candidates = tuple(plan for request in wanted for plan in planner.plan(request, floats_x).plans(system))
        step_input = StepInput(x, answer, candidates, alarm)
        result = start(ready, step_input) if state is None else transition(ready, state, step_input)
        assert isinstance(result, StepResult) and result.certified
        rows += [event.row for event in result.events]
        state = result.state
        x = system.next_state(x, result.input)
        for s, upper in zip(system.measured_disturbance.summands, ends):
            signs = fmpq_mat(upper.nrows(), 1, [int(v) for v in rng.choice([-1, 1], upper.nrows())])
            x = x + s.map * fmpq_mat(upper.nrows(), 1, [a * b for a, b in zip(upper.entries(), signs.entries())])
    assert not {Row.PLAN_REFUSED, Row.SHIFTED_PLAN, Row.SUSPENDED} & set(rows)
    assert {Row.NOMINAL, Row.ALARM, Row.WAITING, Row.ANSWER_CHOICE, Row.RECOVERING} <= set(rows)
    assert system.recovery("right_pad").polytope.contains(x)


def test_a_failure_has_a_status_a_reason_and_no_inputs() -> None:
    description, system = cart()
    outcome = Planner(PlannerSpec.described(description, system)).plan(Request(system.names, False, 4, 10), [9.5, 3.0])
    assert isinstance(outcome, NothingPlanned)
    assert outcome.failure.status is SolveStatus.INFEASIBLE and set(outcome.dropped) == set(system.names)
    assert not hasattr(outcome, "candidates")
    waiting = Planner(PlannerSpec.described(description, system)).plan(Request(system.names, True, 0, 1), [0.0, 0.0])
    assert isinstance(waiting, NothingPlanned) and waiting.failure.status is SolveStatus.INFEASIBLE


def test_a_state_or_a_request_that_does_not_fit_is_refused() -> None:
    description, system = cart()
    planner = Planner(PlannerSpec.described(description, system))
    with pytest.raises(UsageError, match=r"state\[1\] is nan"):
        planner.plan(Request(system.names, False, 4, 10), [0.0, float("nan")])
    with pytest.raises(UsageError, match="expected \\(2,\\)"):
        planner.plan(Request(system.names, False, 4, 10), [0.0])
    with pytest.raises(UsageError, match="expected distinct names"):
        planner.plan(Request(("nowhere",), False, 4, 10), [0.0, 0.0])
    with pytest.raises(UsageError, match="expected 0 <= K <= T <= 10"):
        planner.plan(Request(system.names, False, 4, 11), [0.0, 0.0])


def test_a_planner_runs_in_a_worker_process() -> None:
    description, system = cart()
    spec = PlannerSpec.described(description, system)
    request = Request(system.names, False, 4, 10)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        remote = planned(pool.submit(Planner.plan, Planner(spec), request, [0.5, 0.0]).result(timeout=60))
    here = Planner(spec)
    local = planned(here.plan(request, [0.5, 0.0]))
    again = planned(pickle.loads(pickle.dumps(here)).plan(request, [0.5, 0.0]))  # a used planner travels as well
    assert np.array_equal(again.candidates[0].nominal, local.candidates[0].nominal)
    assert remote.candidates[0].options == local.candidates[0].options
    assert np.array_equal(remote.candidates[0].nominal, local.candidates[0].nominal)
    assert certified(system, [0.5, 0.0], remote.plans(system)[0])


def plane_system() -> System:
    """Two double integrators and four regions on a grid: each axis has two intervals."""
    one, F = [[1, 1], [0, 1]], [fmpq(-1, 4), fmpq(-3, 4)]
    A = matrix([[*one[0], 0, 0], [*one[1], 0, 0], [0, 0, *one[0]], [0, 0, *one[1]]], 4)
    B = matrix([[fmpq(1, 2), 0], [1, 0], [0, fmpq(1, 2)], [0, 1]], 2)
    gain = matrix([[*F, 0, 0], [0, 0, *F]], 4)
    sets = []
    for name, (x, y) in {"nw": (-3, 3), "ne": (3, 3), "sw": (-3, -3), "se": (3, -3)}.items():
        box = Polytope.box([x - 1, -1, y - 1, -1], [x + 1, 1, y + 1, 1])
        sets.append(RecoverySet(name, box, AffineLaw(gain, vector([fmpq(x, 4), fmpq(y, 4)]))))
    return System(
        A, B, zeros(4), Polytope.box([-8, -2] * 2, [8, 2] * 2), Polytope.box([-1] * 2, [1] * 2), Disturbance(4), Disturbance(4), gain,
        tuple(sets), 10, 2, fmpq(1, 2**30), ("nw", "ne", "sw", "se"),
    )  # fmt: skip


def test_all_fifteen_subsets_are_priced_from_six_small_programs() -> None:
    system = plane_system()
    cost = QuadraticCost.diagonal([1, 0.1, 1, 0.1], [0.1, 0.1], [5, 0, 0, 0])
    request = Request(system.names, False, 2, 10)
    split = Planner(PlannerSpec.of(system, cost), price_every_subset=True)
    joint = Planner(PlannerSpec.of(system, cost), split=False, price_every_subset=True)
    mine, whole = planned(split.plan(request, [0.5, 0, 0.25, 0])), planned(joint.plan(request, [0.5, 0, 0.25, 0]))
    assert len(mine.prices) == len(whole.prices) == 15
    assert (mine.solves, whole.solves) == (6, 15)
    for options, price in mine.prices.items():
        other = whole.prices[options]
        assert not isinstance(price, NoPlan) and not isinstance(other, NoPlan)
        assert price.total == pytest.approx(other.total, rel=1e-6)
    assert certified(system, [0.5, 0, 0.25, 0], mine.plans(system)[0])


def test_scaling_and_margin_are_part_of_the_problem() -> None:
    system = plane_system()
    scaling = Scaling.of(system)
    assert scaling.state == pytest.approx([8, 2, 8, 2]) and scaling.input == pytest.approx([1, 1])
    spec = PlannerSpec.of(system, QuadraticCost.diagonal([1] * 4, [1] * 2, [0] * 4), margin=1e-7)
    first, later = spec.model.X.h[0], spec.model.X.h[1]
    assert first == pytest.approx(np.ones(8), abs=1e-12)  # x_0 is given: no input can keep a margin from it
    assert (later <= 1 - 1e-7 + 1e-12).all() and (later >= 1 - 2e-7).all()


def test_costs_of_a_system_file_are_taken_over() -> None:
    description, _ = cart()
    cost = described_cost(description)
    assert np.array_equal(cost.Q, np.diag([1, 0.1])) and cost.goal.tolist() == [8, 0]
    assert cost.recovery.tolist() == [[1e-4]]


def test_the_residual_of_a_plan_that_is_not_finite_is_infinite() -> None:
    problem = two_stops().problem(("left", "right"))
    u = {name: np.zeros((4, 1)) for name in problem.trajectories}
    assert 0 < problem.violation_of(u) < np.inf  # both regions are missed
    for value in (np.nan, np.inf, 1e308 * 10):
        for name in problem.trajectories:
            broken = {key: inputs.copy() for key, inputs in u.items()}
            broken[name][2, 0] = value
            assert problem.violation_of(broken) == np.inf
