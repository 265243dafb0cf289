"""What the loop asks of the outside: plans, an alarm, an answer. Each by a protocol that can be late, wrong or gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from flint import fmpq_mat

from aesop_verified.kernel.events import Alarm, Answer, Question, Request
from aesop_verified.kernel.plan import Plan
from aesop_verified.runtime.exact_text import Json

LONGEST_OBSERVATION = 20_000
"""Characters of a scene description that are passed on; a longer one counts as a fault of the detector."""
SHOWN_OBSERVATION = 2_000
"""Characters of an observation that go into events, questions and the log."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """Candidate plans, most preferred first (none when the solver failed or is late), and a note for the log."""

    candidates: tuple[Plan, ...] = ()
    note: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dismissal:
    """An observation that the reasoner called harmless, and the step of that answer."""

    observation: str
    step: int


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """The detector's word on one observation: an alarm or none, and a note for the log."""

    alarm: Alarm | None
    note: Json = field(default_factory=dict)


class PlanningService(Protocol):
    """Proposes plans."""

    def submit(self, requests: tuple[Request, ...], state: fmpq_mat) -> None:
        """Begin to look for plans at a state; does not wait."""
        ...

    def collect(self, deadline_ns: int) -> Proposal:
        """What was found, at the deadline at the latest."""
        ...


class DetectionService(Protocol):
    """Judges observations."""

    def submit(self, observation: str | None, step: int, dismissed: tuple[Dismissal, ...]) -> None:
        """Begin to judge an observation; does not wait."""
        ...

    def collect(self, deadline_ns: int) -> Sighting:
        """The judgement, at the deadline at the latest; a judgement that is not there is an alarm."""
        ...


class ReasoningService(Protocol):
    """Answers questions, slowly."""

    def ask(self, question: Question) -> None:
        """Begin to answer; does not wait. An open question is given up."""
        ...

    def poll(self) -> Answer | None:
        """The answer to the last question when it is there, once."""
        ...

    def abandon(self) -> None:
        """Give the open question up: it was decided without its answer."""
        ...


def shown(observation: str | None) -> str:
    """An observation as it goes into events and the log."""
    if observation is None:
        return ""
    return observation if len(observation) <= SHOWN_OBSERVATION else observation[:SHOWN_OBSERVATION] + " [cut]"
