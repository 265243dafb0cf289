"""The results file of a campaign: JSON Lines, append-only, on the disk line by line; what a kill tore is taken back.

Each line is the outcome of one task: the records of its flights, and the hash of the settings that decide them. A line
counts when it is whole: one that was being written when the process was killed is cut off, and its task flown again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aesop_verified.campaign.flying import Key, Record, Task
from aesop_verified.kernel.errors import UsageError
from aesop_verified.runtime.exact_text import Json, canonical


class ResultsFile:
    """Opened for a campaign; one writer at a time.

    Args:
        settings: of each variant (`Prepared.settings`); lines of further variants are left alone.

    Attributes:
        records: of every task that is done, by its key.
        seconds: processor time of every task that is done.

    Raises:
        UsageError: when the file is of another campaign, has another writer, or cannot be read or written.
    """

    def __init__(self, path: Path, settings: dict[str, Json]) -> None:
        self.path = path
        self._hashes = {name: hashlib.sha256(canonical(value)).hexdigest() for name, value in settings.items()}
        self.records: dict[Key, list[Record]] = {}
        self.seconds: dict[Key, float] = {}
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UsageError(f"{path}: the results cannot be opened ({error.strerror}); choose another folder with --out") from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except BlockingIOError:
            os.close(self._fd)
            raise UsageError(f"{path}: another process is writing to these results; wait for it, or choose another folder with --out") from None
        except BaseException:
            os.close(self._fd)
            raise

    def _read(self) -> None:
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:whole].splitlines(), start=1):
            content = self._content(line, number)
            try:
                key: Key = (content["variant"], content["method"], content["index"])
                if key[0] not in self._hashes:
                    continue
                if content["settings_sha256"] != self._hashes[key[0]]:
                    raise UsageError(
                        f"{self.path}:{number}: these are results of another {key[0]}: its seed, system or conditions have changed since; "
                        "a campaign is resumed with the settings that it was begun with: choose another folder with --out, or move this one away"
                    )
                records = [Record(**(r | {"options": tuple(r["options"])})) for r in content["records"]]
                self.records[key], self.seconds[key] = records, float(content["seconds"])
            except (KeyError, TypeError, ValueError) as error:
                raise UsageError(f"{self.path}:{number}: this line is no result ({error}); take the line out, its scenario is flown again") from None
        os.ftruncate(self._fd, whole)
        os.lseek(self._fd, 0, os.SEEK_END)

    def _content(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            content = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{self.path}:{number}: this line is no JSON ({error}); take the line out, its scenario is flown again") from None
        if not isinstance(content, dict):
            raise UsageError(f"{self.path}:{number}: found {type(content).__name__}, expected an object; take the line out")
        return content

    def add(self, task: Task, records: Sequence[Record], seconds: float) -> None:
        """Keep the outcome of a task: on the disk when this returns.

        Raises:
            OSError: when it cannot be written; nothing but that line is lost.
        """
        self._append({
            "settings_sha256": self._hashes[task.variant], "variant": task.variant, "method": task.method, "index": task.index, "seconds": round(seconds, 4),
            "records": [r.to_json() for r in records],
        })  # fmt: skip
        self.records[task.key], self.seconds[task.key] = list(records), seconds

    def _append(self, content: Json) -> None:
        view = memoryview(canonical(content) + b"\n")
        while view:
            view = view[os.write(self._fd, view) :]
        os.fdatasync(self._fd)

    def close(self) -> None:
        """Close the file; its lock goes with it."""
        os.close(self._fd)
