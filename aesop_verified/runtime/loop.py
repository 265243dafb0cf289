"""The loop around the kernel's transition function, as a class that an integrator embeds (theory 3 and 4).

Order inside a step: measurement, status of the reasoner, planner and detector side by side until their
deadlines, the kernel's transition, the log, the input. Nothing here chooses an input, and nothing here waits
without a deadline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import AesopError, UsageError
from aesop_verified.kernel.events import (
    Answer,
    Event,
    MachineState,
    Mode,
    Operator,
    Override,
    Question,
    Row,
    StartRefused,
    StepInput,
    StepResult,
    Waiting,
)
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.machine import requests, restarted, start, start_request, transition
from aesop_verified.kernel.rational import Exact
from aesop_verified.runtime.check import LogOutcome, check_log, observed_disturbance
from aesop_verified.runtime.clock import NANOSECONDS, Clock, MonotonicClock
from aesop_verified.runtime.events_text import event_json
from aesop_verified.runtime.exact_text import Json, field, number
from aesop_verified.runtime.flight_log import FlightLog, ViolatedAssumption
from aesop_verified.runtime.guard import GuardedDetector, GuardedPlanner, GuardedReasoner
from aesop_verified.runtime.log_file import Durability, LogFile
from aesop_verified.runtime.measurement import MeasurementReader, Number
from aesop_verified.runtime.services import DetectionService, Dismissal, PlanningService, Proposal, ReasoningService, Sighting, shown

MOST_DISMISSALS = 8


class StartRefusedError(AesopError):
    """The loop refuses to start: no candidate plan was certified at t = 0."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("the loop refuses to start: " + "; ".join(self.reasons))


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long a step waits for what it asked, in nanoseconds from the step's beginning.

    Attributes:
        planner, detector: in flight. What is late is done without: the shifted plan, an alarm.
        start: for both in the first step, before anything moves.
    """

    planner: int
    detector: int
    start: int = 30 * NANOSECONDS

    @classmethod
    def of_step(cls, dt: fmpq) -> Deadlines:
        """Three quarters of the time step for both; the rest is for the exact check, the log and the input's way."""
        most = int((dt * NANOSECONDS * 3 / 4).floor())
        return cls(most, most)


@dataclass(frozen=True, slots=True, eq=False)
class StepReport:
    """What a step did.

    Attributes:
        input: to be applied for one time step, shape (m, 1), exact, a multiple of the quantum in U.
        certified: whether a certified plan stands behind it.
        mode, events, question: see the kernel's `StepResult`.
        assumption: w of the step before, if it was outside W.
        missing: why the measurement counts as missing; empty when it does not.
        refused_command: why the operator's command was not passed on; empty when it was.
        proposal, sighting, answer: what came from outside.
        acknowledged: whether the log has this step for good (True without a log).
        decision_ns: from the call to the input.
        result: the kernel's.
    """

    input: fmpq_mat
    certified: bool
    mode: Mode
    events: tuple[Event, ...]
    question: Question | None
    assumption: ViolatedAssumption | None
    missing: str
    refused_command: str
    proposal: Proposal
    sighting: Sighting
    answer: Answer | None
    acknowledged: bool
    decision_ns: int
    result: StepResult

    @property
    def input_doubles(self) -> list[float]:
        """The input for an actuator, as nearest doubles."""
        return [int(v.p) / int(v.q) for v in self.input.entries()]


class Loop:
    """One flight, step by step.

    Args:
        assured: the system, with its proved recovery sets.
        dt: the time step in seconds.
        planner, detector, reasoner: None does without: shifted plans only; never an alarm; never an answer.
        log: where the flight is recorded, or None.
        measurement_quantum: one number a state; measurements are rounded to its multiples (0: not rounded).
        deadlines: by default three quarters of dt.
        clock: the machine's monotonic clock by default; worker processes keep their deadlines by that one.

    Raises:
        UsageError: when the rounding of measurements is not covered by the declared estimate error.
    """

    def __init__(
        self,
        assured: AssuredSystem,
        *,
        dt: fmpq,
        planner: PlanningService | None = None,
        detector: DetectionService | None = None,
        reasoner: ReasoningService | None = None,
        log: FlightLog | None = None,
        measurement_quantum: Sequence[Exact] | None = None,
        deadlines: Deadlines | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.assured, self.dt = assured, dt
        self._planner = None if planner is None else GuardedPlanner(planner)
        self._detector = None if detector is None else GuardedDetector(detector)
        self._reasoner = None if reasoner is None else GuardedReasoner(reasoner)
        self._log = log
        self._reader = MeasurementReader.of(assured.system, measurement_quantum)
        self._deadlines = deadlines or Deadlines.of_step(dt)
        self._clock: Clock = clock or MonotonicClock()
        self._w_box = assured.system.measured_disturbance.bounding_box()
        self._w_is_zero = assured.system.measured_disturbance.is_zero
        self._state: MachineState | None = None
        self._measured: fmpq_mat | None = None
        self._question: Question | None = None
        self._dismissed: tuple[Dismissal, ...] = ()

    @property
    def state(self) -> MachineState | None:
        """What the loop carries; None before the first step."""
        return self._state

    def step(
        self, measurement: Sequence[Number] | fmpq_mat | None, observation: str | None = None, *, operator: Operator | None = None
    ) -> StepReport:
        """Make one step and return the input to apply.

        Args:
            measurement: n finite numbers in the order of the states, or None; what is not finite counts as missing.
            observation: the scene in words; None counts as an alarm when there is a detector.
            operator: a command of the operator; not read in the first step.

        Raises:
            StartRefusedError: in the first step only.
        """
        begin = self._clock.now_ns()
        before = self._state
        measured = self._reader.read(measurement)
        observation = observation if isinstance(observation, str) else None
        assumption = self._observed(measured.value)
        index = 0 if before is None else before.step + 1
        answer = self._reasoner.poll() if self._reasoner is not None and before is not None else None
        command, refused = self._command(operator)
        read = StepInput(measured.value, answer=answer, operator=command)

        planner_end, detector_end = self._ask(read, observation, index, begin)
        proposal = Proposal() if self._planner is None or planner_end is None else self._planner.collect(planner_end)
        sighting = Sighting(None) if self._detector is None else self._detector.collect(detector_end)
        read = StepInput(read.measurement, read.answer, proposal.candidates, sighting.alarm, read.operator)
        asked_ns = self._clock.now_ns()

        result = self._transition(before, read)
        self._follow(result, index)
        kernel_ns = self._clock.now_ns()
        notes: Json = {
            "observation": None if observation is None else shown(observation), "missing": measured.missing, "planner": dict(proposal.note),
            "detector": dict(sighting.note), "refused_command": refused, "asked_us": (asked_ns - begin) // 1000, "kernel_us": (kernel_ns - asked_ns) // 1000,
        }  # fmt: skip
        acknowledged = self._log is None or self._log.step(before, read, result, assumption, notes, measured=self._measured)
        self._state, self._measured = result.state, measured.value
        return StepReport(
            result.input, result.certified, result.state.mode, result.events, result.question, assumption, measured.missing, refused,
            proposal, sighting, answer, acknowledged, self._clock.now_ns() - begin, result,
        )  # fmt: skip

    def end(self, reason: str = "the flight is over") -> bool:
        """Write the end record; True when the log is whole (or there is none)."""
        if self._reasoner is not None:
            self._reasoner.abandon()
        return self._log is None or self._log.end(reason, self._state)

    def abandon(self) -> None:
        """Leave the flight without an end record, so that `restarted_from` can take it up again."""
        if self._reasoner is not None:
            self._reasoner.abandon()
        if self._log is not None:
            self._log.close()

    @classmethod
    def restarted_from(cls, path: str | Path, *, missed: int, durability: Durability = Durability.WRITTEN, **arguments: object) -> Loop:
        """Take a flight up again from its log, after `missed` steps in which nothing was sent.

        The log is re-checked; a torn last line is cut off; the system is the one in its header. `arguments` are
        those of `Loop` except `assured`, `dt` and `log`.

        Raises:
            UsageError: when the log is refused, incomplete at its end, or has ended.
        """
        verdict = check_log(path)
        if verdict.outcome is LogOutcome.REFUSED or verdict.assured is None or verdict.state is None or verdict.ended:
            reason = verdict.reason or "the flight in it has ended"
            raise UsageError(f"{path}: no flight can be taken up from this log: {reason}")
        file = LogFile(Path(path), durability, size=verdict.size, last_hash=verdict.last_hash)
        log = FlightLog(file, steps=verdict.logged_steps)
        loop = cls(verdict.assured, dt=field(verdict.header, "dt", number), log=log, **arguments)  # type: ignore[arg-type]
        state, events = restarted(verdict.assured, verdict.state, missed)
        log.restart(missed, verdict.state, [event_json(e) for e in events])
        loop._state = state
        # Without a missed step the last input counts as sent: if it was not, the next w shows it.
        loop._measured = None if missed else verdict.measured
        return loop

    def _observed(self, measurement: fmpq_mat | None) -> ViolatedAssumption | None:
        if self._state is None or self._measured is None or measurement is None:
            return None
        predicted = self.assured.system.next_state(self._measured, self._state.sent)
        return observed_disturbance(self._w_box, predicted, measurement)

    def _command(self, operator: Operator | None) -> tuple[Operator | None, str]:
        """The operator's command if it can be read; a flight does not end because of a typing error."""
        m = self.assured.system.m
        if operator is None:
            return None, ""
        if self._state is None:
            return None, "commands are read from the second step on"
        if isinstance(operator, Override) and not (isinstance(operator.input, fmpq_mat) and (operator.input.nrows(), operator.input.ncols()) == (m, 1)):
            return None, f"the input of {operator.author}'s override is {operator.input!r:.60}, expected an exact vector of {m} numbers"
        return operator, ""

    def _ask(self, read: StepInput, observation: str | None, index: int, begin: int) -> tuple[int | None, int]:
        """Hand out the work of this step; the deadlines of planner (None: not asked) and detector."""
        system, first = self.assured.system, self._state is None
        planner_end: int | None = None
        state = read.measurement
        if state is None and self._state is not None and self._w_is_zero:
            state = system.next_state(self._state.held.state, self._state.sent)
        if self._planner is not None and state is not None:
            wanted = (start_request(system),) if self._state is None else requests(self.assured, self._state, read)
            self._planner.submit(wanted, state)
            planner_end = begin + (self._deadlines.start if first else self._deadlines.planner)
        if self._detector is not None:
            # The observation that the reasoner is being asked about need not raise the same question again.
            asked = () if self._question is None else (Dismissal(shown(self._question.observation), index),)
            self._detector.submit(observation, index, self._dismissed + asked)
        return planner_end, begin + (self._deadlines.start if first else self._deadlines.detector)

    def _transition(self, before: MachineState | None, read: StepInput) -> StepResult:
        if before is not None:
            return transition(self.assured, before, read)
        result = start(self.assured, read)
        if isinstance(result, StartRefused):
            if self._log is not None:
                self._log.refused_start(read, result.reasons)
                self._log.end("the loop refused to start", None)
            raise StartRefusedError(result.reasons)
        return result

    def _follow(self, result: StepResult, index: int) -> None:
        """Ask what the kernel wants asked, give up what it has decided, remember what was called harmless."""
        if any(e.row is Row.ANSWER_CLEAR for e in result.events) and self._question is not None:
            found = Dismissal(shown(self._question.observation), index)
            self._dismissed = (*self._dismissed, found)[-MOST_DISMISSALS:]
        mode = result.state.mode
        if self._question is not None and not (isinstance(mode, Waiting) and mode.trigger == self._question.trigger):
            self._question = None
            if self._reasoner is not None:
                self._reasoner.abandon()
        if result.question is not None:
            self._question = result.question
            if self._reasoner is not None:
                self._reasoner.ask(result.question)
