"""Instances of Eq. (3) whose verdict and optimal cost are known by hand: every planner must agree on them.

RHO is the weight of the regularisation on recovery inputs (times R = 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aesop_verified.planning.problem import PlanningModel, PlanningProblem, QuadraticCost, SetFamily, Terminal
from aesop_verified.planning.program import Matrix, Vector

RHO = 1e-4

Bounds = Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Known:
    """A problem and its answer.

    Attributes:
        cost: J(Y, K, T), or None when the problem is infeasible.
        because: the hand computation.
    """

    name: str
    problem: PlanningProblem
    cost: float | None
    because: str


def box_rows(bounds: Bounds) -> tuple[Matrix, Vector]:
    """Rows +x_i <= upper_i, -x_i <= -lower_i."""
    n = len(bounds)
    G = np.zeros((2 * n, n))
    G[np.arange(0, 2 * n, 2), np.arange(n)] = 1.0
    G[np.arange(1, 2 * n, 2), np.arange(n)] = -1.0
    return G, np.array([v for lower, upper in bounds for v in (upper, -lower)], dtype=float)


def model(
    A: Sequence[Sequence[float]],
    B: Sequence[Sequence[float]],
    *,
    X: Bounds,
    U: Bounds,
    sets: Mapping[str, Bounds],
    T: int,
    K: int,
    b: Sequence[float] | None = None,
    Q: Sequence[float] | None = None,
    P: Sequence[float] | None = None,
    goal: Sequence[float] | None = None,
    law: tuple[Sequence[Sequence[float]], Sequence[float]] | None = None,
    change: Matrix | None = None,
) -> PlanningModel:
    """A model with boxes, R = 1 and RHO on recovery inputs.

    `change` M replaces states and inputs by M x and M u (n = m), which leaves every cost as it is and couples
    the axes.
    """
    n, m = len(A), len(B[0])
    zero = [0.0] * n
    q, p = np.diag(Q or zero), np.diag(P or zero)
    F, g = (np.array(law[0], dtype=float), np.array(law[1], dtype=float)) if law else (np.zeros((m, n)), np.zeros(m))
    M: Matrix = np.eye(n) if change is None else change
    N: Matrix = np.eye(m) if change is None else change
    Mi: Matrix = np.linalg.inv(M).astype(np.float64)
    Ni: Matrix = np.linalg.inv(N).astype(np.float64)

    def family(name: str, bounds: Bounds, inverse: Matrix) -> SetFamily:
        G, h = box_rows(bounds)
        return SetFamily.constant(name, G @ inverse, h, T + 2)

    R = Ni.T @ Ni
    cost = QuadraticCost(Mi.T @ q @ Mi, R, Mi.T @ p @ Mi, M @ np.array(goal or zero, dtype=float), np.zeros(m), RHO * R)
    terminals = {name: Terminal(name, family(name, bounds, Mi), N @ F @ Mi, N @ g) for name, bounds in sets.items()}
    return PlanningModel(
        M @ np.array(A, dtype=float) @ Mi, M @ np.array(B, dtype=float) @ Ni, M @ np.array(b or zero, dtype=float),
        family("X", X, Mi), family("U", U, Ni), terminals, cost, T, K,
    )  # fmt: skip


def _problem(
    m: PlanningModel, state: Sequence[float], options: Sequence[str] | None = None, K: int | None = None, *, recovering: bool = False
) -> PlanningProblem:
    names = tuple(options) if options is not None else tuple(m.terminals)
    return PlanningProblem(m, names, m.consensus if K is None else K, m.horizon, np.array(state, dtype=float), recovering)


def integrator(limit: float, upper: float = 10.0) -> PlanningModel:
    """x+ = x + u, |u| <= limit, two inputs, Q = P = 1, goal 0; the recovery set [-5, 5] is wide."""
    return model([[1]], [[1]], X=[(-10, upper)], U=[(-limit, limit)], sets={"wide": [(-5, 5)]}, T=1, K=0, Q=[1], P=[1])


def cart(position: float) -> PlanningModel:
    """p+ = p + v, v+ = v + u, |u| <= 1, two inputs; the recovery set is the point (position, 0)."""
    sets = {"point": [(position, position), (0.0, 0.0)]}
    return model([[1, 1], [0, 1]], [[0], [1]], X=[(-10, 10)] * 2, U=[(-1, 1)], sets=sets, T=1, K=0)


def fork(T: int, K: int) -> PlanningModel:
    """A vehicle at constant speed, p+ = p + 1, y+ = y + u, |u| <= 1, without an equilibrium; left is y >= 3, right y <= -3."""
    sets = {"left": [(0.0, 50.0), (3.0, 9.0)], "right": [(0.0, 50.0), (-9.0, -3.0)]}
    return model([[1, 0], [0, 1]], [[0], [1]], b=[1, 0], X=[(0, 60), (-9, 9)], U=[(-1, 1)], sets=sets, T=T, K=K)


def plane(change: Matrix | None = None) -> PlanningModel:
    """Two integrators: `integrator(1)` along x, a fork in y; both regions share their interval along x."""
    sets = {"north": [(-5.0, 5.0), (1.0, 9.0)], "south": [(-5.0, 5.0), (-9.0, -1.0)]}
    return model(
        [[1, 0], [0, 1]], [[1, 0], [0, 1]], X=[(-10, 10), (-9, 9)], U=[(-1, 1), (-1, 1)], sets=sets, T=1, K=0, Q=[1, 0], P=[1, 0],
        change=change,
    )  # fmt: skip


def catalogue() -> list[Known]:
    """All instances."""
    law = ([[-0.5]], [0.0])
    near = model([[1]], [[1]], X=[(-10, 10)], U=[(-2.5, 2.5)], sets={"home": [(-1, 1)]}, T=0, K=0, law=law)
    step = model([[1]], [[1]], X=[(-10, 10)], U=[(-5, 5)], sets={"ahead": [(2, 3)]}, T=0, K=0)
    m02 = model([[1]], [[1]], X=[(-1, 1)], U=[(-1, 1)], sets={"all": [(-1, 1)]}, T=1, K=0)
    unbounded = model([[1]], [[1]], X=[(-np.inf, np.inf)], U=[(-1, 1)], sets={"wide": [(-np.inf, 5)]}, T=1, K=0, Q=[1], P=[1])
    impossible = model([[1]], [[1]], X=[(-10, 10)], U=[(-1, 1)], sets={"none": [(-5, -np.inf)]}, T=1, K=0)
    turn = np.array([[1.0, 1.0], [-1.0, 1.0]])
    single = RHO / (1 + 4 * RHO / 3)
    one_way = (1 + RHO) * single**2 + RHO * (3 - single) ** 2 / 3
    free = 4 * 1.5 * (1 + RHO) / (2.5 + RHO)
    return [
        Known("input bound active", _problem(integrator(1.0), [2]), 6.5 + RHO, "u_0 = -1, u_1 = -1/2: 4 + 1 + 1/4 + 1 + 1/4, and RHO u_0^2"),
        Known("no bound active", _problem(integrator(3.0), [2]), 4 + free, "4 + min 3/2 (2 + u)^2 + (1 + RHO) u^2 = 4 + 4ab/(a + b)"),
        Known("one feasible point", _problem(cart(1.0), [0, 0]), 1 + 2 * RHO, "u = (1, -1) is the only recovery plan; the nominal one stops paying after u_0"),
        Known("feasible by 1e-9", _problem(cart(1 - 1e-9), [0, 0]), 1 + 2 * RHO - 2e-9, "u_0 = 1 - 1e-9"),
        Known("infeasible by 1e-9", _problem(cart(1 + 1e-9), [0, 0]), None, "u_0 = 1 + 1e-9 would be needed"),
        Known("fork, left alone", _problem(fork(3, 1), [0, 0], ["left"]), one_way, "u_0 = RHO / (1 + 4 RHO / 3), the rest shares 3 - u_0 equally"),
        Known("fork, right alone", _problem(fork(3, 1), [0, 0], ["right"]), one_way, "the mirror image"),
        Known("pair dead-end", _problem(fork(3, 1), [0, 0]), None, "y_2 is common and must be >= 1 and <= -1"),
        Known("consensus as long as possible", _problem(fork(5, 2), [0, 0]), 6 * RHO, "three common inputs 0, then three of +1 or -1"),
        Known("consensus one step longer", _problem(fork(5, 3), [0, 0]), None, "two steps are left for a distance of 3 each way"),
        Known("consensus is inclusive", _problem(fork(5, 3), [0, 0], K=2), 6 * RHO, "K = 2 makes u_0, u_1, u_2 common, and three steps suffice"),
        Known("horizon 0", _problem(step, [0]), 4 * (1 + RHO), "u_0 = 2"),
        Known("law reaches the set", _problem(near, [1.5], recovering=True), 0.0, "kappa(3/2) = -3/4 leads to 3/4"),
        Known("law bent to reach the set", _problem(near, [3.0], recovering=True), 0.25, "kappa(3) = -3/2 leads to 3/2; -2 is the nearest that ends at 1"),
        Known("law out of reach", _problem(near, [3.6], recovering=True), None, "even -5/2 leads to 1.1"),
        Known("M02", _problem(m02, [3]), None, "x_0 = 3 is outside |x| <= 1; the best next state is 2"),
        Known("state bound out of reach", _problem(integrator(1.0, 2.0), [3]), None, "x_0 = 3 is outside x <= 2"),
        Known("infinite bounds dropped", _problem(unbounded, [2]), 6.5 + RHO, "as with finite ones that are not active"),
        Known("bound of minus infinity", _problem(impossible, [0]), None, "no point is <= -inf"),
        Known("two axes, a shared branch", _problem(plane(), [2, 0]), 6.5 + 3 * RHO, "along x one branch, counted once: 6.5 + RHO; along y -1 and +1 at the second step: 2 RHO"),
        Known("two axes, turned", _problem(plane(turn), [2, -2]), 6.5 + 4 * RHO, "the same in M x, M u with M = [[1, 1], [-1, 1]]; the x branch is no longer shared and counts twice"),
    ]  # fmt: skip
