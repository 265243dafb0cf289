"""Workers that lie, flood and babble: no step is late for it, nothing they say ends a flight."""

from __future__ import annotations

import json
import time

import pytest

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import AlarmCause
from aesop_verified.runtime import CallStatus, Worker
from aesop_verified.runtime.detector_worker import sighting_of
from aesop_verified.runtime.exact_text import canonical
from aesop_verified.runtime.planner_worker import plans_of
from aesop_verified.runtime.worker import CallResult
from aesop_verified.testing.textbook import integrator_fork
from property_tests.hostile_services import AnswersOnce, Floods

SYSTEM = integrator_fork().system
CANDIDATE = {"options": ["left"], "consensus": 2, "horizon": 6, "whole": True, "arrays": [[[0] * 7]], "branches": [0, 0]}


@pytest.mark.parametrize("kind", ["frames", "again", "endless"])
def test_a_process_that_never_stops_writing_holds_no_step(kind: str) -> None:
    """Once it held a step of 75 ms for 55 s: the socket was read until it was empty."""
    worker = Worker("flood", Floods(kind))
    try:
        worker.wait_ready(60)
        for _ in range(3):
            begin = time.monotonic_ns()
            worker.submit(b"")
            worker.collect(begin + 75_000_000)
            assert time.monotonic_ns() - begin < 2_000_000_000
    finally:
        worker.close()


def test_a_second_answer_ends_the_process() -> None:
    worker = Worker("flood", Floods("again"))
    try:
        worker.wait_ready(60)
        assert worker.submit(b"")
        assert worker.collect(time.monotonic_ns() + 10_000_000_000).status is CallStatus.DONE
        end = time.monotonic() + 10
        while worker.respawns == 0 and time.monotonic() < end:
            worker.submit(b"")
            time.sleep(0.01)
        assert worker.respawns == 1
    finally:
        worker.close()


@pytest.mark.parametrize(
    "payload",
    [
        json.dumps({"candidates": [CANDIDATE] * 100_000, "note": {}}).encode(),
        json.dumps({"candidates": [CANDIDATE | {"arrays": [[[0] * 1_000_000]]}], "note": {}}).encode(),
        b"[" + b"1," * 8_000_000 + b"1]",
        b'{"candidates":[{"x":' + b"1" * 5000 + b'}],"note":{}}',
    ],
    ids=["candidates-without-end", "a-million-inputs", "16-MB", "5000-digits"],
)
def test_an_answer_of_no_plausible_size_is_not_even_read(payload: bytes) -> None:
    begin = time.monotonic()
    with pytest.raises(UsageError):
        plans_of(payload, SYSTEM)
    assert time.monotonic() - begin < 1


def deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("note", [b'{"a":NaN}', b'{"a":-Infinity}', b'{"a":' + deep(50) + b"}", b'{"a":"' + b"x" * 30_000 + b'"}'], ids=["nan", "infinity", "deep", "long"])
def test_a_note_that_no_log_can_have_stays_out_of_it(note: bytes) -> None:
    """A NaN in it raised when the log was written: the step gave no input."""
    plans, found = plans_of(b'{"candidates":[' + json.dumps(CANDIDATE).encode() + b'],"note":' + note + b"}", SYSTEM)
    assert len(plans) == 1 and list(found) == ["garbage_note"] and len(canonical(found)) < 1000


@pytest.mark.parametrize(
    "judgement",
    [
        b'{"cause":"within_threshold","alarm":false,"score":5,"threshold":1}',
        b'{"cause":"within_threshold","alarm":false,"score":0,"threshold":1,"nearest":' + deep(50) + b"}",
        b'{"cause":"within_threshold","alarm":false,"score":0,"threshold":1,"detail":"' + b"x" * 2_000_000 + b'"}',
        b'{"cause":"within_threshold","alarm":false,"score":' + b"1" * 5000 + b',"threshold":1}',
    ],
    ids=["score-above-threshold", "deep", "long", "5000-digits"],
)
def test_a_judgement_that_contradicts_itself_or_babbles_is_an_alarm(judgement: bytes) -> None:
    assert sighting_of(b'{"cause":"within_threshold","alarm":false,"score":0,"threshold":1}', "grass").alarm is None
    found = sighting_of(judgement, "grass")
    assert found.alarm is not None and found.alarm.cause is AlarmCause.RAISED and len(canonical(found.note)) < 1000


def test_a_process_that_answers_and_ends_in_one_breath_is_replaced() -> None:
    """Its answer and its end can be read at one go; it was never started again then."""
    worker = Worker("once", AnswersOnce())
    try:
        for _ in range(4):
            worker.wait_ready(60)
            assert worker.submit(b"x")
            time.sleep(0.2)
            assert worker.collect(time.monotonic_ns() + 10_000_000_000) == CallResult(CallStatus.DONE, b"x")
    finally:
        worker.close()


def test_numbers_that_take_long_to_check_are_not_passed_on() -> None:
    """Sixteen candidates of doubles such as 1e-300, each refused at its last constraint, held a step of a quadrotor for 160 ms."""
    doubles = CANDIDATE | {"whole": False, "arrays": [[[1e-300] * 7]]}
    plans, note = plans_of(json.dumps({"candidates": [doubles, CANDIDATE], "note": {}}).encode(), SYSTEM)
    assert SYSTEM.quantum > 0 and len(plans) == 1 and "quanta" in note["garbage"][0]
