"""Eq. (3) on one block with the states kept: a sparse program in the inputs and states of the tree, for PIQP
where the problem does not split into axes.

Variables of node v: u_v, then x_v, the state after it. Rows of node v: x_v - A x_parent - B u_v = b (at the
root, with x moved to the right-hand side), then its input set, then the sets on x_v.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from aesop_verified.planning.program import Matrix, ProgramVectors, QuadraticProgram, Vector
from aesop_verified.planning.tree_program import BlockModel


class SparseProgram:
    """The sparse form of Eq. (3) on a block; see `TreeProgram`."""

    def __init__(self, model: BlockModel) -> None:
        self.model = model
        n, m, nodes = model.n, model.m, model.tree.nodes
        self._width = n + m
        entries = _Entries()
        lower: list[Vector] = []
        upper: list[Vector] = []
        row = 0
        for v, node in enumerate(nodes):
            u, x = v * self._width, v * self._width + m
            entries.add(row, u, -model.B)
            entries.add(row, x, np.eye(n))
            if node.parent >= 0:
                entries.add(row, node.parent * self._width + m, -model.A)
            lower.append(model.b)
            upper.append(model.b)
            row += n
            for start, (joined, h) in [(u, (model.input_rows, model.input_h[node.step]))] + [(x, s) for s in model.state_bounds(v)]:
                low, high = joined.bounds(h)
                entries.add(row, start, joined.G)
                lower.append(low)
                upper.append(high)
                row += len(high)
        self._G = entries.matrix(row, len(nodes) * self._width)
        self._lower, self._upper = np.concatenate(lower), np.concatenate(upper)
        self._cost_terms()

    @cached_property
    def program(self) -> QuadraticProgram:
        """The matrices, checked."""
        return QuadraticProgram(self._P, self._G)

    def _cost_terms(self) -> None:
        model, n, m, width = self.model, self.model.n, self.model.m, self._width
        entries = _Entries()
        size = len(model.tree.nodes) * width
        q = np.zeros(size)
        constant = 0.0
        for v, node in enumerate(model.tree.nodes):
            u, x = v * width, v * width + m
            if model.law is not None:
                # (u - F x_k - g)' R (u - F x_k - g), x_k being the parent's next state (at the root: the state).
                gain, offset = model.law
                entries.add(u, u, 2 * model.R)
                q[u:x] -= 2 * model.R @ offset
                constant += float(offset @ model.R @ offset)
                if node.parent >= 0:
                    before = node.parent * width + m
                    entries.add(before, before, 2 * gain.T @ model.R @ gain)
                    entries.add(u, before, -2 * model.R @ gain)
                    entries.add(before, u, -2 * gain.T @ model.R)
                    q[before : before + n] += 2 * gain.T @ model.R @ offset
                continue
            weighted = model.input_weight(v)
            entries.add(u, u, 2 * weighted)
            q[u:x] -= 2 * weighted @ model.rest
            constant += float(model.rest @ weighted @ model.rest)
            W = model.state_weight(v)
            if W is not None:
                entries.add(x, x, 2 * W)
                q[x : x + n] -= 2 * W @ model.goal
                constant += float(model.goal @ W @ model.goal)
        self._P, self._q, self._constant = entries.matrix(size, size), q, constant
        self._n, self._m = n, m

    def vectors(self, state: Vector) -> ProgramVectors:
        """The vectors at a state of the block, shape (n,)."""
        model, q, constant = self.model, self._q, self._constant
        lower, upper = self._lower.copy(), self._upper.copy()
        lower[: self._n] += model.A @ state
        upper[: self._n] = lower[: self._n]
        if model.law is None:
            e = state - model.goal
            constant += float(e @ model.Q @ e)
        else:
            gain, offset = model.law
            pull = gain @ state
            q = q.copy()
            q[: self._m] -= 2 * model.R @ pull
            constant += float(pull @ model.R @ (pull + 2 * offset))
        return self.program.vectors(q, lower, upper, constant)

    def node_inputs(self, z: Vector) -> Matrix:
        """The input of each node, shape (nodes, m)."""
        return z.reshape(len(self.model.tree.nodes), self._width)[:, : self._m]


class _Entries:
    """Blocks of a sparse matrix, added where they overlap."""

    def __init__(self) -> None:
        self._rows: list[np.ndarray] = []
        self._columns: list[np.ndarray] = []
        self._values: list[np.ndarray] = []

    def add(self, row: int, column: int, block: Matrix) -> None:
        """Add a dense block with its top left corner at (row, column); its zeros are not stored."""
        i, j = np.nonzero(block)
        self._rows.append(i + row)
        self._columns.append(j + column)
        self._values.append(block[i, j])

    def matrix(self, rows: int, columns: int) -> sparse.csc_matrix:
        """The sum of all blocks."""
        values = np.concatenate(self._values)
        index = (np.concatenate(self._rows), np.concatenate(self._columns))
        return sparse.csc_matrix((values, index), shape=(rows, columns))
