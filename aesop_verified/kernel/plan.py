"""Plans of Eq. (3) and their check (theory 2 and 5): the kernel rolls the model out itself, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from aesop_verified.kernel.errors import UnsoundStep, UsageError
from aesop_verified.kernel.model import System
from aesop_verified.kernel.rational import column, own, require_shape
from aesop_verified.kernel.rollout import RollOut, Sides
from aesop_verified.kernel.verdict import Proved, Refuted, Result, require_kernel

NOMINAL = "nominal"
MAX_INPUT_BITS = 1100
"""Longest numerator or denominator in a proposed plan: a double needs 1075."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Input sequences for (Y, K, T) as in Eq. (3); a plan holds inputs only, never states (theory 1).

    Attributes:
        options: Y, non-empty, in the order of the system's recovery sets.
        consensus: K of this plan, 0 <= K <= T.
        horizon: T of this plan; every sequence has T + 1 inputs.
        nominal: u^0_0 .. u^0_T as columns, shape (m, T + 1).
        recovery: u^i_0 .. u^i_T for each option, same shape, in the order of `options`.
    """

    options: tuple[str, ...]
    consensus: int
    horizon: int
    nominal: fmpq_mat
    recovery: tuple[fmpq_mat, ...]

    def __post_init__(self) -> None:
        if not self.options or len(set(self.options)) != len(self.options) or len(self.recovery) != len(self.options):
            raise UsageError(f"a plan has options {list(self.options)} and {len(self.recovery)} recovery sequences, expected distinct options, at least one, and one sequence each")
        if not 0 <= self.consensus <= self.horizon:
            raise UsageError(f"a plan has consensus {self.consensus} and horizon {self.horizon}, expected 0 <= consensus <= horizon")
        for name, inputs in zip((NOMINAL, *self.options), (self.nominal, *self.recovery)):
            require_shape(f"the inputs of branch {name!r}", inputs, self.nominal.nrows(), self.horizon + 1)
        own(self, "nominal")
        object.__setattr__(self, "recovery", tuple(fmpq_mat(inputs) for inputs in self.recovery))

    @property
    def first_input(self) -> fmpq_mat:
        """u_0, common to all branches of a certified plan."""
        return column(self.nominal, 0)

    @property
    def is_short(self) -> bool:
        """Whether all numbers are about as short as doubles, so that the time of a check is bounded."""
        numbers = (value for inputs in (self.nominal, *self.recovery) for value in inputs.entries())
        return all(max(abs(v.p).bit_length(), v.q.bit_length()) <= MAX_INPUT_BITS for v in numbers)


@dataclass(frozen=True, slots=True)
class PlanViolation:
    """Where a plan breaks Eq. (3).

    Attributes:
        constraint: "state", "input", "terminal", "first input" or "consensus".
        branch: "nominal" or an option.
        step: k of Eq. (3).
        index: the violated facet, or the input component that differs.
        amount: by how much, > 0.
    """

    constraint: str
    branch: str
    step: int
    index: int
    amount: fmpq


@dataclass(frozen=True, slots=True, eq=False)
class HeldPlan:
    """A plan, the state it starts from, and A x + B u_0 + b, its next nominal state."""

    plan: Plan
    state: fmpq_mat
    next_state: fmpq_mat


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedPlan(HeldPlan):
    """A plan that satisfies Eq. (3) on the tightened sets from `state`; only `check_plan` makes one."""

    def __post_init__(self) -> None:
        require_kernel("a CertifiedPlan")

    def __init_subclass__(cls) -> NoReturn:
        raise UnsoundStep("CertifiedPlan cannot be subclassed: a subclass could be made without a check")


def check_plan(system: System, state: fmpq_mat, plan: Plan) -> Result[CertifiedPlan, PlanViolation]:
    """Decide whether `plan` satisfies constraints 1-4 of theory 2 at `state`, on the tightened sets of theory 5.

    Always decides: the answer is `Proved` or `Refuted` with the first violation found.

    Raises:
        UsageError: when the plan names an unknown option or has the wrong dimensions.
    """
    require_shape("the state", state, system.n, 1)
    require_shape("the inputs of the nominal branch", plan.nominal, system.m, plan.horizon + 1)
    if plan.horizon > system.horizon:
        raise UsageError(f"the plan has horizon {plan.horizon}, expected at most the system's {system.horizon}")
    unknown = [name for name in plan.options if name not in system.names]
    if unknown:
        raise UsageError(f"the plan names the options {unknown}, expected some of {list(system.names)}")
    violation = _consensus_violation(plan)
    if violation is not None:
        return Refuted(violation)
    # SOUNDNESS: the kernel rolls out all branches itself, one column a branch, nominal first.
    run = system.integer_model.roll_out(state, (plan.nominal, *plan.recovery))
    violation = (
        _first_violation("input", system.tightening.input_sides, run.inputs, [run.input_factor] * len(run.inputs), plan)
        or _first_violation("state", system.tightening.state_sides, run.states[:-1], run.state_factors, plan)
        or _terminal_violation(system, run, plan)
    )
    if violation is not None:
        return Refuted(violation)
    return Proved(CertifiedPlan(plan, fmpq_mat(state), run.state(1, 0)))


def _consensus_violation(plan: Plan) -> PlanViolation | None:
    """Constraints 3 and 4: u^i_0 = u^0_0, and u^i_k = u^j_k for k = 0..K inclusive."""
    first, reference = plan.nominal, plan.recovery[0]
    for name, inputs in zip(plan.options, plan.recovery):
        for i in range(inputs.nrows()):
            if inputs[i, 0] != first[i, 0]:
                return PlanViolation("first input", name, 0, i, abs(inputs[i, 0] - first[i, 0]))
            for k in range(plan.consensus + 1):
                if inputs[i, k] != reference[i, k]:
                    return PlanViolation("consensus", name, k, i, abs(inputs[i, k] - reference[i, k]))
    return None


def _first_violation(constraint: str, sides: Sides, points: Sequence[fmpz_mat], factors: Sequence[fmpz], plan: Plan) -> PlanViolation | None:
    """Constraint 1 for states or inputs: every column of points[k] / factors[k] satisfies the rows of step k."""
    for k, (values, factor) in enumerate(zip(points, factors)):
        excess = sides.excess(k, values, factor)
        if excess is not None:
            return PlanViolation(constraint, (NOMINAL, *plan.options)[excess.branch], k, excess.facet, excess.amount)
    return None


def _terminal_violation(system: System, run: RollOut, plan: Plan) -> PlanViolation | None:
    """Constraint 2: x^i_{T+1} in X_R^i - R_{T+1}; the nominal branch (column 0) has no terminal set."""
    step = plan.horizon + 1
    final, factor = run.states[step], run.state_factors[step]
    for branch, name in enumerate(plan.options, start=1):
        point = fmpz_mat(system.n, 1, [final[i, branch] for i in range(system.n)])
        excess = system.tightening.terminal_sides[name].excess(step, point, factor)
        if excess is not None:
            return PlanViolation("terminal", name, step, excess.facet, excess.amount)
    return None


def shifted_plan(
    system: System, held: HeldPlan, measurement: fmpq_mat, options: Sequence[str], consensus: int, horizon: int
) -> Plan:
    """The plan that needs no solver (theory 4 and 5): a proposal, to be checked like any other.

    Drops the first input of each branch, corrects it by u'_k = u_{k+1} + F Acl^k w with
    w = measurement - held.next_state, and appends the recovery law until there are `horizon` + 1 inputs; the
    first option's branch becomes the nominal one.
    """
    old_horizon, new_length = held.plan.horizon, horizon + 1
    kept = min(old_horizon, new_length)
    w = measurement - held.next_state
    changes = [(correction * w).entries() for correction in system.tightening.corrections[:kept]]
    branches = []
    for name in options:
        old = held.plan.recovery[held.plan.options.index(name)].table()
        rows = [[old[i][k + 1] + changes[k][i] for k in range(kept)] for i in range(system.m)]
        if kept < new_length:
            _append_law(system, name, measurement, rows, new_length)
        branches.append(fmpq_mat(rows))
    return Plan(tuple(options), consensus, horizon, branches[0], tuple(branches))


def _append_law(system: System, name: str, state: fmpq_mat, rows: list[list[fmpq]], length: int) -> None:
    """Roll the inputs in `rows` out from `state` and append inputs of the recovery law up to `length`."""
    law, x = system.recovery(name).law, state
    for k in range(length):
        if k == len(rows[0]):
            for row, value in zip(rows, law(x).entries()):
                row.append(value)
        x = system.next_state(x, fmpq_mat(system.m, 1, [row[k] for row in rows]))
