"""A reasoner that answers from a list: for demonstrations, tests and flights without a model."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from aesop_verified.reasoner.errors import ReasonerFailed
from aesop_verified.reasoner.question import Question


@dataclass(frozen=True)
class ScriptLine:
    """If `match` occurs in the observation (case ignored), wait `delay_seconds` and answer `answer`."""

    match: str
    answer: bytes
    delay_seconds: float = 0.0


class ScriptedReasoner:
    """The first line whose `match` occurs in the observation answers; no line: `ReasonerFailed`.

    An empty `match` occurs in every observation. Answers are raw bytes, so garbage can be scripted too.
    """

    def __init__(self, lines: tuple[ScriptLine, ...], *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._lines = lines
        self._sleep = sleep

    def ask(self, question: Question) -> bytes:
        """Look the observation up; the same question gives the same answer every time."""
        observation = question.observation.casefold()
        for line in self._lines:
            if line.match.casefold() in observation:
                if line.delay_seconds > 0:
                    self._sleep(line.delay_seconds)
                return line.answer
        raise ReasonerFailed(
            f"no line of the script matches the observation {question.observation[:60]!r}; add one with match ''"
        )
