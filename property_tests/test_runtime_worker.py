"""Worker processes: whatever happens in one, the loop's side returns by its deadline and a new process comes up."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from aesop_verified.runtime import CallStatus, Worker, WorkerFailed
from property_tests.runtime_services import CannotStart, Echo, SpeaksGarbage

READY = 60.0


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker("echo", Echo(), grace_ns=0)
    made.wait_ready(READY)
    yield made
    made.close()


def ask(worker: Worker, payload: bytes, seconds: float = 30.0) -> tuple[CallStatus, bytes]:
    assert worker.submit(payload)
    result = worker.collect(time.monotonic_ns() + int(seconds * 1e9))
    return result.status, result.payload


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_it_answers_and_survives_what_a_service_raises_or_prints(worker: Worker) -> None:
    assert ask(worker, b"hello") == (CallStatus.DONE, b"hello")
    assert ask(worker, b"raise") == (CallStatus.RAISED, b"RuntimeError: as told")
    assert ask(worker, b"noise") == (CallStatus.DONE, b"noise")
    assert ask(worker, b"x" * 100_000) == (CallStatus.DONE, b"x" * 100_000)


def test_a_call_that_hangs_in_native_code_is_abandoned_and_its_process_replaced(worker: Worker) -> None:
    first = worker.pid
    assert first is not None and worker.submit(b"hang")
    begin = time.monotonic()
    assert worker.collect(time.monotonic_ns() + 50_000_000).status is CallStatus.LATE
    assert not worker.submit(b"too early")
    assert worker.collect(time.monotonic_ns() + 1).status is CallStatus.UNAVAILABLE
    assert time.monotonic() - begin < 1.0, "abandoning a call must not wait for the process"
    worker.wait_ready(READY)
    assert gone(first)
    assert ask(worker, b"again") == (CallStatus.DONE, b"again")
    assert worker.respawns == 1


@pytest.mark.parametrize("death", [b"exit", b"crash"])
def test_a_process_that_dies_is_reported_and_replaced(worker: Worker, death: bytes) -> None:
    assert ask(worker, death)[0] is CallStatus.DIED
    worker.wait_ready(READY)
    assert ask(worker, b"again") == (CallStatus.DONE, b"again")


def test_a_late_answer_is_discarded_and_the_process_kept_within_its_grace() -> None:
    worker = Worker("echo", Echo(), grace_ns=60_000_000_000)
    try:
        worker.wait_ready(READY)
        pid = worker.pid
        assert worker.submit(b"slow")
        assert worker.collect(0).status in (CallStatus.LATE, CallStatus.DONE)
        worker.wait_ready(READY)
        assert ask(worker, b"next") == (CallStatus.DONE, b"next")
        assert worker.pid == pid and worker.respawns == 0
    finally:
        worker.close()


def test_garbage_on_the_socket_ends_the_process_not_the_loop() -> None:
    worker = Worker("garbage", SpeaksGarbage(), grace_ns=0)
    try:
        worker.wait_ready(READY)
        assert ask(worker, b"x")[0] is CallStatus.DIED
        assert worker.respawns == 1
    finally:
        worker.close()


def test_a_service_that_cannot_be_built_says_why() -> None:
    worker = Worker("embedder", CannotStart())
    try:
        with pytest.raises(WorkerFailed, match="the embedder cannot start: LookupError: the weights are not there"):
            worker.wait_ready(READY)
        assert not worker.submit(b"x")
    finally:
        worker.close()


def test_closing_ends_a_process_that_hangs(worker: Worker) -> None:
    pid = worker.pid
    assert pid is not None and worker.submit(b"hang")
    worker.close()
    assert gone(pid)
