"""A simulated flight with a fixed step: measure, step, apply, again; everything that is needed afterwards is kept."""

from __future__ import annotations

import enum
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from flint import fmpq_mat

from aesop_verified.kernel.events import Waiting
from aesop_verified.plants import ModelPlant
from aesop_verified.runtime.clock import NANOSECONDS, Clock
from aesop_verified.runtime.loop import Loop, StepReport
from aesop_verified.runtime.scenario import Scenario

_LONGEST_STRETCH = 20
"""A simulated step is never stretched by more than this factor."""
_GLANCE_NS = 10_000_000
"""Between two looks at how long the reasoner has been stalled."""


class Pace(enum.Enum):
    """How the steps of a simulated flight follow each other."""

    SIM = "sim"
    """A step takes dt or longer: the simulated plant waits for its input, as long as planner and detector need."""
    REAL = "real"
    """A step has dt: what is not there by the loop's deadlines is done without, as on the robot."""
    FAST = "fast"
    """Like SIM, but no longer than needed, except while the reasoner is thinking: its latency is real."""


@dataclass(frozen=True, slots=True, eq=False)
class FlightSample:
    """One step of a simulated flight.

    Attributes:
        step: t.
        true_state, measured: of the plant, shape (n, 1), before the input.
        observation: what was seen.
        report: of the loop.
        disturbance: the w that acted after the input, shape (n, 1).
        lag_ns: by how much the step began late, in nanoseconds.
    """

    step: int
    true_state: fmpq_mat
    measured: fmpq_mat
    observation: str
    report: StepReport
    disturbance: fmpq_mat
    lag_ns: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """An open question: its step, when it was asked, and how long the reasoner had been stalled by then."""

    step: int
    time_ns: int
    stalled_ns: int

    def sleep(self, clock: Clock, step: int, dt_ns: int, stalled_ns: Callable[[], int]) -> None:
        """Sleep until the reasoner has had the time of all steps since the question, stalls not counted."""
        allowed = (step - self.step) * dt_ns
        while clock.now_ns() < (due := self.time_ns + min(allowed + max(0, stalled_ns() - self.stalled_ns), _LONGEST_STRETCH * allowed)):
            clock.sleep_until(min(due, clock.now_ns() + _GLANCE_NS))


@dataclass(eq=False)
class Flight:
    """A simulated flight, as far as it was flown."""

    scenario: Scenario
    samples: list[FlightSample] = field(default_factory=list)

    @property
    def decision_ms(self) -> list[float]:
        """Times from the call to the input, sorted; the first step, which waits for its plan on the ground, is left out."""
        return sorted(s.report.decision_ns / 1e6 for s in self.samples[1:])

    def quantile_ms(self, share: float) -> float:
        """The smallest time that at least `share` of the steps do not exceed; 0 without steps."""
        times = self.decision_ms
        return times[max(0, -int(-share * len(times) // 1) - 1)] if times else 0.0


def observations(scenario: Scenario) -> list[str]:
    """What is seen at each step: nominal texts in a seeded order, each for a while, and the anomalies on top."""
    source = random.Random(scenario.seed)
    seen: list[str] = []
    while len(seen) < scenario.steps:
        texts = list(scenario.nominal)
        source.shuffle(texts)
        seen += [text for text in texts for _ in range(scenario.every)]
    return [a.text if (a := scenario.anomaly(t)) is not None else seen[t] for t in range(scenario.steps)]


def fly(
    scenario: Scenario,
    loop: Loop,
    plant: ModelPlant,
    clock: Clock,
    *,
    pace: Pace = Pace.SIM,
    watch: Callable[[FlightSample], None] = lambda _: None,
    stalled_ns: Callable[[], int] = lambda: 0,
) -> Flight:
    """Fly the scenario to its end.

    Args:
        watch: called after every step, in the time that is left of it.
        stalled_ns: how long the reasoner has stood in line for a processor; unless the pace is REAL, the plant waits
            for that long too, so that its latency is the model's and not that of other load on the machine.

    Raises:
        StartRefusedError: when no first plan is certified.
    """
    flight = Flight(scenario)
    dt_ns = int((scenario.system.dt * NANOSECONDS).floor())
    tick = clock.now_ns()
    asked: _Asked | None = None
    for step, seen in enumerate(observations(scenario)):
        if asked is not None and pace is not Pace.REAL:
            asked.sleep(clock, step, dt_ns, stalled_ns)
        elif pace is not Pace.FAST:
            clock.sleep_until(tick)
        begin = clock.now_ns()
        lag = max(0, begin - tick) if pace is Pace.REAL and step > 1 else 0
        measured = plant.measure()
        state = plant.state
        report = loop.step(measured, seen)
        disturbance = plant.apply(report.input)
        sample = FlightSample(step, state, measured, seen, report, disturbance, lag)
        flight.samples.append(sample)
        if report.question is not None:
            asked = _Asked(step, clock.now_ns(), stalled_ns())
        elif not isinstance(report.mode, Waiting):
            asked = None
        # The first step waits for its plan on the ground; the clock of the flight starts after it.
        tick = (clock.now_ns() if step == 0 else begin) + dt_ns
        watch(sample)
    return flight

