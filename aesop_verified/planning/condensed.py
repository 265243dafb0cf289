"""Eq. (3) on one block with the states eliminated: a small dense program in the inputs of the tree, for DAQP.

With Phi_k = A^k and S_v the map from all inputs to the state after node v,
x_v = S_v z + Phi_{k+1} x + d_{k+1}; every vector of the program is affine in x, so a step costs three
matrix-vector products before the solver starts.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from aesop_verified.planning.program import Matrix, ProgramVectors, QuadraticProgram, Vector
from aesop_verified.planning.tree_program import BlockModel, SharedRows


class CondensedProgram:
    """The dense form of Eq. (3) on a block; see `TreeProgram`."""

    def __init__(self, model: BlockModel) -> None:
        self.model = model
        nodes, n, m = model.tree.nodes, model.n, model.m
        size = len(nodes) * m
        self._size = size
        # Powers and drifts: x_k = Phi[k] x + d[k] + (inputs).
        phi, drift = [np.eye(n)], [np.zeros(n)]
        for _ in range(model.tree.horizon + 1):
            phi.append(model.A @ phi[-1])
            drift.append(model.A @ drift[-1] + model.b)
        self._phi, self._drift = phi, drift
        maps: list[Matrix] = []
        for v, node in enumerate(nodes):
            S = model.A @ maps[node.parent] if node.parent >= 0 else np.zeros((n, size))
            S[:, v * m : (v + 1) * m] += model.B
            maps.append(S)
        self._maps = maps
        self._cost_terms()
        self._row_terms()

    @cached_property
    def program(self) -> QuadraticProgram:
        """The matrices, checked."""
        return QuadraticProgram(self._P, self._G)

    def _cost_terms(self) -> None:
        """cost = 1/2 z'Pz + (q0 + Qx x)'z + c0 + c1'x + x'C2 x, as a sum of squares |L(M z + N x + e)|^2."""
        model, n = self.model, self.model.n
        P, q0, Qx = np.zeros((self._size, self._size)), np.zeros(self._size), np.zeros((self._size, n))
        c0, c1, C2 = 0.0, np.zeros(n), np.zeros((n, n))
        for M, N, e, W in self._squares():
            WM, WN, We = W @ M, W @ N, W @ e
            P += 2 * M.T @ WM
            q0 += 2 * M.T @ We
            Qx += 2 * M.T @ WN
            c0 += float(e @ We)
            c1 += 2 * N.T @ We
            C2 += N.T @ WN
        if model.law is None:
            m = model.m
            for v in range(len(model.tree.nodes)):
                own, weighted = slice(v * m, (v + 1) * m), model.input_weight(v)
                P[own, own] += 2 * weighted
                q0[own] -= 2 * weighted @ model.rest
                c0 += float(model.rest @ weighted @ model.rest)
        self._P = (P + P.T) / 2
        self._q0, self._Qx, self._c0, self._c1, self._C2 = q0, Qx, c0, c1, C2

    def _squares(self) -> list[tuple[Matrix, Matrix, Vector, Matrix]]:
        """Terms (M, N, e, W): (M z + N x + e)' W (M z + N x + e)."""
        model, n, m = self.model, self.model.n, self.model.m
        terms: list[tuple[Matrix, Matrix, Vector, Matrix]] = []
        if model.law is not None:
            gain, offset = model.law
            for v, node in enumerate(model.tree.nodes):
                M = -gain @ self._maps[node.parent] if node.parent >= 0 else np.zeros((m, self._size))
                M[:, v * m : (v + 1) * m] += np.eye(m)
                terms.append((M, -gain @ self._phi[node.step], -gain @ self._drift[node.step] - offset, model.R))
            return terms
        terms.append((np.zeros((n, self._size)), np.eye(n), -model.goal, model.Q))
        for v, node in enumerate(model.tree.nodes):
            W = model.state_weight(v)
            if W is not None and np.any(W):
                terms.append((self._maps[v], self._phi[node.step + 1], self._drift[node.step + 1] - model.goal, W))
        return terms

    def _row_terms(self) -> None:
        """lower + Lx x <= G z <= upper + Lx x."""
        model, m = self.model, self.model.m
        G, slope, lower, upper = [], [], [], []

        def add(rows: SharedRows, h: Vector, M: Matrix, N: Matrix, e: Vector) -> None:
            low, high = rows.bounds(h)
            G.append(rows.G @ M)
            slope.append(-rows.G @ N)
            lower.append(low - rows.G @ e)
            upper.append(high - rows.G @ e)

        nothing = np.zeros((m, model.n))
        for v, node in enumerate(model.tree.nodes):
            E = np.zeros((m, self._size))
            E[:, v * m : (v + 1) * m] = np.eye(m)
            add(model.input_rows, model.input_h[node.step], E, nothing, np.zeros(m))
        for v, node in enumerate(model.tree.nodes):
            for rows, h in model.state_bounds(v):
                add(rows, h, self._maps[v], self._phi[node.step + 1], self._drift[node.step + 1])
        self._G = np.vstack(G)
        self._slope, self._lower, self._upper = np.vstack(slope), np.concatenate(lower), np.concatenate(upper)

    def vectors(self, state: Vector) -> ProgramVectors:
        """The vectors at a state of the block, shape (n,)."""
        shift = self._slope @ state
        constant = self._c0 + float(self._c1 @ state + state @ self._C2 @ state)
        return self.program.vectors(self._q0 + self._Qx @ state, self._lower + shift, self._upper + shift, constant)

    def node_inputs(self, z: Vector) -> Matrix:
        """The input of each node, shape (nodes, m)."""
        return z.reshape(len(self.model.tree.nodes), self.model.m)
