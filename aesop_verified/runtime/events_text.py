"""What a step reads and gives, as JSON and back: answers, alarms, commands, modes, the machine's state."""

from __future__ import annotations

from aesop_verified.kernel.events import (
    Alarm,
    AlarmCause,
    Answer,
    Choice,
    Clear,
    Event,
    Hold,
    MachineState,
    Mode,
    Nominal,
    Operator,
    Override,
    Question,
    Recovering,
    RejectedAnswer,
    Resume,
    StepInput,
    StepResult,
    Suspended,
    Waiting,
)
from aesop_verified.kernel.plan import HeldPlan, Plan
from aesop_verified.runtime.exact_text import (
    Json,
    Unreadable,
    field,
    items,
    names,
    optional,
    plan_json,
    plan_of,
    vector_json,
    vector_of,
    whole,
    words,
)


def answer_json(answer: Answer) -> Json:
    """An answer of the reasoner."""
    match answer:
        case Clear(trigger):
            return {"kind": "clear", "trigger": trigger}
        case Choice(trigger, name):
            return {"kind": "choice", "trigger": trigger, "name": name}
        case RejectedAnswer(trigger, reason):
            return {"kind": "rejected", "trigger": trigger, "reason": reason}


def answer_of(value: object) -> Answer:
    """The answer that `answer_json` wrote."""
    kind, trigger = field(value, "kind", words), field(value, "trigger", whole)
    if kind == "clear":
        return Clear(trigger)
    if kind == "choice":
        return Choice(trigger, field(value, "name", words))
    if kind == "rejected":
        return RejectedAnswer(trigger, field(value, "reason", words))
    raise Unreadable(f"kind: found {kind!r}, expected clear, choice or rejected")


def alarm_json(alarm: Alarm) -> Json:
    """An alarm of the detector."""
    return {"cause": alarm.cause.value, "observation": alarm.observation}


def alarm_of(value: object) -> Alarm:
    """The alarm that `alarm_json` wrote."""
    return Alarm(field(value, "cause", AlarmCause), field(value, "observation", words))


def operator_json(operator: Operator) -> Json:
    """A command of the operator."""
    match operator:
        case Override(author, u):
            return {"kind": "override", "author": author, "input": vector_json(u)}
        case Hold(author):
            return {"kind": "hold", "author": author}
        case Resume(author):
            return {"kind": "resume", "author": author}


def operator_of(value: object) -> Operator:
    """The command that `operator_json` wrote."""
    kind, author = field(value, "kind", words), field(value, "author", words)
    if kind == "override":
        return Override(author, field(value, "input", vector_of))
    if kind == "hold":
        return Hold(author)
    if kind == "resume":
        return Resume(author)
    raise Unreadable(f"kind: found {kind!r}, expected override, hold or resume")


def mode_json(mode: Mode) -> Json:
    """A mode of the machine."""
    match mode:
        case Nominal():
            return {"kind": "nominal"}
        case Waiting(options, k, trigger, kept):
            kept_json = None if kept is None else alarm_json(kept)
            return {"kind": "waiting", "options": list(options), "k": k, "trigger": trigger, "kept_alarm": kept_json}
        case Recovering(name, k):
            return {"kind": "recovering", "name": name, "k": k}
        case Suspended(name, k):
            return {"kind": "suspended", "name": name, "k": k}


def mode_of(value: object) -> Mode:
    """The mode that `mode_json` wrote."""
    kind = field(value, "kind", words)
    if kind == "nominal":
        return Nominal()
    k = field(value, "k", whole)
    if kind == "waiting":
        kept = field(value, "kept_alarm", lambda v: optional(v, alarm_of))
        return Waiting(field(value, "options", names), k, field(value, "trigger", whole), kept)
    if kind == "recovering":
        return Recovering(field(value, "name", words), k)
    if kind == "suspended":
        return Suspended(field(value, "name", words), k)
    raise Unreadable(f"kind: found {kind!r}, expected nominal, waiting, recovering or suspended")


def event_json(event: Event) -> list[str]:
    """A row of the transition table that was taken."""
    return [event.row.value, event.detail]


def question_json(question: Question) -> Json:
    """A question to the reasoner."""
    return {"trigger": question.trigger, "observation": question.observation, "options": list(question.options)}


def read_json(inp: StepInput, candidates: tuple[Plan, ...]) -> Json:
    """What a step read; `candidates` are those that the transition looked at."""
    return {
        "measurement": None if inp.measurement is None else vector_json(inp.measurement),
        "answer": None if inp.answer is None else answer_json(inp.answer),
        "candidates": [plan_json(p) for p in candidates],
        "alarm": None if inp.alarm is None else alarm_json(inp.alarm),
        "operator": None if inp.operator is None else operator_json(inp.operator),
    }


def read_of(value: object) -> StepInput:
    """The step input that `read_json` wrote."""
    return StepInput(
        field(value, "measurement", lambda v: optional(v, vector_of)),
        field(value, "answer", lambda v: optional(v, answer_of)),
        field(value, "candidates", lambda v: tuple(plan_of(p) for p in items(v))),
        field(value, "alarm", lambda v: optional(v, alarm_of)),
        field(value, "operator", lambda v: optional(v, operator_of)),
    )


def gave_json(result: StepResult) -> Json:
    """What a step gave; a re-run must give the very same."""
    return {
        "mode": mode_json(result.state.mode),
        "input": vector_json(result.input),
        "certified": result.certified,
        "events": [event_json(e) for e in result.events],
        "question": None if result.question is None else question_json(result.question),
    }


def state_json(state: MachineState) -> Json:
    """The machine's state, for a log that lacks the lines that led to it."""
    held = {"plan": plan_json(state.held.plan), "state": vector_json(state.held.state), "next_state": vector_json(state.held.next_state)}
    return {"step": state.step, "mode": mode_json(state.mode), "held": held, "sent": vector_json(state.sent), "next_trigger": state.next_trigger}


def state_of(value: object) -> MachineState:
    """The state that `state_json` wrote; its plan counts as uncertified until a step certifies one."""
    held = field(value, "held", lambda h: HeldPlan(field(h, "plan", plan_of), field(h, "state", vector_of), field(h, "next_state", vector_of)))
    return MachineState(
        field(value, "step", whole), field(value, "mode", mode_of), held, field(value, "sent", vector_of), field(value, "next_trigger", whole)
    )
