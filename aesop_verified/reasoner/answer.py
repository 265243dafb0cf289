"""The strict answer grammar and its total parser: every byte string is Clear, a Choice in Y, or Rejected.

EBNF, over bytes; `name` is one of the option names of the question asked:

    answer = { space } , ( "0" | name ) , { space } ;
    space  = %x09 | %x0A | %x0B | %x0C | %x0D | %x20 ;

Nothing else is an answer: no quotes, no full stop, no upper case, no explanation, no number of an option. What a
reader would have to guess is left to the fallback policy, which is certified as well.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from aesop_verified.reasoner.question import Question, check_options

MAXIMUM_ANSWER_BYTES: Final = 4096
"""A longer byte string is rejected unread; no name comes near it."""

_SPACE: Final = b"\t\n\v\f\r "


@dataclass(frozen=True)
class Clear:
    """The anomaly is no hazard: answer 0."""


@dataclass(frozen=True)
class Choice:
    """Go to the recovery set of this name, which is one of the options asked."""

    name: str


@dataclass(frozen=True)
class Rejected:
    """Not an answer; `reason` is for the log."""

    reason: str


Answer = Clear | Choice | Rejected


def parse_answer(raw: bytes, options: tuple[str, ...]) -> Answer:
    """Parse an answer strictly; total on byte strings, never raises for any `raw`.

    Raises `QuestionRefused` if `options` is empty, malformed or holds a name twice (the caller's fault, not the model's).
    """
    check_options(options)
    if len(raw) > MAXIMUM_ANSWER_BYTES:
        return Rejected(f"{len(raw)} bytes, expected at most {MAXIMUM_ANSWER_BYTES}")
    word = raw.strip(_SPACE)
    if word == b"0":
        return Clear()
    for name in options:
        if word == name.encode("ascii"):
            return Choice(name)
    expected = ", ".join(("0", *options))
    if not word:
        return Rejected(f"empty answer, expected one of: {expected}")
    return Rejected(f"found {repr(word[:60])[1:]}{'...' if len(word) > 60 else ''}, expected exactly one of: {expected}")


@dataclass(frozen=True)
class TaggedAnswer:
    """An answer with the trigger that it answers, the SHA-256 of the raw bytes and the time it took (ns).

    `raw_sha256` is None when no bytes came back at all. The loop ignores an answer to another trigger.
    """

    trigger_id: str
    answer: Answer
    raw_sha256: str | None
    latency_ns: int


def tag_answer(question: Question, raw: bytes, *, latency_ns: int) -> TaggedAnswer:
    """Parse `raw` against the question's options and tie it to the question."""
    return TaggedAnswer(
        question.trigger_id, parse_answer(raw, question.names), hashlib.sha256(raw).hexdigest(), latency_ns
    )


def tag_failure(question: Question, error: BaseException, *, latency_ns: int) -> TaggedAnswer:
    """The rejected answer of a client that raised."""
    return TaggedAnswer(question.trigger_id, Rejected(f"{type(error).__name__}: {error}"), None, latency_ns)
