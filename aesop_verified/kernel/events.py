"""Values that go into and come out of the transition function of the completed Algorithm 1 (theory 3)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from flint import fmpq_mat

from aesop_verified.kernel.plan import HeldPlan, Plan


class Row(enum.Enum):
    """A row of the transition table; the value is its id in `spec/transitions.toml`."""

    START_REFUSED = "TR-START-REFUSED"
    NOMINAL = "TR-NOMINAL"
    ALARM = "TR-ALARM"
    WAITING = "TR-WAITING"
    ANSWER_CLEAR = "TR-ANSWER-CLEAR"
    ANSWER_CHOICE = "TR-ANSWER-CHOICE"
    ANSWER_REJECTED = "TR-ANSWER-REJECTED"
    DEADLINE = "TR-DEADLINE"
    ANSWER_IGNORED = "TR-ANSWER-IGNORED"
    ALARM_KEPT = "TR-ALARM-KEPT"
    ALARM_AGAIN = "TR-ALARM-AGAIN"
    ALARM_LOGGED = "TR-ALARM-LOGGED"
    RECOVERING = "TR-RECOVERING"
    RECOVERED = "TR-RECOVERED"
    PLAN_REFUSED = "TR-PLAN-REFUSED"
    SHIFTED_PLAN = "TR-SHIFTED-PLAN"
    SUSPENDED = "TR-SUSPENDED"
    CERTIFIED_AGAIN = "TR-CERTIFIED-AGAIN"
    MISSING_MEASUREMENT = "TR-MISSING-MEASUREMENT"
    DETECTOR_FAULT = "TR-DETECTOR-FAULT"
    OVERRIDE = "TR-OVERRIDE"
    HOLD = "TR-HOLD"
    RESUME = "TR-RESUME"
    RESTART = "TR-RESTART"


@dataclass(frozen=True, slots=True)
class Event:
    """A row that was taken, with what a reader of the log needs to know."""

    row: Row
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Clear:
    """The reasoner's answer 0 to the question `trigger`: no hazard."""

    trigger: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The reasoner names a recovery set."""

    trigger: int
    name: str


@dataclass(frozen=True, slots=True)
class RejectedAnswer:
    """An answer that could not be parsed, or an exception of the reasoner."""

    trigger: int
    reason: str


Answer: TypeAlias = "Clear | Choice | RejectedAnswer"


class AlarmCause(enum.Enum):
    """Why the detector counts as having fired; all but SCORE are faults of the detector."""

    SCORE = "score"
    LATE = "late"
    RAISED = "raised"
    NO_OBSERVATION = "no observation"


@dataclass(frozen=True, slots=True)
class Alarm:
    """The detector fired on `observation` (its text or id)."""

    cause: AlarmCause
    observation: str


@dataclass(frozen=True, slots=True, eq=False)
class Override:
    """The operator applies an input of their own; it is projected into U and leaves the guarantee."""

    author: str
    input: fmpq_mat


@dataclass(frozen=True, slots=True)
class Hold:
    """The operator asks for the fallback now."""

    author: str


@dataclass(frozen=True, slots=True)
class Resume:
    """The operator asks to go back to nominal operation; needs a certified plan for the full (K, T)."""

    author: str


Operator: TypeAlias = "Override | Hold | Resume"


@dataclass(frozen=True, slots=True)
class Nominal:
    """No anomaly is being handled."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The reasoner was asked k steps ago (t_anom = t - k) about the options Y."""

    options: tuple[str, ...]
    k: int
    trigger: int
    kept_alarm: Alarm | None = None


@dataclass(frozen=True, slots=True)
class Recovering:
    """Intervention y is being carried out, k steps after t_anom."""

    name: str
    k: int


@dataclass(frozen=True, slots=True)
class Suspended:
    """No certified plan exists: best effort toward y, every step uncertified."""

    name: str
    k: int


Mode: TypeAlias = "Nominal | Waiting | Recovering | Suspended"


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """The reasoner is to be asked: the trigger id, the observation and the options it may choose from."""

    trigger: int
    observation: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What a plan must be for to be used in this step.

    Attributes:
        options: for `exact_options` the very set Y; else Y may be any non-empty subset of it.
        consensus, horizon: K and T of the plan.
    """

    options: tuple[str, ...]
    exact_options: bool
    consensus: int
    horizon: int

    def admits(self, plan: Plan) -> bool:
        """Whether a plan answers this request (whether it is certified is another question)."""
        fits = plan.options == self.options if self.exact_options else set(plan.options) <= set(self.options)
        return fits and plan.consensus == self.consensus and plan.horizon == self.horizon


@dataclass(frozen=True, slots=True, eq=False)
class StepInput:
    """Everything that a step reads, each read once.

    Attributes:
        measurement: shape (n, 1), or None when it is missing or not finite.
        answer: the reasoner's, when one became readable.
        candidates: proposed plans, most preferred first.
        alarm: the detector's, None when silent.
        operator: a command of the operator.
    """

    measurement: fmpq_mat | None
    answer: Answer | None = None
    candidates: tuple[Plan, ...] = ()
    alarm: Alarm | None = None
    operator: Operator | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MachineState:
    """What the loop carries from step to step.

    Attributes:
        step: t, of the step that was made last.
        mode: after that step.
        held: the plan in force and the state it starts from; certified unless the mode is Suspended.
        sent: the input that was sent, shape (m, 1).
        next_trigger: the id of the next question.
    """

    step: int
    mode: Mode
    held: HeldPlan
    sent: fmpq_mat
    next_trigger: int


@dataclass(frozen=True, slots=True, eq=False)
class StepResult:
    """What a step yields.

    Attributes:
        state: to carry on with.
        input: the input to send, a multiple of the quantum in U, shape (m, 1).
        certified: whether a certified plan stands behind the input.
        events: rows taken, in order.
        question: to be put to the reasoner now, or None.
    """

    state: MachineState
    input: fmpq_mat
    certified: bool
    events: tuple[Event, ...]
    question: Question | None


@dataclass(frozen=True, slots=True)
class StartRefused:
    """No candidate plan was certified at t = 0; `reasons` says why, one a candidate."""

    reasons: tuple[str, ...]
