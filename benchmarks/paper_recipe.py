"""The paper's recipe (its section E1), as a baseline: OSQP at its usual accuracy, states as variables, consensus
as equality rows, one program for each pair of recovery sets, warm-started, the cheapest pair wins.

It reads the same `PlanningModel` as our planners: same tightened sets, scaling and regularisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import osqp
from scipy import sparse

from aesop_verified.planning.problem import NOMINAL, PlanningModel, PlanningProblem
from aesop_verified.planning.program import Matrix, Vector

ACCURACY = 1e-3
"""OSQP's default eps_abs and eps_rel."""


@dataclass(frozen=True, eq=False)
class RecipeAnswer:
    """What OSQP says about one pair.

    Attributes:
        status: OSQP's word.
        cost: its objective value; meaningless unless solved.
        inputs: per trajectory, shape (T + 1, m); None unless solved.
    """

    options: tuple[str, ...]
    status: str
    cost: float
    inputs: Mapping[str, Matrix] | None


class PairProgram:
    """Eq. (3) for one set of options with all states and inputs of all trajectories as variables.

    Consensus as shared variables instead of equality rows was tried: OSQP was slower with it by a fifth.
    """

    def __init__(self, model: PlanningModel, options: tuple[str, ...], *, accuracy: float = ACCURACY) -> None:
        problem = PlanningProblem(model, options, model.consensus, model.horizon, np.zeros(model.n))
        self.options, self._names = options, problem.trajectories
        n, m, T = model.n, model.m, model.horizon
        self._n, self._m, self._T = n, m, T
        self._stride = (T + 2) * n + (T + 1) * m
        size = self._stride * len(self._names)
        rows: list[sparse.csr_matrix] = []
        lower: list[Vector] = []
        upper: list[Vector] = []

        def add(parts: list[tuple[int, Matrix]], low: Vector, high: Vector) -> None:
            blocks = [sparse.csr_matrix((values.shape[0], size)) for _, values in parts]
            for i, (start, values) in enumerate(parts):
                r, c = np.nonzero(values)
                blocks[i] = sparse.csr_matrix((values[r, c], (r, c + start)), shape=(values.shape[0], size))
            rows.append(sum(blocks[1:], blocks[0]))
            lower.append(low)
            upper.append(high)

        for i, _ in enumerate(self._names):  # The given state comes first, so that an update touches a prefix.
            add([(self._x(i, 0), np.eye(n))], np.zeros(n), np.zeros(n))
        for i, name in enumerate(self._names):
            for k in range(T + 1):
                add([(self._x(i, k + 1), np.eye(n)), (self._x(i, k), -model.A), (self._u(i, k), -model.B)], model.b, model.b)
                add([(self._u(i, k), model.U.G)], np.full(len(model.U.G), -np.inf), model.U.h[k])
                if k:
                    add([(self._x(i, k), model.X.G)], np.full(len(model.X.G), -np.inf), model.X.h[k])
            if name != NOMINAL:
                sets = model.terminals[name].sets
                add([(self._x(i, T + 1), sets.G)], np.full(len(sets.G), -np.inf), sets.h[T + 1])
                same = [(self._u(i, 0), np.eye(m)), (self._u(0, 0), -np.eye(m))]
                add(same, np.zeros(m), np.zeros(m))
            if i > 1:
                for k in range(1, model.consensus + 1):
                    add([(self._u(i, k), np.eye(m)), (self._u(1, k), -np.eye(m))], np.zeros(m), np.zeros(m))
        P, q = self._cost(problem, size)
        self._lower, self._upper = np.concatenate(lower), np.concatenate(upper)
        self._solver = osqp.OSQP()
        self._solver.setup(
            P, q, sparse.csc_matrix(sparse.vstack(rows)), self._lower, self._upper, eps_abs=accuracy, eps_rel=accuracy,
            warm_starting=True, verbose=False,
        )  # fmt: skip

    def _x(self, i: int, k: int) -> int:
        return i * self._stride + k * self._n

    def _u(self, i: int, k: int) -> int:
        return i * self._stride + (self._T + 2) * self._n + k * self._m

    def _cost(self, problem: PlanningProblem, size: int) -> tuple[sparse.csc_matrix, Vector]:
        cost, q = problem.model.cost, np.zeros(size)
        blocks: list[tuple[int, Matrix]] = []
        for k in range(self._T + 2):
            W = cost.P if k == self._T + 1 else cost.Q
            blocks.append((self._x(0, k), 2 * W))
            q[self._x(0, k) : self._x(0, k) + self._n] = -2 * W @ cost.goal
        for i in range(len(self._names)):
            for k in range(self._T + 1):
                weight = cost.R
                if i:
                    w = problem.regularisation_weights[i - 1]
                    weight = cost.recovery * np.sqrt(np.outer(w, w))
                blocks.append((self._u(i, k), 2 * weight))
                q[self._u(i, k) : self._u(i, k) + self._m] = -2 * weight @ cost.rest
        r, c, v = [], [], []
        for start, W in blocks:
            i_, j_ = np.nonzero(W)
            r.append(i_ + start)
            c.append(j_ + start)
            v.append(W[i_, j_])
        full = sparse.csc_matrix((np.concatenate(v), (np.concatenate(r), np.concatenate(c))), shape=(size, size))
        return sparse.csc_matrix(sparse.triu(full)), q

    def solve(self, state: Vector) -> RecipeAnswer:
        """Solve at a state, warm from the previous solve; OSQP's word is taken as the recipe takes it."""
        known = len(self._names) * self._n
        self._lower[:known] = self._upper[:known] = np.tile(state, len(self._names))
        self._solver.update(l=self._lower, u=self._upper)
        result = self._solver.solve(raise_error=False)
        status = str(result.info.status)
        if status != "solved":
            return RecipeAnswer(self.options, status, float("inf"), None)
        inputs = {
            name: np.array(result.x[self._u(i, 0) : self._u(i, self._T) + self._m]).reshape(self._T + 1, self._m)
            for i, name in enumerate(self._names)
        }
        return RecipeAnswer(self.options, status, float(result.info.obj_val), inputs)


class PaperRecipe:
    """All pairs, set up once."""

    def __init__(self, model: PlanningModel) -> None:
        self.pairs = [PairProgram(model, pair) for pair in combinations(tuple(model.terminals), 2)]

    def decide(self, state: Vector) -> tuple[RecipeAnswer | None, list[RecipeAnswer]]:
        """The cheapest pair that OSQP calls solved, and all answers; the state is in the model's units."""
        answers = [pair.solve(state) for pair in self.pairs]
        solved = [a for a in answers if a.inputs is not None]
        return min(solved, key=lambda a: a.cost, default=None), answers
