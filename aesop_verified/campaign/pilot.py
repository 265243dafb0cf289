"""What flies a scenario: AESOP's loop with a planner in this process, a scripted alarm and a scripted answer.

Nothing is simplified in it: `Loop`, the kernel's transition function and the exact certificates are those of a flight.
Only what a campaign does not test is left out: the worker processes and the wall clock, whose place a simulated one takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flint import fmpq, fmpq_mat

from aesop_verified.campaign.draws import Draw
from aesop_verified.kernel.events import Alarm, AlarmCause, Answer, Choice, Clear, Question, Recovering, Request, Row, Suspended
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.planning.planner import Planner
from aesop_verified.runtime.clock import NANOSECONDS
from aesop_verified.runtime.flight_log import FlightLog
from aesop_verified.runtime.loop import Loop
from aesop_verified.runtime.planner_worker import doubles
from aesop_verified.runtime.services import Dismissal, Proposal, Sighting


@dataclass(frozen=True, slots=True)
class Decision:
    """The intervention of a flight.

    Attributes:
        alarm: step of the alarm that was asked about.
        answered: step at which the answer was read, or the fallback policy decided.
        options: what was on offer.
        name: the region.
        by: "reasoner" or "fallback".
    """

    alarm: int
    answered: int
    options: tuple[str, ...]
    name: str
    by: str


class Pilot(Protocol):
    """Chooses the inputs of a flight."""

    decision: Decision | None

    def step(self, t: int, measured: fmpq_mat) -> fmpq_mat:
        """The input of step t, exact, shape (m, 1)."""


class AesopPilot:
    """The completed Algorithm 1 behind a scripted detector and reasoner.

    Attributes:
        decision: what was decided, once it was.
        rows: how often each row of the transition table was taken.
        uncertified: steps without a certified plan.
        left_w: steps at which the loop observed a disturbance outside the declared one.
    """

    def __init__(self, assured: AssuredSystem, dt: fmpq, planner: Planner, draw: Draw, log: FlightLog) -> None:
        self._clock = _SimulatedClock(dt)
        self._detector, self._reasoner = _ScriptedDetector(draw), _ScriptedReasoner(draw)
        self._loop = Loop(
            assured, dt=dt, planner=_PlannerHere(planner, assured, draw), detector=self._detector, reasoner=self._reasoner, log=log, clock=self._clock
        )
        self.decision: Decision | None = None
        self.rows: Counter[Row] = Counter()
        self.uncertified: list[int] = []
        self.left_w: list[int] = []
        self._options: tuple[str, ...] = ()

    def step(self, t: int, measured: fmpq_mat) -> fmpq_mat:
        """See `Pilot`.

        Raises:
            StartRefusedError: in the first step, when no first plan is certified.
        """
        self._clock.steps = t
        report = self._loop.step(measured, f"scene {t}")
        self.rows.update(event.row for event in report.events)
        if not report.certified:
            self.uncertified.append(t)
        if report.assumption is not None:
            self.left_w.append(t)
        if report.question is not None:
            self._options = report.question.options
        mode = report.mode
        if self.decision is None and isinstance(mode, (Recovering, Suspended)):
            chosen = any(event.row is Row.ANSWER_CHOICE for event in report.events)
            self.decision = Decision(t - mode.k, t, self._options, mode.name, "reasoner" if chosen else "fallback")
        return report.input

    def end(self) -> None:
        """Close the log with its end record."""
        self._loop.end()


class _SimulatedClock:
    """Time that passes only from step to step."""

    def __init__(self, dt: fmpq) -> None:
        self._dt = int((dt * NANOSECONDS).floor())
        self.steps = 0

    def now_ns(self) -> int:
        return self.steps * self._dt

    def sleep_until(self, time_ns: int) -> None:
        """Nothing to wait for."""


class _PlannerHere:
    """A `PlanningService` in this process, whose solver gives nothing where the scenario says so."""

    def __init__(self, planner: Planner, assured: AssuredSystem, draw: Draw) -> None:
        self._planner, self._system, self._draw = planner, assured.system, draw
        self._step = -1
        self._work: tuple[tuple[Request, ...], Sequence[float]] | None = None

    def submit(self, requests: tuple[Request, ...], state: fmpq_mat) -> None:
        self._step += 1
        self._work = (requests, doubles(state))

    def collect(self, deadline_ns: int) -> Proposal:
        work, self._work = self._work, None
        if work is None or self._draw.solver_fails(self._step):
            return Proposal(note={"status": "failed"})
        outcomes = [self._planner.plan(request, work[1]) for request in work[0]]
        return Proposal(tuple(plan for outcome in outcomes for plan in outcome.plans(self._system)))


class _ScriptedDetector:
    """A `DetectionService` that fires at the scenario's anomalies."""

    def __init__(self, draw: Draw) -> None:
        self._anomalies = dict(draw.anomalies)
        self._step = 0

    def submit(self, observation: str | None, step: int, dismissed: tuple[Dismissal, ...]) -> None:
        self._step = step

    def collect(self, deadline_ns: int) -> Sighting:
        return Sighting(Alarm(AlarmCause.SCORE, _seen(self._step)) if self._step in self._anomalies else None)


class _ScriptedReasoner:
    """A `ReasoningService` that answers after the scenario's latency: 0 for what is harmless, else its draw."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._harmless = {_seen(step) for step, harmless in draw.anomalies if harmless}
        self._question: Question | None = None
        self._polls = 0

    def ask(self, question: Question) -> None:
        self._question, self._polls = question, 0

    def poll(self) -> Answer | None:
        question = self._question
        self._polls += 1
        if question is None or self._polls < self._draw.latency:
            return None
        self._question = None
        if question.observation in self._harmless:
            return Clear(question.trigger)
        return Choice(question.trigger, self._draw.choice(question.options))

    def abandon(self) -> None:
        self._question = None


def _seen(step: int) -> str:
    return f"anomaly of step {step}"
