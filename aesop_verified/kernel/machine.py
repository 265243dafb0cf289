"""The transition function of the completed Algorithm 1 (theory 3 and 4): pure, total, and the only one.

Order inside a step: measurement, status of the reasoner, transition, certification, detector, application of
the input. Nothing that the detector, the reasoner or a solver says can choose an input: they choose among
plans that `check_plan` has certified in this very step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import (
    AlarmCause,
    Answer,
    Choice,
    Clear,
    Event,
    Hold,
    MachineState,
    Mode,
    Nominal,
    Override,
    Question,
    Recovering,
    Request,
    Resume,
    Row,
    StartRefused,
    StepInput,
    StepResult,
    Suspended,
    Waiting,
)
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.model import System, quantised
from aesop_verified.kernel.plan import (
    MAX_INPUT_BITS,
    CertifiedPlan,
    HeldPlan,
    Plan,
    PlanViolation,
    check_plan,
    shifted_plan,
)
from aesop_verified.kernel.rational import require_shape
from aesop_verified.kernel.verdict import Proved, Refuted


@dataclass(frozen=True, slots=True)
class _Intent:
    """What this step aims at: the mode it leads to if a plan is certified, the plan it needs, and who is in force if none is."""

    mode: Mode
    request: Request
    name_if_suspended: str
    k: int
    events: tuple[Event, ...]


def start_request(system: System) -> Request:
    """What a first plan must be for: any non-empty Y, the full (K, T)."""
    return Request(system.names, False, system.consensus_horizon, system.horizon)


def start(assured: AssuredSystem, inp: StepInput) -> StepResult | StartRefused:
    """Step t = 0: refuse to start unless a candidate plan for the full (K, T) is certified.

    Answers and operator commands are read from the second step on.

    Raises:
        UsageError: when the measurement is missing or has another shape.
    """
    system = assured.system
    if inp.measurement is None:
        return StartRefused(("the first measurement is missing",))
    require_shape("the first measurement", inp.measurement, system.n, 1)
    obstacle = _estimate_refusal(system, inp.measurement)
    if obstacle is not None:
        return StartRefused((obstacle,))
    held, events = _certified(system, inp.measurement, inp.candidates, start_request(system))
    if held is None:
        return StartRefused(tuple(e.detail for e in events) or ("no candidate plan was offered",))
    state = MachineState(0, Nominal(), held, held.plan.first_input, 0)
    return _finish(assured, state, inp, [*events, Event(Row.NOMINAL)], held.plan.first_input, certified=True)


def requests(assured: AssuredSystem, state: MachineState, inp: StepInput) -> tuple[Request, ...]:
    """What the planner is to look for in the step that `inp` opens (its candidates and alarm are not read)."""
    intent = _intent(assured.system, state, inp)
    if _resumable(state, inp):
        return (start_request(assured.system), intent.request)
    return (intent.request,)


def transition(assured: AssuredSystem, state: MachineState, inp: StepInput) -> StepResult:
    """One step: from the state carried over and what was read, the input to send and the state to carry on.

    Always yields an input, a multiple of the quantum in U, in a time that the length of the measurement's numbers
    and the number of candidates bound (Theorem 1, claim 4).

    Raises:
        UsageError: when the measurement, or the input of an override, has another shape than the system's.
    """
    system, mode = assured.system, state.mode
    intent = _intent(system, state, inp)
    events = list(intent.events)
    x = inp.measurement
    if x is None:
        x = system.next_state(state.held.state, state.sent)
        state_known = system.measured_disturbance.is_zero and not isinstance(mode, Suspended)
    else:
        require_shape("the measurement", x, system.n, 1)
        x = fmpq_mat(x)
        obstacle = _estimate_refusal(system, x) if isinstance(mode, Suspended) else None
        state_known = obstacle is None
        if obstacle is not None:
            events.append(Event(Row.PLAN_REFUSED, obstacle))

    if _resumable(state, inp) and isinstance(inp.operator, Resume) and state_known:
        resumed, refusals = _certified(system, x, inp.candidates, start_request(system), others_may_follow=True)
        events += refusals
        if resumed is not None:
            events += [Event(Row.RESUME, inp.operator.author), Event(Row.NOMINAL)]
            return _finish(assured, _carried(state, Nominal(), resumed), inp, events, resumed.plan.first_input, certified=True)
        events.append(Event(Row.RESUME, f"{inp.operator.author}: refused, no plan for the full horizons is certified"))
    elif isinstance(inp.operator, Resume):
        events.append(Event(Row.RESUME, f"{inp.operator.author}: refused, it needs a measurement, in the mode Recovering or Suspended"))

    held: CertifiedPlan | None = None
    if state_known and not isinstance(inp.operator, Override):
        held, refusals = _certified(system, x, inp.candidates, intent.request)
        events += refusals
        if held is None:
            held, refusals = _certified(system, x, _shifted_plans(system, state, x, intent), intent.request, ours=True)
            events += refusals
            if held is not None:
                events.append(Event(Row.SHIFTED_PLAN, "+".join(held.plan.options)))
    if held is not None:
        if isinstance(mode, Suspended):
            events.append(Event(Row.CERTIFIED_AGAIN, mode.name))
        after: Mode = intent.mode
        if isinstance(mode, Waiting) and isinstance(after, Nominal) and mode.kept_alarm is not None and inp.alarm is None:
            events.append(Event(Row.ALARM_AGAIN, mode.kept_alarm.observation))
            inp = replace(inp, alarm=mode.kept_alarm)
        return _finish(assured, _carried(state, after, held), inp, events, held.plan.first_input, certified=True)
    return _suspend(assured, state, inp, intent, events, x)


def _suspend(
    assured: AssuredSystem, state: MachineState, inp: StepInput, intent: _Intent, events: list[Event], x: fmpq_mat
) -> StepResult:
    """No certified plan: best effort toward the y in force, projected into U, logged as uncertified."""
    system, name = assured.system, intent.name_if_suspended
    events.append(Event(Row.SUSPENDED, name))
    source = state.held
    plan = shifted_plan(system, source, x, (name,), 0, max(0, system.horizon - intent.k))
    u = inp.operator.input if isinstance(inp.operator, Override) else plan.first_input
    u = projected(system, assured.input_anchor, u)
    held = HeldPlan(plan, x, system.next_state(x, plan.first_input))
    return _finish(assured, _carried(state, Suspended(name, intent.k), held), inp, events, u, certified=False)


def _carried(state: MachineState, mode: Mode, held: HeldPlan) -> MachineState:
    return MachineState(state.step + 1, mode, held, state.sent, state.next_trigger)


def _finish(
    assured: AssuredSystem, state: MachineState, inp: StepInput, events: list[Event], u: fmpq_mat, *, certified: bool
) -> StepResult:
    """The detector's turn, then the input: rounded to the quantum, which keeps it in U (see `grid_shrunk`)."""
    mode, question = state.mode, None
    if inp.alarm is not None:
        if inp.alarm.cause is not AlarmCause.SCORE:
            events.append(Event(Row.DETECTOR_FAULT, inp.alarm.cause.value))
        match mode:
            case Nominal():
                options = state.held.plan.options
                question = Question(state.next_trigger, inp.alarm.observation, options)
                mode = Waiting(options, 0, state.next_trigger)
                events.append(Event(Row.ALARM, f"trigger {question.trigger}: {question.observation}"))
            case Waiting():
                mode = replace(mode, kept_alarm=inp.alarm)
                events.append(Event(Row.ALARM_KEPT, inp.alarm.observation))
            case _:
                events.append(Event(Row.ALARM_LOGGED, inp.alarm.observation))
    sent = quantised(u, assured.system.quantum)
    next_trigger = state.next_trigger + (question is not None)
    after = MachineState(state.step, mode, state.held, sent, next_trigger)
    return StepResult(after, fmpq_mat(sent), certified, tuple(events), question)


def _intent(system: System, state: MachineState, inp: StepInput) -> _Intent:
    """The reasoner's status and the transition: rows of theory 3 before certification."""
    mode, T, K = state.mode, system.horizon, system.consensus_horizon
    events: list[Event] = []
    answer = inp.answer
    if answer is not None and (not isinstance(mode, Waiting) or answer.trigger != mode.trigger):
        events.append(Event(Row.ANSWER_IGNORED, f"trigger {answer.trigger}"))
        answer = None
    if isinstance(inp.operator, (Override, Hold)):
        events.append(Event(Row.OVERRIDE if isinstance(inp.operator, Override) else Row.HOLD, inp.operator.author))
    if inp.measurement is None:
        events.append(Event(Row.MISSING_MEASUREMENT))

    match mode:
        case Recovering(name, k) | Suspended(name, k):
            row = Row.RECOVERED if k + 1 > T else Row.RECOVERING
            if isinstance(mode, Recovering):
                events.append(Event(row, name))
            return _recover(system, name, k + 1, events)
        case Waiting(options, k, _):
            return _after_waiting(system, options, k + 1, mode, inp, answer, events)
        case Nominal():
            fallback = system.fallback(state.held.plan.options)
            if inp.measurement is None or isinstance(inp.operator, (Override, Hold)):
                return _recover(system, fallback, 1, events)
            events.append(Event(Row.NOMINAL))
            return _Intent(mode, Request(system.names, False, K, T), fallback, 1, tuple(events))


def _after_waiting(
    system: System, options: tuple[str, ...], k: int, mode: Waiting, inp: StepInput, answer: Answer | None, events: list[Event]
) -> _Intent:
    """Step k >= 1 after the question: an answer, the deadline, or more waiting."""
    T, K = system.horizon, system.consensus_horizon
    fallback = system.fallback(options)
    if isinstance(answer, Choice) and answer.name in options:
        events.append(Event(Row.ANSWER_CHOICE, answer.name))
        return _recover(system, answer.name, k, events)
    if answer is not None and not isinstance(answer, Clear):
        reason = f"{answer.name!r} is not one of {list(options)}" if isinstance(answer, Choice) else answer.reason
        events.append(Event(Row.ANSWER_REJECTED, reason))
        return _recover(system, fallback, k, events)
    if inp.measurement is None or isinstance(inp.operator, (Override, Hold)):
        if answer is not None:
            events.append(Event(Row.ANSWER_IGNORED, f"trigger {answer.trigger}: 0, but {fallback!r} is chosen in this step"))
        return _recover(system, fallback, k, events)
    if isinstance(answer, Clear):
        events.append(Event(Row.ANSWER_CLEAR))
        return _Intent(Nominal(), Request(system.names, False, K, T), fallback, k, tuple(events))
    # SOUNDNESS: consensus covers k = 0..K, so step K + 1 is the last at which every option is still open.
    if k >= K + 1:
        events.append(Event(Row.DEADLINE, fallback))
        return _recover(system, fallback, k, events)
    events.append(Event(Row.WAITING))
    return _Intent(replace(mode, k=k), Request(options, True, K - k, T - k), fallback, k, tuple(events))


def _recover(system: System, name: str, k: int, events: list[Event]) -> _Intent:
    request = Request((name,), True, 0, max(0, system.horizon - k))
    return _Intent(Recovering(name, k), request, name, k, tuple(events))


def _shifted_plans(system: System, state: MachineState, x: fmpq_mat, intent: _Intent) -> list[Plan]:
    """The shifted plans of theory 4 that answer the intent: all of Y while waiting or recovering, singletons for Nominal."""
    request, held = intent.request, state.held
    if request.exact_options:
        return [shifted_plan(system, held, x, request.options, request.consensus, request.horizon)]
    return [
        shifted_plan(system, held, x, (name,), request.consensus, request.horizon)
        for name in system.fallback_order
        if name in held.plan.options
    ]


def _certified(
    system: System, x: fmpq_mat, candidates: Sequence[Plan], request: Request, *, others_may_follow: bool = False, ours: bool = False
) -> tuple[CertifiedPlan | None, list[Event]]:
    """The first candidate that answers the request and is certified at x, and why the ones before it were refused.

    `ours` says that the candidates are shifted plans, whose numbers may be longer than a solver's.
    """
    events = []
    for plan in candidates:
        if not request.admits(plan):
            if not others_may_follow:
                events.append(Event(Row.PLAN_REFUSED, f"{'+'.join(plan.options)}: not what this step asks for"))
            continue
        if not (ours or plan.is_short):
            events.append(Event(Row.PLAN_REFUSED, f"{'+'.join(plan.options)}: a number of more than {MAX_INPUT_BITS} bits"))
            continue
        try:
            result = check_plan(system, x, plan)
        except UsageError as error:
            events.append(Event(Row.PLAN_REFUSED, f"{'+'.join(plan.options)}: {error}"))
            continue
        if isinstance(result, Proved):
            return result.certificate, events
        reason = refusal(result.witness) if isinstance(result, Refuted) else result.reason
        events.append(Event(Row.PLAN_REFUSED, f"{'+'.join(plan.options)}: {reason}"))
    return None, events


def _estimate_refusal(system: System, x: fmpq_mat) -> str | None:
    """Why no claim can be made about the true state at the estimate x; needed where no certified plan led to x."""
    violation = system.first_state_set.violation(x)
    if violation is None:
        return None
    return f"the state estimate breaks constraint {violation.facet} of X, less the estimate's error, by {decimal_text(violation.amount)}"


def _resumable(state: MachineState, inp: StepInput) -> bool:
    """Whether this step is to look for a plan that resumes nominal operation."""
    return isinstance(inp.operator, Resume) and not isinstance(state.mode, (Nominal, Waiting)) and inp.measurement is not None


def refusal(v: PlanViolation) -> str:
    """A violation in words."""
    return f"{v.constraint} constraint {v.index} of branch {v.branch} at step {v.step} is violated by {decimal_text(v.amount)}"


def decimal_text(value: fmpq) -> str:
    """A rational as a decimal of six digits for messages; never used in a comparison."""
    return f"{Context(prec=6).divide(Decimal(int(value.p)), Decimal(int(value.q)))}"


def projected(system: System, anchor: fmpq_mat, u: fmpq_mat) -> fmpq_mat:
    """The point nearest to u on the segment from `anchor`, a point of U, to u that is in U."""
    require_shape("the input", u, system.m, 1)
    direction = u - anchor
    share = fmpq(1)
    slopes = (system.input_set.G * direction).entries()
    slacks = (system.input_set.h - system.input_set.G * anchor).entries()
    for slope, slack in zip(slopes, slacks):
        if slope > slack:
            share = min(share, slack / slope)
    return anchor + direction * share


def restarted(assured: AssuredSystem, state: MachineState, missed: int) -> tuple[MachineState, tuple[Event, ...]]:
    """The state to go on with after a restart in flight that missed `missed` steps (0: none).

    The held plan comes from the log; the next step certifies it again, or goes on Suspended. A question that
    was open is void: its trigger id is retired, and the deadline or the fallback decides. When steps were
    missed, nothing was sent in them, so no prediction stands: the mode is Suspended until a plan certifies. After
    T + 1 of them the held plan has run out, and only the clock goes on.

    Raises:
        UsageError: when the mode and the held plan do not belong together.
    """
    system = assured.system
    _require_consistent(system, state)
    events = [Event(Row.RESTART, f"{missed} steps missed")]
    mode = state.mode
    if isinstance(mode, Waiting):
        mode = replace(mode, trigger=state.next_trigger, kept_alarm=None)
        state = replace(state, mode=mode, next_trigger=state.next_trigger + 1)
    made = min(missed, system.horizon + 1)
    for index in range(made):
        passed = 1 if index + 1 < made else 1 + missed - made
        intent = _intent(system, state, StepInput(None))
        x = state.held.next_state
        plan = shifted_plan(system, state.held, x, (intent.name_if_suspended,), 0, max(0, system.horizon - intent.k))
        held = HeldPlan(plan, x, system.next_state(x, plan.first_input))
        mode_after = Suspended(intent.name_if_suspended, intent.k + passed - 1)
        state = MachineState(state.step + passed, mode_after, held, plan.first_input, state.next_trigger)
    return state, tuple(events)



def _require_consistent(system: System, state: MachineState) -> None:
    """The options that the mode may lead to are those of the held plan, and k is in its range."""
    mode, held = state.mode, state.held.plan.options
    options = mode.options if isinstance(mode, Waiting) else held if isinstance(mode, Nominal) else (mode.name,)
    if not options or not set(options) <= set(held) <= set(system.names):
        raise UsageError(f"the mode is {mode} and the held plan has the options {list(held)}, expected those of the mode among them, and all among {list(system.names)}")
    if isinstance(mode, Waiting) and not 0 <= mode.k <= system.consensus_horizon:
        raise UsageError(f"the mode is {mode}, expected k in 0..{system.consensus_horizon}")
