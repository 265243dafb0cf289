"""The reasoner in a worker process: a question goes in, raw bytes come out, and the strict parser reads them here."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

from aesop_verified.kernel.events import Answer, Choice, Clear, Question, RejectedAnswer
from aesop_verified.reasoner import Choice as ParsedChoice
from aesop_verified.reasoner import Clear as ParsedClear
from aesop_verified.reasoner import Question as AskedQuestion
from aesop_verified.reasoner import ReasonerSpec, parse_answer
from aesop_verified.runtime.exact_text import canonical
from aesop_verified.runtime.services import shown
from aesop_verified.runtime.worker import CallResult, CallStatus, Worker
from aesop_verified.runtime.worker_main import Handler


@dataclass(frozen=True)
class ReasonerTask:
    """Builds a reasoner in a worker process.

    Attributes:
        spec: of the reasoner.
        niceness: by how much its process gives way to the loop's others.
    """

    spec: ReasonerSpec
    niceness: int = 5

    def build(self) -> Handler:
        """Load the model."""
        os.nice(self.niceness)
        reasoner = self.spec.build()

        def handle(payload: bytes) -> bytes:
            return reasoner.ask(AskedQuestion.from_json(json.loads(payload)))

        return handle


@dataclass(frozen=True, slots=True)
class Said:
    """What the reasoner said to a question, for tables and the log: raw text, and seconds until it was read."""

    trigger: int
    raw: str
    seconds: float


def answer_of(question: Question, result: CallResult) -> Answer:
    """The kernel's answer from what a worker gave; total: whatever is no answer is rejected, with the reason."""
    if result.status is not CallStatus.DONE:
        return RejectedAnswer(question.trigger, f"{result.status.value}: {result.detail}"[:500])
    parsed = parse_answer(result.payload, question.options)
    if isinstance(parsed, ParsedClear):
        return Clear(question.trigger)
    if isinstance(parsed, ParsedChoice):
        return Choice(question.trigger, parsed.name)
    return RejectedAnswer(question.trigger, parsed.reason)


class ReasonerWorker:
    """A `ReasoningService` in a worker process.

    Args:
        worker: of the process.
        descriptions: what each recovery set is, in words.
        robot, task: what the robot is and what it is doing, for the prompt.
    """

    def __init__(self, worker: Worker, descriptions: Mapping[str, str], *, robot: str, task: str) -> None:
        self.worker = worker
        self._descriptions, self._robot, self._task = descriptions, robot, task
        self._open: Question | None = None
        self._sent = False
        self._asked_ns = 0
        self.said: list[Said] = []

    def ask(self, question: Question) -> None:
        """See `ReasoningService`; a question that comes while the process starts is sent when it is up."""
        if self._open is not None:
            self.abandon()
        self._open, self._sent, self._asked_ns = question, False, time.monotonic_ns()
        self._send()

    def _send(self) -> None:
        question = self._open
        if question is None or self._sent:
            return
        options = tuple((name, self._descriptions.get(name, name)) for name in question.options)
        asked = AskedQuestion(str(question.trigger), shown(question.observation), options, self._robot, self._task)
        self._sent = self.worker.submit(canonical(asked.to_json()))

    def poll(self) -> Answer | None:
        """See `ReasoningService`."""
        question = self._open
        if question is None:
            return None
        if not self._sent:
            self._send()
            return None
        result = self.worker.poll()
        if result is None:
            return None
        self._open = None
        self.said.append(Said(question.trigger, result.detail[:200], (time.monotonic_ns() - self._asked_ns) / 1e9))
        return answer_of(question, result)

    def abandon(self) -> None:
        """See `ReasoningService`; the process is killed, because a model that thinks on would delay the next question."""
        if self._open is not None:
            if self._sent:
                self.worker.restart()
            self._open, self._sent = None, False
