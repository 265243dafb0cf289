"""Short exact flights of the integrator with two recovery sets, without processes, for tests of loop and log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.events import Alarm, AlarmCause, Answer, Question, Request
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.plan import Plan
from aesop_verified.runtime import About, Dismissal, Durability, FlightLog, Loop, Proposal, Sighting
from aesop_verified.testing.textbook import fork_plan

DT = fmpq(1, 10)


@dataclass
class FirstPlanOnly:
    """A planner that proposes a certified plan at t = 0 and nothing afterwards; `extra` plans go before it."""

    assured: AssuredSystem
    options: tuple[str, ...] = ("left", "right")
    extra: tuple[Plan, ...] = ()
    calls: int = 0
    requests: list[tuple[Request, ...]] = field(default_factory=list)

    def submit(self, requests: tuple[Request, ...], state: fmpq_mat) -> None:
        self.calls += 1
        self.requests.append(requests)

    def collect(self, deadline_ns: int) -> Proposal:
        if self.calls > 1:
            return Proposal(self.extra)
        return Proposal((*self.extra, fork_plan(self.assured, options=self.options).plan))


@dataclass
class AlarmOn:
    """A detector that alarms on observations that hold a word, and on none."""

    word: str = "fire"
    seen: list[tuple[Dismissal, ...]] = field(default_factory=list)
    _observation: str | None = None

    def submit(self, observation: str | None, step: int, dismissed: tuple[Dismissal, ...]) -> None:
        self._observation = observation
        self.seen.append(dismissed)

    def collect(self, deadline_ns: int) -> Sighting:
        text = self._observation
        if text is None:
            return Sighting(Alarm(AlarmCause.NO_OBSERVATION, ""))
        if any(d.observation == text for d in self.seen[-1]):
            return Sighting(None)
        return Sighting(Alarm(AlarmCause.SCORE, text) if self.word in text else None)


@dataclass
class AnswersAfter:
    """A reasoner whose answer becomes readable `steps` steps after the question."""

    make: Callable[[Question], Answer]
    steps: int = 1
    asked: list[Question] = field(default_factory=list)
    abandoned: int = 0
    _open: Question | None = None
    _left: int = 0

    def ask(self, question: Question) -> None:
        self.asked.append(question)
        self._open, self._left = question, self.steps

    def poll(self) -> Answer | None:
        self._left -= 1
        if self._open is None or self._left > 0:
            return None
        question, self._open = self._open, None
        return self.make(question)

    def abandon(self) -> None:
        self.abandoned += self._open is not None
        self._open = None


def logged_loop(assured: AssuredSystem, path: Path, *, durability: Durability = Durability.WRITTEN, **services: object) -> Loop:
    """A loop with a log; services are those of `Loop`."""
    log = FlightLog.create(path, assured, About("fork", DT, ("x",), ("u",), {"plant": 1}), durability)
    planner = services.pop("planner", None) or FirstPlanOnly(assured)
    return Loop(assured, dt=DT, log=log, planner=planner, **services)  # type: ignore[arg-type]


def fly(loop: Loop, steps: int, *, observation: str | None = "a wall", state: fmpq | None = None) -> fmpq:
    """Fly without a disturbance from `state`, or from 0; returns the true state after the last input."""
    x = fmpq(0) if state is None else state
    for _ in range(steps):
        x += loop.step([x], observation).input[0, 0]
    return x
