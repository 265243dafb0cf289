"""Exact removal of redundant rows; the rows that stay are the input's rows, bit by bit."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of
from aesop_verified.recovery.lp import Infeasible, LinearProgram, Unbounded, groups


@dataclass(frozen=True, slots=True, eq=False)
class Minimal:
    """A polytope none of whose rows can be left out, and which rows of the input it has, in order."""

    polytope: Polytope
    kept: tuple[int, ...]


def remove_redundant(polytope: Polytope) -> Minimal:
    """Leave out rows, one after the other from the last, that the others imply.

    An empty set keeps a smallest contradiction. No row is changed, and the argument is not either.
    """
    program = LinearProgram(polytope)
    feasible = program.feasible_point()
    if isinstance(feasible, Infeasible):
        kept = [i for i, v in enumerate(feasible.multipliers.entries()) if v]
        return Minimal(rows(polytope, kept), tuple(kept))
    n, G, h = polytope.dimension_of_space, rows_of(polytope.G), polytope.h.entries()
    kept = []
    for coordinates in groups(G, n):
        own = [i for i, row in enumerate(G) if any(row[j] for j in coordinates)]
        kept.extend(_one_group([[G[i][j] for j in coordinates] for i in own], [h[i] for i in own], own))
    kept.sort()
    return Minimal(rows(polytope, kept), tuple(kept))


def _one_group(G: list[list[fmpq]], h: list[fmpq], names: list[int]) -> list[int]:
    kept = _tightest(G, h)
    for i in reversed(kept.copy()):
        rest = [k for k in kept if k != i]
        if rest and _implied(G, h, rest, i):
            kept = rest
    return [names[i] for i in kept]


def _tightest(G: list[list[fmpq]], h: list[fmpq]) -> list[int]:
    """Of rows with one direction (at any scale) only the tightest, the first of equals."""
    best: dict[tuple[fmpq, ...], tuple[fmpq, int]] = {}
    for i, (row, side) in enumerate(zip(G, h)):
        scale = max(abs(v) for v in row)
        key = tuple(v / scale for v in row)
        if key not in best or side / scale < best[key][0]:
            best[key] = (side / scale, i)
    return sorted(i for _, i in best.values())


def _implied(G: list[list[fmpq]], h: list[fmpq], rest: list[int], i: int) -> bool:
    n = len(G[i])
    others = Polytope(fmpq_mat(len(rest), n, [v for k in rest for v in G[k]]), fmpq_mat(len(rest), 1, [h[k] for k in rest]))
    answer = LinearProgram(others).maximise(fmpq_mat(n, 1, G[i]))
    return not isinstance(answer, (Unbounded, Infeasible)) and answer.value <= h[i]


def rows(polytope: Polytope, kept: list[int]) -> Polytope:
    """The polytope with the rows `kept` only."""
    n, G, h = polytope.dimension_of_space, rows_of(polytope.G), polytope.h.entries()
    return Polytope(fmpq_mat(len(kept), n, [v for i in kept for v in G[i]]), fmpq_mat(len(kept), 1, [h[i] for i in kept]))
