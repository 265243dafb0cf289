"""Memory and processor time of this process and its workers, from /proc (Linux; elsewhere both count as 0)."""

from __future__ import annotations

from collections.abc import Iterable


def proportional_kilobytes(pids: Iterable[int | None]) -> int:
    """The sum of the proportional set sizes (shared pages count once) of some processes; what is gone counts as 0."""
    return sum(_proportional(pid) for pid in pids if pid is not None)


def _proportional(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii", errors="replace") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    except OSError:
        return 0


def stalled_ns(pid: int | None) -> int:
    """How long a process has stood in line for a processor so far, in nanoseconds: the time that other load took."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as line:
            return int(line.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
