"""Flight logs forged with a hash chain that fits: the re-run refuses them, and no forgery is an accident of the checker."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq

from aesop_verified.kernel.events import Choice, Clear, Nominal, Suspended
from aesop_verified.kernel.machine import restarted
from aesop_verified.runtime import LogOutcome, Loop, check_log_bytes
from aesop_verified.runtime.events_text import state_json
from aesop_verified.testing.textbook import integrator_fork
from property_tests.fork_flight import ASSURED, SYSTEM, begun
from property_tests.runtime_flights import AlarmOn, AnswersAfter, FirstPlanOnly, fly, logged_loop
from property_tests.test_runtime_log import chained, contents

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lines, dict[str, Any]]:
    """The lines of a log with a nominal part, a wait and a recovery, and the machine's state after line 4."""
    path = tmp_path_factory.mktemp("log") / "flight.jsonl"
    answers = iter([Clear, lambda trigger: Choice(trigger, "right")])
    loop = logged_loop(integrator_fork(), path, detector=AlarmOn(), reasoner=AnswersAfter(lambda q: next(answers)(q.trigger), steps=2))
    x = fly(loop, 2)
    x = fly(loop, 2, observation="a fire", state=x)
    assert loop.state is not None
    state = state_json(loop.state)
    fly(loop, 5, observation="another fire", state=x)
    assert loop.end()
    return contents(path.read_bytes()), state


def put(place: list[str | int], value: object) -> Callable[[dict[str, Any]], None]:
    def change(line: dict[str, Any]) -> None:
        target: Any = line
        for key in place[:-1]:
            target = target[key]
        target[place[-1]] = value

    return change


FORGED_GAPS: dict[str, Callable[[dict[str, Any]], None]] = {
    "unknown-set": put(["state", "mode"], {"kind": "recovering", "name": "nowhere", "k": 1}),
    "negative-k": put(["state", "mode"], {"kind": "recovering", "name": "left", "k": -1}),
    "wait-for-nothing": put(["state", "mode"], {"kind": "waiting", "options": [], "k": 0, "trigger": 0, "kept_alarm": None}),
    "wait-beyond-K": put(["state", "mode"], {"kind": "waiting", "options": ["left"], "k": 9, "trigger": 0, "kept_alarm": None}),
    "unknown-options": put(["state", "held", "plan", "options"], ["nowhere"]),
    "two-states": put(["state", "held", "state"], ["1", "2"]),
    "no-next-state": put(["state", "held", "next_state"], []),
    "another-next-state": put(["state", "held", "next_state"], ["5"]),
    "nothing-sent": put(["state", "sent"], []),
    "back-in-time": put(["state", "step"], 0),
    "no-state": put(["state"], None),
    "no-lines": put(["lines"], 0),
    "two-measurements": put(["measured"], ["1", "2"]),
    "lines-added": put(["lines"], -3),
}


@pytest.mark.parametrize("forgery", FORGED_GAPS)
def test_a_gap_with_a_state_that_no_flight_has_is_refused(flown: tuple[Lines, dict[str, Any]], forgery: str) -> None:
    lines, state = flown
    gap = {"kind": "gap", "first_step": 3, "lines": 1, "reason": "No space left on device", "state": copy.deepcopy(state), "measured": lines[4]["read"]["measurement"]}
    honest = [*lines[:4], gap, *lines[5:]]
    assert check_log_bytes(chained(honest)).outcome is LogOutcome.INCOMPLETE
    FORGED_GAPS[forgery](gap)
    verdict = check_log_bytes(chained(honest))
    assert verdict.outcome is LogOutcome.REFUSED and verdict.line == 5


FORGED_LINES: dict[str, tuple[int, Callable[[dict[str, Any]], None]]] = {
    "header-horizon": (0, put(["horizon"], 99)),
    "header-consensus": (0, put(["consensus_horizon"], 0)),
    "header-dt": (0, put(["dt"], "-1/10")),
    "endless-horizon": (0, put(["system", "horizon"], 10**9)),
    "too-many-columns": (0, put(["system", "U"], {"G": [], "h": [], "n": 10**10})),
    "a-measurement": (3, put(["read", "measurement"], ["1/3"])),
    "no-candidates": (1, put(["read", "candidates"], [])),
    "something-more": (3, put(["gave", "extra"], None)),
    "lost-lines": (-1, put(["lost_lines"], 2)),
}


@pytest.mark.parametrize("forgery", FORGED_LINES)
def test_a_forged_line_is_refused_at_its_place(flown: tuple[Lines, dict[str, Any]], forgery: str) -> None:
    lines = copy.deepcopy(flown[0])
    number, change = FORGED_LINES[forgery]
    change(lines[number])
    verdict = check_log_bytes(chained(lines))
    assert verdict.outcome is LogOutcome.REFUSED and verdict.line == number % len(lines) + 1


def test_a_verified_log_says_of_which_system(flown: tuple[Lines, dict[str, Any]]) -> None:
    """A log whose W was dropped, with hash and chain made to fit, verifies for another system: its name is in the summary."""
    assert integrator_fork().system.hash()[:12] in check_log_bytes(chained(flown[0])).summary


def test_a_restart_after_any_number_of_missed_steps_takes_no_longer_than_T_of_them() -> None:
    state = begun().state
    step_by_step, T = state, SYSTEM.horizon
    for missed in range(T + 3):
        at_once, _ = restarted(ASSURED, state, missed)
        assert at_once.step == step_by_step.step and at_once.mode == step_by_step.mode
        if missed <= T + 1:
            assert at_once.held.state == step_by_step.held.state and at_once.held.plan.nominal == step_by_step.held.plan.nominal
        step_by_step, _ = restarted(ASSURED, step_by_step, 1)
    run_out, _ = restarted(ASSURED, state, T + 1)
    later, _ = restarted(ASSURED, state, 10**12)
    assert later.mode == Suspended("left", 10**12) and later.step == state.step + 10**12
    assert later.held.state == run_out.held.state and later.held.plan.horizon == 0


def test_an_input_that_was_logged_but_not_sent_shows_as_w_outside_W_after_the_restart(tmp_path: Path) -> None:
    """Killed between the log and the actuator, restarted with missed = 0: the plant stood still, and that is reported."""
    path = tmp_path / "f.jsonl"
    loop = logged_loop(integrator_fork(), path, planner=FirstPlanOnly(integrator_fork(), options=("left",)))
    x = fly(loop, 4)
    assert loop.state is not None and isinstance(loop.state.mode, Nominal)
    sent, = loop.state.sent.entries()
    assert loop._log is not None
    loop._log.close()
    again = Loop.restarted_from(path, missed=0, planner=FirstPlanOnly(integrator_fork()))
    report = again.step([x - sent - fmpq(1)], "a wall")
    assert report.assumption is not None and report.assumption.amount > 0
    assert again.end()
    verdict = check_log_bytes(path.read_bytes())
    assert verdict.outcome is LogOutcome.VERIFIED and verdict.violated_assumptions == (4,)
