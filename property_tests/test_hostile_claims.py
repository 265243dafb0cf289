"""Claims made outside the kernel, as a careless program may try: copied, replaced, subclassed, changed in place."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
from collections.abc import Callable

import pytest
from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UnsoundStep
from aesop_verified.kernel.events import StepInput, StepResult
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.machine import start, transition
from aesop_verified.kernel.plan import CertifiedPlan, HeldPlan, Plan, check_plan
from aesop_verified.kernel.verdict import Proved, Refuted
from aesop_verified.testing.textbook import fork_plan, integrator_fork

ASSURED = integrator_fork()
SYSTEM, HELD = ASSURED.system, fork_plan(ASSURED)


def subclassed(base: type) -> Callable[[], object]:
    def make() -> object:
        return dataclasses.dataclass(frozen=True)(type("Extended", (base,), {"__post_init__": lambda self: None}))

    return make


FORGERIES: dict[str, Callable[[], object]] = {
    "by-hand": lambda: Proved(1),
    "with-type-arguments": lambda: Proved[int](1),
    "map": lambda: list(map(Proved, [1])),
    "partial": functools.partial(Proved, 1),
    "copy": lambda: copy.copy(check_plan(SYSTEM, HELD.state, HELD.plan)),
    "pickle": lambda: pickle.dumps(check_plan(SYSTEM, HELD.state, HELD.plan)),
    "replace": lambda: dataclasses.replace(check_plan(SYSTEM, HELD.state, HELD.plan), certificate=1),  # type: ignore[type-var]
    "subclass": subclassed(Proved),
    "plan-by-hand": lambda: CertifiedPlan(HELD.plan, HELD.state, HELD.next_state),
    "plan-replace": lambda: dataclasses.replace(HELD, state=HELD.next_state),  # type: ignore[type-var]
    "plan-subclass": subclassed(CertifiedPlan),
    "system-by-hand": lambda: AssuredSystem(SYSTEM, ASSURED.certificates),
    "system-replace": lambda: dataclasses.replace(ASSURED, system=SYSTEM),
    "system-subclass": subclassed(AssuredSystem),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_claim_cannot_be_made_outside_the_kernel(forgery: str) -> None:
    with pytest.raises(UnsoundStep):
        FORGERIES[forgery]()


@pytest.mark.parametrize("claim", [HELD, ASSURED], ids=["plan", "system"])
def test_a_claim_does_not_come_back_from_bytes(claim: object) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(claim)


def changed(plan: Plan, amount: fmpq) -> Plan:
    recovery = [fmpq_mat(inputs) for inputs in plan.recovery]
    recovery[0][0, plan.horizon] += amount
    return Plan(plan.options, plan.consensus, plan.horizon, plan.nominal, tuple(recovery))


def test_a_plan_that_misses_its_recovery_set_by_a_hair_is_refuted() -> None:
    """The last input moved until the terminal facet is met exactly is a plan; 10^-40 further is none."""
    result = check_plan(SYSTEM, HELD.state, HELD.plan)
    assert isinstance(result, Proved)
    run = SYSTEM.integer_model.roll_out(HELD.state, (HELD.plan.nominal, *HELD.plan.recovery))
    target = SYSTEM.tightening.recovery_set(SYSTEM, HELD.plan.options[0], HELD.plan.horizon + 1)
    final = run.state(HELD.plan.horizon + 1, 1)
    upper = next(h for g, h in zip(target.G.entries(), target.h.entries()) if g > 0)
    room = (upper - final[0, 0]) / SYSTEM.B[0, 0]
    hair = fmpq(1, 10**40)
    touching = changed(HELD.plan, room)
    assert isinstance(check_plan(SYSTEM, HELD.state, touching), Proved)
    beyond = check_plan(SYSTEM, HELD.state, changed(HELD.plan, room + hair))
    assert isinstance(beyond, Refuted) and beyond.witness.constraint == "terminal" and beyond.witness.amount == hair * SYSTEM.B[0, 0]


def test_a_plan_that_its_owner_changes_after_it_was_certified_is_certified_again_before_it_is_flown() -> None:
    """A solver that reuses its arrays: the held plan changes under the loop, and the next step does not believe it."""
    own = fork_plan(ASSURED)
    began = start(ASSURED, StepInput(own.state, candidates=(own.plan,)))
    assert isinstance(began, StepResult) and began.certified
    for inputs in began.state.held.plan.recovery:
        inputs[0, 3] = fmpq(1000)
    after = transition(ASSURED, began.state, StepInput(SYSTEM.next_state(own.state, began.state.sent)))
    assert not after.certified and SYSTEM.U.contains(after.input)
    assert isinstance(after.state.held, HeldPlan) and not isinstance(after.state.held, CertifiedPlan)
