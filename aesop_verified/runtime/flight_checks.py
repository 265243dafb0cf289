"""What must hold of a simulated flight, decided exactly from the true states and the log (Theorem 1, claims 1 to 4)."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq_mat

from aesop_verified.kernel.events import Recovering, Suspended
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.machine import decimal_text
from aesop_verified.kernel.model import System
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.verdict import Verdict
from aesop_verified.runtime.check import LogOutcome, LogVerdict
from aesop_verified.runtime.flying import Flight


@dataclass(frozen=True, slots=True)
class FlightCheck:
    """A statement about a flight, whether it holds, and the numbers."""

    statement: str
    verdict: Verdict
    detail: str


def check_flight(flight: Flight, assured: AssuredSystem, log: LogVerdict) -> list[FlightCheck]:
    """All checks of a flight; the state after the last input is not known to them."""
    system = assured.system
    return [
        _log(flight, log),
        _certified(flight),
        _states(flight, system),
        _inputs(flight, system),
        _assumptions(flight, system),
        *_arrival(flight, system),
    ]


def _log(flight: Flight, log: LogVerdict) -> FlightCheck:
    verdict = {LogOutcome.VERIFIED: Verdict.PROVED, LogOutcome.REFUSED: Verdict.REFUTED}.get(log.outcome, Verdict.UNKNOWN)
    if verdict is Verdict.PROVED and len(log.steps) != len(flight.samples):
        verdict = Verdict.REFUTED
    return FlightCheck("the log, run again by the kernel alone, gives every input and mode", verdict, log.summary)


def _certified(flight: Flight) -> FlightCheck:
    without = [s.step for s in flight.samples if not s.report.certified]
    suspended = sum(isinstance(s.report.mode, Suspended) for s in flight.samples)
    detail = f"{len(flight.samples) - len(without)} of {len(flight.samples)} steps"
    if without:
        detail += f"; without: {suspended} steps, first {without[0]}"
    return FlightCheck("a certified plan stands behind every input", Verdict.REFUTED if without else Verdict.PROVED, detail)


def _states(flight: Flight, system: System) -> FlightCheck:
    statement = "the true state is in X at every step"
    return _all_inside(statement, system.X, [(s.step, s.true_state) for s in flight.samples])


def _inputs(flight: Flight, system: System) -> FlightCheck:
    statement = "every input is in U and a multiple of the quantum"
    for s in flight.samples:
        if system.quantum > 0 and any((v / system.quantum).q != 1 for v in s.report.input.entries()):
            return FlightCheck(statement, Verdict.REFUTED, f"step {s.step}: no multiple of the quantum")
    return _all_inside(statement, system.U, [(s.step, s.report.input) for s in flight.samples])


def _assumptions(flight: Flight, system: System) -> FlightCheck:
    statement = "the plant kept to the assumptions: w in W, measured state within E"
    W, E = system.disturbance.bounding_box(), system.estimate_error.bounding_box()
    broken = [s.step for s in flight.samples if not W.contains(s.disturbance) or not E.contains(s.measured - s.true_state)]
    broken += [s.step for s in flight.samples if s.report.assumption is not None]
    if broken:
        return FlightCheck(statement, Verdict.REFUTED, f"first at step {min(broken)}, {len(set(broken))} steps in all")
    return FlightCheck(statement, Verdict.PROVED, f"{len(flight.samples)} steps")


def _arrival(flight: Flight, system: System) -> list[FlightCheck]:
    """Claim 3, for the intervention that is in force at the end of the flight."""
    last = flight.samples[-1].report.mode
    if not isinstance(last, (Recovering, Suspended)):
        return []
    statement = f"from T + 1 steps after the alarm on the true state is in {last.name}"
    due = flight.samples[-1].step - last.k + system.horizon + 1
    late = [(s.step, s.true_state) for s in flight.samples if s.step >= due]
    if not late:
        return [FlightCheck(statement, Verdict.UNKNOWN, f"due at step {due}, the flight ends at step {flight.samples[-1].step}; fly longer")]
    return [_all_inside(statement, system.recovery(last.name).polytope, late)]


def _all_inside(statement: str, polytope: Polytope, points: list[tuple[int, fmpq_mat]]) -> FlightCheck:
    for step, point in points:
        violation = polytope.violation(point)
        if violation is not None:
            return FlightCheck(statement, Verdict.REFUTED, f"step {step}: facet {violation.facet} exceeded by {decimal_text(violation.amount)}")
    return FlightCheck(statement, Verdict.PROVED, f"{len(points)} steps, exactly")
