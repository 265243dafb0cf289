"""A flight on the textbook fork, step by step, for the tests of the transition function."""

from __future__ import annotations

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.events import (
    Alarm,
    AlarmCause,
    Choice,
    MachineState,
    Recovering,
    Row,
    StepInput,
    StepResult,
    Suspended,
    Waiting,
)
from aesop_verified.kernel.machine import (
    start,
    transition,
)
from aesop_verified.kernel.rational import vector
from aesop_verified.testing.textbook import fork_plan, integrator_fork

ASSURED = integrator_fork()  # T = 6, K = 2, W = [-1/10, 1/10], quantum 2^-10
SYSTEM, FIRST = ASSURED.system, fork_plan(ASSURED)
BOTH = ("left", "right")
ALARM = Alarm(AlarmCause.SCORE, "a bird")
WIND = fmpq(1, 16)


def begun(alarm: Alarm | None = None) -> StepResult:
    result = start(ASSURED, StepInput(FIRST.state, candidates=(FIRST.plan,), alarm=alarm))
    assert isinstance(result, StepResult)
    return result


def measured(state: MachineState, w: fmpq = WIND) -> fmpq_mat:
    return SYSTEM.next_state(state.held.state, state.sent) + vector([w])


def step(state: MachineState, **read: object) -> StepResult:
    read.setdefault("measurement", measured(state))
    return transition(ASSURED, state, StepInput(**read))  # type: ignore[arg-type]


def waiting(k: int) -> MachineState:
    """Waiting since k steps, trigger 0."""
    state = begun(ALARM).state
    for _ in range(k):
        state = step(state).state
    assert state.mode == Waiting(BOTH, k, 0)
    return state


def recovering(k: int, name: str = "right") -> MachineState:
    state = step(waiting(0), answer=Choice(0, name)).state
    for _ in range(k - 1):
        state = step(state).state
    assert state.mode == Recovering(name, k)
    return state


def suspended() -> MachineState:
    """One blind step from waiting(0): Suspended("left", 1)."""
    state = step(waiting(0), measurement=None).state
    assert state.mode == Suspended("left", 1)
    return state


def rows(result: StepResult) -> list[Row]:
    return [e.row for e in result.events]


def shape(state: MachineState) -> tuple[tuple[str, ...], int, int]:
    return state.held.plan.options, state.held.plan.consensus, state.held.plan.horizon
