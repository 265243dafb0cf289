"""The law's offset: an exact equilibrium as near to the asked point as there is one (theory 5: none is needed)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.rational import identity, stacked, zeros


@dataclass(frozen=True, slots=True, eq=False)
class Centre:
    """Where a recovery set is built around.

    Attributes:
        state, input: x_e and u_e, shapes (n, 1) and (m, 1).
        is_equilibrium: whether x_e = A x_e + B u_e + b.
    """

    state: fmpq_mat
    input: fmpq_mat
    is_equilibrium: bool


def particular_solution(M: fmpq_mat, right: fmpq_mat) -> tuple[fmpq_mat, list[fmpq_mat]] | None:
    """A solution of M y = right with free variables 0 and a basis of the null space; None when inconsistent."""
    n = M.ncols()
    joined = fmpq_mat(M.nrows(), n + 1, [v for i in range(M.nrows()) for v in [*(M[i, j] for j in range(n)), right[i, 0]]])
    reduced, rank = joined.rref()
    pivots = [next(j for j in range(n + 1) if reduced[i, j] != 0) for i in range(rank)]
    if n in pivots:
        return None
    solution = [fmpq(0)] * n
    for i, j in enumerate(pivots):
        solution[j] = reduced[i, n]
    basis = []
    for free in (j for j in range(n) if j not in pivots):
        entries = [fmpq(j == free) for j in range(n)]
        for i, j in enumerate(pivots):
            entries[j] = -reduced[i, free]
        basis.append(fmpq_mat(n, 1, entries))
    return fmpq_mat(n, 1, solution), basis


def least_squares(M: fmpq_mat, right: fmpq_mat, weights: Sequence[fmpq]) -> fmpq_mat:
    """A y that minimises sum_i weights_i (M y - right)_i^2, exactly (normal equations, free variables 0)."""
    D = fmpq_mat(M.nrows(), M.nrows(), [weights[i] if i == j else fmpq(0) for i in range(M.nrows()) for j in range(M.nrows())])
    solved = particular_solution(M.transpose() * D * M, M.transpose() * D * right)
    if solved is None:
        raise AssertionError("normal equations are always consistent")
    return solved[0]


def centre(A: fmpq_mat, B: fmpq_mat, b: fmpq_mat, point: fmpq_mat, scale: Sequence[fmpq]) -> Centre:
    """The equilibrium nearest to `point` in the scaled norm; without any, the point and the input that holds it best."""
    n, m = B.nrows(), B.ncols()
    weights = [1 / (s * s) for s in scale]
    joined = fmpq_mat(n, n + m, [v for i in range(n) for v in [*(fmpq(i == j) - A[i, j] for j in range(n)), *(-B[i, j] for j in range(m))]])
    solved = particular_solution(joined, b)
    if solved is None:
        u = least_squares(B, (identity(n) - A) * point - b, weights) if m else zeros(0, 1)
        return Centre(point, u, False)
    y, basis = solved
    if basis:
        N = stacked(*(v.transpose() for v in basis)).transpose()
        states = fmpq_mat(n, len(basis), [N[i, j] for i in range(n) for j in range(len(basis))])
        start = fmpq_mat(n, 1, y.entries()[:n])
        y = y + N * least_squares(states, point - start, weights)
    values = y.entries()
    return Centre(fmpq_mat(n, 1, values[:n]), fmpq_mat(m, 1, values[n:]), True)
