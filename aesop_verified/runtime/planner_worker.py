"""The planner in a worker process: requests and states go in, whole numbers of quanta come out, as JSON."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import Request
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import Plan
from aesop_verified.planning.planner import Planned, Planner, PlannerSpec, ProposedPlan
from aesop_verified.planning.pricing import Cost
from aesop_verified.runtime.exact_text import Json, Unreadable, canonical, field, items, loggable, names, whole, words
from aesop_verified.runtime.services import Proposal
from aesop_verified.runtime.worker import CallStatus, Worker
from aesop_verified.runtime.worker_main import Handler

_MOST_CANDIDATES = 16
"""Each is checked exactly when the ones before it were refused, after the planner's deadline."""
_MOST_NOTE = 20_000
"""Bytes of a note that go into the log."""


@dataclass(frozen=True)
class PlannerTask:
    """Builds a planner in a worker process.

    Attributes:
        spec: of the planner.
        warm_up: requests that are solved once before the first call, each at `warm_state`; programs are built then
            and not in flight.
        warm_state: doubles.
        warm_seconds: no further request is warmed up after this time.
    """

    spec: PlannerSpec
    warm_up: tuple[Request, ...] = ()
    warm_state: tuple[float, ...] = ()
    warm_seconds: float = 30.0

    def build(self) -> Handler:
        """Build the planner and warm it up."""
        planner = Planner(self.spec)
        begin = time.monotonic()
        for request in self.warm_up:
            if time.monotonic() - begin > self.warm_seconds:
                break
            planner.plan(request, self.warm_state)

        def handle(payload: bytes) -> bytes:
            call = json.loads(payload)
            outcomes = [planner.plan(request_of(r), call["state"]) for r in call["requests"]]
            found = [_candidate_json(c) for o in outcomes if isinstance(o, Planned) for c in o.candidates]
            failures = [o.failure.reason for o in outcomes if not isinstance(o, Planned)]
            dropped = {name: why for o in outcomes for name, why in o.dropped.items()}
            note = {"solves": sum(o.solves for o in outcomes), "dropped": dropped, "failures": failures}
            return json.dumps({"candidates": found, "note": note}, allow_nan=False).encode()

        return handle


def warm_up_requests(system: System) -> tuple[Request, ...]:
    """What a flight is most likely to ask for: the full horizons, then every step of a wait for all options.

    A wait for fewer options builds its programs in flight; while it does, the shifted plan is flown.
    """
    K, T = system.consensus_horizon, system.horizon
    return (Request(system.names, False, K, T), *(Request(system.names, True, K - k, T - k) for k in range(1, K + 1)))


def request_json(request: Request) -> Json:
    """A request of the kernel."""
    return {"options": list(request.options), "exact": request.exact_options, "consensus": request.consensus, "horizon": request.horizon}


def request_of(value: Json) -> Request:
    """The request that `request_json` wrote."""
    return Request(tuple(value["options"]), value["exact"], value["consensus"], value["horizon"])


def _candidate_json(plan: ProposedPlan) -> Json:
    arrays: list[NDArray[Any]] = []
    branches = []
    for u in (plan.nominal, *plan.recovery):
        index = next((i for i, known in enumerate(arrays) if known is u), len(arrays))
        if index == len(arrays):
            arrays.append(u)
        branches.append(index)
    return {
        "options": list(plan.options), "consensus": plan.consensus, "horizon": plan.horizon, "whole": plan.whole,
        "arrays": [u.tolist() for u in arrays], "branches": branches,
    }  # fmt: skip


def plans_of(payload: bytes, system: System) -> tuple[tuple[Plan, ...], Json]:
    """Candidates and note from a worker's answer; a candidate that is garbage is dropped and named in the note.

    Raises:
        UsageError: when the answer as a whole is garbage.
    """
    most = _most_bytes(system)
    if len(payload) > most:
        raise Unreadable(f"the planner's answer has {len(payload)} bytes, expected at most {most}")
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the planner's answer is no JSON ({error})") from None
    plans, garbage = [], []
    for candidate in field(value, "candidates", items)[:_MOST_CANDIDATES]:
        try:
            proposed = _proposed(candidate)
            if system.quantum > 0 and not proposed.whole:
                # A double may have a thousand bits, and a step's exact check takes as long as its numbers are.
                raise Unreadable("whole: found doubles, expected whole numbers of quanta")
            plans.append(proposed.plan(system))
        except (UsageError, ValueError, TypeError, OverflowError, IndexError, KeyError) as error:
            garbage.append(f"{type(error).__name__}: {str(error)[:200]}")
    note = loggable(field(value, "note", dict), _MOST_NOTE)
    return tuple(plans), note | {"garbage": garbage} if garbage else note


def _most_bytes(system: System) -> int:
    """Twice what the longest answer has, so that reading it takes milliseconds: it is read after the deadline."""
    numbers = system.m * (system.horizon + 1) * (len(system.names) + 1)
    return 2 * (_MOST_NOTE + _MOST_CANDIDATES * (25 * numbers + 1_000 + 100 * len(system.names)))


def _proposed(value: object) -> ProposedPlan:
    is_whole = field(value, "whole", bool)
    arrays: list[NDArray[np.int64] | NDArray[np.float64]] = [
        np.array(u, dtype=np.int64) if is_whole else np.array(u, dtype=np.float64) for u in field(value, "arrays", items)
    ]
    if any(u.ndim != 2 for u in arrays):
        raise Unreadable("arrays: expected rows of numbers")
    branches = [arrays[whole(i)] for i in field(value, "branches", items)]
    options = field(value, "options", names)
    return ProposedPlan(
        options, field(value, "consensus", whole), field(value, "horizon", whole), branches[0], tuple(branches[1:]), is_whole,
        Cost(math.nan, math.nan),
    )  # fmt: skip


def doubles(state: fmpq_mat) -> list[float]:
    """The nearest doubles, for solvers."""
    return [int(v.p) / int(v.q) for v in state.entries()]


class PlannerWorker:
    """A `PlanningService` in a worker process."""

    def __init__(self, worker: Worker, system: System) -> None:
        self.worker = worker
        self._system = system
        self._sent = False

    def submit(self, requests: Sequence[Request], state: fmpq_mat) -> None:
        """See `PlanningService`."""
        try:
            payload = canonical({"requests": [request_json(r) for r in requests], "state": doubles(state)})
        except OverflowError:  # a state beyond all doubles; no solver can help there
            self._sent = False
            return
        self._sent = self.worker.submit(payload)

    def collect(self, deadline_ns: int) -> Proposal:
        """See `PlanningService`; late, dead or garbage is no candidate, and the kernel takes the shifted plan."""
        if not self._sent:
            return Proposal(note={"status": CallStatus.UNAVAILABLE.value})
        result = self.worker.collect(deadline_ns)
        self._sent = False
        if result.status is not CallStatus.DONE:
            return Proposal(note={"status": result.status.value, "detail": result.detail})
        try:
            plans, note = plans_of(result.payload, self._system)
        except UsageError as error:
            return Proposal(note={"status": "garbage", "detail": words(str(error))[:500]})
        return Proposal(plans, {"status": result.status.value} | note)
