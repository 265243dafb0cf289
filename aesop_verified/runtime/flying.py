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


class Pace(enum.Enum):
    """How the steps of a simulated flight follow each other."""

    REAL = "real"
    """One step every dt, as on the robot."""
    FAST = "fast"
    """As fast as possible, but in real time while the reasoner is thinking: its latency is real."""


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
    pace: Pace = Pace.REAL,
    watch: Callable[[FlightSample], None] = lambda _: None,
) -> Flight:
    """Fly the scenario to its end.

    Args:
        watch: called after every step, in the time that is left of it.

    Raises:
        StartRefusedError: when no first plan is certified.
    """
    flight = Flight(scenario)
    dt_ns = int((scenario.system.dt * NANOSECONDS).floor())
    tick = clock.now_ns()
    for step, seen in enumerate(observations(scenario)):
        waiting = loop.state is not None and isinstance(loop.state.mode, Waiting)
        if pace is Pace.REAL or waiting:
            clock.sleep_until(tick)
        begin = clock.now_ns()
        lag = max(0, begin - tick) if pace is Pace.REAL and step > 1 else 0
        measured = plant.measure()
        state = plant.state
        report = loop.step(measured, seen)
        disturbance = plant.apply(report.input)
        sample = FlightSample(step, state, measured, seen, report, disturbance, lag)
        flight.samples.append(sample)
        # The first step waits for its plan on the ground; the clock of the flight starts after it.
        tick = (clock.now_ns() if step == 0 else begin) + dt_ns
        watch(sample)
    return flight
