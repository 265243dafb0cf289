"""Services that misbehave, for worker processes: they hang in native code, die, raise, or send garbage."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from aesop_verified.runtime.worker_main import Builder, Handler

_ROOT = str(Path(__file__).parent.parent)
if _ROOT not in sys.path:  # worker processes find this module by the search path of the test
    sys.path.append(_ROOT)


def hang_in_native_code() -> None:
    """Sleep in libc with Python's lock held: no Python thread of this process runs any more."""
    ctypes.PyDLL(None).sleep(1000)


@dataclass(frozen=True)
class Echo:
    """Answers with what it is asked, unless that is the name of a misbehaviour."""

    def build(self) -> Handler:
        def handle(payload: bytes) -> bytes:
            match payload:
                case b"hang":
                    hang_in_native_code()
                case b"exit":
                    os._exit(7)
                case b"crash":
                    ctypes.string_at(0)
                case b"raise":
                    raise RuntimeError("as told")
                case b"noise":
                    os.write(1, b"noise on stdout\n" * 1000)
                case b"pid":
                    return str(os.getpid()).encode()
                case _:
                    pass
            return payload

        return handle


@dataclass(frozen=True)
class CannotStart:
    """Raises while it is built."""

    def build(self) -> Handler:
        raise LookupError("the weights are not there")


@dataclass(frozen=True)
class SpeaksGarbage:
    """Writes bytes that are no frames to every socket that it has."""

    def build(self) -> Handler:
        def handle(payload: bytes) -> bytes:
            for fd in range(3, 64):
                try:
                    os.write(fd, b"\xff" * 64)
                except OSError:
                    continue
            return payload

        return handle


@dataclass(frozen=True)
class HangsAt:
    """Behaves like another service until its n-th call, counted from 1, in which it hangs in native code."""

    inner: Builder
    call: int

    def build(self) -> Handler:
        inner, calls = self.inner.build(), 0

        def handle(payload: bytes) -> bytes:
            nonlocal calls
            calls += 1
            if calls == self.call:
                hang_in_native_code()
            return inner(payload)

        return handle


@dataclass(frozen=True)
class AlarmsOn:
    """A detector that needs no model: alarms on observations that hold a word."""

    word: str

    def build(self) -> Handler:
        def handle(payload: bytes) -> bytes:
            observation = json.loads(payload)["observation"]
            alarm = self.word in observation
            cause = "above_threshold" if alarm else "within_threshold"
            return json.dumps({"alarm": alarm, "cause": cause, "score": float(alarm), "threshold": 0.5, "nearest": None}).encode()

        return handle


@dataclass(frozen=True)
class Says:
    """A reasoner that always says the same."""

    answer: bytes

    def build(self) -> Handler:
        return lambda _: self.answer
