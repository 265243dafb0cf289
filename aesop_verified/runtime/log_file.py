"""The flight log's file: append-only JSON Lines, hash-chained; what is acknowledged survives a kill and a full disk.

Line i is {"content": C_i, "sha256": H_i} with H_i = SHA-256(H_{i-1} C_i), H_{-1} = 64 zeros, C_i in canonical JSON.
A line is acknowledged when `append` returned True: then all of its bytes were handed to the operating system by
one write (they survive the end of this process), and with `Durability.SYNCED` also to the disk (they survive the
loss of power). A line that does not fit is taken back whole, counted, and announced by the next one that fits.
"""

from __future__ import annotations

import enum
import fcntl
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aesop_verified.kernel.errors import UsageError
from aesop_verified.runtime.exact_text import Json, canonical

FIRST_HASH = "0" * 64
_HEAD, _MIDDLE, _TAIL = b'{"content":', b',"sha256":"', b'"}'


class Durability(enum.Enum):
    """When a line counts as acknowledged."""

    WRITTEN = "written"
    """The operating system has it: it survives a kill of the process at any byte."""
    SYNCED = "synced"
    """The disk has it (fdatasync): it survives a loss of power. The step waits for the disk."""


def line_of(previous: str, content: object) -> tuple[bytes, str]:
    """A line with its line break, and its hash."""
    body = canonical(content)
    digest = hashlib.sha256(previous.encode("ascii") + body).hexdigest()
    return b"".join((_HEAD, body, _MIDDLE, digest.encode("ascii"), _TAIL, b"\n")), digest


def body_of(line: bytes, previous: str) -> tuple[bytes, str] | None:
    """The content of a line (without its line break) and its hash; None when it does not continue the chain."""
    ending = len(_MIDDLE) + 64 + len(_TAIL)
    if not line.startswith(_HEAD) or not line.endswith(_TAIL) or len(line) <= len(_HEAD) + ending:
        return None
    body, rest = line[len(_HEAD) : -ending], line[-ending:]
    digest = hashlib.sha256(previous.encode("ascii") + body).hexdigest()
    return (body, digest) if rest == _MIDDLE + digest.encode("ascii") + _TAIL else None


@dataclass(frozen=True, slots=True)
class Gap:
    """Lines that could not be written: how many, since which step, and why."""

    first_step: int
    lines: int
    reason: str


class LogFile:
    """A log that is open for appending; one writer at a time.

    Args:
        path: of the file.
        durability: when a line is acknowledged.
        size, last_hash: where the chain stands; a new file starts at 0.

    Raises:
        UsageError: when the file exists (new logs), cannot be opened, or has another writer.
    """

    def __init__(self, path: Path, durability: Durability = Durability.WRITTEN, *, size: int | None = None, last_hash: str = FIRST_HASH) -> None:
        flags = os.O_WRONLY | os.O_CLOEXEC | (os.O_CREAT | os.O_EXCL if size is None else 0)
        try:
            self._fd = os.open(path, flags, 0o644)
        except FileExistsError:
            raise UsageError(f"{path}: the file exists; a flight log is never overwritten: choose another folder, or move it away") from None
        except OSError as error:
            raise UsageError(f"{path}: the flight log cannot be opened ({error.strerror}); choose a folder that can be written to") from None
        self.path, self._durability = path, durability
        self._size, self._hash = size or 0, last_hash
        self.gap: Gap | None = None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise UsageError(f"{path}: another process writes to this flight log; a flight has one log of its own") from None
        os.ftruncate(self._fd, self._size)
        os.lseek(self._fd, self._size, os.SEEK_SET)

    def append(self, content: Json, step: int, bridge: Callable[[Gap], Json]) -> bool:
        """Write a line; True when it is acknowledged, False when it is lost. Never raises for a disk's fault.

        Args:
            content: of the line.
            step: that it belongs to, for the account of a gap.
            bridge: makes the line that goes before it when lines were lost.
        """
        gap = self.gap
        data = b""
        digest = self._hash
        if gap is not None:
            data, digest = line_of(digest, bridge(gap))
        line, digest = line_of(digest, content)
        reason = self._write(data + line)
        if reason is None:
            self._hash, self._size, self.gap = digest, self._size + len(data) + len(line), None
            return True
        self.gap = Gap(step, 1, reason) if gap is None else Gap(gap.first_step, gap.lines + 1, reason)
        return False

    def _write(self, data: bytes) -> str | None:
        """Write all of `data` or none of it; the reason when none."""
        try:
            # What a failed write left behind its last good line would break the chain.
            if os.fstat(self._fd).st_size != self._size:
                os.ftruncate(self._fd, self._size)
            os.lseek(self._fd, self._size, os.SEEK_SET)
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
            if self._durability is Durability.SYNCED:
                os.fdatasync(self._fd)
        except OSError as error:
            try:
                os.ftruncate(self._fd, self._size)
            except OSError:
                pass
            return os.strerror(error.errno) if error.errno else str(error)
        return None

    def close(self) -> None:
        """Close the file; the lock goes with it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
