"""The transition function row by row, on the fork: what each row of spec/transitions.toml says, in one test each."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from aesop_verified.kernel.events import (
    Alarm,
    AlarmCause,
    Answer,
    Choice,
    Clear,
    Event,
    Nominal,
    Question,
    Recovering,
    RejectedAnswer,
    Request,
    Row,
    StartRefused,
    StepInput,
    StepResult,
    Suspended,
    Waiting,
)
from aesop_verified.kernel.machine import (
    requests,
    start,
    start_request,
    transition,
)
from aesop_verified.kernel.plan import Plan, check_plan
from aesop_verified.kernel.rational import stacked, vector
from aesop_verified.kernel.verdict import Proved
from aesop_verified.testing.textbook import fork_plan, integrator_fork, sequence
from property_tests.fork_flight import (
    ALARM,
    ASSURED,
    BOTH,
    FIRST,
    SYSTEM,
    begun,
    measured,
    recovering,
    rows,
    shape,
    step,
    suspended,
    waiting,
)

# --- the table as data ---------------------------------------------------------------------------------------------


def test_the_table_names_exactly_the_rows_of_the_kernel() -> None:
    tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    table = tomllib.loads((Path(__file__).parents[1] / "spec" / "transitions.toml").read_text())
    assert [r["id"] for r in table["row"]] == [row.value for row in Row]
    modes = {"Nominal", "Waiting", "Recovering", "Suspended"}
    for r in table["row"]:
        assert set(r) == {"id", "situation", "happens", "paper", "modes", "leads_to"} and r["situation"] and r["happens"]
        assert set(r["modes"]) <= modes and set(r["leads_to"]) <= modes


# --- start ---------------------------------------------------------------------------------------------------------


def test_start_refused() -> None:
    assert start(ASSURED, StepInput(None)) == StartRefused(("the first measurement is missing",))
    assert start(ASSURED, StepInput(FIRST.state)) == StartRefused(("no candidate plan was offered",))
    short = Plan(BOTH, 1, 6, FIRST.plan.nominal, FIRST.plan.recovery)
    assert start(ASSURED, StepInput(FIRST.state, candidates=(short,))) == StartRefused(("left+right: not what this step asks for",))
    far = start(ASSURED, StepInput(vector([1]), candidates=(FIRST.plan,)))
    assert far == StartRefused(("left+right: terminal constraint 0 of branch left at step 7 is violated by 0.600488",))


def test_start_takes_the_first_certified_candidate_and_an_alarm() -> None:
    bad = Plan(BOTH, 2, 6, FIRST.plan.nominal, (FIRST.plan.recovery[1], FIRST.plan.recovery[0]))
    result = start(ASSURED, StepInput(FIRST.state, candidates=(bad, FIRST.plan), alarm=ALARM))
    assert isinstance(result, StepResult) and rows(result) == [Row.PLAN_REFUSED, Row.NOMINAL, Row.ALARM]
    assert result.state.mode == Waiting(BOTH, 0, 0) and result.question is not None and result.state.step == 0
    assert (result.question.trigger, result.question.observation, result.question.options) == (0, "a bird", BOTH)
    assert begun().state.mode == Nominal() and begun().question is None and begun().certified and begun().state.next_trigger == 0
    assert start_request(SYSTEM) == Request(BOTH, False, 2, 6)


@pytest.mark.parametrize(("x", "starts"), [("79/8", True), ("159/16", False)])
def test_start_needs_an_estimate_whose_true_state_is_in_X(x: str, starts: bool) -> None:
    """E = [-1/8, 1/8] and X = [-10, 10]: the first estimate must be in [-79/8, 79/8] (theory 5)."""
    assured = integrator_fork(estimate="1/8", input_bound=3)
    s = assured.system
    go = sequence("-5/2", "-5/2", "-5/2", "-3/8", 0, 0, 0)
    plan = Plan(("right",), 2, 6, go, (go,))
    assert isinstance(check_plan(s, vector([x]), plan), Proved)
    result = start(assured, StepInput(vector([x]), candidates=(plan,)))
    assert isinstance(result, StepResult) is starts
    if isinstance(result, StartRefused):
        assert result.reasons == ("the state estimate breaks constraint 0 of X, less the estimate's error, by 0.0625",)


# --- Nominal -------------------------------------------------------------------------------------------------------


def test_nominal_without_a_solver_uses_the_shifted_plan_of_one_option() -> None:
    state = begun().state
    assert requests(ASSURED, state, StepInput(measured(state))) == (Request(BOTH, False, 2, 6),)
    result = step(state)
    assert rows(result) == [Row.NOMINAL, Row.SHIFTED_PLAN] and result.state.mode == Nominal() and result.certified
    assert shape(result.state) == (("left",), 2, 6) and result.state.step == 1 and result.question is None


def test_nominal_takes_a_certified_candidate_for_any_Y() -> None:
    state = begun().state
    for options in (BOTH, ("right",), ("left",)):
        plan = fork_plan(ASSURED, measured(state)[0, 0], options=options).plan
        result = step(state, candidates=(plan,))
        assert rows(result) == [Row.NOMINAL] and result.state.held.plan is plan and result.input == vector([0])


def test_plan_refused_then_the_next_candidate_then_the_shifted_plan() -> None:
    state = begun().state
    stale, good = FIRST.plan, fork_plan(ASSURED, measured(state)[0, 0]).plan
    wide = Plan(("left",), 2, 6, FIRST.plan.nominal * 2, (FIRST.plan.nominal * 2,))
    result = step(state, candidates=(wide, good))
    assert rows(result) == [Row.NOMINAL, Row.PLAN_REFUSED] and result.state.held.plan is good
    assert result.events[1].detail == "left: input constraint 1 of branch nominal at step 3 is violated by 0.600488"
    result = step(state, candidates=(wide,))
    assert rows(result) == [Row.NOMINAL, Row.PLAN_REFUSED, Row.SHIFTED_PLAN] and result.certified
    wrong = [
        Plan(BOTH, 2, 5, sequence(*[0] * 6), (sequence(*[0] * 6),) * 2),
        Plan(BOTH, 1, 6, stale.nominal, stale.recovery),
        Plan(("left", "nowhere"), 2, 6, stale.nominal, stale.recovery),
    ]
    result = step(state, candidates=tuple(wrong))
    assert rows(result) == [Row.NOMINAL, *[Row.PLAN_REFUSED] * 3, Row.SHIFTED_PLAN]
    assert all(e.detail.endswith("not what this step asks for") for e in result.events[1:4])


def test_a_plan_of_another_shape_is_refused_and_never_raises() -> None:
    state = begun().state
    tall = stacked_twice(FIRST.plan)
    result = step(state, candidates=(tall,))
    assert rows(result) == [Row.NOMINAL, Row.PLAN_REFUSED, Row.SHIFTED_PLAN] and "shape 2 x 7" in result.events[1].detail


def stacked_twice(plan: Plan) -> Plan:
    return Plan(plan.options, plan.consensus, plan.horizon, stacked(plan.nominal, plan.nominal), tuple(stacked(u, u) for u in plan.recovery))


def test_alarm_in_nominal_asks_about_the_plan_just_certified() -> None:
    state = begun().state
    plan = fork_plan(ASSURED, measured(state)[0, 0], options=("right",)).plan
    result = step(state, candidates=(plan,), alarm=ALARM)
    assert rows(result) == [Row.NOMINAL, Row.ALARM] and result.state.mode == Waiting(("right",), 0, 0)
    assert isinstance(result.question, Question) and result.question.options == ("right",) and result.state.next_trigger == 1
    assert result.state.held.plan is plan


@pytest.mark.parametrize("cause", [c for c in AlarmCause if c is not AlarmCause.SCORE])
def test_a_fault_of_the_detector_counts_as_an_alarm(cause: AlarmCause) -> None:
    result = step(begun().state, alarm=Alarm(cause, "o"))
    assert rows(result) == [Row.NOMINAL, Row.SHIFTED_PLAN, Row.DETECTOR_FAULT, Row.ALARM]
    assert result.events[2].detail == cause.value and isinstance(result.state.mode, Waiting)


# --- Waiting -------------------------------------------------------------------------------------------------------


def test_waiting_keeps_all_of_Y_up_to_K_and_the_deadline_comes_at_K_plus_1() -> None:
    state = waiting(0)
    for k in (1, 2):
        assert requests(ASSURED, state, StepInput(measured(state))) == (Request(BOTH, True, 2 - k, 6 - k),)
        result = step(state)
        assert rows(result) == [Row.WAITING, Row.SHIFTED_PLAN] and shape(result.state) == (BOTH, 2 - k, 6 - k)
        state = result.state
    assert requests(ASSURED, state, StepInput(measured(state))) == (Request(("left",), True, 0, 3),)
    result = step(state)
    assert rows(result) == [Row.DEADLINE, Row.SHIFTED_PLAN] and result.events[0].detail == "left"
    assert result.state.mode == Recovering("left", 3) and shape(result.state) == (("left",), 0, 3)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", BOTH)
def test_an_answer_in_time_is_followed_from_its_step_on(k: int, name: str) -> None:
    result = step(waiting(k - 1), answer=Choice(0, name))
    assert rows(result) == [Row.ANSWER_CHOICE, Row.SHIFTED_PLAN] and result.events[0].detail == name
    assert result.state.mode == Recovering(name, k) and shape(result.state) == ((name,), 0, 6 - k) and result.certified


@pytest.mark.parametrize("k", [1, 2, 3])
def test_answer_clear_goes_back_to_the_full_horizons(k: int) -> None:
    result = step(waiting(k - 1), answer=Clear(0))
    assert rows(result) == [Row.ANSWER_CLEAR, Row.SHIFTED_PLAN] and result.state.mode == Nominal()
    assert shape(result.state) == (("left",), 2, 6) and result.certified and result.question is None


@pytest.mark.parametrize(
    ("answer", "detail"),
    [(Choice(0, "moon"), "'moon' is not one of ['left', 'right']"), (RejectedAnswer(0, "found b'maybe'"), "found b'maybe'")],
)
def test_a_rejected_answer_lets_the_fallback_decide_at_once(answer: Answer, detail: str) -> None:
    result = step(waiting(0), answer=answer)
    assert result.events[0] == Event(Row.ANSWER_REJECTED, detail) and result.state.mode == Recovering("left", 1)


@pytest.mark.parametrize("answer", [Clear(1), Choice(-1, "right"), RejectedAnswer(7, "x")])
def test_an_answer_with_another_trigger_is_ignored(answer: Answer) -> None:
    result = step(waiting(0), answer=answer)
    assert rows(result)[:2] == [Row.ANSWER_IGNORED, Row.WAITING] and result.events[0].detail == f"trigger {answer.trigger}"
    assert result.state.mode == Waiting(BOTH, 1, 0)


def test_an_answer_after_the_decision_is_ignored() -> None:
    for state in (begun().state, recovering(1), suspended()):
        result = step(state, answer=Clear(0))
        assert rows(result)[0] is Row.ANSWER_IGNORED and Row.ANSWER_CLEAR not in rows(result)


def test_an_alarm_while_waiting_is_kept_and_asks_again_after_answer_0() -> None:
    kept = step(waiting(0), alarm=Alarm(AlarmCause.SCORE, "a kite"))
    assert rows(kept)[-1] is Row.ALARM_KEPT and kept.question is None
    assert kept.state.mode == Waiting(BOTH, 1, 0, Alarm(AlarmCause.SCORE, "a kite"))
    again = step(kept.state, answer=Clear(0))
    assert rows(again) == [Row.ANSWER_CLEAR, Row.SHIFTED_PLAN, Row.ALARM_AGAIN, Row.ALARM]
    assert again.state.mode == Waiting(("left",), 0, 1) and again.state.next_trigger == 2
    assert again.question is not None and (again.question.trigger, again.question.observation) == (1, "a kite")
    fresh = step(kept.state, answer=Clear(0), alarm=ALARM)
    assert Row.ALARM_AGAIN not in rows(fresh) and fresh.question is not None and fresh.question.observation == "a bird"
    chosen = step(kept.state, answer=Choice(0, "right"))
    assert Row.ALARM_AGAIN not in rows(chosen) and chosen.state.mode == Recovering("right", 2) and chosen.question is None
    longer = step(kept.state)
    assert longer.state.mode == Waiting(BOTH, 2, 0, Alarm(AlarmCause.SCORE, "a kite"))


# --- Recovering ----------------------------------------------------------------------------------------------------


def test_recovering_shrinks_the_horizon_to_0_and_then_stays() -> None:
    state = recovering(1)
    for k in range(2, 10):
        assert requests(ASSURED, state, StepInput(measured(state))) == (Request(("right",), True, 0, max(0, 6 - k)),)
        result = step(state)
        assert rows(result) == [Row.RECOVERED if k > 6 else Row.RECOVERING, Row.SHIFTED_PLAN]
        assert result.state.mode == Recovering("right", k) and shape(result.state) == (("right",), 0, max(0, 6 - k))
        state = result.state
        if k >= 7:
            assert SYSTEM.recovery("right").polytope.contains(state.held.state)


def test_an_alarm_while_recovering_or_suspended_is_logged() -> None:
    assert rows(step(recovering(1), alarm=ALARM))[-1] is Row.ALARM_LOGGED
    result = step(suspended(), measurement=None, alarm=ALARM)
    assert rows(result)[-1] is Row.ALARM_LOGGED and result.question is None and isinstance(result.state.mode, Suspended)


# --- Suspended, missing measurements ---------------------------------------------------------------------------------


def test_a_jump_suspends_and_a_certified_plan_leaves_it() -> None:
    state = recovering(3)
    result = step(state, measurement=vector([-9]))
    assert rows(result) == [Row.RECOVERING, Row.PLAN_REFUSED, Row.SUSPENDED] and not result.certified
    assert result.state.mode == Suspended("right", 4) and SYSTEM.U.contains(result.input) and result.input == vector([1])
    still = step(result.state)
    assert rows(still) == [Row.PLAN_REFUSED, Row.SUSPENDED] and still.state.mode == Suspended("right", 5)
    back = step(still.state, measurement=vector([2]))
    assert rows(back) == [Row.SHIFTED_PLAN, Row.CERTIFIED_AGAIN] and back.state.mode == Recovering("right", 6) and back.certified


def test_suspended_after_T_steps_tries_for_one_step() -> None:
    state = step(recovering(8), measurement=vector([-9])).state
    assert state.mode == Suspended("right", 9) and shape(state) == (("right",), 0, 0)
    back = step(state, measurement=vector([2]))
    assert back.state.mode == Recovering("right", 10) and back.certified


def test_a_jump_in_nominal_suspends_toward_the_fallback() -> None:
    result = step(begun().state, measurement=vector([9]))
    assert rows(result) == [Row.NOMINAL, Row.PLAN_REFUSED, Row.PLAN_REFUSED, Row.SUSPENDED]
    assert result.state.mode == Suspended("left", 1) and result.input == vector([-1])


def test_suspended_is_left_only_when_the_true_state_is_known_to_be_in_X() -> None:
    assured = integrator_fork(estimate="1/8", input_bound=3, state_bound="21/8")
    s = assured.system
    plan = fork_plan(assured, 0)
    first = start(assured, StepInput(plan.state, candidates=(plan.plan,)))
    assert isinstance(first, StepResult)
    lost = transition(assured, first.state, StepInput(vector([-9])))
    assert lost.state.mode == Suspended("left", 1)
    near = transition(assured, lost.state, StepInput(vector(["-41/16"])))  # in X, but x may be -43/16
    assert rows(near) == [Row.PLAN_REFUSED, Row.SUSPENDED] and near.events[0].detail.startswith("the state estimate breaks constraint 1 of X")
    go = sequence("9/16", 0, 0, 0, 0)
    assert isinstance(check_plan(s, vector(["-41/16"]), Plan(("left",), 0, 4, go, (go,))), Proved)  # so only this keeps it out
    again = transition(assured, lost.state, StepInput(vector([-2])))
    assert again.state.mode == Recovering("left", 2)


@pytest.mark.parametrize(("answer", "name"), [(None, "left"), (Choice(0, "right"), "right"), (Clear(0), "left")])
def test_a_missing_measurement_fixes_y(answer: Answer | None, name: str) -> None:
    result = step(waiting(0), measurement=None, answer=answer)
    assert result.state.mode == Suspended(name, 1) and not result.certified and rows(result)[0] is Row.MISSING_MEASUREMENT
    assert (Row.ANSWER_IGNORED in rows(result)) == isinstance(answer, Clear)
    nominal = step(begun().state, measurement=None)
    assert nominal.state.mode == Suspended("left", 1) and rows(nominal) == [Row.MISSING_MEASUREMENT, Row.SUSPENDED]
    assert step(recovering(2), measurement=None).state.mode == Suspended("right", 3)


def test_a_missing_measurement_is_harmless_where_nothing_disturbs() -> None:
    """W = {0} and an exact state: the prediction is the state, rounded inputs included; k counts from the last plan."""
    assured = integrator_fork(half_width=0)
    first = start(assured, StepInput(FIRST.state, candidates=(fork_plan(assured).plan,)))
    assert isinstance(first, StepResult)
    result = first
    for k in range(1, 10):
        result = transition(assured, result.state, StepInput(None))
        assert result.certified and result.state.mode == Recovering("left", k)
        assert rows(result)[0] is Row.MISSING_MEASUREMENT
    assert result.state.held.state == vector([-2])


def test_a_blind_step_is_uncertified_whatever_the_summand_is_called() -> None:
    assured = integrator_fork(summand="input_rounding")
    first = start(assured, StepInput(FIRST.state, candidates=(FIRST.plan,)))
    assert isinstance(first, StepResult)
    assert not transition(assured, first.state, StepInput(None)).certified


def test_a_blind_step_out_of_suspended_stays_suspended() -> None:
    assured = integrator_fork(half_width=0)
    first = start(assured, StepInput(FIRST.state, candidates=(fork_plan(assured).plan,)))
    assert isinstance(first, StepResult)
    lost = transition(assured, first.state, StepInput(vector([9])))
    blind = transition(assured, lost.state, StepInput(None))
    assert isinstance(lost.state.mode, Suspended) and blind.state.mode == Suspended("left", 2)
