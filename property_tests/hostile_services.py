"""Worker processes that write more than they were asked for."""

from __future__ import annotations

import os
import socket
import stat
import threading
from dataclasses import dataclass

from aesop_verified.runtime.worker_main import DONE, HEADER, Handler, frame


@dataclass(frozen=True)
class Floods:
    """Never stops writing: `frames` that answer nothing, answers to the same request `again`, or one `endless` payload."""

    kind: str

    def build(self) -> Handler:
        def handle(payload: bytes) -> bytes:
            channel = socket.socket(fileno=os.dup(next(fd for fd in range(3, 256) if _is_socket(fd))))
            if self.kind == "endless":
                channel.sendall(HEADER.pack(100_000_000, 1, DONE))
            block = frame(1 if self.kind == "again" else 999, DONE, b"") * 10_000
            while True:
                channel.sendall(block)

        return handle


def _is_socket(fd: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False


@dataclass(frozen=True)
class AnswersOnce:
    """Answers its first request and ends."""

    def build(self) -> Handler:
        def handle(payload: bytes) -> bytes:
            threading.Timer(0.05, os._exit, (0,)).start()
            return payload

        return handle
