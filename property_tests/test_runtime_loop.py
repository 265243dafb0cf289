"""The loop: measurements that are missing or not finite, services that are wrong, late or silent, commands, restarts."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import (
    Answer,
    Choice,
    Clear,
    Hold,
    Nominal,
    Override,
    Question,
    Recovering,
    RejectedAnswer,
    Resume,
    Row,
    Suspended,
    Waiting,
)
from aesop_verified.kernel.plan import Plan
from aesop_verified.kernel.rational import vector
from aesop_verified.runtime import LogOutcome, Loop, MeasurementReader, Sighting, StartRefusedError, check_log
from aesop_verified.testing.textbook import fork_plan, integrator_fork, sequence
from property_tests.runtime_flights import DT, AlarmOn, AnswersAfter, FirstPlanOnly, fly, logged_loop


def rows(report: object) -> list[Row]:
    return [e.row for e in report.events]  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "north", "nan", True, Decimal("NaN"), [1], "1e99999"])
def test_m06_what_is_not_a_finite_number_makes_the_measurement_missing(value: object) -> None:
    read = MeasurementReader((fmpq(0), fmpq(0))).read([1.0, value])  # type: ignore[list-item]
    assert read.value is None and "value 1" in read.missing


def test_a_measurement_is_taken_exactly_or_rounded_to_its_quantum() -> None:
    exact = MeasurementReader((fmpq(0),) * 4).read([0.1, Decimal("0.1"), Fraction(1, 3), "2/7"])
    assert exact.value == vector([Fraction(0.1), Fraction(1, 10), Fraction(1, 3), "2/7"])
    rounded = MeasurementReader((fmpq(1, 100), fmpq(1, 100))).read([0.1, 1e-3])
    assert rounded.value == vector(["1/10", 0])
    assert MeasurementReader((fmpq(0),)).read([1, 2]).value is None
    assert MeasurementReader((fmpq(0),)).read(None).missing == "no measurement was given"


def test_the_rounding_of_measurements_must_be_declared() -> None:
    system = integrator_fork(estimate="1/100").system
    assert MeasurementReader.of(system, ["1/50"]).quanta == (fmpq(1, 50),)
    with pytest.raises(UsageError, match=r"measurement_quantum\[0\] is 1/49: .* declares 1/100"):
        MeasurementReader.of(system, ["1/49"])
    with pytest.raises(UsageError, match="has 2 entries, expected 1"):
        MeasurementReader.of(system, [0, 0])


def test_m06_a_nan_in_flight_is_a_missing_measurement_and_never_safe() -> None:
    assured = integrator_fork()
    loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured))
    fly(loop, 2)
    report = loop.step([math.nan], "")
    assert Row.MISSING_MEASUREMENT in rows(report) and isinstance(report.mode, Suspended) and not report.certified
    assert "value 0 is nan" in report.missing and assured.system.U.contains(report.input)


def test_i06_a_first_state_just_outside_x_is_refused_with_the_amount() -> None:
    assured = integrator_fork(state_bound=3)
    loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured))
    with pytest.raises(StartRefusedError, match="by 0.000001"):
        loop.step(["3.000001"], "")


def test_m02_q12_without_a_plan_there_is_no_start_and_no_input() -> None:
    assured = integrator_fork()
    for measurement in ([5.0], [None], [math.nan]):
        with pytest.raises(StartRefusedError):
            Loop(assured, dt=DT, planner=FirstPlanOnly(assured)).step(measurement, "")
    with pytest.raises(StartRefusedError, match="no candidate plan was offered"):
        Loop(assured, dt=DT).step([0], "")


def test_m03_when_the_solver_fails_the_old_input_is_not_sent_again() -> None:
    """From x = 1 toward right = [3/2, 5/2]: 3/4 once, then 1/4, then nothing; repeating 3/4 would leave the set."""
    assured = integrator_fork()
    loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured, options=("right",)))
    x, sent = fmpq(0), []
    for _ in range(10):
        u = loop.step([x], "").input[0, 0]
        sent.append(u)
        x += u
    assert sent[3:6] == [fmpq(3, 4), fmpq(3, 4), fmpq(1, 2)] and set(sent[6:]) == {fmpq(0)} and x == 2


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda q: Clear(q.trigger), Nominal()),
        (lambda q: Choice(q.trigger, "right"), Recovering("right", 2)),
        (lambda q: Choice(q.trigger, "moon"), Recovering("left", 2)),
        (lambda q: RejectedAnswer(q.trigger, "noise"), Recovering("left", 2)),
        (lambda q: Choice(q.trigger + 1, "right"), Waiting(("left", "right"), 2, 0)),
    ],
)
def test_an_answer_leads_where_the_table_says(make: Callable[[Question], Answer], expected: object) -> None:
    assured = integrator_fork()
    reasoner = AnswersAfter(make, steps=2)
    loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured), detector=AlarmOn(), reasoner=reasoner)
    x = fly(loop, 1, observation="a fire")
    fly(loop, 2, state=x)
    assert loop.state is not None and loop.state.mode == expected
    assert [q.observation for q in reasoner.asked] == ["a fire"]


def test_the_deadline_gives_the_question_up() -> None:
    assured = integrator_fork()
    reasoner = AnswersAfter(lambda q: Clear(q.trigger), steps=100)
    loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured), detector=AlarmOn(), reasoner=reasoner)
    x = fly(loop, 1, observation="a fire")
    x = fly(loop, assured.system.consensus_horizon, state=x)
    assert reasoner.abandoned == 0 and isinstance(loop.state and loop.state.mode, Waiting)
    fly(loop, 1, state=x)
    assert reasoner.abandoned == 1 and loop.state is not None
    assert loop.state.mode == Recovering("left", assured.system.consensus_horizon + 1)


def test_what_was_called_harmless_is_dismissed_and_what_is_being_asked_does_not_ask_again() -> None:
    assured = integrator_fork()
    detector, reasoner = AlarmOn(), AnswersAfter(lambda q: Clear(q.trigger), steps=2)
    loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured), detector=detector, reasoner=reasoner)
    x = fly(loop, 1)
    x = fly(loop, 6, observation="a fire", state=x)
    assert isinstance(loop.state and loop.state.mode, Nominal) and len(reasoner.asked) == 1
    fly(loop, 1, observation="another fire", state=x)
    assert [q.observation for q in reasoner.asked] == ["a fire", "another fire"]


def test_without_an_observation_there_is_an_alarm() -> None:
    assured = integrator_fork()
    loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured), detector=AlarmOn())
    report = loop.step([0], None)
    assert rows(report)[-2:] == [Row.DETECTOR_FAULT, Row.ALARM]


def test_a_plan_that_the_kernel_refuses_is_never_flown() -> None:
    assured = integrator_fork()
    good = fork_plan(assured).plan
    steep = sequence(*[2] * 7)
    for bad in (Plan(("right",), 2, 6, steep, (steep,)), Plan(("right",), 0, 0, sequence(0), (sequence(0),)), Plan(("moon",), 2, 6, good.nominal, (good.nominal,))):
        loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured, extra=(bad,)))
        first, second = loop.step([0], ""), loop.step([0], "")
        assert Row.PLAN_REFUSED in rows(first) and first.certified and first.input[0, 0] == 0
        assert Row.PLAN_REFUSED in rows(second) and Row.SHIFTED_PLAN in rows(second) and second.certified


def test_a_disturbance_outside_w_is_reported_and_flown_through() -> None:
    assured = integrator_fork(half_width="1/10", state_bound=10)
    loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured))
    loop.step([0], "")
    at_the_edge = loop.step(["1/10"], "")
    assert at_the_edge.assumption is None
    report = loop.step(["0.9"], "")
    assert report.assumption is not None and report.assumption.state == 0 and report.assumption.amount > 0
    assert assured.system.U.contains(report.input)


def test_commands_are_taken_from_the_second_step_on_and_a_malformed_one_is_named() -> None:
    assured = integrator_fork()
    loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured))
    assert "from the second step on" in loop.step([0], "", operator=Hold("Ada")).refused_command
    report = loop.step([0], "", operator=Override("Ada", vector([1, 2])))
    assert "Ada's override" in report.refused_command and report.certified
    report = loop.step([0], "", operator=Override("Ada", vector(["3"])))
    assert report.refused_command == "" and not report.certified and report.input == vector([1])
    assert isinstance(loop.step([0], "", operator=Resume("Ada")).mode, (Suspended, Recovering))


@pytest.mark.parametrize("missed", [0, 3])
def test_a_flight_is_taken_up_again_from_its_log(tmp_path: Path, missed: int) -> None:
    assured = integrator_fork()
    path = tmp_path / "f.jsonl"
    loop = logged_loop(assured, path, detector=AlarmOn())
    x = fly(loop, 3)
    x = fly(loop, 2, observation="a fire", state=x)
    loop.abandon()
    with path.open("ab") as torn:
        torn.write(b'{"content":{"gave"')
    assert check_log(path).outcome is LogOutcome.TRUNCATED
    again = Loop.restarted_from(path, missed=missed, detector=AlarmOn())
    assert again.state is not None and isinstance(again.state.mode, Suspended if missed else Waiting)
    fly(again, 8, state=x)
    assert isinstance(again.state.mode, Recovering)
    assert again.end()
    verdict = check_log(path)
    assert verdict.outcome is LogOutcome.VERIFIED, verdict.reason
    assert len(verdict.steps) == 13 and verdict.steps[-1].result.certified
    assert verdict.steps[-1].result.state.step == 12 + missed


def test_no_flight_is_taken_up_from_a_log_that_ended_or_is_refused(tmp_path: Path) -> None:
    loop = logged_loop(integrator_fork(), tmp_path / "f.jsonl")
    fly(loop, 2)
    loop.end()
    with pytest.raises(UsageError, match="has ended"):
        Loop.restarted_from(tmp_path / "f.jsonl", missed=0)
    data = (tmp_path / "f.jsonl").read_bytes()
    (tmp_path / "f.jsonl").write_bytes(data.replace(b'"certified":true', b'"certified":TRUE', 1))
    with pytest.raises(UsageError, match="line 2: its hash does not continue the chain"):
        Loop.restarted_from(tmp_path / "f.jsonl", missed=0)


def test_the_planner_is_asked_for_what_the_step_needs() -> None:
    assured = integrator_fork()
    planner = FirstPlanOnly(assured)
    loop = Loop(assured, dt=DT, planner=planner, detector=AlarmOn())
    x = fly(loop, 1)
    x = fly(loop, 2, observation="a fire", state=x)
    loop.step([x], "", operator=Hold("Ada"))
    loop.step([math.nan], "")
    kinds = [(r[0].exact_options, r[0].consensus, r[0].horizon) for r in planner.requests]
    assert kinds == [(False, 2, 6), (False, 2, 6), (True, 1, 5), (True, 0, 4)]


class Raises:
    """Every service at once, and none works."""

    def _fail(self, *_: object) -> None:
        raise RuntimeError("out of order")

    submit = collect = ask = poll = abandon = _fail


def test_services_that_raise_end_no_step() -> None:
    assured = integrator_fork()
    service: Any = Raises()
    loop = Loop(assured, dt=DT, planner=FirstPlanOnly(assured), detector=service, reasoner=service)
    report = loop.step([0], "a wall")
    assert Row.DETECTOR_FAULT in rows(report) and "out of order" in report.sighting.note["detail"]
    report = loop.step([0], "a wall")
    assert Row.ANSWER_REJECTED in rows(report) and report.mode == Recovering("left", 1) and report.certified
    with pytest.raises(StartRefusedError):
        Loop(assured, dt=DT, planner=service).step([0], "")


def test_an_observation_that_is_no_text_counts_as_none_and_a_note_that_is_no_json_is_replaced(tmp_path: Path) -> None:
    class Notes(AlarmOn):
        def collect(self, deadline_ns: int) -> Sighting:
            return Sighting(super().collect(deadline_ns).alarm, {"score": math.nan, "what": object()})

    assured = integrator_fork()
    loop = logged_loop(assured, tmp_path / "f.jsonl", detector=Notes())
    no_text: Any = 17
    report = loop.step([0], no_text)
    assert Row.DETECTOR_FAULT in rows(report) and report.sighting.note["status"] == "unreadable" and report.acknowledged
    assert loop.end() and check_log(tmp_path / "f.jsonl").outcome is LogOutcome.VERIFIED
