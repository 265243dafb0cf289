"""Services that raise, or note what cannot be logged, end no step: the loop wraps every service that it is given.

Theory 3: a solver that fails means the shifted plan, a detector that raises counts as an alarm, an exception of
the reasoner is a rejected answer. The services here that run in worker processes do not raise; an integrator's may.
"""

from __future__ import annotations

from flint import fmpq_mat

from aesop_verified.kernel.events import Alarm, AlarmCause, Answer, Choice, Clear, Question, RejectedAnswer, Request
from aesop_verified.kernel.plan import Plan
from aesop_verified.runtime.exact_text import Json, canonical
from aesop_verified.runtime.services import (
    DetectionService,
    Dismissal,
    PlanningService,
    Proposal,
    ReasoningService,
    Sighting,
    shown,
)


def _raised(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def _note(note: object) -> Json:
    """A note that can be logged."""
    try:
        if isinstance(note, dict):
            canonical(note)
            return note
    except (TypeError, ValueError, RecursionError):
        pass
    return {"status": "unreadable", "detail": "the service's note is no JSON"}


class GuardedPlanner:
    """A `PlanningService` that proposes nothing where another one raises."""

    def __init__(self, service: PlanningService) -> None:
        self._service = service
        self._failure = ""

    def submit(self, requests: tuple[Request, ...], state: fmpq_mat) -> None:
        """See `PlanningService`."""
        self._failure = ""
        try:
            self._service.submit(requests, state)
        except Exception as error:  # noqa: BLE001 - whatever a solver raises, the step goes on without it
            self._failure = _raised(error)

    def collect(self, deadline_ns: int) -> Proposal:
        """See `PlanningService`."""
        if not self._failure:
            try:
                found = self._service.collect(deadline_ns)
                return Proposal(tuple(p for p in found.candidates if isinstance(p, Plan)), _note(found.note))
            except Exception as error:  # noqa: BLE001 - as above
                self._failure = _raised(error)
        return Proposal(note={"status": "raised", "detail": self._failure})


class GuardedDetector:
    """A `DetectionService` that alarms where another one raises."""

    def __init__(self, service: DetectionService) -> None:
        self._service = service
        self._failure, self._observation = "", ""

    def submit(self, observation: str | None, step: int, dismissed: tuple[Dismissal, ...]) -> None:
        """See `DetectionService`."""
        self._failure, self._observation = "", shown(observation)
        try:
            self._service.submit(observation, step, dismissed)
        except Exception as error:  # noqa: BLE001 - theory 3: a detector that raises counts as an alarm
            self._failure = _raised(error)

    def collect(self, deadline_ns: int) -> Sighting:
        """See `DetectionService`."""
        if not self._failure:
            try:
                found = self._service.collect(deadline_ns)
                if found.alarm is None or isinstance(found.alarm, Alarm):
                    return Sighting(found.alarm, _note(found.note))
                self._failure = f"found the alarm {found.alarm!r:.100}, expected an Alarm or None"
            except Exception as error:  # noqa: BLE001 - as above
                self._failure = _raised(error)
        return Sighting(Alarm(AlarmCause.RAISED, self._observation), {"status": "raised", "detail": self._failure})


class GuardedReasoner:
    """A `ReasoningService` whose exceptions are rejected answers to the question that is open."""

    def __init__(self, service: ReasoningService) -> None:
        self._service = service
        self._open: int | None = None
        self._failure = ""

    def ask(self, question: Question) -> None:
        """See `ReasoningService`."""
        self._open, self._failure = question.trigger, ""
        try:
            self._service.ask(question)
        except Exception as error:  # noqa: BLE001 - theory 3: an exception is a rejected answer
            self._failure = _raised(error)

    def poll(self) -> Answer | None:
        """See `ReasoningService`."""
        if not self._failure:
            try:
                answer = self._service.poll()
                if answer is None or isinstance(answer, (Clear, Choice, RejectedAnswer)):
                    return answer
                self._failure = f"found the answer {answer!r:.100}, expected Clear, Choice or RejectedAnswer"
            except Exception as error:  # noqa: BLE001 - as above
                self._failure = _raised(error)
        if self._open is None:
            return None
        trigger, self._open = self._open, None
        return RejectedAnswer(trigger, self._failure)

    def abandon(self) -> None:
        """See `ReasoningService`."""
        self._open = None
        try:
            self._service.abandon()
        except Exception as error:  # noqa: BLE001 - the question is decided already; the next one tells
            self._failure = _raised(error)
