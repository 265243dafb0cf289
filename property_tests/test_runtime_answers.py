"""What worker processes send is bytes for total parsers: garbage is no plan, an alarm, or a rejected answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import AlarmCause, Choice, Clear, Question, RejectedAnswer, StepInput
from aesop_verified.kernel.machine import start
from aesop_verified.kernel.plan import Plan
from aesop_verified.kernel.rational import vector
from aesop_verified.runtime.detector_worker import sighting_of
from aesop_verified.runtime.planner_worker import plans_of
from aesop_verified.runtime.reasoner_worker import answer_of
from aesop_verified.runtime.worker import CallResult, CallStatus
from aesop_verified.testing.textbook import integrator_fork

ASSURED = integrator_fork()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def candidate(**changes: object) -> dict[str, Any]:
    branch = [[0, 0, 0, 768, 768, 512, 0]]
    whole = {"options": ["right"], "consensus": 2, "horizon": 6, "whole": True, "arrays": [branch], "branches": [0, 0]}
    return whole | changes


def sent(*candidates: object) -> bytes:
    return json.dumps({"candidates": list(candidates), "note": {}}).encode()


def test_a_planner_s_answer_becomes_plans_that_count_quanta() -> None:
    plans, note = plans_of(sent(candidate()), ASSURED.system)
    assert len(plans) == 1 and plans[0].nominal[0, 3] * 4 == 3 and note == {}
    unrounded = replace(ASSURED.system, quantum=fmpq(0))
    doubles, _ = plans_of(sent(candidate(whole=False, arrays=[[[0.0] * 3 + [0.1] * 4]])), unrounded)
    assert doubles[0].nominal[0, 3] != vector(["0.1"])[0, 0], "a double enters as the dyadic number that it is"


@given(st.dictionaries(st.sampled_from(list(candidate())), JSON, min_size=1))
def test_a_candidate_with_anything_in_it_is_a_plan_for_the_kernel_or_garbage(changes: dict[str, Any]) -> None:
    plans, note = plans_of(sent(candidate(**changes), candidate()), ASSURED.system)
    assert len(plans) + len(note.get("garbage", [])) == 2 and plans
    start(ASSURED, StepInput(vector([0]), candidates=plans))


@given(st.binary(max_size=40) | JSON.map(lambda v: json.dumps(v).encode()))
def test_any_bytes_from_the_planner_are_plans_or_a_usage_error(payload: bytes) -> None:
    try:
        plans, _ = plans_of(payload, ASSURED.system)
    except UsageError:
        return
    assert all(isinstance(p, Plan) for p in plans)


@given(st.binary(max_size=40) | JSON.map(lambda v: json.dumps(v).encode()))
def test_any_bytes_from_the_detector_are_an_alarm(payload: bytes) -> None:
    found = sighting_of(payload, "seen")
    assert found.alarm is not None and found.alarm.cause is AlarmCause.RAISED


@given(
    st.fixed_dictionaries(
        {
            "alarm": st.booleans() | JSON,
            "cause": st.sampled_from(["within_threshold", "dismissed", "above_threshold", "raised", "late", "x"]) | JSON,
            "score": st.none() | st.floats() | JSON,
            "threshold": st.floats() | JSON,
        }
    )
)
def test_the_detector_is_silent_only_with_a_silent_cause_and_a_finite_score(judgement: dict[str, Any]) -> None:
    found = sighting_of(json.dumps(judgement).encode(), "seen")
    if found.alarm is None:
        assert judgement["alarm"] is False and judgement["cause"] in ("within_threshold", "dismissed")
        assert isinstance(found.note["score"], float) and abs(found.note["score"]) < float("inf")


@given(st.binary(max_size=30) | st.sampled_from([b"0", b" right\n", b"left.", b"up"]), st.sampled_from(list(CallStatus)))
def test_any_bytes_from_the_reasoner_are_an_answer_to_the_question(raw: bytes, status: CallStatus) -> None:
    answer = answer_of(Question(7, "seen", ("left", "right")), CallResult(status, raw))
    assert answer.trigger == 7
    if status is not CallStatus.DONE:
        assert isinstance(answer, RejectedAnswer)
    elif raw.strip(b"\t\n\v\f\r ") == b"0":
        assert isinstance(answer, Clear)
    elif isinstance(answer, Choice):
        assert answer.name.encode() in raw
