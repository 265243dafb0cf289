"""The tree of inputs of Eq. (3): inputs that consensus makes equal are one node, so consensus is exact by
construction and never a constraint that a solver meets only nearly (theory 7).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """One input u_k that one or more trajectories share, and the state x_{k+1} that follows it.

    Attributes:
        step: k.
        parent: index of the node of step k - 1, or -1 at the root.
        nominal: whether the nominal trajectory passes through it.
        branches: the recovery branches (0, 1, ...) that pass through it.
    """

    step: int
    parent: int
    nominal: bool
    branches: tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """Nodes in an order in which parents come first.

    Attributes:
        paths: for each trajectory, the node of every step 0..T; the nominal trajectory first, unless
            recovering (then there is one trajectory, which is both).
    """

    nodes: tuple[Node, ...]
    paths: tuple[tuple[int, ...], ...]
    horizon: int
    recovering: bool

    @property
    def leaves(self) -> tuple[int, ...]:
        """The last node of each recovery branch, in order."""
        return tuple(path[-1] for path in (self.paths if self.recovering else self.paths[1:]))


def tree_of(branches: int, consensus: int, horizon: int, *, recovering: bool = False) -> Tree:
    """The tree of a nominal trajectory and `branches` recovery branches with K = consensus and T = horizon.

    u_0 is common to all; u_0..u_K (inclusive) are common to the recovery branches.
    """
    nodes: list[Node] = []

    def grow(parent: int, first: int, last: int, nominal: bool, members: tuple[int, ...]) -> list[int]:
        path = []
        for k in range(first, last + 1):
            nodes.append(Node(k, parent, nominal, members))
            parent = len(nodes) - 1
            path.append(parent)
        return path

    everyone = tuple(range(branches))
    if recovering:
        path = tuple(grow(-1, 0, horizon, True, everyone))
        return Tree(tuple(nodes), (path,), horizon, True)
    root = grow(-1, 0, 0, True, everyone)
    nominal = root + grow(0, 1, horizon, True, ())
    agreed = root + grow(0, 1, consensus, False, everyone)
    paths = [tuple(nominal)]
    for i in everyone:
        paths.append(tuple(agreed + grow(agreed[-1], consensus + 1, horizon, False, (i,))))
    return Tree(tuple(nodes), tuple(paths), horizon, False)

