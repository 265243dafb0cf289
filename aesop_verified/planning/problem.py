"""Eq. (3), stated once in floating point: the model and sets (`PlanningModel`) and one instance of the
problem (`PlanningProblem`). Everything that solves it (Pyomo and Ipopt, PIQP, DAQP axis by axis) is built
from these two values, and so is the residual that judges the answers.

    J(Y, K, T) = min  C(x^0, u^0) + regularisation on the recovery inputs
        subject to    x^i_0 = x,  x^i_{k+1} = A x^i_k + B u^i_k + b
                      u^i_k in U_k, x^i_k in X_k        i in Y and 0, k = 0..T
                      x^i_{T+1} in X_R^i                i in Y
                      u^i_0 = u^0_0                     i in Y
                      u^i_k = u^j_k                     i, j in Y, k = 0..K (inclusive)

The sets are those of theory 5 (tightened, index by index) and shrunk once more by a named margin, because
floating-point feasibility is not feasibility (theory 7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aesop_verified.kernel.errors import UsageError
from aesop_verified.planning.program import (
    RESIDUAL_TOLERANCE,
    Matrix,
    Vector,
    refuse_nan,
    require_convex,
    require_finite,
)
from aesop_verified.planning.separation import Block, blocks_of

NOMINAL = "nominal"


@dataclass(frozen=True, eq=False)
class QuadraticCost:
    """C(x, u) = sum over k = 0..T of (x_k - goal)' Q (x_k - goal) + (u_k - rest)' R (u_k - rest), plus
    (x_{T+1} - goal)' P (x_{T+1} - goal).

    Attributes:
        Q, R, P: shapes (n, n), (m, m), (n, n); Q and P positive semidefinite, R positive definite.
        goal: state aimed at, shape (n,).
        rest: input that costs nothing, shape (m,).
        recovery: weight W of (u - rest)' W (u - rest) on the inputs of recovery branches, shape (m, m),
            positive definite: the regularisation without which those branches would be arbitrary feasible
            points, on which interior-point methods fail (theory 7).

    Raises:
        UsageError: for entries that are not finite (named with their index) or shapes that do not fit.
        NonConvexError: for matrices that are not convex.
    """

    Q: Matrix
    R: Matrix
    P: Matrix
    goal: Vector
    rest: Vector
    recovery: Matrix

    def __post_init__(self) -> None:
        n, m = len(self.goal), len(self.rest)
        for name, value, shape in (("Q", self.Q, (n, n)), ("R", self.R, (m, m)), ("P", self.P, (n, n)), ("recovery", self.recovery, (m, m))):
            if value.shape != shape:
                raise UsageError(f"the cost matrix {name} has shape {value.shape}, expected {shape}")
        for name, data in (("Q", self.Q), ("R", self.R), ("P", self.P), ("recovery", self.recovery), ("goal", self.goal), ("rest", self.rest)):
            require_finite(f"cost.{name}", data)
        for name, value in (("cost.Q", self.Q), ("cost.R", self.R), ("cost.P", self.P), ("cost.recovery", self.recovery)):
            require_convex(name, value)
        for name, value in (("cost.R", self.R), ("cost.recovery", self.recovery)):
            smallest = float(np.linalg.eigvalsh(value)[0])
            if smallest <= 0:
                raise UsageError(f"{name} has the smallest eigenvalue {smallest:.6g}, expected a positive one: every input needs a cost, if a small one such as 1e-4")

    @classmethod
    def diagonal(
        cls,
        state: Sequence[float],
        inputs: Sequence[float],
        goal: Sequence[float],
        *,
        terminal: Sequence[float] | None = None,
        recovery: float = 1e-4,
    ) -> QuadraticCost:
        """Diagonal weights; the terminal weights default to ten times the state's, `recovery` is a multiple of R."""
        q = np.asarray(state, dtype=float)
        p = 10 * q if terminal is None else np.asarray(terminal, dtype=float)
        r = np.asarray(inputs, dtype=float)
        return cls(np.diag(q), np.diag(r), np.diag(p), np.asarray(goal, dtype=float), np.zeros(len(r)), recovery * np.diag(r))


@dataclass(frozen=True, eq=False)
class SetFamily:
    """{x : G x <= h_k}, one right-hand side for each index k.

    Attributes:
        G: shape (r, n), finite.
        h: shape (indices, r); +inf is no bound, -inf is a bound that nothing meets, NaN is refused.
    """

    name: str
    G: Matrix
    h: Matrix

    def __post_init__(self) -> None:
        require_finite(f"{self.name}.G", self.G)
        for k, row in enumerate(self.h):
            refuse_nan(f"{self.name}.h[{k}]", row)
        if self.h.shape[1:] != self.G.shape[:1]:
            raise UsageError(f"{self.name} has {self.G.shape[0]} rows and right-hand sides of shape {self.h.shape}, expected (indices, {self.G.shape[0]})")

    @cached_property
    def impossible(self) -> tuple[str | None, ...]:
        """For each index the row that no point meets (a bound of -inf, or 0 <= h with h < 0), in words."""
        empty = ~np.any(self.G != 0, axis=1)
        bad = (self.h == -np.inf) | (empty & (self.h < 0))
        return tuple(f"row {int(np.argmax(row))} of {self.name} at index {k} is met by no point" if row.any() else None for k, row in enumerate(bad))

    @classmethod
    def constant(cls, name: str, G: Matrix, h: Vector, indices: int) -> SetFamily:
        """The same set for every index."""
        return cls(name, G, np.tile(h, (indices, 1)))


@dataclass(frozen=True, eq=False)
class Terminal:
    """A recovery set with its law kappa(x) = gain x + offset, in floating point.

    Attributes:
        sets: tightened by h_{R_k} for k = 0..T+1; the set of a plan of horizon T' is that of k = T' + 1.
        gain, offset: shapes (m, n) and (m,).
    """

    name: str
    sets: SetFamily
    gain: Matrix
    offset: Vector


@dataclass(frozen=True, eq=False)
class PlanningModel:
    """All of Eq. (3) that does not change between steps; in any units (see `scaling`).

    Attributes:
        A, B, b: shapes (n, n), (n, m), (n,).
        X, U: X - R_k and U - F R_k, k = 0..T at least.
        terminals: by name, in the order of the system.
        cost: C with the regularisation.
        horizon, consensus: T and K of Nominal plans.
    """

    A: Matrix
    B: Matrix
    b: Vector
    X: SetFamily
    U: SetFamily
    terminals: Mapping[str, Terminal]
    cost: QuadraticCost
    horizon: int
    consensus: int
    blocks: tuple[Block, ...] = field(init=False)

    def __post_init__(self) -> None:
        n, m = self.B.shape
        for name, value in (("A", self.A), ("B", self.B), ("b", self.b)):
            require_finite(name, value)
        shapes = [("A", self.A.shape, (n, n)), ("b", self.b.shape, (n,)), ("X.G", self.X.G.shape[1:], (n,)), ("U.G", self.U.G.shape[1:], (m,))]
        shapes += [("cost.Q", self.cost.Q.shape, (n, n)), ("cost.R", self.cost.R.shape, (m, m))]
        for t in self.terminals.values():
            require_finite(f"{t.name}.gain", t.gain)
            require_finite(f"{t.name}.offset", t.offset)
            shapes += [(f"{t.name}.G", t.sets.G.shape[1:], (n,)), (f"{t.name}.gain", t.gain.shape, (m, n)), (f"{t.name}.offset", t.offset.shape, (m,))]
        for name, found, expected in shapes:
            if found != expected:
                raise UsageError(f"{name} has shape {found}, expected {expected}")
        if not 0 <= self.consensus <= self.horizon or min(len(self.X.h), len(self.U.h)) < self.horizon + 1:
            raise UsageError(f"K = {self.consensus}, T = {self.horizon}, with {len(self.X.h)} state and {len(self.U.h)} input sets; expected 0 <= K <= T and sets for k = 0..T")
        object.__setattr__(self, "blocks", blocks_of(self))

    @property
    def n(self) -> int:
        """Dimension of the state."""
        return int(self.B.shape[0])

    @property
    def m(self) -> int:
        """Dimension of the input."""
        return int(self.B.shape[1])

    def terminal_key(self, name: str, block: Block, index: int) -> bytes:
        """What identifies a recovery set's rows on a block: options with equal keys share a branch there.

        `index` is T + 1 of the plan.
        """
        t = self.terminals[name]
        rows = block.rows(t.sets.G)
        body = np.column_stack([t.sets.G[np.ix_(rows, block.states)], t.sets.h[index][rows]])
        return body.tobytes()


@dataclass(frozen=True, eq=False)
class PlanningProblem:
    """One instance of Eq. (3).

    Attributes:
        options: Y, non-empty.
        consensus, horizon: K and T of this plan, 0 <= K <= T <= the model's T.
        state: x, shape (n,), finite.
        recovering: the plan of a robot that is on its way to the only option: the nominal trajectory *is* the
            recovery trajectory, and C is sum of (u_k - kappa(x_k))' R (u_k - kappa(x_k)), the distance to the
            certified law, so that the robot approaches the set instead of its old goal.
    """

    model: PlanningModel
    options: tuple[str, ...]
    consensus: int
    horizon: int
    state: Vector
    recovering: bool = False

    def __post_init__(self) -> None:
        if self.state.shape != (self.model.n,):
            raise UsageError(f"the state has shape {self.state.shape}, expected ({self.model.n},)")
        require_finite("state", self.state)
        unknown = [name for name in self.options if name not in self.model.terminals]
        if not self.options or unknown or len(set(self.options)) != len(self.options):
            raise UsageError(f"the options are {list(self.options)}, expected distinct names out of {list(self.model.terminals)}, at least one")
        if not 0 <= self.consensus <= self.horizon <= self.model.horizon:
            raise UsageError(f"K = {self.consensus} and T = {self.horizon}, expected 0 <= K <= T <= {self.model.horizon}")
        if self.recovering and len(self.options) != 1:
            raise UsageError(f"the options are {list(self.options)} while recovering, expected exactly one")

    @property
    def trajectories(self) -> tuple[str, ...]:
        """Names of the distinct trajectories: the nominal one, unless recovering, and the options."""
        return self.options if self.recovering else (NOMINAL, *self.options)

    @property
    def final(self) -> int:
        """T + 1, the index of the terminal constraint."""
        return self.horizon + 1

    @cached_property
    def regularisation_weights(self) -> Matrix:
        """Weight of each option's inputs in the regularisation, shape (|Y|, m).

        1 divided by the number of options in Y with the same terminal set on that input's block: a
        branch that several options share on a block is counted once. With this J(Y) is the sum over blocks
        of a cost that depends only on the *set* of terminal sets there, which is what lets all subsets of
        the options be priced from a few small problems.
        """
        weights = np.ones((len(self.options), self.model.m))
        for block in self.model.blocks:
            keys = [self.model.terminal_key(name, block, self.final) for name in self.options]
            for i, key in enumerate(keys):
                weights[i, list(block.inputs)] = 1.0 / keys.count(key)
        return weights

    @property
    def contradiction(self) -> str | None:
        """Why no input can help, if so: the state itself is outside X, or a bound is met by no point."""
        model = self.model
        excess = model.X.G @ self.state - model.X.h[0]
        if excess.size and excess.max() > RESIDUAL_TOLERANCE:
            row = int(np.argmax(excess))
            return f"the state is outside X: facet {row} is violated by {excess[row]:.3g}"
        terminals = [model.terminals[name].sets.impossible[self.final] for name in self.options]
        impossible = (*model.X.impossible[: self.final], *model.U.impossible[: self.final], *terminals)
        return next((why for why in impossible if why is not None), None)

    def rolled_out(self, inputs: Matrix) -> Matrix:
        """States x_0..x_{T+1}, shape (T + 2, n), for inputs of shape (T + 1, m)."""
        states = [self.state]
        for u in inputs:
            states.append(self.model.A @ states[-1] + self.model.B @ u + self.model.b)
        return np.array(states)

    def cost_of(self, inputs: Mapping[str, Matrix]) -> float:
        """The objective of Eq. (3), regularisation included, for one input sequence a trajectory."""
        total = self.nominal_cost_of(inputs)
        if not self.recovering:
            for weight, name in zip(self.regularisation_weights, self.options):
                u = (inputs[name] - self.model.cost.rest) * np.sqrt(weight)
                total += float(np.einsum("ki,ij,kj->", u, self.model.cost.recovery, u))
        return total

    def nominal_cost_of(self, inputs: Mapping[str, Matrix]) -> float:
        """C(x^0, u^0)."""
        cost = self.model.cost
        if self.recovering:
            (name,) = self.options
            law, u = self.model.terminals[name], inputs[name]
            v = u - self.rolled_out(u)[:-1] @ law.gain.T - law.offset
            return float(np.einsum("ki,ij,kj->", v, cost.R, v))
        x, u = self.rolled_out(inputs[NOMINAL]) - cost.goal, inputs[NOMINAL] - cost.rest
        running = np.einsum("ki,ij,kj->", x[:-1], cost.Q, x[:-1]) + np.einsum("ki,ij,kj->", u, cost.R, u)
        return float(running + x[-1] @ cost.P @ x[-1])

    def violation_of(self, inputs: Mapping[str, Matrix]) -> float:
        """The largest violation of any constraint of Eq. (3) after rolling the model out; NaN counts as infinite."""
        return violations([self], [inputs])[0]


def violations(problems: Sequence[PlanningProblem], inputs: Sequence[Mapping[str, Matrix]]) -> list[float]:
    """`violation_of` of several problems with the same model, state and horizon, rolled out together."""
    first = problems[0]
    model, final = first.model, first.final
    u = np.stack([given[name] for problem, given in zip(problems, inputs) for name in problem.trajectories])
    pushes = u @ model.B.T + model.b
    x = np.empty((len(u), final + 1, model.n))
    x[:, 0] = first.state
    for k in range(final):
        x[:, k + 1] = x[:, k] @ model.A.T + pushes[:, k]
    inside = [x[:, :final] @ model.X.G.T - model.X.h[:final], u @ model.U.G.T - model.U.h[:final]]
    each = np.max([e.reshape(len(u), -1).max(axis=1, initial=0.0) for e in inside], axis=0)
    each = np.where(np.isnan(each), np.inf, each)
    worst, start = [], 0
    for problem in problems:
        own = slice(start, start + len(problem.trajectories))
        start = own.stop
        values = [float(each[own].max(initial=0.0))]
        branches = range(own.start if problem.recovering else own.start + 1, own.stop)
        for i, name in zip(branches, problem.options):
            sets, agreed = model.terminals[name].sets, slice(0, problem.consensus + 1)
            values.append(float(np.max(sets.G @ x[i, final] - sets.h[final], initial=0.0)))
            values.append(float(np.abs(u[i, 0] - u[own.start, 0]).max(initial=0.0)))
            values.append(float(np.abs(u[i, agreed] - u[branches[0], agreed]).max(initial=0.0)))
        worst.append(max(values) if np.isfinite(u[own]).all() else float("inf"))
    return worst
