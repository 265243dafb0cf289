"""Memory of this process and its workers, from /proc: proportional set size, in which shared pages count once."""

from __future__ import annotations

from collections.abc import Iterable


def proportional_kilobytes(pids: Iterable[int | None]) -> int:
    """The sum of the proportional set sizes of some processes now; what is gone or unknown counts as 0."""
    return sum(_proportional(pid) for pid in pids if pid is not None)


def _proportional(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii", errors="replace") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    except OSError:
        return 0
