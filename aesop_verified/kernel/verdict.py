"""Three answers to every question: proved, refuted, unknown (theory 1).

`Proved` can be made inside the kernel only, so holding one means that a kernel check ran. No result has a
truth value: `if result:` would count a refutation as success, so it raises and says what to write instead.
"""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeAlias, TypeVar

from aesop_verified.kernel.errors import AesopError, UnsoundStep

C_co = TypeVar("C_co", covariant=True)
W_co = TypeVar("W_co", covariant=True)

_KERNEL = "aesop_verified.kernel."


class _NoTruthValue:
    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} result has no truth value; write isinstance(result, Proved) or "
            "result.verdict is Verdict.PROVED (and handle Refuted and Unknown)"
        )


class Verdict(_NoTruthValue, enum.Enum):
    """The verdict of a check, for tables and files."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


def require_kernel(what: str) -> None:
    """Refuse the construction of a claim outside the kernel; to be called in the `__post_init__` of a dataclass."""
    # SOUNDNESS: frame 1 is __post_init__, 2 the generated __init__, 3 its caller.
    caller = sys._getframe(3).f_globals.get("__name__", "")
    if not caller.startswith(_KERNEL):
        raise UnsoundStep(f"{what} can only be made by a kernel check, not by {caller!r}; call the check and keep its result")


class NotProved(AesopError):
    """Work that rests on a proof cannot go on; `verdict` says whether it was refuted or is unknown."""

    def __init__(self, message: str, verdict: Verdict) -> None:
        super().__init__(message)
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class Proved(_NoTruthValue, Generic[C_co]):
    """The statement holds; `certificate` is what the kernel checked."""

    certificate: C_co

    def __post_init__(self) -> None:
        require_kernel("Proved")

    def __init_subclass__(cls) -> NoReturn:
        raise UnsoundStep("Proved cannot be subclassed: a subclass could be made without a check")

    def __reduce__(self) -> NoReturn:
        raise UnsoundStep("a Proved cannot be copied or pickled; send its certificate and check it again")

    @property
    def verdict(self) -> Verdict:
        return Verdict.PROVED


@dataclass(frozen=True, slots=True)
class Refuted(_NoTruthValue, Generic[W_co]):
    """The statement is false; `witness` can be replayed by hand."""

    witness: W_co

    @property
    def verdict(self) -> Verdict:
        return Verdict.REFUTED


@dataclass(frozen=True, slots=True)
class Unknown(_NoTruthValue):
    """Neither proved nor refuted; `reason` says why."""

    reason: str

    @property
    def verdict(self) -> Verdict:
        return Verdict.UNKNOWN


Result: TypeAlias = "Proved[C_co] | Refuted[W_co] | Unknown"
