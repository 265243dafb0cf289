"""Errors in a system file: each names the place, what was found, what was expected and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

from aesop_verified.kernel.errors import UsageError

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")
MOST_SHOWN = 40
"""Problems of one file that a message names; nobody reads more."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file.

    Attributes:
        path: the field, such as "recovery_sets.north.box.x[1]"; empty for the file as a whole.
        position: where the field stands in the text, or None when the file has no such place.
        message: what was found, what was expected, and what to do.
    """

    path: str
    position: Position | None
    message: str

    def text(self, source: str) -> str:
        """ "file:line:column: path: message"."""
        where = source if self.position is None else f"{source}:{self.position.line}:{self.position.column}"
        return ": ".join(part for part in (where, self.path, self.message) if part)


class SystemFileError(UsageError):
    """A system file that cannot be understood (exit code 2).

    Attributes:
        source: the file's name.
        problems: everything that was found wrong, in the order of the file.
    """

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda p: (0, 0) if p.position is None else (p.position.line, p.position.column)))
        lines = [p.text(source) for p in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            lines.append(f"{source}: and {len(self.problems) - MOST_SHOWN} more")
        super().__init__("\n".join(lines))


class FieldError(Exception):
    """Raised by the reader of one field and collected by `Problems.attempt`; it never leaves this package."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


class Problems:
    """Collects the problems of a file, so that a user sees all of them at once."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Problem] = []

    def add(self, path: str, position: Position | None, message: str) -> None:
        """Record a problem and go on."""
        self.found.append(Problem(path, position, message))

    def attempt(self, read: Callable[Arguments, Value], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Value | None:
        """What `read(...)` gives, or None after recording its problem, so that reading goes on."""
        try:
            return read(*args, **kwargs)
        except FieldError as error:
            self.found.append(error.problem)
            return None

    def raise_if_any(self) -> None:
        """Raise a SystemFileError when something was recorded."""
        if self.found:
            raise SystemFileError(self.source, self.found)


def suggestion(word: str, known: Sequence[str]) -> str:
    """ "; did you mean ...?" when a known name is near, else an empty text."""
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""

