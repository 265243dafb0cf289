"""The record of a flight in exact simulation, and the four claims of Theorem 1 about it.

A claim about step t is made where the theorem makes it: on steps that a certified plan led to while the model,
the sensor and the operator kept to the assumptions. A flight in which they did not is still judged on every
step before and after, and on claim 4 and honesty throughout.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.events import (
    MachineState,
    Override,
    Recovering,
    Row,
    StepInput,
    StepResult,
    Suspended,
    Waiting,
)
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import CertifiedPlan, check_plan
from aesop_verified.kernel.verdict import Proved


@dataclass(frozen=True, eq=False)
class FlightStep:
    """One step of a flight.

    Attributes:
        true_state: of the plant, shape (n, 1).
        before: what the loop carried into the step; None at t = 0.
        read: what the step read.
        result: what it yielded.
        disturbed: whether the way from the previous step here left W, or the input was not applied for one step.
        deceived: whether the state that the loop worked with is further from the true one than E allows.
    """

    true_state: fmpq_mat
    before: MachineState | None
    read: StepInput
    result: StepResult
    disturbed: bool
    deceived: bool

    @property
    def sound(self) -> bool:
        """A certified plan stands behind the input and the loop knows the state within E."""
        return self.result.certified and not self.deceived


@dataclass(frozen=True, eq=False)
class Flight:
    """A flight of an assured system; `extra_rows` are rows that leave no event in a step."""

    assured: AssuredSystem
    steps: tuple[FlightStep, ...]
    extra_rows: tuple[Row, ...] = ()

    @property
    def system(self) -> System:
        """The exact system."""
        return self.assured.system

    @property
    def rows(self) -> Counter[Row]:
        """How often each row of the transition table was taken."""
        return Counter(e.row for s in self.steps for e in s.result.events) + Counter(self.extra_rows)

    @property
    def keeps_assumptions(self) -> bool:
        """Whether W, E and the sensor were kept in every step and the operator never overrode."""
        return not any(s.disturbed or s.deceived or isinstance(s.read.operator, Override) for s in self.steps)

    @property
    def decides_at_the_deadline(self) -> bool:
        """Whether a question was decided in step t_anom + K + 1."""
        K = self.system.consensus_horizon
        return any(
            s.before is not None and isinstance(s.before.mode, Waiting) and s.before.mode.k == K
            and not (isinstance(s.result.state.mode, Waiting) and s.result.state.mode.k > K)
            for s in self.steps
        )  # fmt: skip

    def check_claims(self) -> None:
        """Assert the four claims of Theorem 1, and that no step says certified without a plan that is.

        Raises:
            AssertionError: naming the claim, the step and what was found.
        """
        previous: FlightStep | None = None
        for t, step in enumerate(self.steps):
            self._claim_4(t, step)
            self._honesty(t, step)
            led_here = previous is not None and previous.sound and not step.disturbed
            self._claim_1(t, step, led_here=led_here, previous=previous)
            if led_here and previous is not None:
                self._claim_2(t, step)
                self._claim_3(t, step, previous)
            previous = step

    def _claim_1(self, t: int, step: FlightStep, *, led_here: bool, previous: FlightStep | None) -> None:
        """x_t in X for the true state: where a sound step led, at t = 0, and where Suspended was left."""
        again = step.sound and previous is not None and isinstance(previous.result.state.mode, Suspended)
        if led_here or again or (t == 0 and step.sound):
            violation = self.system.X.violation(step.true_state)
            assert violation is None, f"claim 1: x_{t} = {step.true_state} is outside X: {violation}"

    def _claim_2(self, t: int, step: FlightStep) -> None:
        """Some y has a certified plan, when the state is known and the operator does not override."""
        blind = step.read.measurement is None and not self.system.measured_disturbance.is_zero
        if not (blind or step.deceived or isinstance(step.read.operator, Override)):
            assert step.result.certified, f"claim 2: no certified plan at step {t}: {step.result.events}"
            assert step.result.state.held.plan.options, f"claim 2: the plan of step {t} has no option"

    def _claim_3(self, t: int, step: FlightStep, previous: FlightStep) -> None:
        """x_t in X_R^y for all t >= t_anom + T + 1: the step before is Recovering(y, k) with k >= T."""
        mode = previous.result.state.mode
        if isinstance(mode, Recovering) and mode.k >= self.system.horizon:
            violation = self.system.recovery(mode.name).polytope.violation(step.true_state)
            assert violation is None, f"claim 3: x_{t} = {step.true_state} is outside {mode.name}, {mode.k + 1} steps after: {violation}"

    def _claim_4(self, t: int, step: FlightStep) -> None:
        """An input in U and on the quantum grid; a question that waits has k <= K and a plan for its very options."""
        u, mode = step.result.input, step.result.state.mode
        assert self.system.U.contains(u), f"claim 4: u_{t} = {u} is outside U: {self.system.U.violation(u)}"
        if self.system.quantum > 0:
            assert all((v / self.system.quantum).q == 1 for v in u.entries()), f"claim 4: u_{t} = {u} is no multiple of the quantum"
        if isinstance(mode, Waiting):
            held = step.result.state.held.plan
            assert mode.k <= self.system.consensus_horizon, f"step {t} still waits at k = {mode.k}"
            assert held.options == mode.options and held.consensus == self.system.consensus_horizon - mode.k

    def _honesty(self, t: int, step: FlightStep) -> None:
        """`certified` is said of plans that the kernel certifies again, and Suspended of no certified step."""
        held, mode = step.result.state.held, step.result.state.mode
        assert step.result.certified != isinstance(mode, Suspended), f"step {t} is {mode} and certified={step.result.certified}"
        if step.result.certified:
            assert isinstance(held, CertifiedPlan)
            assert isinstance(check_plan(self.system, held.state, held.plan), Proved), f"step {t} holds a plan that fails its check"


def has_active_constraint(system: System, held: CertifiedPlan) -> bool:
    """Whether some tightened constraint of the plan holds with equality or within 1 percent of its bound."""
    for name, inputs in zip(("nominal", *held.plan.options), (held.plan.nominal, *held.plan.recovery)):
        x = held.state
        for k in range(held.plan.horizon + 1):
            u = fmpq_mat(system.m, 1, [inputs[i, k] for i in range(system.m)])
            if _touches(system.input_set.G * u, system.tightening.inputs[k]) or _touches(system.X.G * x, system.tightening.states[k]):
                return True
            x = system.next_state(x, u)
        if name != "nominal" and _touches(system.recovery(name).polytope.G * x, system.tightening.terminals[name][held.plan.horizon + 1]):
            return True
    return False


def _touches(values: fmpq_mat, bounds: tuple[fmpq, ...]) -> bool:
    return any(100 * (bound - value) <= abs(bound) for value, bound in zip(values.entries(), bounds))


@dataclass
class Tally:
    """Counts over many flights, to be asserted and printed: tests that pass by never meeting the case are worthless."""

    flights: int = 0
    rows: Counter[Row] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, flight: Flight, kinds: frozenset[str] = frozenset()) -> None:
        """Count a flight; `kinds` are further labels, such as the tags of the system."""
        system, first = flight.system, flight.steps[0].result.state.held
        assert isinstance(first, CertifiedPlan)
        features = {
            "|Y| >= 2": len(first.plan.options) >= 2,
            "K >= 1": system.consensus_horizon >= 1,
            "active constraint": has_active_constraint(system, first),
            "decision at K + 1": flight.decides_at_the_deadline,
        }
        self.flights += 1
        self.rows += flight.rows
        self.kinds.update(label for label, present in features.items() if present)
        self.kinds.update(kinds)
        self.kinds["steps"] += len(flight.steps)
        self.kinds["certified steps"] += sum(s.result.certified for s in flight.steps)
        self.kinds["all four at once"] += all(features.values())
        self.kinds["assumptions kept"] += flight.keeps_assumptions

    def lines(self) -> list[str]:
        """A table for people."""
        yield_rows = [f"{row.value:24} {self.rows[row]:7}" for row in Row]
        yield_kinds = [f"{kind:24} {count:7}" for kind, count in sorted(self.kinds.items())]
        return [f"{self.flights} flights", *yield_rows, *yield_kinds]
