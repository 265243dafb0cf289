"""A process that the loop can abandon (theory 4): solvers and models hold Python's lock, so threads keep no deadline.

The loop's thread only reads and writes a non-blocking socket. Starting, killing and reaping processes is done by
a keeper thread, so a respawn never delays a step. What a worker sends is bytes for a strict parser, not a pickle.
"""

from __future__ import annotations

import enum
import os
import pickle
import queue
import select
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

from aesop_verified.kernel.errors import AesopError
from aesop_verified.runtime.clock import NANOSECONDS
from aesop_verified.runtime.worker_main import DONE, HEADER, MAXIMUM_PAYLOAD, RAISED, READY, Builder, frame

_PROGRAM = "import sys; from aesop_verified.runtime.worker_main import main; sys.exit(main())"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 30.0
"""Seconds before a worker that cannot start is tried again: doubled each time."""
_START_NS = 120 * NANOSECONDS
"""A process that has not built its service after this time is started again."""
_MOST_READ = 1 << 18
"""Bytes that are read at one go: a process that writes without end must not hold the loop."""
_SEND_NS = 20_000_000
"""Longest time that a request may take to be written; an idle worker's socket is empty and takes it at once."""


class WorkerFailed(AesopError):
    """A worker could not be started; the message says what its service raised."""


class CallStatus(enum.Enum):
    """What became of a call."""

    DONE = "done"
    RAISED = "raised"
    LATE = "late"
    DIED = "died"
    UNAVAILABLE = "unavailable"
    """The process is being started again, or is still busy with a call that was abandoned."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The answer of a worker; `payload` is the answer when DONE, and text for the log otherwise."""

    status: CallStatus
    payload: bytes = b""

    @property
    def detail(self) -> str:
        """The payload as text."""
        return self.payload.decode("utf-8", "replace")


@dataclass(eq=False)
class _Live:
    process: subprocess.Popen[bytes]
    channel: socket.socket
    buffer: bytearray
    started_ns: int
    ready: bool = False
    died: bool = False
    failure: str = ""
    result: CallResult | None = None


class Worker:
    """One process with one service; at most one call is open at a time.

    Args:
        name: for messages.
        builder: pickled and sent to the process, which builds the service.
        grace_ns: how long an abandoned call may go on before the process is killed and started again.
    """

    def __init__(self, name: str, builder: Builder, *, grace_ns: int = NANOSECONDS) -> None:
        self.name = name
        self._first = frame(0, READY, pickle.dumps((list(sys.path), pickle.dumps(builder))))
        self._grace_ns = grace_ns
        self._live: _Live | None = None
        self._request = 0
        self._open = False
        self._abandoned_ns: int | None = None
        self._respawning = True
        self.respawns = 0
        self.failure = ""
        self._commands: queue.SimpleQueue[_Live | None] = queue.SimpleQueue()
        self._keeper = threading.Thread(target=self._keep, name=f"keeper of {name}", daemon=True)
        self._closed = False
        self._keeper.start()

    @property
    def pid(self) -> int | None:
        """The process that serves now, None while there is none."""
        live = self._live
        return None if live is None else live.process.pid

    @property
    def ready(self) -> bool:
        """Whether a call can be made now."""
        self._pump()
        live, now = self._live, time.monotonic_ns()
        stuck = self._abandoned_ns is not None and now - self._abandoned_ns > self._grace_ns
        if live is not None and (stuck or (not live.ready and now - live.started_ns > _START_NS)):
            self.restart()
        return live is not None and live.ready and not live.died and not self._open and not self._respawning

    def wait_ready(self, timeout: float) -> None:
        """Wait until the service is built.

        Raises:
            WorkerFailed: when it cannot be built, or not in `timeout` seconds.
        """
        end = time.monotonic() + timeout
        while not self.ready:
            if self.failure:
                raise WorkerFailed(f"the {self.name} cannot start: {self.failure}")
            if time.monotonic() > end:
                raise WorkerFailed(f"the {self.name} did not start in {timeout:g} s; free the processor, or allow it more time")
            live = self._live
            if live is None:
                time.sleep(0.005)
            else:
                select.select([live.channel], [], [], 0.05)

    def submit(self, payload: bytes) -> bool:
        """Send a request; False when the worker cannot take one now."""
        if not self.ready:
            return False
        live = self._live
        assert live is not None
        self._request += 1
        if not _send(live.channel, frame(self._request, READY, payload), time.monotonic_ns() + _SEND_NS):
            self.restart()
            return False
        live.result, self._open, self._abandoned_ns = None, True, None
        return True

    def collect(self, deadline_ns: int) -> CallResult:
        """The answer to the request sent last, at `deadline_ns` (of the monotonic clock) at the latest.

        A call that is late is abandoned: its answer will be discarded, and its process killed after the grace.
        """
        if not self._open or self._abandoned_ns is not None:
            return CallResult(CallStatus.UNAVAILABLE, b"the process is being started, or busy with an abandoned call")
        while True:
            result = self.poll()
            if result is not None:
                return result
            live, remaining = self._live, deadline_ns - time.monotonic_ns()
            if remaining <= 0 or live is None:
                self.abandon()
                return CallResult(CallStatus.LATE)
            select.select([live.channel], [], [], remaining / NANOSECONDS)

    def poll(self) -> CallResult | None:
        """The answer to the request sent last if it is there, without waiting."""
        self._pump()
        live = self._live
        if not self._open or self._abandoned_ns is not None or live is None:
            return None
        if live.result is not None:
            self._open = False
            return live.result
        if live.died:
            code = live.process.poll()
            self.restart()
            return CallResult(CallStatus.DIED, f"the process ended{'' if code is None else f' with status {code}'}".encode())
        return None

    def abandon(self) -> None:
        """Give the open call up; with a grace of 0 the process is killed and started again."""
        if self._open and self._abandoned_ns is None:
            self._abandoned_ns = time.monotonic_ns()
            if self._grace_ns == 0:
                self.restart()

    def restart(self) -> None:
        """Kill the process and start another one, in the background."""
        live, self._live = self._live, None
        self._open, self._abandoned_ns = False, None
        if live is not None and not self._closed:
            self._respawning = True
            self.respawns += 1
            self._commands.put(live)

    def close(self) -> None:
        """Kill the process for good."""
        if not self._closed:
            self._closed = True
            self._commands.put(None)
            self._keeper.join()

    def _pump(self) -> None:
        """Read what is there; a process that has died is replaced once nobody waits for its answer."""
        live = self._live
        if live is None:
            return
        if not live.died:
            self._read(live)
        if live.died and (not self._open or self._abandoned_ns is not None):
            self.failure = live.failure or self.failure
            self.restart()

    def _read(self, live: _Live) -> None:
        """Read what is there, no more than at one go; answers to abandoned requests are discarded here."""
        most = len(live.buffer) + _MOST_READ
        while len(live.buffer) < most:
            try:
                block = live.channel.recv(1 << 16)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                block = b""
            if not block:
                live.died = True
                break
            live.buffer += block
        babbles = False
        while len(live.buffer) >= HEADER.size and not babbles:
            length, request, status = HEADER.unpack_from(live.buffer)
            babbles = length > MAXIMUM_PAYLOAD or status not in (READY, DONE, RAISED)
            if babbles or len(live.buffer) < HEADER.size + length:
                break
            payload = bytes(live.buffer[HEADER.size : HEADER.size + length])
            del live.buffer[: HEADER.size + length]
            babbles = not self._received(live, request, status, payload)
        live.died = live.died or babbles

    def _received(self, live: _Live, request: int, status: int, payload: bytes) -> bool:
        """Take a frame; False when nobody asked for it, or it is a second answer: what follows is garbage too."""
        if request == 0 and not live.ready:
            live.ready = status == READY
            live.failure = "" if live.ready else payload.decode("utf-8", "replace")
            self.failure = live.failure
        elif request != self._request or not self._open or live.result is not None:
            return False
        elif self._abandoned_ns is None:
            live.result = CallResult(CallStatus.DONE if status == DONE else CallStatus.RAISED, payload)
        else:
            self._open, self._abandoned_ns = False, None
        return True

    def _keep(self) -> None:
        """The keeper thread: it outlives its processes, because they die with the thread that started them."""
        pause = _FIRST_PAUSE
        current = self._spawn()
        while True:
            old = self._commands.get()
            _end(current)
            if old is None or self._closed:
                return
            pause = _FIRST_PAUSE if old.ready else min(2 * pause, _LONGEST_PAUSE)
            if not old.ready and not self._closed:
                try:
                    if self._commands.get(timeout=pause) is None:
                        return
                except queue.Empty:
                    pass
            current = self._spawn()

    def _spawn(self) -> _Live:
        ours, theirs = socket.socketpair()
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", _PROGRAM, str(theirs.fileno())]
        with theirs:
            process = subprocess.Popen(command, pass_fds=(theirs.fileno(),), env=environment, stdin=subprocess.DEVNULL)
        live = _Live(process, ours, bytearray(), time.monotonic_ns())
        ours.setblocking(False)
        _send(ours, self._first, time.monotonic_ns() + 60 * NANOSECONDS)
        self._live, self._respawning = live, False
        return live


def _send(channel: socket.socket, data: bytes, deadline_ns: int) -> bool:
    view = memoryview(data)
    while view:
        try:
            view = view[channel.send(view) :]
        except (BlockingIOError, InterruptedError):
            remaining = deadline_ns - time.monotonic_ns()
            if remaining <= 0:
                return False
            select.select([], [channel], [], remaining / NANOSECONDS)
        except OSError:
            return False
    return True


def _end(live: _Live) -> None:
    live.process.kill()
    live.process.wait()
    live.channel.close()
