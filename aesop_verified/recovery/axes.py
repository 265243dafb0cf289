"""Axes: groups of states and inputs that the model and its constraints do not couple (theory 6).

The product of invariant sets is invariant when the input set is a product too; the disturbance may be
replaced by its projections, because a facet of one axis only meets W through the axis' own coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of
from aesop_verified.recovery.lp import groups


@dataclass(frozen=True, slots=True)
class Axis:
    """Indices of the states and of the inputs of one axis; an axis may have no input."""

    states: tuple[int, ...]
    inputs: tuple[int, ...]


def decoupled_axes(
    A: fmpq_mat, B: fmpq_mat, *, state_sets: Sequence[Polytope] = (), input_set: Polytope | None = None, gain: fmpq_mat | None = None
) -> tuple[Axis, ...]:
    """The finest grouping that none of the given objects couples, in the order of the first state.

    Args:
        A, B: the model, shapes (n, n) and (n, m).
        state_sets: sets whose rows must not couple two axes.
        input_set: likewise for inputs.
        gain: F, shape (m, n), when it is given.
    """
    n, m = B.nrows(), B.ncols()
    zero_inputs, zero_states = [fmpq(0)] * m, [fmpq(0)] * n
    links: list[list[fmpq]] = []
    for i, (a, c) in enumerate(zip(rows_of(A), rows_of(B))):
        links.append([fmpq(1) if i == j else v for j, v in enumerate(a)] + c)
    for P in state_sets:
        links.extend(row + zero_inputs for row in rows_of(P.G))
    if input_set is not None:
        links.extend(zero_states + row for row in rows_of(input_set.G))
    if gain is not None:
        links.extend(row + [fmpq(i == j) for j in range(m)] for i, row in enumerate(rows_of(gain)))
    axes = []
    for members in groups(links, n + m):
        axes.append(Axis(tuple(j for j in members if j < n), tuple(j - n for j in members if j >= n)))
    return tuple(a for a in axes if a.states)


def block(M: fmpq_mat, rows: Sequence[int], columns: Sequence[int]) -> fmpq_mat:
    """The sub-matrix with the given rows and columns."""
    return fmpq_mat(len(rows), len(columns), [M[i, j] for i in rows for j in columns])


def section(P: Polytope, coordinates: Sequence[int]) -> Polytope:
    """The factor of a product set that lives on the coordinates: rows that touch them (they touch no others)."""
    rows = rows_of(P.G)
    kept = [i for i, row in enumerate(rows) if any(row[j] for j in coordinates)]
    return Polytope(block(P.G, kept, coordinates), block(P.h, kept, [0]))


def projected(W: Disturbance, coordinates: Sequence[int]) -> Disturbance:
    """The projection of W: the image of each summand under the selection of coordinates."""
    return Disturbance(
        len(coordinates),
        tuple(Summand(s.name, block(s.map, coordinates, range(s.map.ncols())), s.lower, s.upper) for s in W.summands),
    )


def embedded(G: fmpq_mat, coordinates: Sequence[int], n: int) -> fmpq_mat:
    """Normals over `coordinates` as normals over n coordinates."""
    place = {j: k for k, j in enumerate(coordinates)}
    return fmpq_mat(G.nrows(), n, [G[i, place[j]] if j in place else fmpq(0) for i in range(G.nrows()) for j in range(n)])
