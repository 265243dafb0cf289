"""What happened in a flight and why, for people: the moments at which something was decided."""

from __future__ import annotations

from dataclasses import dataclass

from aesop_verified.kernel.events import Event, Nominal, Recovering, Row, Suspended
from aesop_verified.runtime.flying import Flight, FlightSample
from aesop_verified.runtime.reasoner_worker import Said
from aesop_verified.system.numbers import decimal


@dataclass(frozen=True, slots=True)
class Moment:
    """A step at which something happened.

    Attributes:
        step: t.
        row: of the transition table, or "ASSUMPTION", or "LATE".
        what, why: in words.
    """

    step: int
    row: str
    what: str
    why: str


_ONCE = frozenset({
    Row.ALARM_KEPT, Row.ALARM_LOGGED, Row.SHIFTED_PLAN, Row.SUSPENDED, Row.RECOVERED, Row.MISSING_MEASUREMENT, Row.DETECTOR_FAULT,
    Row.PLAN_REFUSED,
})  # fmt: skip
"""Rows that come and go for many steps: told once in each mode."""
_FURTHER = frozenset({Row.ALARM_KEPT, Row.ALARM_LOGGED})
_ROUTINE = frozenset({Row.NOMINAL, Row.WAITING, Row.RECOVERING})


def story(flight: Flight, said: list[Said]) -> list[Moment]:
    """The moments of a flight, in order."""
    moments: list[Moment] = []
    raw = {s.trigger: s.raw for s in said}
    asked = {s.report.question.trigger: s.step for s in flight.samples if s.report.question is not None}
    told: set[tuple[Row, str]] = set()
    mode: type[object] | None = None
    asked_about = ""
    for sample in flight.samples:
        if type(sample.report.mode) is not mode:
            mode, told = type(sample.report.mode), set()
        rows = {e.row for e in sample.report.events}
        for event in sample.report.events:
            about = sample.observation if event.row in _FURTHER else ""
            if event.row in (Row.ALARM, Row.ALARM_AGAIN):
                asked_about = sample.observation or ""
            if event.row in _FURTHER and about == asked_about:
                continue  # the same thing is still in sight
            if event.row in _ROUTINE or (event.row, about) in told or (event.row in _FURTHER and Row.DETECTOR_FAULT in rows):
                continue
            if event.row in _ONCE:
                told.add((event.row, about))
            moments.append(Moment(sample.step, event.row.value, *_words(event, sample, flight, raw, asked)))
        if sample.report.assumption is not None:
            found = sample.report.assumption
            name = flight.scenario.system.state_names[found.state]
            moments.append(Moment(sample.step, "ASSUMPTION", "the disturbance was outside W", f"{name} by {float(int(found.amount.p) / int(found.amount.q)):.3g}"))
    return moments


def _words(event: Event, sample: FlightSample, flight: Flight, raw: dict[int, str], asked: dict[int, int]) -> tuple[str, str]:
    report = sample.report
    note, planner = report.sighting.note, report.proposal.note
    mode = report.mode
    match event.row:
        case Row.ALARM | Row.ALARM_AGAIN:
            options = () if report.question is None else report.question.options
            what = f"alarm; the reasoner is asked: 0 (no hazard) or {', '.join(options)}?" if event.row is Row.ALARM else "the alarm that was kept is taken up"
            lost = [name for name in flight.scenario.system.recovery_names if report.question is not None and name not in options]
            offer = f"; not on offer, since no plan keeps it open: {', '.join(lost)}" if lost else ""
            return what, f'"{sample.observation}": {_score(note)}{offer}'
        case Row.ALARM_KEPT:
            return "a further alarm, kept until the reasoner has answered", f'"{sample.observation}": {_score(note)}'
        case Row.ALARM_LOGGED:
            return "a further alarm; the recovery goes on", f'"{sample.observation}": {_score(note)}'
        case Row.ANSWER_CLEAR:
            return "the reasoner says 0: no hazard; the flight goes on", _answered(sample, flight, raw, asked)
        case Row.ANSWER_CHOICE:
            return f"the reasoner says {event.detail}: recovery begins", _answered(sample, flight, raw, asked)
        case Row.ANSWER_REJECTED:
            return f"the answer is rejected; the fallback policy takes {_target(mode)}", event.detail
        case Row.ANSWER_IGNORED:
            return "an answer is ignored", event.detail
        case Row.DEADLINE:
            K = flight.scenario.system.consensus_horizon
            return f"no answer in time; the fallback policy takes {event.detail}", f"the plans are one until step {K} after the alarm, the answer is due by step {K + 1}"
        case Row.RECOVERED:
            return f"arrived in {event.detail}; its law keeps the robot there", "the horizon has passed since the alarm (Theorem 1, claim 3)"
        case Row.SHIFTED_PLAN:
            return "the shifted plan is flown", f"no new plan was certified: planner {planner.get('status', 'absent')}"
        case Row.PLAN_REFUSED:
            return "a plan is refused by the kernel", event.detail
        case Row.SUSPENDED:
            return f"no certified plan: best effort toward {event.detail}", "every such step is logged as uncertified"
        case Row.DETECTOR_FAULT:
            return "the detector is at fault, which counts as an alarm", _fault(event.detail, note)
        case Row.MISSING_MEASUREMENT:
            return "a measurement is missing", report.missing
        case _:
            return event.row.name.lower().replace("_", " "), event.detail


def _score(note: dict[str, object]) -> str:
    score, threshold, nearest = note.get("score"), note.get("threshold"), note.get("nearest")
    if not isinstance(score, float) or not isinstance(threshold, float):
        if note.get("status") == "late":
            return "no judgement by the deadline"
        return str(note.get("cause") or note.get("status") or "no score")
    near = f', nearest nominal "{nearest["text"]}"' if isinstance(nearest, dict) and "text" in nearest else ""
    return f"score {score:.3f} {'>' if score > threshold else '<='} {threshold:.3f}{near}"


def _fault(cause: str, note: dict[str, object]) -> str:
    status, detail = note.get("status", ""), note.get("detail", "")
    return "it gave no judgement by its deadline" if status == "late" else ": ".join(str(v) for v in (cause, status, detail) if v)


def _answered(sample: FlightSample, flight: Flight, raw: dict[int, str], asked: dict[int, int]) -> str:
    answer = sample.report.answer
    if answer is None or answer.trigger not in raw or answer.trigger not in asked:
        return ""
    steps, dt = sample.step - asked[answer.trigger], flight.scenario.system.dt
    return f'it said "{raw[answer.trigger].strip()}"; read after {decimal(dt * steps)} s (step {steps} of the wait)'


def _target(mode: object) -> str:
    return mode.name if isinstance(mode, (Recovering, Suspended)) else "nominal" if isinstance(mode, Nominal) else "none"
