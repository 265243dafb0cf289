"""What an untrusted solver and an untrusted reasoner may do to the loop, as Hypothesis draws."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

from flint import fmpq, fmpq_mat
from hypothesis import strategies as st

from aesop_verified.kernel.errors import ExactnessError, UsageError
from aesop_verified.kernel.events import (
    Answer,
    Choice,
    Clear,
    Question,
    RejectedAnswer,
    Request,
)
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import HeldPlan, Plan, shifted_plan
from aesop_verified.kernel.rational import from_double
from aesop_verified.reasoner.answer import Choice as ParsedChoice
from aesop_verified.reasoner.answer import Clear as ParsedClear
from aesop_verified.reasoner.answer import parse_answer
from aesop_verified.testing.planner import HonestPlanner


class Solver(enum.Enum):
    """How a solver behaves in one step."""

    HONEST = "a plan that was checked in floating point"
    SILENT = "late, raised, or claims infeasible: no plan"
    STALE = "the previous step's plan once more"
    GARBAGE = "random inputs of the right shape"
    HUGE = "inputs of 1e300"
    NOT_FINITE = "NaN or an infinity"
    WRONG_SHAPE = "a number of inputs per step that the system does not have"
    WRONG_HORIZON = "a plan for other horizons"
    WRONG_OPTIONS = "a plan for other options, or for a name that does not exist"
    BROKEN_CONSENSUS = "the shifted plan with one shared input changed by 2^-70"
    SHIFTED = "exactly the shifted plan"


@dataclass
class SolverAdversary:
    """Produces candidate plans for one system."""

    system: System
    planner: HonestPlanner
    draw: st.DataObject

    def candidates(self, held: HeldPlan, state: fmpq_mat, request: Request, behaviour: Solver) -> tuple[Plan, ...]:
        """What the solver delivers in this step, most preferred first."""
        match behaviour:
            case Solver.HONEST:
                return self._honest(held, state, request)
            case Solver.SILENT:
                return ()
            case Solver.STALE:
                return (held.plan,)
            case Solver.NOT_FINITE:
                self._not_finite()
                return ()
            case Solver.BROKEN_CONSENSUS | Solver.SHIFTED:
                return self._shifted(held, state, request, broken=behaviour is Solver.BROKEN_CONSENSUS)
            case _:
                return self._garbage(request, behaviour)

    def _honest(self, held: HeldPlan, state: fmpq_mat, request: Request) -> tuple[Plan, ...]:
        wish = self.draw.draw(st.integers(-2, 2), label="wish")
        subsets = [request.options] if request.exact_options else [request.options, held.plan.options, held.plan.options[:1]]
        plans = [self.planner.propose(state, Request(Y, True, request.consensus, request.horizon), float(wish)) for Y in dict.fromkeys(subsets)]
        return tuple(p for p in plans if p is not None)

    def _shifted(self, held: HeldPlan, state: fmpq_mat, request: Request, *, broken: bool) -> tuple[Plan, ...]:
        options = request.options if request.exact_options else held.plan.options
        if not set(options) <= set(held.plan.options):
            return ()
        plan = shifted_plan(self.system, held, state, options, request.consensus, request.horizon)
        if broken:
            branch = self.draw.draw(st.integers(0, len(options) - 1), label="broken branch")
            k = self.draw.draw(st.integers(0, request.consensus), label="broken step")
            changed = [fmpq_mat(u) for u in plan.recovery]
            changed[branch][0, k] += fmpq(1, 2**70)
            plan = Plan(plan.options, plan.consensus, plan.horizon, plan.nominal, tuple(changed))
        return (plan,)

    def _not_finite(self) -> None:
        value = self.draw.draw(st.sampled_from([math.nan, math.inf, -math.inf]), label="solver's double")
        try:
            from_double(value)
        except ExactnessError:
            return
        raise AssertionError(f"from_double accepted {value}")

    def _garbage(self, request: Request, behaviour: Solver) -> tuple[Plan, ...]:
        K, T, m, options = request.consensus, request.horizon, self.system.m, request.options
        if behaviour is Solver.WRONG_SHAPE:
            m += 1
        elif behaviour is Solver.WRONG_HORIZON:
            T += self.draw.draw(st.sampled_from([-1, 1, 50]), label="horizon error")
            K = self.draw.draw(st.integers(0, max(K, T)), label="consensus")
        elif behaviour is Solver.WRONG_OPTIONS:
            options = self.draw.draw(st.sampled_from([("nowhere",), (options[0], "nowhere"), options[1:], self.system.names[:1]]), label="options")
        size = fmpq(10) ** 300 if behaviour is Solver.HUGE else fmpq(1, 4)
        values = self.draw.draw(st.lists(st.integers(-4, 4), min_size=1, max_size=4), label="inputs")
        try:
            u = fmpq_mat(m, T + 1, [values[i % len(values)] * size for i in range(m * (T + 1))])
            return (Plan(options, K, T, u, (u,) * len(options)),)
        except (UsageError, ValueError):
            return ()  # Not even a plan object: a failure yields none.


@dataclass
class ReasonerAdversary:
    """Answers when and what it likes; at most one answer becomes readable in a step."""

    system: System
    draw: st.DataObject
    asked: list[Question] = field(default_factory=list)
    due: list[tuple[int, Answer]] = field(default_factory=list)

    def ask(self, question: Question, t: int) -> None:
        """A question is put at step t; decide when answers to it arrive, and which."""
        self.asked.append(question)
        K = self.system.consensus_horizon
        delay = self.draw.draw(st.sampled_from([*range(K + 1, 0, -1), K + 1, K + 2, 1000, 1000]), label="thinking time")
        self.due.append((t + delay, self._content(question)))
        if self.draw.draw(st.integers(0, 3), label="second answer") == 3:
            self.due.append((t + delay + self.draw.draw(st.integers(0, 2), label="after"), self._content(question)))

    def readable(self, t: int) -> Answer | None:
        """The answer that becomes readable in step t, sometimes to a question that nobody asked."""
        for index, (due, answer) in enumerate(self.due):
            if due <= t:
                del self.due[index]
                return answer
        if self.draw.draw(st.integers(0, 15), label="answer out of the blue") == 15:
            return Clear(self.draw.draw(st.integers(-1, 3), label="trigger"))
        return None

    def _content(self, question: Question) -> Answer:
        trigger = question.trigger
        outside = [name for name in self.system.names if name not in question.options]
        kind = self.draw.draw(st.sampled_from(["choice", "clear", "clear", "clear", "bytes", "outside", "nonsense", "old", "raised"]), label="answer")
        match kind:
            case "choice":
                return Choice(trigger, self.draw.draw(st.sampled_from(question.options), label="chosen"))
            case "clear":
                return Clear(trigger)
            case "outside":
                return Choice(trigger, self.draw.draw(st.sampled_from([*outside, "nowhere"]), label="chosen outside"))
            case "old":
                return Choice(trigger - self.draw.draw(st.integers(1, 2), label="age"), question.options[0])
            case "bytes":
                return self.parsed(question, self.draw.draw(st.binary(max_size=8), label="raw answer"))
            case "nonsense":
                words = [b" 0\n", question.options[0].encode(), question.options[0].upper().encode(), b"nowhere"]
                return self.parsed(question, self.draw.draw(st.sampled_from(words), label="raw answer"))
            case _:
                return RejectedAnswer(trigger, "ConnectionError: the endpoint hung up")

    @staticmethod
    def parsed(question: Question, raw: bytes) -> Answer:
        """What the strict parser makes of raw bytes, for the kernel."""
        answer = parse_answer(raw, question.options)
        if isinstance(answer, ParsedClear):
            return Clear(question.trigger)
        if isinstance(answer, ParsedChoice):
            return Choice(question.trigger, answer.name)
        return RejectedAnswer(question.trigger, answer.reason)
