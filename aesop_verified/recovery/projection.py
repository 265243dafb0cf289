"""Exact projection by Fourier-Motzkin elimination, and the Minkowski sum by projection."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import matrix, rows_of, stacked
from aesop_verified.recovery.redundancy import Minimal, remove_redundant


def project(polytope: Polytope, coordinates: Sequence[int]) -> Minimal:
    """{x_coordinates : x in P}, with no redundant row.

    Redundant rows are removed after each elimination, exactly, so that what is left is what the next one needs.
    """
    n = polytope.dimension_of_space
    if not coordinates or len(set(coordinates)) != len(coordinates) or not all(0 <= j < n for j in coordinates):
        raise UsageError(f"the coordinates to keep are {list(coordinates)}, expected distinct ones of 0..{n - 1}, at least one")
    current = remove_redundant(polytope).polytope
    for j in sorted(set(range(n)) - set(coordinates)):
        current = remove_redundant(_without(current, j)).polytope
    G = rows_of(current.G)
    return remove_redundant(Polytope(matrix([[row[j] for j in coordinates] for row in G], len(coordinates)), current.h))


def _without(P: Polytope, j: int) -> Polytope:
    """Combine every row with x_j <= with every row with x_j >=; column j becomes zero; new rows have largest entry 1."""
    G, h = rows_of(P.G), P.h.entries()
    rows: list[list[fmpq]] = []
    sides: list[fmpq] = []
    for row, side in zip(G, h):
        if row[j] == 0:
            rows.append(row)
            sides.append(side)
    above = [(row, side) for row, side in zip(G, h) if row[j] > 0]
    below = [(row, side) for row, side in zip(G, h) if row[j] < 0]
    for up, a in above:
        for down, b in below:
            s, t = -down[j], up[j]
            combined = [s * u + t * d for u, d in zip(up, down)]
            scale = max(map(abs, combined)) or fmpq(1)
            rows.append([v / scale for v in combined])
            sides.append((s * a + t * b) / scale)
    return Polytope(matrix(rows, P.dimension_of_space), fmpq_mat(len(sides), 1, sides))


def minkowski_sum(first: Polytope, second: Polytope) -> Minimal:
    """{x + y : x in P, y in Q}: the z of {(z, x) : x in P, z - x in Q}."""
    n = first.dimension_of_space
    if second.dimension_of_space != n:
        raise UsageError(f"cannot add sets of dimension {n} and {second.dimension_of_space}")
    rows = [[fmpq(0)] * n + row for row in rows_of(first.G)] + [row + [-v for v in row] for row in rows_of(second.G)]
    return project(Polytope(matrix(rows, 2 * n), stacked(first.h, second.h)), range(n))
