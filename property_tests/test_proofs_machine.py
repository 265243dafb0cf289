"""The transition function extracted from the proofs and the kernel's yield the same, number for number, on random flights."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq, fmpq_mat

from aesop_verified.evidence.canonical import plan_json, vec
from aesop_verified.kernel.events import (
    Alarm,
    AlarmCause,
    Answer,
    Choice,
    Clear,
    Hold,
    MachineState,
    Mode,
    Nominal,
    Operator,
    Override,
    Recovering,
    RejectedAnswer,
    Resume,
    Row,
    StepInput,
    StepResult,
    Waiting,
)
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.machine import start, transition
from aesop_verified.kernel.plan import Plan, shifted_plan
from aesop_verified.kernel.rational import vector, zeros
from aesop_verified.testing.textbook import constant_speed_fork, fork_plan, integrator_fork
from property_tests.proof_tools import built_checker, needs_checker

pytestmark = needs_checker
WALKS = int(os.environ.get("AESOP_MACHINE_WALKS", "60"))
STEPS = 40
SEED = 20240912


@pytest.fixture(scope="module")
def checker() -> Path:
    """The command, built from clean."""
    return built_checker()


def _forks() -> list[AssuredSystem]:
    return [
        integrator_fork(),
        integrator_fork(half_width=0, quantum=0),
        integrator_fork(half_width="1/20", estimate="1/64", horizon=5, consensus=0),
        integrator_fork(horizon=5, consensus=2, half_width="1/50"),
    ]


def _first_plan(assured: AssuredSystem) -> Plan:
    s = assured.system
    if s.n == 1:
        return fork_plan(assured).plan
    up = fmpq_mat(1, s.horizon + 1, [fmpq(0)] * (s.consensus_horizon + 1) + [fmpq(-1)] * (s.horizon - s.consensus_horizon))
    return Plan(s.names, s.consensus_horizon, s.horizon, up, (-up, up))


def _answer(rng: random.Random, mode: Mode) -> Answer | None:
    if rng.random() > 0.3:
        return None
    trigger = mode.trigger if isinstance(mode, Waiting) and rng.random() < 0.8 else rng.randrange(4)
    kind = rng.randrange(5)
    if kind == 0:
        return RejectedAnswer(trigger, "no answer")
    return Clear(trigger) if kind < 3 else Choice(trigger, rng.choice(("left", "right", "north", "nowhere")))


def _candidates(rng: random.Random, assured: AssuredSystem, state: MachineState, x: fmpq_mat) -> tuple[Plan, ...]:
    """Shifted plans for all kinds of options and horizons, some of them what the step asks for, and some of them spoiled."""
    s, held, found = assured.system, state.held, []
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        options = tuple(n for n in held.plan.options if rng.random() < 0.8) or held.plan.options[:1]
        horizon = rng.choice((s.horizon, s.horizon, held.plan.horizon, max(0, held.plan.horizon - 1)))
        consensus = rng.choice([k for k in (0, held.plan.consensus - 1, s.consensus_horizon, s.consensus_horizon) if 0 <= k <= horizon])
        plan = shifted_plan(s, held, x, options, consensus, horizon)
        if rng.random() < 0.3:
            spoiled = fmpq_mat(plan.nominal)
            spoiled[0, rng.randrange(horizon + 1)] += fmpq(rng.choice((-1, 1)), rng.choice((1, 64)))
            plan = Plan(options, consensus, horizon, spoiled, plan.recovery)
        if plan.is_short:
            found.append(plan)
    return tuple(found)


def _step(rng: random.Random, assured: AssuredSystem, state: MachineState) -> StepInput:
    s = assured.system
    x = s.next_state(state.held.state, state.sent)
    for summand in s.measured_disturbance.summands:
        share = fmpq(rng.randrange(-8, 9), 8)
        x = x + summand.map * (summand.upper * share)
    if rng.random() < 0.03:
        x = x + vector([fmpq(rng.choice((-1, 1)), 2)] * s.n)
    operator: Operator | None = None
    chance = rng.random()
    if chance < 0.02:
        operator = Override("operator", vector([fmpq(rng.randrange(-3, 4))] * s.m))
    elif chance < 0.05:
        operator = Hold("operator")
    elif chance < 0.25:
        operator = Resume("operator")
    cause = rng.choice((AlarmCause.SCORE, AlarmCause.SCORE, AlarmCause.LATE, AlarmCause.NO_OBSERVATION))
    alarm = Alarm(cause, str(rng.randrange(100))) if rng.random() < 0.25 else None
    candidates = _candidates(rng, assured, state, x)
    return StepInput(None if rng.random() < 0.05 else x, _answer(rng, state.mode), candidates, alarm, operator)


def _step_json(i: StepInput) -> dict[str, Any]:
    answer, operator = i.answer, i.operator
    return {
        "measurement": None if i.measurement is None else vec(i.measurement),
        "answer": None
        if answer is None
        else {"kind": _KINDS[type(answer)], "trigger": answer.trigger, "name": getattr(answer, "name", "")},
        "candidates": [plan_json(p) for p in i.candidates],
        "alarm": None if i.alarm is None else {"fault": i.alarm.cause is not AlarmCause.SCORE, "observation": int(i.alarm.observation)},
        "operator": None
        if operator is None
        else {"kind": _KINDS[type(operator)], "input": vec(operator.input) if isinstance(operator, Override) else []},
    }


_KINDS: dict[type, str] = {
    Clear: "clear", Choice: "choice", RejectedAnswer: "rejected", Override: "override", Hold: "hold", Resume: "resume",
}  # fmt: skip


def _mode(mode: Mode) -> str:
    if isinstance(mode, Nominal):
        return "Nominal"
    if isinstance(mode, Waiting):
        kept = "-" if mode.kept_alarm is None else mode.kept_alarm.observation
        return f"Waiting {'+'.join(mode.options)} {mode.k} {mode.trigger} {kept}"
    return f"{type(mode).__name__} {mode.name} {mode.k}"


def _branch(inputs: fmpq_mat) -> str:
    return ";".join(",".join(str(inputs[i, k]) for i in range(inputs.nrows())) for k in range(inputs.ncols()))


def _shown(r: StepResult) -> str:
    """The line that the command prints for a step."""
    s, p, q = r.state, r.state.held.plan, r.question
    return "|".join((
        str(s.step), _mode(s.mode), ",".join(vec(r.input)), ",".join(vec(s.sent)), str(r.certified).lower(),
        ",".join(e.row.value for e in r.events), "-" if q is None else f"{q.trigger} {q.observation} {'+'.join(q.options)}",
        str(s.next_trigger), ",".join(vec(s.held.state)), str(p.consensus), str(p.horizon), _branch(p.nominal),
        " ".join(f"{name}:{_branch(u)}" for name, u in zip(p.options, p.recovery)),
    ))  # fmt: skip


def _replayed(checker: Path, path: Path, assured: AssuredSystem, steps: list[StepInput]) -> list[str]:
    certificate = assured.certificates[0]
    flight = {"system": assured.system.canonical(), "member": vec(certificate.point), "steps": [_step_json(i) for i in steps]}
    path.write_text(json.dumps(flight))
    done = subprocess.run([str(checker), "--replay", str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_extracted_and_kernel_transition_agree(checker: Path, tmp_path: Path) -> None:
    rng = random.Random(SEED)
    rows, modes = Counter[str](), Counter[str]()
    forks = [*_forks(), constant_speed_fork()]
    for walk in range(WALKS):
        assured = forks[walk % len(forks)]
        first = StepInput(zeros(assured.system.n), None, (_first_plan(assured),))
        result = start(assured, first)
        assert isinstance(result, StepResult), result
        steps, lines = [first], [_shown(result)]
        for _ in range(STEPS):
            i = _step(rng, assured, result.state)
            result = transition(assured, result.state, i)
            steps.append(i)
            lines.append(_shown(result))
            rows.update(e.row.value for e in result.events)
            modes[type(result.state.mode).__name__] += 1
        for step, (ours, theirs) in enumerate(zip(lines, _replayed(checker, tmp_path / f"{walk}.json", assured, steps), strict=True)):
            assert theirs == ours, f"walk {walk}, step {step}"
    outside = {Row.START_REFUSED.value, Row.RESTART.value}
    missing = {r.value for r in Row} - outside - set(rows)
    assert not missing and len(modes) == 4, f"the walks never took {sorted(missing)}; modes {dict(modes)}"


def test_both_refuse_to_start_without_a_certified_plan(checker: Path, tmp_path: Path) -> None:
    assured = integrator_fork()
    refused = StepInput(vector([9]), None, (fork_plan(assured).plan,))
    assert not isinstance(start(assured, refused), StepResult)
    assert _replayed(checker, tmp_path / "refused.json", assured, [refused]) == ["start refused"]


def test_recovering_is_reached_and_kept(checker: Path, tmp_path: Path) -> None:
    assured = integrator_fork(half_width=0, quantum=0)
    alarm = Alarm(AlarmCause.SCORE, "7")
    first = StepInput(vector([0]), None, (fork_plan(assured).plan,), alarm)
    result = start(assured, first)
    assert isinstance(result, StepResult)
    steps, lines = [first], [_shown(result)]
    for k in range(1, 12):
        x = assured.system.next_state(result.state.held.state, result.input)
        steps.append(StepInput(x, Choice(0, "right") if k == 2 else None))
        result = transition(assured, result.state, steps[-1])
        lines.append(_shown(result))
    assert result.state.mode == Recovering("right", 11)
    assert _replayed(checker, tmp_path / "flight.json", assured, steps) == lines
