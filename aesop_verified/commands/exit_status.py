"""The exit status of every sub-command: one table for the whole command."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from aesop_verified.kernel.verdict import Verdict


class ExitStatus(enum.IntEnum):
    """What a shell sees."""

    PROVED = 0
    """Everything asked was proved, or was printed."""
    REFUTED = 1
    """Something asked is false; a witness was shown."""
    BAD_INPUT = 2
    """The input cannot be understood; nothing was decided."""
    UNKNOWN = 3
    """Nothing was refuted, and something was not proved."""


def overall(verdicts: Iterable[Verdict]) -> ExitStatus:
    """The status of several verdicts: one refutation beats any unknown; no verdict at all proves nothing."""
    seen = set(verdicts)
    if Verdict.REFUTED in seen:
        return ExitStatus.REFUTED
    return ExitStatus.PROVED if seen == {Verdict.PROVED} else ExitStatus.UNKNOWN
