"""Claim 4 at the edges: what a step yields for odd inputs, and what it refuses before a flight."""

from __future__ import annotations

import dataclasses

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import (
    MachineState,
    Nominal,
    Override,
    Recovering,
    StepInput,
    StepResult,
    Suspended,
    Waiting,
)
from aesop_verified.kernel.machine import (
    decimal_text,
    projected,
    restarted,
    start,
    transition,
)
from aesop_verified.kernel.model import quantised
from aesop_verified.kernel.plan import HeldPlan, Plan
from aesop_verified.kernel.rational import vector
from aesop_verified.testing import Instance, instances
from aesop_verified.testing.textbook import fork_plan, integrator_fork, sequence

ASSURED = integrator_fork()
SYSTEM, FIRST = ASSURED.system, fork_plan(ASSURED)


def begun() -> StepResult:
    result = start(ASSURED, StepInput(FIRST.state, candidates=(FIRST.plan,)))
    assert isinstance(result, StepResult)
    return result


@pytest.mark.parametrize(
    ("u", "expected"), [("1/2", "1/2"), (1, 1), (-1, -1), (2, 1), (-7, -1), (fmpq(10) ** 400, 1), (fmpq(1) + fmpq(1, 10**40), 1)]
)
def test_projected_moves_along_the_segment_into_U(u: object, expected: object) -> None:
    assert projected(SYSTEM, vector([0]), vector([u])) == vector([expected])  # type: ignore[list-item]
    assert projected(SYSTEM, vector([1]), vector([u])) == vector([expected])  # type: ignore[list-item]  # an anchor on the edge


@settings(max_examples=60, deadline=None)
@given(instances(max_states=2), st.lists(st.integers(-50, 50), min_size=2, max_size=2))
def test_whatever_is_projected_and_rounded_is_in_U(instance: Instance, numbers: list[int]) -> None:
    s, anchor = instance.system, instance.assured.input_anchor
    assert s.input_set.contains(anchor)
    u = fmpq_mat(s.m, 1, numbers[: s.m])
    inside = projected(s, anchor, u)
    assert s.input_set.contains(inside) and s.U.contains(quantised(inside, s.quantum))
    if s.input_set.contains(u):
        assert inside == u
    elif inside != u:
        further = inside + (u - anchor) * fmpq(1, 10**9)
        assert not s.input_set.contains(further)


def test_shapes_of_what_a_step_reads_are_checked_by_name() -> None:
    state = begun().state
    with pytest.raises(UsageError, match="the measurement has shape 2 x 1"):
        transition(ASSURED, state, StepInput(vector([0, 0])))
    with pytest.raises(UsageError, match="the first measurement has shape 2 x 1"):
        start(ASSURED, StepInput(vector([0, 0])))
    with pytest.raises(UsageError, match="the input has shape 2 x 1"):
        transition(ASSURED, state, StepInput(vector([0]), operator=Override("ann", vector([0, 0]))))


def test_writing_to_what_was_handed_over_changes_nothing() -> None:
    """flint's matrices can be written to: a step keeps copies of what it read and of what it said."""
    x = vector(["1/16"])
    result = transition(ASSURED, begun().state, StepInput(x))
    sent = fmpq_mat(result.state.sent)
    x[0, 0], result.input[0, 0] = fmpq(9), fmpq(9)
    assert result.state.held.state == vector(["1/16"]) and result.state.sent == sent
    fresh = integrator_fork()
    anchor = fmpq_mat(fresh.input_anchor)
    for r in fresh.system.recovery_sets:
        assert fresh.system.recovery(r.name) is r
    assert fresh.input_anchor == anchor == vector([0])


def test_transition_is_pure() -> None:
    state = begun().state
    read = StepInput(vector(["1/16"]))
    one, two = transition(ASSURED, state, read), transition(ASSURED, state, read)
    assert one.events == two.events and one.input == two.input and one.state.mode == two.state.mode
    assert state.mode == Nominal() and state.step == 0 and state.held.plan is FIRST.plan


@pytest.mark.parametrize(("bits", "accepted"), [(1099, True), (1100, False)])
@pytest.mark.parametrize("power", [1, -1])
def test_a_proposed_plan_with_longer_numbers_than_a_double_is_refused_unread(bits: int, accepted: bool, power: int) -> None:
    """Claim 4, bounded time: 2^1099 has 1100 bits; a double's denominator has at most 1075."""
    first = sequence(fmpq(2) ** (bits * power), *[0] * 6)
    plan = Plan(("left",), 2, 6, first, (first,))
    result = transition(ASSURED, begun().state, StepInput(vector([0]), candidates=(plan,)))
    refused = [e.detail for e in result.events if e.detail.endswith("of more than 1100 bits")]
    assert (refused == []) is accepted and result.certified
    assert plan.is_short is accepted


def test_numbers_of_any_length_reach_a_message() -> None:
    assert decimal_text(fmpq(1, 3)) == "0.333333" and decimal_text(fmpq(-2)) == "-2"
    assert decimal_text(fmpq(10) ** 5000 + fmpq(1, 7)) == "1.00000E+5000"


@pytest.mark.parametrize("mode", [Waiting(("right",), 0, 0), Waiting(("left", "moon"), 0, 0), Recovering("right", 1), Suspended("right", 1)])
def test_a_restart_refuses_a_mode_that_its_plan_does_not_serve(mode: object) -> None:
    left = HeldPlan(Plan(("left",), 2, 6, FIRST.plan.nominal, (FIRST.plan.nominal,)), FIRST.state, FIRST.next_state)
    state = MachineState(4, mode, left, vector([0]), 1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the held plan has the options"):
        restarted(ASSURED, state, 0)


def test_a_restart_refuses_a_plan_for_an_unknown_set_and_a_wait_that_is_over() -> None:
    moon = HeldPlan(Plan(("moon",), 0, 0, sequence(0), (sequence(0),)), vector([0]), vector([0]))
    for mode in (Nominal(), Recovering("moon", 1)):
        with pytest.raises(UsageError):
            restarted(ASSURED, MachineState(1, mode, moon, vector([0]), 0), 0)
    for k, fine in ((-1, False), (0, True), (2, True), (3, False)):
        state = dataclasses.replace(begun().state, mode=Waiting(("left", "right"), k, 0), next_trigger=1)
        if fine:
            assert restarted(ASSURED, state, 0)[0].mode == Waiting(("left", "right"), k, 1)
        else:
            with pytest.raises(UsageError, match=r"expected k in 0\.\.2"):
                restarted(ASSURED, state, 0)


def test_H02_a_run_repeats_unless_it_is_asked_to_search() -> None:
    ci, discovery = settings.get_profile("ci"), settings.get_profile("discovery")
    assert ci.derandomize and ci.print_blob and ci.database is None
    assert not discovery.derandomize and discovery.print_blob


def test_H02_the_header_of_a_run_names_profile_and_seed(pytestconfig: pytest.Config) -> None:
    said = str(pytestconfig.hook.pytest_report_header(config=pytestconfig, start_path=pytestconfig.rootpath))
    assert "hypothesis profile" in said and "seed" in said


def test_H02_the_boundary_case_is_an_explicit_example_and_not_a_lucky_draw() -> None:
    """A state on the edge of X is certified, one that is 2^-200 further is not; both are always run."""
    go = sequence(-1, -1, -1, -1, -1, -1, "-3/4")
    assured = integrator_fork(half_width=0, quantum=0, horizon=6, state_bound="35/4")
    plan = Plan(("right",), 2, 6, go, (go,))
    assert isinstance(start(assured, StepInput(vector(["35/4"]), candidates=(plan,))), StepResult)
    assert not isinstance(start(assured, StepInput(vector([fmpq(35, 4) + fmpq(1, 2**200)]), candidates=(plan,))), StepResult)
