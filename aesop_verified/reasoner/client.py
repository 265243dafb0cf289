"""What a reasoner is: a question in, the raw bytes of an answer out, blocking."""

from __future__ import annotations

from typing import Protocol

from aesop_verified.reasoner.question import Question


class Reasoner(Protocol):
    """w of section IV-A. It runs in a process that the loop can abandon; it keeps no deadline of its own.

    Whatever it returns goes through `parse_answer`; whatever it raises becomes a rejected answer.
    """

    def ask(self, question: Question) -> bytes:
        """The model's answer, unparsed. Raises `ReasonerFailed` when none came back."""
        ...
