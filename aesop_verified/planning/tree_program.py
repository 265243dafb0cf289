"""Eq. (3) on one block as a quadratic program over the tree of inputs: the parts that the dense (states
eliminated) and the sparse (states kept) form share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aesop_verified.planning.problem import PlanningProblem
from aesop_verified.planning.program import Matrix, ProgramVectors, QuadraticProgram, Vector
from aesop_verified.planning.separation import Block
from aesop_verified.planning.tree import Tree, tree_of


class TreeProgram(Protocol):
    """A program for one tree on one block, reusable for every state."""

    @property
    def program(self) -> QuadraticProgram:
        """The matrices."""

    def vectors(self, state: Vector) -> ProgramVectors:
        """The vectors for the state x restricted to the block, shape (n_block,)."""

    @property
    def model(self) -> BlockModel:
        """What the program was made from."""

    def node_inputs(self, z: Vector) -> Matrix:
        """The input of each node of the tree, shape (nodes, m_block)."""


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Facet rows with opposite rows joined: lower <= G x <= upper.

    Attributes:
        G: shape (r, n).
        upper, lower: for each row, the index of the facet that bounds it above, and below (-1: none).
    """

    G: Matrix
    upper: np.ndarray
    lower: np.ndarray

    @classmethod
    def of(cls, G: Matrix) -> SharedRows:
        """Join the rows of a facet matrix."""
        waiting: dict[bytes, int] = {}
        rows: list[int] = []
        below: list[int] = []
        for i, row in enumerate(G + 0.0):
            opposite = waiting.pop((0.0 - row).tobytes(), None)
            if opposite is not None:
                below[opposite] = i
            else:
                waiting[row.tobytes()] = len(rows)
                rows.append(i)
                below.append(-1)
        return cls(G[rows], np.array(rows, dtype=np.intp), np.array(below, dtype=np.intp))

    def bounds(self, h: Matrix | Vector) -> tuple[Matrix, Matrix]:
        """(lower, upper) for right-hand sides h of the facets, along the last axis."""
        lower = np.where(self.lower >= 0, -h[..., self.lower], -np.inf) if h.shape[-1] else h
        return lower, h[..., self.upper]


@dataclass(frozen=True, eq=False)
class BlockModel:
    """The model of Eq. (3) restricted to a block, for a plan of given options, K and T.

    Attributes:
        A, B, b, Q, R, P, goal, rest: restrictions to the block.
        state_rows, input_rows: joined facets; `state_h[k]` and `input_h[k]` their right-hand sides.
        terminal_rows, terminal_h: for each recovery branch.
        recovery: weights of the inputs of each recovery branch, shape (m, m) each.
        law: gain and offset to stay near, when recovering.
    """

    tree: Tree
    A: Matrix
    B: Matrix
    b: Vector
    Q: Matrix
    R: Matrix
    P: Matrix
    goal: Vector
    rest: Vector
    recovery: tuple[Matrix, ...]
    state_rows: SharedRows
    state_h: Matrix
    input_rows: SharedRows
    input_h: Matrix
    terminal_rows: tuple[SharedRows, ...]
    terminal_h: tuple[Vector, ...]
    law: tuple[Matrix, Vector] | None

    @classmethod
    def of(cls, problem: PlanningProblem, block: Block) -> BlockModel:
        """Restrict a problem whose options have distinct terminal sets on the block."""
        model, consensus, horizon, recovering = problem.model, problem.consensus, problem.horizon, problem.recovering
        terminals = tuple(model.terminals[name] for name in problem.options)
        xs, us, cost = list(block.states), list(block.inputs), model.cost
        state, control = np.ix_(xs, xs), np.ix_(us, us)
        x_rows, u_rows = block.rows(model.X.G), block.input_rows(model.U.G)
        t_rows = [block.rows(t.sets.G) for t in terminals]
        law = (terminals[0].gain[np.ix_(us, xs)], terminals[0].offset[us]) if recovering else None
        return cls(
            tree_of(len(terminals), consensus, horizon, recovering=recovering),
            model.A[state], model.B[np.ix_(xs, us)], model.b[xs],
            cost.Q[state], cost.R[control], cost.P[state], cost.goal[xs], cost.rest[us],
            tuple(cost.recovery[control] * np.sqrt(np.outer(w, w)) for w in problem.regularisation_weights[:, us]),
            SharedRows.of(model.X.G[np.ix_(x_rows, xs)]), model.X.h[:, x_rows],
            SharedRows.of(model.U.G[np.ix_(u_rows, us)]), model.U.h[:, u_rows],
            tuple(SharedRows.of(t.sets.G[np.ix_(rows, xs)]) for t, rows in zip(terminals, t_rows)),
            tuple(t.sets.h[horizon + 1][rows] for t, rows in zip(terminals, t_rows)),
            law,
        )  # fmt: skip

    @property
    def n(self) -> int:
        """Dimension of the state on the block."""
        return int(self.B.shape[0])

    @property
    def m(self) -> int:
        """Dimension of the input on the block."""
        return int(self.B.shape[1])

    def input_weight(self, node: int) -> Matrix:
        """The weight of (u - rest) at a node: R on the nominal path, plus the regularisation of each recovery
        branch through it."""
        n = self.tree.nodes[node]
        weight = float(n.nominal) * self.R
        for i in n.branches:
            weight = weight + self.recovery[i]
        return weight

    def recovery_cost(self, node_inputs: Matrix) -> float:
        """The regularisation's share of the cost, for the inputs of each node, shape (nodes, m)."""
        if self.law is not None:
            return 0.0
        total = 0.0
        for i, path in enumerate(self.tree.paths[1:]):
            e = node_inputs[list(path)] - self.rest
            total += float(np.sum((e @ self.recovery[i]) * e))
        return total

    def state_weight(self, node: int) -> Matrix | None:
        """The weight of (x_{k+1} - goal) at a node's next state: Q or P on the nominal path, else none."""
        n = self.tree.nodes[node]
        if not n.nominal:
            return None
        return self.P if n.step == self.tree.horizon else self.Q

    def state_bounds(self, node: int) -> list[tuple[SharedRows, Vector]]:
        """The set constraints on a node's next state x_{k+1}: X for k < T, the recovery set at a leaf."""
        n = self.tree.nodes[node]
        if n.step < self.tree.horizon:
            return [(self.state_rows, self.state_h[n.step + 1])]
        return [(self.terminal_rows[i], self.terminal_h[i]) for i in n.branches]

    def paths(self, node_inputs: Matrix) -> list[Matrix]:
        """The inputs of each trajectory from those of each node, shape (nodes, m)."""
        return [node_inputs[list(path)] for path in self.tree.paths]
