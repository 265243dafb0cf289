"""`check_log`: the flight once more, with the kernel and the file alone.

Every line is checked against the hash chain, the recovery sets against their evidence, and every step is run
again from what it read: mode, input, events, question and the verdict on w must be those that were logged.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from flint import fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import MachineState, Nominal, StartRefused, StepInput, StepResult
from aesop_verified.kernel.invariance import AssuredSystem, assure
from aesop_verified.kernel.machine import restarted, start, transition
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import require_shape
from aesop_verified.kernel.verdict import Proved
from aesop_verified.runtime import exact_text as e
from aesop_verified.runtime.events_text import event_json, gave_json, read_of, state_of
from aesop_verified.runtime.flight_log import SCHEMA_VERSION, ViolatedAssumption
from aesop_verified.runtime.log_file import FIRST_HASH, body_of


class LogOutcome(enum.Enum):
    """What re-running a log showed."""

    VERIFIED = "verified"
    """Whole, to its end record; every step gives again what was logged."""
    TRUNCATED = "truncated"
    """Without an end record, or with a torn last line; all the lines before are verified."""
    INCOMPLETE = "incomplete"
    """Lines are missing in the middle (a full disk), and the log says so; all the others are verified."""
    REFUSED = "refused"
    """A line does not continue the chain, cannot be read, or says something else than the re-run."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedStep:
    """A step as it was logged and run again.

    Attributes:
        line: of the file, counted from 1.
        read, result: what went in and came out.
        assumption: w outside W, if so.
        notes: what was logged for people; not checked.
    """

    line: int
    read: StepInput
    result: StepResult
    assumption: ViolatedAssumption | None
    notes: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class LogVerdict:
    """The result of `check_log`.

    Attributes:
        outcome: see `LogOutcome`.
        reason: why it is not VERIFIED, with the line; empty otherwise.
        line: the line that is refused or torn, counted from 1; None otherwise.
        steps: verified steps, in order.
        header: the header's content, empty when it is refused.
        assured: the system, assured again; None when the header is refused.
        gaps: (first missing step, lines missing, reason).
        start_refused: why the loop refused to start, if it did.
        size, last_hash: the verified prefix in bytes and where its chain stands.
        state, measured: of the machine after the verified prefix, and the measurement of its last step.
        ended: whether there is an end record.
        logged_steps: steps and lost lines of the prefix.
    """

    outcome: LogOutcome
    reason: str
    line: int | None
    steps: tuple[ReplayedStep, ...]
    header: dict[str, Any] = field(repr=False)
    assured: AssuredSystem | None = field(repr=False)
    gaps: tuple[tuple[int, int, str], ...] = ()
    start_refused: tuple[str, ...] = ()
    size: int = 0
    last_hash: str = FIRST_HASH
    state: MachineState | None = field(default=None, repr=False)
    measured: fmpq_mat | None = field(default=None, repr=False)
    ended: bool = False
    logged_steps: int = 0

    @property
    def certified_steps(self) -> int:
        """Steps behind whose input a certified plan stands."""
        return sum(s.result.certified for s in self.steps)

    @property
    def violated_assumptions(self) -> tuple[int, ...]:
        """Steps at which w was observed outside W."""
        return tuple(s.result.state.step for s in self.steps if s.assumption is not None)

    @property
    def summary(self) -> str:
        """One line for people."""
        text = f"{len(self.steps)} steps re-run, {self.certified_steps} certified, {len(self.violated_assumptions)} with w outside W"
        if self.assured is not None:
            text = f"system {self.assured.system.hash()[:12]}, {text}"
        return f"{text}: {self.reason}" if self.reason else text


class _Refusal(Exception):
    """A line is refused; the message says why."""


def observed_disturbance(box: Polytope, predicted: fmpq_mat, measured: fmpq_mat) -> ViolatedAssumption | None:
    """w = measured - predicted against the bounding box of W + E + (-A E): the component that leaves it by most."""
    violation = box.violation(measured - predicted)
    return None if violation is None else ViolatedAssumption(violation.facet // 2, violation.amount)


def check_log(path: str | Path) -> LogVerdict:
    """Re-check a flight log.

    Raises:
        UsageError: when the file cannot be opened, or is empty.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); expected a flight log") from None
    if not data:
        raise UsageError(f"{path}: the file is empty, expected a flight log; was the disk full when the flight began?")
    return check_log_bytes(data)


def check_log_bytes(data: bytes) -> LogVerdict:
    """Re-check the bytes of a flight log."""
    replay = _Replay()
    torn: int | None = None
    for number, (line, whole) in enumerate(_lines(data), start=1):
        if not whole:
            torn = number
            break
        try:
            replay.line(number, line)
        except (_Refusal, UsageError) as error:
            return replay.verdict(LogOutcome.REFUSED, f"line {number}: {error}", number)
        except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError) as error:
            # A state that no flight leads to: the kernel's functions are total on their own states only.
            return replay.verdict(LogOutcome.REFUSED, f"line {number}: it cannot be run again ({type(error).__name__}: {error})", number)
    if torn is not None and replay.ended:
        return replay.verdict(LogOutcome.REFUSED, f"line {torn}: something follows the end record", torn)
    if torn is not None:
        return replay.verdict(LogOutcome.TRUNCATED, f"line {torn} is torn; the {torn - 1} lines before it are verified", torn)
    if not replay.ended:
        return replay.verdict(LogOutcome.TRUNCATED, "there is no end record: the flight was cut off, or still goes on")
    if replay.gaps:
        first, lines, why = replay.gaps[0]
        missing = sum(n for _, n, _ in replay.gaps)
        return replay.verdict(LogOutcome.INCOMPLETE, f"{missing} lines are missing, first {lines} from step {first} on ({why})")
    return replay.verdict(LogOutcome.VERIFIED, "")


def _lines(data: bytes) -> Iterator[tuple[bytes, bool]]:
    """Lines without their line breaks, and whether they had one."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin)
        if end < 0:
            yield data[begin:], False
            return
        yield data[begin:end], True
        begin = end + 1


class _Replay:
    """The re-run, line by line."""

    def __init__(self) -> None:
        self.assured: AssuredSystem | None = None
        self.header: dict[str, Any] = {}
        self.box: Polytope | None = None
        self.state: MachineState | None = None
        self.measured: fmpq_mat | None = None
        self.steps: list[ReplayedStep] = []
        self.gaps: list[tuple[int, int, str]] = []
        self.start_refused: tuple[str, ...] = ()
        self.size, self.hash, self.ended, self.logged_steps = 0, FIRST_HASH, False, 0

    def verdict(self, outcome: LogOutcome, reason: str, line: int | None = None) -> LogVerdict:
        return LogVerdict(
            outcome, reason, line, tuple(self.steps), self.header, self.assured, tuple(self.gaps), self.start_refused,
            self.size, self.hash, self.state, self.measured, self.ended, self.logged_steps,
        )  # fmt: skip

    def line(self, number: int, line: bytes) -> None:
        found = body_of(line, self.hash)
        if found is None:
            raise _Refusal("its hash does not continue the chain; this line, or the one before it, was changed, left out or added")
        body, digest = found
        content = _content(body)
        if self.ended:
            raise _Refusal("something follows the end record")
        kind = e.field(content, "kind", e.words)
        if (kind == "header") != (number == 1):
            raise _Refusal(f"found a line of kind {kind!r}, expected {'the header' if number == 1 else 'a step'}")
        readers = {
            "header": self._header, "step": self._step, "gap": self._gap, "restart": self._restart, "end": self._end,
            "refused_start": self._refused_start,
        }  # fmt: skip
        if kind not in readers:
            raise _Refusal(f"found a line of kind {kind!r}, expected one of {sorted(readers)}")
        readers[kind](content, number)
        self.size, self.hash = self.size + len(line) + 1, digest

    def _header(self, content: dict[str, Any], _: int) -> None:
        version = e.field(content, "schema_version", e.whole)
        if version != SCHEMA_VERSION:
            raise _Refusal(f"schema_version is {version}, expected {SCHEMA_VERSION}; re-check the log with the version that wrote it")
        assured = assured_of(e.canonical({key: content[key] for key in ("system", "evidence") if key in content}))
        system = assured.system
        if system.hash() != e.field(content, "system_hash", e.words):
            raise _Refusal("the hash of the system is not that of its data")
        if (e.field(content, "horizon", e.whole), e.field(content, "consensus_horizon", e.whole)) != (system.horizon, system.consensus_horizon):
            raise _Refusal(f"horizon and consensus_horizon are not those of the system, {system.horizon} and {system.consensus_horizon}")
        if e.field(content, "dt", e.number) <= 0:
            raise _Refusal(f"dt: found {content['dt']}, expected a positive number of seconds")
        self.header, self.assured = content, assured
        self.box = system.measured_disturbance.bounding_box()

    def _running(self) -> tuple[AssuredSystem, Polytope]:
        if self.assured is None or self.box is None:
            raise _Refusal("the header is missing")
        return self.assured, self.box

    def _step(self, content: dict[str, Any], number: int) -> None:
        assured, box = self._running()
        inp = e.field(content, "read", read_of)
        if self.start_refused:
            raise _Refusal("a step follows, although the loop was never started")
        if self.state is None:
            result = start(assured, inp)
            if isinstance(result, StartRefused):
                raise _Refusal(f"the re-run refuses to start: {'; '.join(result.reasons)}")
        else:
            result = transition(assured, self.state, inp)
        _compare(content, result)
        assumption = None
        if self.state is not None and self.measured is not None and inp.measurement is not None:
            predicted = assured.system.next_state(self.measured, self.state.sent)
            assumption = observed_disturbance(box, predicted, inp.measurement)
        logged = e.field(content, "assumption", lambda v: e.optional(v, lambda a: (e.field(a, "state", e.whole), e.field(a, "amount", e.number))))
        if logged != (None if assumption is None else (assumption.state, assumption.amount)):
            raise _Refusal(f"assumption: found {content['assumption']!r}, the re-run gives {None if assumption is None else assumption.to_json()!r}")
        self.steps.append(ReplayedStep(number, inp, result, assumption, e.field(content, "notes", dict)))
        self.state, self.measured = result.state, inp.measurement
        self.logged_steps += 1

    def _gap(self, content: dict[str, Any], _: int) -> None:
        """The state is the writer's word; it has to be one, and the steps after it are certified like any other."""
        assured, _box = self._running()
        lines = e.field(content, "lines", e.whole)
        if lines < 1:
            raise _Refusal(f"lines: found {lines}, expected how many are missing")
        state = e.field(content, "state", lambda v: e.optional(v, state_of))
        if state is not None:
            _require_state(assured, state)
        if self.state is not None and (state is None or state.step < self.state.step):
            raise _Refusal(f"state: found {'none' if state is None else f'step {state.step}'}, expected one from step {self.state.step} on")
        self.gaps.append((e.field(content, "first_step", e.whole), lines, e.field(content, "reason", e.words)))
        measured = e.field(content, "measured", lambda v: e.optional(v, e.vector_of))
        if measured is not None:
            require_shape("the measurement before the gap's end", measured, assured.system.n, 1)
        self.state, self.measured = state, measured
        self.logged_steps += lines

    def _restart(self, content: dict[str, Any], _: int) -> None:
        assured, _box = self._running()
        if self.state is None:
            raise _Refusal("a restart without a step before it")
        missed = e.field(content, "missed", e.whole)
        if not 0 <= missed <= 1_000_000:
            raise _Refusal(f"missed: found {missed}, expected a number of steps")
        state, events = restarted(assured, self.state, missed)
        if [event_json(event) for event in events] != content.get("events"):
            raise _Refusal(f"events: found {content.get('events')!r:.80}, the re-run gives {[event_json(v) for v in events]!r}")
        self.state, self.measured = state, None if missed else self.measured

    def _refused_start(self, content: dict[str, Any], _: int) -> None:
        assured, _box = self._running()
        result = start(assured, e.field(content, "read", read_of))
        reasons = e.field(content, "reasons", e.names)
        if self.state is not None or not isinstance(result, StartRefused) or result.reasons != reasons:
            raise _Refusal("the log says that the loop refused to start; the re-run gives something else")
        self.start_refused = reasons

    def _end(self, content: dict[str, Any], _: int) -> None:
        steps = e.field(content, "steps", e.whole)
        if steps < len(self.steps):
            raise _Refusal(f"steps: found {steps}, but the log holds {len(self.steps)} of them")
        if not self.gaps and steps != len(self.steps):
            raise _Refusal(f"steps: found {steps}, expected {len(self.steps)}")
        lost = e.field(content, "lost_lines", e.whole)
        if not 0 <= lost <= sum(lines for _first, lines, _why in self.gaps):
            raise _Refusal(f"lost_lines: found {lost}, but the gaps in the log add up to {sum(lines for _first, lines, _why in self.gaps)}")
        self.ended = True


@lru_cache(maxsize=2)
def assured_of(data: bytes) -> AssuredSystem:
    """The system of a header, assured by the kernel; logs of one system have the same bytes here, which decide alone."""
    content = json.loads(data)
    result = assure(e.field(content, "system", e.system_of), e.field(content, "evidence", e.evidence_of))
    if not isinstance(result, Proved):
        raise _Refusal("the evidence does not prove the recovery sets invariant")
    return result.certificate


def _require_state(assured: AssuredSystem, state: MachineState) -> None:
    """What a gap says of the machine's state is one of this system's."""
    system, held = assured.system, state.held
    n, m, mode = system.n, system.m, state.mode
    require_shape("the held state", held.state, n, 1)
    require_shape("the held plan's inputs", held.plan.nominal, m, held.plan.horizon + 1)
    require_shape("the sent input", state.sent, m, 1)
    if state.step < 0 or held.plan.horizon > system.horizon or (not isinstance(mode, Nominal) and mode.k < 0):
        raise _Refusal("state: the step, the plan's horizon or k is out of range")
    require_shape("the held plan's next state", held.next_state, n, 1)
    if held.next_state != system.next_state(held.state, held.plan.first_input):
        raise _Refusal("state: the held plan does not lead to its next state")
    restarted(assured, state, 0)  # refuses a mode and a held plan that do not belong together


def _content(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _Refusal(f"no JSON ({error})") from None
    if not isinstance(content, dict):
        raise _Refusal(f"found {type(content).__name__}, expected an object")
    try:
        same = e.canonical(content) == body
    except ValueError:
        same = False
    if not same:
        raise _Refusal("its text is not the canonical one (a key twice, spaces, or a number written in another way)")
    return content


def _compare(content: dict[str, Any], result: StepResult) -> None:
    again, logged = gave_json(result), e.field(content, "gave", dict)
    if e.field(content, "step", e.whole) != result.state.step:
        raise _Refusal(f"step: found {content['step']}, expected {result.state.step}")
    for key in sorted(again.keys() | logged.keys()):
        if key not in logged or key not in again or logged[key] != again[key]:
            raise _Refusal(f"gave.{key}: found {str(logged.get(key))[:200]}, the re-run gives {str(again.get(key))[:200]}")

