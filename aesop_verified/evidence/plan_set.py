"""The set of all plans that keep one option from one state, as a polytope of inputs (Eq. (3) with states eliminated).

A plan for (Y, K, T) with y in Y gives a plan for ({y}, K, T), whose consensus is empty and whose nominal branch
may be its recovery branch. So if this set is empty for every y, there is no plan at all. Kernel types only.
"""

from __future__ import annotations

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.model import System
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of, stacked, zeros


def plan_set(system: System, state: fmpq_mat, name: str) -> Polytope:
    """{(u_0, .., u_T) : the plan keeps the tightened X and U and ends in the tightened recovery set `name`}."""
    n, m, steps = system.n, system.m, system.horizon + 1
    width, tight = m * steps, system.tightening
    M, c = zeros(n, width), state
    blocks, sides = [], []
    for k in range(steps):
        blocks.append(system.X.G * M)
        sides.append(_column(tight.states[k]) - system.X.G * c)
        blocks.append(system.input_set.G * _selector(m, k, width))
        sides.append(_column(tight.inputs[k]))
        M = system.A * M + system.B * _selector(m, k, width)
        c = system.A * c + system.b
    G = system.recovery(name).polytope.G
    blocks.append(G * M)
    sides.append(_column(tight.terminals[name][steps]) - G * c)
    return without_zero_rows(Polytope(stacked(*blocks), stacked(*sides)))


def without_zero_rows(P: Polytope) -> Polytope:
    """Leave out rows 0 x <= h with h >= 0; a contradiction 0 x <= h < 0 stays."""
    rows = [(row, side) for row, side in zip(rows_of(P.G), P.h.entries()) if side < 0 or any(row)]
    return Polytope(
        fmpq_mat(len(rows), P.dimension_of_space, [v for row, _ in rows for v in row]), fmpq_mat(len(rows), 1, [side for _, side in rows])
    )


def _selector(m: int, k: int, width: int) -> fmpq_mat:
    return fmpq_mat(m, width, [fmpq(j == m * k + i) for i in range(m) for j in range(width)])


def _column(values: tuple[fmpq, ...]) -> fmpq_mat:
    return fmpq_mat(len(values), 1, list(values))
