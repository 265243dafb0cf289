"""The paper's two baselines (its section -E2), on AESOP's own model, sets, cost and tube.

Naive: plans to the goal alone; at the reasoner's answer it heads for the region named, which may be any.
Fallback-safe MPC: keeps recovery plans as AESOP does, with the same rule for which, but with K = 0; it flies on until the
answer is there and heads for the region named, which is one of those that it kept at the alarm.

After the answer both aim at being in the region T + 1 steps after the alarm; if that has no plan, T + 1 steps after the
answer; if that has none either, slack variables tell how far limits and region are missed, over K steps at least
(`soft_program`). In the region they stay by its law. Where the solver gives nothing, the last plan is flown on.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import numpy as np
from flint import fmpq_mat

from aesop_verified.campaign.campaign_file import Weighting
from aesop_verified.campaign.draws import Draw
from aesop_verified.campaign.pilot import Decision
from aesop_verified.campaign.soft_program import SoftProgram
from aesop_verified.kernel.events import Request
from aesop_verified.kernel.machine import projected
from aesop_verified.kernel.model import System, quantised
from aesop_verified.kernel.rational import from_double, vector
from aesop_verified.planning.planner import Planned, Planner, PlannerSpec
from aesop_verified.planning.program import Matrix, Vector
from aesop_verified.runtime.planner_worker import doubles

_KEPT_PROGRAMS = 4096


class SoftMpc:
    """Plans of one trajectory for a system, block by block; programs are kept, warm starts are not."""

    def __init__(self, spec: PlannerSpec) -> None:
        self.spec = spec
        self._programs: OrderedDict[tuple[int, str | None, int], SoftProgram] = OrderedDict()

    def plan(self, state: Vector, target: str | None, horizon: int, weighting: Weighting, *, may_soften: bool = True) -> tuple[Matrix, bool] | None:
        """Inputs of shape (m, T + 1) in the units of the system, and whether slack was used; None when there are none.

        Args:
            state: shape (n,), in the units of the system.
            may_soften: whether a plan that uses slack is wanted.
        """
        model, scaling = self.spec.model, self.spec.scaling
        x = state / scaling.state
        inputs, slack = np.empty((model.m, horizon + 1)), False
        for number, block in enumerate(model.blocks):
            key = (number, target, horizon)
            if key not in self._programs:
                self._programs[key] = SoftProgram(model, block, target, horizon)
                if len(self._programs) > _KEPT_PROGRAMS:
                    self._programs.popitem(last=False)
            found = self._programs[key].solve(x[list(block.states)], weighting, may_soften=may_soften)
            if found is None:
                return None
            inputs[list(block.inputs)] = found.inputs.T
            slack = slack or found.slack
        return inputs * scaling.input[:, None], slack


class Baseline:
    """What the two baselines share: the recovery after the answer, and a plan to fly on when the solver gives nothing.

    Attributes:
        decision: what was decided, once it was.
        softened: how many plans used slack variables.
        failed: how many steps had no plan of their own.
    """

    def __init__(self, system: System, anchor: fmpq_mat, mpc: SoftMpc, weighting: Weighting, draw: Draw) -> None:
        self._system, self._anchor, self._mpc, self._weighting, self._draw = system, anchor, mpc, weighting, draw
        self._held: Matrix = np.zeros((system.m, 0))
        self._options: tuple[str, ...] = ()
        self.decision: Decision | None = None
        self.softened = self.failed = 0

    def step(self, t: int, measured: fmpq_mat) -> fmpq_mat:
        """The input of step t, a multiple of the quantum in U, shape (m, 1)."""
        x = np.array(doubles(measured))
        self._read_answer(t)
        found = None if self._draw.solver_fails(t) else self._recovery(t, x) if self.decision is not None else self.nominal(x)
        self.failed += found is None
        self._held = self._held[:, 1:] if found is None else found
        for alarm, harmless in self._draw.anomalies:
            if alarm == t and not harmless and not self._options:
                self._options = self.on_offer()
        return self._sent(self._held[:, 0] if self._held.shape[1] else np.zeros(self._system.m))

    def nominal(self, x: Vector) -> Matrix | None:
        """The plan of a step without an answer, inputs of shape (m, T + 1)."""
        raise NotImplementedError

    def on_offer(self) -> tuple[str, ...]:
        """The options that the reasoner is asked about."""
        raise NotImplementedError

    def _read_answer(self, t: int) -> None:
        alarm = next((step for step, harmless in self._draw.anomalies if not harmless), None)
        if alarm is not None and t == alarm + self._draw.latency:
            self.decision = Decision(alarm, t, self._options, self._draw.choice(self._options), "reasoner")

    def _recovery(self, t: int, x: Vector) -> Matrix | None:
        assert self.decision is not None
        name, T = self.decision.name, self._system.horizon
        soonest, latest = max(0, T - (t - self.decision.alarm)), max(0, T - (t - self.decision.answered))
        for horizon in dict.fromkeys((soonest, latest)):
            found = self._mpc.plan(x, name, horizon, self._weighting, may_soften=False)
            if found is not None:
                return found[0]
        # A plan of a few steps that cannot arrive would rush to where it cannot stop.
        found = self._mpc.plan(x, name, max(latest, self._system.consensus_horizon), self._weighting)
        self.softened += found is not None and found[1]
        return None if found is None else found[0]

    def _sent(self, u: Vector) -> fmpq_mat:
        exact = vector(from_double(v) for v in u.tolist())
        return quantised(projected(self._system, self._anchor, exact), self._system.quantum)


class NaiveMpc(Baseline):
    """Plans to the goal and nothing else."""

    def nominal(self, x: Vector) -> Matrix | None:
        """See `Baseline`."""
        found = self._mpc.plan(x, None, self._system.horizon, self._weighting)
        self.softened += found is not None and found[1]
        return None if found is None else found[0]

    def on_offer(self) -> tuple[str, ...]:
        """All regions."""
        return self._system.names


class FallbackSafeMpc(Baseline):
    """AESOP's planner with K = 0; flies on until the answer is there."""

    def __init__(self, system: System, anchor: fmpq_mat, mpc: SoftMpc, weighting: Weighting, draw: Draw, planner: Planner) -> None:
        super().__init__(system, anchor, mpc, weighting, draw)
        self._planner, self._kept = planner, system.names

    def nominal(self, x: Vector) -> Matrix | None:
        """See `Baseline`."""
        outcome = self._planner.plan(Request(self._system.names, False, 0, self._system.horizon), x)
        if isinstance(outcome, Planned):
            first = outcome.candidates[0]
            self._kept = first.options
            return np.asarray(first.nominal, dtype=float) * (self._planner.spec.quantum if first.whole else 1.0)
        found = self._mpc.plan(x, None, self._system.horizon, self._weighting)
        self.softened += found is not None and found[1]
        return None if found is None else found[0]

    def on_offer(self) -> tuple[str, ...]:
        """Those that its plan at the alarm keeps."""
        return self._kept


def without_consensus(spec: PlannerSpec) -> PlannerSpec:
    """The same problem with K = 0."""
    return replace(spec, model=replace(spec.model, consensus=0))
