"""Floating-point geometry for figures: plans rolled out, tubes R_k along two states, shadows of sets. Never used by a proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, QhullError

from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import HeldPlan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of

Array = NDArray[np.float64]
_DIRECTIONS = 24


def array(m: fmpq_mat) -> Array:
    """Nearest doubles."""
    return np.array([[int(v.p) / int(v.q) for v in row] for row in rows_of(m)], dtype=np.float64).reshape(m.nrows(), m.ncols())


@dataclass(frozen=True, eq=False)
class PlanPaths:
    """A held plan rolled out with the nominal model.

    Attributes:
        nominal: states of the nominal branch, shape (T + 2, n).
        recovery: the same for each option.
        consensus: K: inputs 0..K are common, so states 0..K + 1 are.
    """

    nominal: Array
    recovery: dict[str, Array]
    consensus: int


def plan_paths(system: System, held: HeldPlan) -> PlanPaths:
    """The states that a plan leads to."""
    A, B, b = array(system.A), array(system.B), array(system.b)[:, 0]

    def rolled(inputs: fmpq_mat) -> Array:
        states = [array(held.state)[:, 0]]
        for u in array(inputs).T:
            states.append(A @ states[-1] + B @ u + b)
        return np.array(states)

    branches = {name: rolled(u) for name, u in zip(held.plan.options, held.plan.recovery)}
    return PlanPaths(rolled(held.plan.nominal), branches, held.plan.consensus)


def tube(system: System, states: tuple[int, int], steps: int) -> Array:
    """The box around R_k along two states, for k = 0..steps: shape (steps + 1, 2, 2), [k, state, (low, high)]."""
    closed, directions = array(system.closed_loop), np.eye(system.n)[list(states)]
    summands = [(array(s.map), array(s.lower)[:, 0], array(s.upper)[:, 0]) for s in system.total_disturbance.summands]
    bounds = np.zeros((steps + 1, 2, 2))
    rows = directions.copy()
    for k in range(1, steps + 1):
        low, high = np.zeros(2), np.zeros(2)
        for M, lower, upper in summands:
            weights = rows @ M
            high += np.where(weights > 0, weights * upper, weights * lower).sum(axis=1)
            low += np.where(weights > 0, weights * lower, weights * upper).sum(axis=1)
        bounds[k] = bounds[k - 1] + np.stack([low, high], axis=1)
        rows = rows @ closed
    return bounds


def shadow(polytope: Polytope, states: tuple[int, int]) -> Array:
    """Corners of the shadow of a bounded set on two states, in order, from maximisers in many directions."""
    G, h = array(polytope.G), array(polytope.h)[:, 0]
    points = []
    for angle in np.linspace(0, 2 * np.pi, _DIRECTIONS, endpoint=False) + np.pi / 4:
        cost = np.zeros(polytope.dimension_of_space)
        cost[list(states)] = -np.cos(angle), -np.sin(angle)
        found = linprog(cost, A_ub=G, b_ub=h, bounds=(None, None), method="highs")
        if found.status == 0:
            points.append(found.x[list(states)])
    corners = np.array(points)
    try:
        return np.asarray(corners[ConvexHull(corners).vertices], dtype=np.float64)
    except (QhullError, ValueError):  # a flat shadow has no hull with an area
        return corners
