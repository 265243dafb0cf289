"""Eq. (3) on one block with the states eliminated: a small dense program in the inputs of the tree, for DAQP.

With Phi_k = A^k and S_v the map from all inputs to the state after node v,
x_v = S_v z + Phi_{k+1} x + d_{k+1}; every vector of the program is affine in x, so a step costs three
matrix-vector products before the solver starts.
"""

from __future__ import annotations

import numpy as np

from aesop_verified.planning.program import Matrix, ProgramVectors, QuadraticProgram, Vector
from aesop_verified.planning.tree_program import BlockModel, SharedRows


class CondensedProgram:
    """The dense form of Eq. (3) on a block; see `TreeProgram`.

    Attributes:
        program: the matrices, checked.
    """

    def __init__(self, model: BlockModel) -> None:
        self.model = model
        nodes, n, m = model.tree.nodes, model.n, model.m
        size = len(nodes) * m
        self._size = size
        # Powers and drifts: x_k = phi[k] x + drift[k] + (inputs).
        phi, drift = [np.eye(n)], [np.zeros(n)]
        for _ in range(model.tree.horizon + 1):
            phi.append(model.A @ phi[-1])
            drift.append(model.A @ drift[-1] + model.b)
        self._phi, self._drift = np.array(phi), np.array(drift)
        maps = np.zeros((len(nodes), n, size))
        for v, node in enumerate(nodes):
            if node.parent >= 0:
                maps[v] = model.A @ maps[node.parent]
            maps[v, :, v * m : (v + 1) * m] += model.B
        self._maps = maps
        self._steps = np.array([node.step for node in nodes])
        self.program = QuadraticProgram(self._cost_terms(), self._row_terms())
        del self._maps  # the largest part by far, which no step needs: thousands of programs may be kept

    def _cost_terms(self) -> Matrix:
        """cost = 1/2 z'Pz + (q0 + Qx x)'z + c0 + c1'x + x'C2 x, from terms (M z + N x + e)' W (M z + N x + e)."""
        model, n = self.model, self.model.n
        P, q0, Qx = np.zeros((self._size, self._size)), np.zeros(self._size), np.zeros((self._size, n))
        c0, c1, C2 = 0.0, np.zeros(n), np.zeros((n, n))
        for M, N, e, W in self._squares():
            # Axes: term, row, column; the weight W is common to the terms of a group.
            WM, WN, We = W @ M, W @ N, e @ W
            P += 2 * np.tensordot(M, WM, axes=([0, 1], [0, 1]))
            q0 += 2 * np.tensordot(M, We, axes=([0, 1], [0, 1]))
            Qx += 2 * np.tensordot(M, WN, axes=([0, 1], [0, 1]))
            c0 += float(np.sum(e * We))
            c1 += 2 * np.tensordot(N, We, axes=([0, 1], [0, 1]))
            C2 += np.tensordot(N, WN, axes=([0, 1], [0, 1]))
        if model.law is None:
            m = model.m
            for v in range(len(model.tree.nodes)):
                own, weighted = slice(v * m, (v + 1) * m), model.input_weight(v)
                P[own, own] += 2 * weighted
                q0[own] -= 2 * weighted @ model.rest
                c0 += float(model.rest @ weighted @ model.rest)
        self._q0, self._Qx, self._c0, self._c1, self._C2 = q0, Qx, c0, c1, C2
        return np.asarray((P + P.T) / 2)

    def _squares(self) -> list[tuple[Matrix, Matrix, Matrix, Matrix]]:
        """Groups (M, N, e, W) of terms with a common weight, of shapes (terms, p, size), (terms, p, n), (terms, p), (p, p)."""
        model, n, m = self.model, self.model.n, self.model.m
        if model.law is not None:
            gain, offset = model.law
            before = np.concatenate([np.zeros((1, n, self._size)), self._maps[:-1]])  # one path: node v follows v - 1
            M = np.eye(self._size).reshape(-1, m, self._size) - gain @ before
            return [(M, -gain @ self._phi[self._steps], -self._drift[self._steps] @ gain.T - offset, model.R)]
        nominal = np.array(model.tree.paths[0])
        groups = [(np.zeros((1, n, self._size)), np.eye(n)[None], -model.goal[None], model.Q)]
        for chosen, W in ((nominal[:-1], model.Q), (nominal[-1:], model.P)):
            if chosen.size and np.any(W):
                k = self._steps[chosen] + 1
                groups.append((self._maps[chosen], self._phi[k], self._drift[k] - model.goal, W))
        return groups

    def _row_terms(self) -> Matrix:
        """lower + slope x <= G z <= upper + slope x."""
        model, m = self.model, self.model.m
        G, slope, lower, upper = [], [], [], []

        def add(rows: SharedRows, h: Matrix, M: Matrix, N: Matrix, e: Matrix) -> None:
            """Rows on M z + N x + e for several nodes at once, right-hand sides h of shape (nodes, facets)."""
            low, high = rows.bounds(h)
            shift = e @ rows.G.T
            G.append((rows.G @ M).reshape(-1, self._size))
            slope.append(-(rows.G @ N).reshape(-1, model.n))
            lower.append((low - shift).ravel())
            upper.append((high - shift).ravel())

        own = np.eye(self._size).reshape(-1, m, self._size)
        count = len(self._steps)
        add(model.input_rows, model.input_h[self._steps], own, np.zeros((count, m, model.n)), np.zeros((count, m)))
        inner = np.flatnonzero(self._steps < model.tree.horizon)
        if inner.size:
            k = self._steps[inner] + 1
            add(model.state_rows, model.state_h[k], self._maps[inner], self._phi[k], self._drift[k])
        for v in model.tree.leaves:
            for rows, h in model.state_bounds(v):
                add(rows, h[None], self._maps[[v]], self._phi[[-1]], self._drift[[-1]])
        self._slope, self._lower, self._upper = np.vstack(slope), np.concatenate(lower), np.concatenate(upper)
        return np.vstack(G)

    def vectors(self, state: Vector) -> ProgramVectors:
        """The vectors at a state of the block, shape (n,)."""
        shift = self._slope @ state
        constant = self._c0 + float(self._c1 @ state + state @ self._C2 @ state)
        return self.program.vectors(self._q0 + self._Qx @ state, self._lower + shift, self._upper + shift, constant)

    def node_inputs(self, z: Vector) -> Matrix:
        """The input of each node, shape (nodes, m)."""
        return z.reshape(len(self.model.tree.nodes), self.model.m)
