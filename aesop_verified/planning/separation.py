"""Finding the axes along which Eq. (3) falls apart (theory 7).

Two coordinates (states or inputs) belong together when a row of A, B, of a set, of a law, or an off-diagonal
entry of the cost joins them. The connected components are the blocks: dynamics, sets and cost separate by
block, and so does the problem.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from aesop_verified.planning.problem import PlanningModel
    from aesop_verified.planning.program import Matrix


@dataclass(frozen=True)
class Block:
    """Coordinates that must be planned together.

    Attributes:
        states, inputs: indices into the state and the input, ascending; neither is empty unless the whole
            system has none.
    """

    states: tuple[int, ...]
    inputs: tuple[int, ...]

    def rows(self, G: Matrix) -> list[int]:
        """The rows of a facet matrix over the states that involve this block."""
        return [int(i) for i in np.flatnonzero(np.any(G[:, list(self.states)] != 0, axis=1))]

    def input_rows(self, H: Matrix) -> list[int]:
        """The rows of a facet matrix over the inputs that involve this block."""
        return [int(i) for i in np.flatnonzero(np.any(H[:, list(self.inputs)] != 0, axis=1))]


def blocks_of(model: PlanningModel) -> tuple[Block, ...]:
    """The finest blocks of a model, ordered by their first state; one block when it does not separate.

    Components without an input, or without a state, are joined to the first block that has one.
    """
    n, m = model.n, model.m
    link = np.zeros((n + m, n + m), dtype=bool)
    link[:n, :n] |= (model.A != 0) | (model.cost.Q != 0) | (model.cost.P != 0)
    link[:n, n:] |= model.B != 0
    link[n:, n:] |= (model.cost.R != 0) | (model.cost.recovery != 0)
    for terminal in model.terminals.values():
        link[n:, :n] |= terminal.gain != 0
        _join(link, terminal.sets.G, 0)
    _join(link, model.X.G, 0)
    _join(link, model.U.G, n)
    count, labels = connected_components(csr_matrix(link), directed=False)
    parts = [[int(i) for i in np.flatnonzero(labels == c)] for c in range(count)]
    whole = [p for p in parts if any(i < n for i in p) and any(i >= n for i in p)]
    rest = [i for p in parts if p not in whole for i in p]
    if not whole:
        return (_block(range(n + m), n),)
    whole[0] = sorted(whole[0] + rest)
    return tuple(sorted((_block(p, n) for p in whole), key=lambda block: block.states[0]))


def _block(part: Iterable[int], n: int) -> Block:
    part = sorted(part)
    return Block(tuple(i for i in part if i < n), tuple(i - n for i in part if i >= n))


def _join(link: np.ndarray, G: Matrix, offset: int) -> None:
    for row in G != 0:
        index = np.flatnonzero(row) + offset
        link[np.ix_(index, index)] = True
