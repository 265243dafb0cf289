"""The floating-point image of an exact system: what the planners compute with.

Sets are taken with their exact tightening (theory 5), shrunk by a named margin, and by what rounding the
inputs to the quantum can do to a state; then everything is scaled so that one unit of a coordinate is the
half-width of X (or U) in it. Nothing computed here is trusted: the kernel checks every plan on the exact sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat
from scipy.optimize import linprog

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.model import System
from aesop_verified.planning.problem import PlanningModel, QuadraticCost, SetFamily, Terminal
from aesop_verified.planning.program import Matrix, Vector
from aesop_verified.system.description import SystemDescription

MARGIN = 1e-7
"""The named margin: every facet of a scaled set is moved in by this (theory 7)."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Units of the scaled problem: x = state * x_scaled, u = input * u_scaled, componentwise.

    Attributes:
        state, input: shapes (n,) and (m,), positive.
    """

    state: Vector
    input: Vector

    @classmethod
    def none(cls, n: int, m: int) -> Scaling:
        """The units of the system file."""
        return cls(np.ones(n), np.ones(m))

    @classmethod
    def described(cls, description: SystemDescription) -> Scaling:
        """The scales of a system file where it gives any, else the half-widths of its sets."""
        state, inputs = ([as_float(v) for v in scale] for scale in (description.state_scale, description.input_scale))
        if set(state + inputs) != {1.0}:
            return cls(np.array(state), np.array(inputs))
        X, U = description.state_set, description.input_set
        return cls(half_widths(floats(X.G), floats(X.h).ravel()), half_widths(floats(U.G), floats(U.h).ravel()))

    @classmethod
    def of(cls, system: System) -> Scaling:
        """Half-widths of X and U; 1 for a coordinate in which a set is unbounded or a point."""
        return cls(
            half_widths(floats(system.X.G), floats(system.X.h).ravel()), half_widths(floats(system.U.G), floats(system.U.h).ravel())
        )

    def cost(self, cost: QuadraticCost) -> QuadraticCost:
        """The same cost in scaled units."""
        S, I = self.state, self.input
        return QuadraticCost(
            cost.Q * np.outer(S, S), cost.R * np.outer(I, I), cost.P * np.outer(S, S), cost.goal / S, cost.rest / I, cost.recovery * np.outer(I, I)
        )


def described_cost(description: SystemDescription) -> QuadraticCost:
    """The cost of a system file, in its units.

    Raises:
        UsageError: when an input, or a recovery branch's input, has no cost (`costs.input`, `costs.recovery_input`).
    """
    costs = description.costs
    weight = as_float(costs.recovery_input) * np.eye(description.m)
    rest = np.zeros(description.m)
    return QuadraticCost(floats(costs.state), floats(costs.input), floats(costs.terminal), floats(costs.goal).ravel(), rest, weight)


def planning_model(system: System, cost: QuadraticCost, scaling: Scaling, *, margin: float = MARGIN) -> PlanningModel:
    """The data of Eq. (3) for a system, in the units of `scaling`.

    Args:
        cost: in the units of the system file.
        margin: how far every facet is moved in, in scaled units; the state set of k = 0 is not moved, since
            no input acts on it.

    Raises:
        UsageError: when the cost has other dimensions than the system.
    """
    if cost.Q.shape != (system.n, system.n) or cost.R.shape != (system.m, system.m):
        raise UsageError(f"the cost is for {len(cost.goal)} states and {len(cost.rest)} inputs, expected {system.n} and {system.m}")
    A, B, b = floats(system.A), floats(system.B), floats(system.b).ravel()
    S, I, T = scaling.state, scaling.input, system.horizon
    half = 0.5 * float(int(system.quantum.p) / int(system.quantum.q))
    responses = [B]
    for _ in range(T + 1):
        responses.append(A @ responses[-1])

    def drift(G: Matrix) -> Matrix:
        """What rounding every input by half a quantum can add to G x_k, for k = 0..T+1."""
        moves = [np.zeros(len(G))] + [half * np.abs(G @ r).sum(axis=1) for r in responses[: T + 1]]
        return np.cumsum(moves, axis=0)

    def family(name: str, G: Matrix, sides: Sequence[Sequence[fmpq]], units: Vector, rounding: Matrix, spared: int = 0) -> SetFamily:
        h = np.array([[as_float(v) for v in row] for row in sides], dtype=float).reshape(len(sides), len(G)) - rounding[: len(sides)]
        scaled = G * units
        size = np.abs(scaled).max(axis=1, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        h = h / size[:, None].T
        h[spared:] -= margin
        return SetFamily(name, scaled / size[:, None], h)

    G_x, G_u, tight = floats(system.X.G), floats(system.input_set.G), system.tightening
    input_rounding = np.tile(half * np.abs(G_u).sum(axis=1), (T + 2, 1))
    terminals = {}
    for r in system.recovery_sets:
        G = floats(r.polytope.G)
        law = floats(r.law.gain) * S / I[:, None], floats(r.law.offset).ravel() / I
        terminals[r.name] = Terminal(r.name, family(f"recovery set {r.name}", G, tight.terminals[r.name], S, drift(G)), *law)
    return PlanningModel(
        A * S / S[:, None],
        B * I / S[:, None],
        b / S,
        family("X", G_x, tight.states, S, drift(G_x), spared=1),
        family("U", G_u, tight.inputs, I, input_rounding),
        terminals,
        scaling.cost(cost),
        T,
        system.consensus_horizon,
    )


def half_widths(G: Matrix, h: Vector) -> Vector:
    """Half of the extent of {x : G x <= h} in each coordinate, or 1 where that is not a positive number."""
    n = G.shape[1]
    widths = np.ones(n)
    for j in range(n):
        axis = np.zeros(n)
        axis[j] = 1.0
        ends = [_support(G, h, sign * axis) for sign in (1.0, -1.0)]
        width = (ends[0] + ends[1]) / 2
        if np.isfinite(width) and width > 0:
            widths[j] = width
    return widths


def _support(G: Matrix, h: Vector, direction: Vector) -> float:
    """The largest value of direction' x, by reading a row when the set is a box, else by a linear program."""
    j = int(np.flatnonzero(direction)[0])
    rows = np.flatnonzero((np.count_nonzero(G, axis=1) == 1) & (G[:, j] * direction[j] > 0))
    if rows.size:
        return float(np.min(h[rows] / np.abs(G[rows, j])))
    answer = linprog(-direction, A_ub=G, b_ub=h, bounds=(None, None), method="highs")
    return -float(answer.fun) if answer.status == 0 else np.inf


def as_float(value: fmpq) -> float:
    """The nearest double."""
    return int(value.p) / int(value.q)


def floats(matrix: fmpq_mat) -> Matrix:
    """The nearest doubles of an exact matrix, same shape."""
    return np.array([as_float(v) for v in matrix.entries()], dtype=float).reshape(matrix.nrows(), matrix.ncols())
