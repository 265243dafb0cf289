"""The rows of the operator and of a restart in flight."""

from __future__ import annotations

import pytest

from aesop_verified.kernel.events import (
    Choice,
    Clear,
    Event,
    Hold,
    MachineState,
    Nominal,
    Override,
    Recovering,
    Request,
    Resume,
    Row,
    StepInput,
    Suspended,
    Waiting,
)
from aesop_verified.kernel.machine import (
    requests,
    restarted,
    start_request,
    transition,
)
from aesop_verified.kernel.rational import vector
from aesop_verified.testing.textbook import fork_plan
from property_tests.fork_flight import (
    ALARM,
    ASSURED,
    BOTH,
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

# --- the operator ----------------------------------------------------------------------------------------------------


def test_override_is_projected_into_U_and_suspends() -> None:
    for state, name, k in ((begun().state, "left", 1), (waiting(1), "left", 2), (recovering(2), "right", 3), (suspended(), "left", 2)):
        result = step(state, operator=Override("ann", vector([7])))
        assert result.state.mode == Suspended(name, k) and result.input == vector([1]) and not result.certified
        assert Event(Row.OVERRIDE, "ann") in result.events
    inside = step(begun().state, operator=Override("ann", vector(["1/2"])))
    assert inside.input == vector(["1/2"])
    chosen = step(waiting(0), operator=Override("ann", vector([0])), answer=Choice(0, "right"))
    assert chosen.state.mode == Suspended("right", 1)


def test_hold_asks_for_the_fallback_now() -> None:
    for state, k in ((begun().state, 1), (waiting(0), 1), (waiting(1), 2)):
        result = step(state, operator=Hold("ann"))
        assert result.state.mode == Recovering("left", k) and rows(result) == [Row.HOLD, Row.SHIFTED_PLAN] and result.certified
        assert result.events[0].detail == "ann"
    assert rows(step(recovering(1), operator=Hold("ann")))[0] is Row.HOLD
    cleared = step(waiting(0), operator=Hold("ann"), answer=Clear(0))
    assert rows(cleared)[:2] == [Row.HOLD, Row.ANSWER_IGNORED] and cleared.state.mode == Recovering("left", 1)
    assert cleared.events[1].detail == "trigger 0: 0, but 'left' is chosen in this step"
    named = step(waiting(0), operator=Hold("ann"), answer=Choice(0, "right"))
    assert rows(named)[:2] == [Row.HOLD, Row.ANSWER_CHOICE] and named.state.mode == Recovering("right", 1)


def test_resume_needs_a_certified_plan_for_the_full_horizons() -> None:
    for state in (recovering(1), step(suspended(), measurement=vector([0])).state):
        x = measured(state)
        read = StepInput(x, operator=Resume("ann"))
        assert isinstance(state.mode, Recovering)
        shrunk = Request((state.mode.name,), True, 0, 6 - state.mode.k - 1)
        assert requests(ASSURED, state, read) == (start_request(SYSTEM), shrunk)
        plan = fork_plan(ASSURED, x[0, 0]).plan
        result = step(state, candidates=(plan,), operator=Resume("ann"))
        assert rows(result)[-2:] == [Row.RESUME, Row.NOMINAL] and result.state.mode == Nominal() and result.certified
        asked = step(state, candidates=(plan,), operator=Resume("ann"), alarm=ALARM)
        assert isinstance(asked.state.mode, Waiting) and asked.question is not None
        refused = step(state, operator=Resume("ann"))
        assert refused.state.mode == Recovering(state.mode.name, state.mode.k + 1)
        assert Event(Row.RESUME, "ann: refused, no plan for the full horizons is certified") in refused.events


def test_resume_out_of_suspended() -> None:
    state = suspended()
    plan = fork_plan(ASSURED, measured(state)[0, 0]).plan
    result = step(state, candidates=(plan,), operator=Resume("ann"))
    assert result.state.mode == Nominal() and result.certified and shape(result.state) == (BOTH, 2, 6)
    blind = step(state, measurement=None, candidates=(plan,), operator=Resume("ann"))
    assert isinstance(blind.state.mode, Suspended)
    assert requests(ASSURED, state, StepInput(None, operator=Resume("ann"))) == (Request(("left",), True, 0, 4),)


@pytest.mark.parametrize("state", [begun().state, waiting(0)])
def test_resume_with_nothing_to_resume_from_is_logged(state: MachineState) -> None:
    result = step(state, operator=Resume("ann"))
    assert [e.detail for e in result.events if e.row is Row.RESUME] == ["ann: refused, it needs a measurement, in the mode Recovering or Suspended"]
    assert type(result.state.mode) is type(state.mode) and result.certified


# --- restart ---------------------------------------------------------------------------------------------------------


def test_restart_without_missed_steps_goes_on_and_retires_the_open_question() -> None:
    kept = step(waiting(0), alarm=ALARM).state
    state, events = restarted(ASSURED, kept, 0)
    assert events == (Event(Row.RESTART, "0 steps missed"),) and state.mode == Waiting(BOTH, 1, 1) and state.next_trigger == 2
    assert rows(step(state, answer=Clear(0)))[0] is Row.ANSWER_IGNORED
    assert step(state).state.mode == Waiting(BOTH, 2, 1) and step(state).certified
    for other in (begun().state, recovering(2), suspended()):
        assert restarted(ASSURED, other, 0)[0] is other


@pytest.mark.parametrize(("missed", "k", "horizon"), [(1, 3, 3), (2, 4, 2), (9, 11, 0)])
def test_restart_that_missed_steps_is_suspended_until_a_plan_certifies(missed: int, k: int, horizon: int) -> None:
    state, events = restarted(ASSURED, recovering(2), missed)
    assert state.mode == Suspended("right", k) and events[0].detail == f"{missed} steps missed" and state.step == 2 + missed
    assert shape(state) == (("right",), 0, horizon)
    result = transition(ASSURED, state, StepInput(vector([2])))
    assert result.certified and result.state.mode == Recovering("right", k + 1)
    nominal, _ = restarted(ASSURED, begun().state, missed)
    assert nominal.mode == Suspended("left", missed)
