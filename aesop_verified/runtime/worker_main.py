"""The program of a worker process: builds its service from a pickled description, then answers one request at a time.

Frames on the socket, both ways: length (4 bytes), request id (8), status (1), payload. The first frame that
comes in carries the module search path and the builder; what goes out is never unpickled by the loop.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from typing import Protocol

HEADER = struct.Struct(">IQB")
READY, DONE, RAISED = 0, 1, 2
MAXIMUM_PAYLOAD = 1 << 24
"""A longer frame is taken for garbage."""

_PR_SET_PDEATHSIG = 1

Handler = Callable[[bytes], bytes]


class Builder(Protocol):
    """What a worker is made from: picklable, and built in the worker's own process."""

    def build(self) -> Handler:
        """Load everything that is slow to load, and return what answers a request."""
        ...


def frame(request: int, status: int, payload: bytes) -> bytes:
    """One frame."""
    return HEADER.pack(len(payload), request, status) + payload


def _receive(channel: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        block = channel.recv(min(1 << 16, count - len(data)))
        if not block:
            return None
        data += block
    return bytes(data)


def _next(channel: socket.socket) -> tuple[int, bytes] | None:
    header = _receive(channel, HEADER.size)
    if header is None:
        return None
    length, request, _ = HEADER.unpack(header)
    payload = _receive(channel, length)
    return None if payload is None else (request, payload)


def _die_with_parent() -> None:
    """A worker that hangs in native code must not outlive the loop (Linux; elsewhere the closed socket ends it)."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def _quiet() -> None:
    """Models print to the standard streams as they please; the terminal belongs to the loop."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _message(error: BaseException) -> bytes:
    return "".join(traceback.format_exception_only(type(error), error)).strip().encode("utf-8", "replace")[:4096]


def serve(channel: socket.socket) -> int:
    """Answer requests until the loop closes the socket; 0 then, 1 when the service could not be built."""
    first = _next(channel)
    if first is None:
        return 0
    path, builder_bytes = pickle.loads(first[1])
    sys.path[:] = path
    try:
        builder: Builder = pickle.loads(builder_bytes)
        handler = builder.build()
    except Exception as error:  # noqa: BLE001 - whatever a model's library raises while it loads has to reach the user
        channel.sendall(frame(0, RAISED, _message(error)))
        return 1
    channel.sendall(frame(0, READY, b""))
    while True:
        item = _next(channel)
        if item is None:
            return 0
        request, payload = item
        try:
            answer, status = handler(payload), DONE
        except Exception as error:  # noqa: BLE001 - a service that raises has answered: the loop must hear of it
            answer, status = _message(error), RAISED
        channel.sendall(frame(request, status, answer))


def main() -> int:
    """Entry point: the number of the inherited socket is the only argument."""
    _die_with_parent()
    channel = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the loop's to handle; it closes the socket
    _quiet()
    try:
        return serve(channel)
    except (BrokenPipeError, ConnectionResetError):
        return 0

