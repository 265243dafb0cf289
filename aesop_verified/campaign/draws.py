"""The draws of a scenario: the same for every method and backend, since each has a stream of its own."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.campaign.campaign_file import Conditions
from aesop_verified.system.parts import Box

_PARTS = 1 << 20
"""An initial coordinate is one of this many + 1 equidistant ones of its interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One scenario.

    Attributes:
        initial: the true initial state, shape (n, 1).
        anomalies: steps at which one appears, rising, each with whether the reasoner calls it harmless.
        latency: steps from an alarm to the step at which the reasoner's answer is read.
        share: u in [0, 1): of m options on offer the reasoner names number floor(u m).
        heading: of the gust, rad.
    """

    index: int
    initial: fmpq_mat
    anomalies: tuple[tuple[int, bool], ...]
    latency: int
    share: float
    heading: float
    seed: int
    solver_failures: float

    def choice(self, options: tuple[str, ...]) -> str:
        """What the reasoner names: one uniform draw from the options on offer."""
        return options[int(self.share * len(options))]

    def solver_fails(self, step: int) -> bool:
        """Whether the solver gives nothing at a step; in the first one the robot waits on the ground until it does."""
        return step > 0 and self.solver_failures > 0 and stream(self.seed, self.index, f"solver {step}").random() < self.solver_failures

    def disturbance(self) -> random.Random:
        """The stream of the plant's disturbance."""
        return stream(self.seed, self.index, "disturbance")


def stream(seed: int, index: int, what: str) -> random.Random:
    """A stream of random numbers that depends on nothing but its name."""
    return random.Random(f"{seed}/{index}/{what}")


def draw(seed: int, conditions: Conditions, index: int, initial: Box) -> Draw:
    """Scenario `index` of a campaign."""
    place = stream(seed, index, "initial")
    coordinates = []
    for low, high in zip(initial.lower, initial.upper):
        assert low is not None and high is not None, "the initial box of a system is bounded"
        coordinates.append(low if low == high else low + (high - low) * fmpq(place.randrange(_PARTS + 1), _PARTS))
    taken: dict[int, bool] = {}
    for number, anomaly in enumerate(conditions.anomalies):
        step = stream(seed, index, f"anomaly {number}").randrange(anomaly.first, anomaly.last + 1)
        while step in taken:
            step += 1
        taken[step] = anomaly.harmless
    return Draw(
        index, fmpq_mat(len(coordinates), 1, coordinates), tuple(sorted(taken.items())),
        stream(seed, index, "latency").randrange(conditions.latency[0], conditions.latency[1] + 1),
        stream(seed, index, "choice").random(), 2 * math.pi * stream(seed, index, "heading").random(), seed, conditions.solver_failures,
    )  # fmt: skip
