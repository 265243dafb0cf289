"""The baselines' program: one trajectory on one block, with slack variables where the constraints cannot be met.

    minimise  C + sum over k of (weight s_k + s_k^2)   subject to   G_k x_k <= h_k + s_k,  s_k >= 0,  u_k in U

One s_k a step for X, up to the last one, with one weight, and one for the recovery set with another. The penalty is exact
in its linear part: where the hard program has a solution, it is taken, and no slack is used (Kerrigan and Maciejowski 2000).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aesop_verified.campaign.campaign_file import Weighting
from aesop_verified.planning.condensed import CondensedProgram
from aesop_verified.planning.daqp_solver import DaqpSolver
from aesop_verified.planning.problem import PlanningModel, PlanningProblem
from aesop_verified.planning.program import Matrix, ProgramVectors, QpSolution, QuadraticProgram, Vector
from aesop_verified.planning.separation import Block
from aesop_verified.planning.tree_program import BlockModel, SharedRows


@dataclass(frozen=True, slots=True, eq=False)
class SoftPlan:
    """Inputs of shape (T + 1, m), in scaled units, and whether a slack variable was needed."""

    inputs: Matrix
    slack: bool


class SoftProgram:
    """One block's program, hard first, with slack variables when that has no solution.

    Args:
        model: Eq. (3), whose sets are tightened and shrunk as AESOP's are.
        target: the recovery set to reach at the end, staying near its law; None flies to the goal and ends in X.
        horizon: T of the plan.
    """

    def __init__(self, model: PlanningModel, block: Block, target: str | None, horizon: int) -> None:
        name = next(iter(model.terminals)) if target is None else target
        problem = PlanningProblem(model, (name,), 0, horizon, model.cost.goal, recovering=True)
        part = BlockModel.of(problem, block)
        state, final = part.state_rows, part.state_h[horizon]
        if target is None:
            part = replace(part, law=None, recovery=(np.zeros_like(part.R),), terminal_rows=(state,), terminal_h=(final,))
            region = 0
        else:
            # X at the last step follows from the recovery set, unless that is missed.
            rows, h = part.terminal_rows[0], part.terminal_h[0]
            region = len(rows.upper)
            both = SharedRows(
                np.vstack([rows.G, state.G]), np.concatenate([rows.upper, state.upper + len(h)]),
                np.concatenate([rows.lower, np.where(state.lower >= 0, state.lower + len(h), -1)]),
            )  # fmt: skip
            part = replace(part, terminal_rows=(both,), terminal_h=(np.concatenate([h, final]),))
        self._condensed = CondensedProgram(part)
        self._hard = DaqpSolver(self._condensed.program)
        self._soft: QuadraticProgram | None = None
        self._slacks = horizon + 2
        self._rows = _slack_of_rows(part, region)

    def solve(self, state: Vector, weighting: Weighting, *, may_soften: bool = True) -> SoftPlan | None:
        """A plan from a state of the block, in scaled units; None when there is none. No warm start is used."""
        vectors = self._condensed.vectors(state)
        self._hard.forget()
        answer = self._hard.solve(vectors)
        if isinstance(answer, QpSolution):
            return SoftPlan(self._condensed.node_inputs(answer.z), False)
        if not may_soften:
            return None
        if self._soft is None:
            self._soft = self._softened()
        found = DaqpSolver(self._soft).solve(self._soft_vectors(self._soft, vectors, weighting))
        if not isinstance(found, QpSolution):
            return None
        return SoftPlan(self._condensed.node_inputs(found.z[: -self._slacks]), True)

    def _softened(self) -> QuadraticProgram:
        hard = self._condensed.program
        P, G = np.asarray(hard.P), np.asarray(hard.G)
        soft = self._rows >= 0
        relief = np.zeros((len(G), self._slacks))
        relief[np.flatnonzero(soft), self._rows[soft]] = 1.0
        pairs = np.block([[G[~soft], relief[~soft]], [G[soft], -relief[soft]], [G[soft], relief[soft]]])
        signs = np.hstack([np.zeros((self._slacks, G.shape[1])), np.eye(self._slacks)])
        cost = np.block([[P, np.zeros((len(P), self._slacks))], [np.zeros((self._slacks, len(P))), 2 * np.eye(self._slacks)]])
        return QuadraticProgram(cost, np.vstack([pairs, signs]))

    def _soft_vectors(self, program: QuadraticProgram, hard: ProgramVectors, weighting: Weighting) -> ProgramVectors:
        soft, free = self._rows >= 0, np.full(self._slacks, np.inf)
        lower, upper = hard.lower, hard.upper
        count = int(soft.sum())
        weights = np.full(self._slacks, weighting.state)
        weights[-1] = weighting.terminal
        return program.vectors(
            np.concatenate([hard.q, weights]),
            np.concatenate([lower[~soft], np.full(count, -np.inf), lower[soft], np.zeros(self._slacks)]),
            np.concatenate([upper[~soft], upper[soft], np.full(count, np.inf), free]),
        )


def _slack_of_rows(part: BlockModel, region: int) -> np.ndarray:
    """For each row of the condensed program the slack variable that may relax it, -1 for inputs: their limits are hard.

    The last variable is that of the recovery set, whose rows are the first `region` ones of the last step.
    """
    steps = part.tree.horizon + 1
    inputs = np.full(steps * len(part.input_rows.upper), -1)
    inner = np.repeat(np.arange(steps - 1), len(part.state_rows.upper))
    last = np.full(len(part.terminal_rows[0].upper), steps - 1)
    last[:region] = steps
    return np.concatenate([inputs, inner, last])
