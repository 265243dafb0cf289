"""Exact linear programs over an H-polytope, split into independent groups of coordinates.

max c^T x over {x : G x <= h}. Coordinates that no row couples are handled apart, so that a product of small
sets costs what its factors cost. For large groups HiGHS guesses an optimal set of active rows in floating
point; the exact simplex starts there and needs no pivot when the guess is right. Whatever the guess, the
answer is exact, and the kernel checks what is made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from flint import fmpq, fmpq_mat
from scipy.optimize import linprog

from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import require_shape, rows_of
from aesop_verified.recovery.simplex import Dictionary, InfeasibleRows, UnboundedRows

_GUESS_FROM = 2_000  # entries of G from which a floating-point guess pays (measured: HiGHS costs about 2 ms)

_INFEASIBLE = 2  # status code of scipy's linprog


@dataclass(frozen=True, slots=True, eq=False)
class Optimal:
    """A maximiser, shape (n, 1), and multipliers, shape (1, r): y >= 0, y G = c^T, y h = value."""

    point: fmpq_mat
    multipliers: fmpq_mat
    value: fmpq


@dataclass(frozen=True, slots=True, eq=False)
class Infeasible:
    """Farkas multipliers, shape (1, r): y >= 0, y G = 0, y h < 0."""

    multipliers: fmpq_mat


@dataclass(frozen=True, slots=True, eq=False)
class Unbounded:
    """A member and a direction along which the objective grows for ever, each of shape (n, 1)."""

    point: fmpq_mat
    direction: fmpq_mat


Answer: TypeAlias = "Optimal | Infeasible | Unbounded"


def groups(G: Sequence[Sequence[fmpq]], n: int) -> list[list[int]]:
    """Coordinates 0..n-1 in groups that no row of G couples, each sorted, in order of their first member."""
    parent = list(range(n))

    def root(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    for row in G:
        used = [j for j, v in enumerate(row) if v]
        for j in used[1:]:
            parent[root(j)] = root(used[0])
    members: dict[int, list[int]] = {}
    for j in range(n):
        members.setdefault(root(j), []).append(j)
    return sorted(members.values())


class _Group:
    """One group of coordinates with the rows that touch it."""

    def __init__(self, coordinates: list[int], rows: list[int], G: list[list[fmpq]], h: list[fmpq]) -> None:
        self.coordinates, self.rows = coordinates, rows
        self._G = [[G[i][j] for j in coordinates] for i in rows]
        self._h = [h[i] for i in rows]
        self._dictionary: Dictionary | None = None

    def dictionary(self, c: list[fmpq]) -> Dictionary:
        if self._dictionary is None:
            guess = len(self.rows) * len(self.coordinates) >= _GUESS_FROM
            self._dictionary = Dictionary(self._G, self._h, active_guess(self._G, self._h, c) if guess else ())
        return self._dictionary


def active_guess(G: list[list[fmpq]], h: list[fmpq], c: list[fmpq]) -> list[int]:
    """Rows that HiGHS believes to be active at a maximiser, most certain first; only a guess.

    For a set that HiGHS calls empty, the rows that it finds in conflict: those with a price in the problem
    of the least uniform relaxation, min t over {G x - t <= h}.
    """
    normals = np.array([[_double(v) for v in row] for row in G])
    sides = np.array([_double(v) for v in h])
    answer = linprog([-_double(v) for v in c], A_ub=normals, b_ub=sides, bounds=(None, None), method="highs")
    if answer.status == _INFEASIBLE:
        relaxed = np.hstack([normals, -np.ones((len(h), 1))])
        goal = np.append(np.zeros(len(c)), 1.0)
        answer = linprog(goal, A_ub=relaxed, b_ub=sides, bounds=(None, None), method="highs")
        normals = relaxed
    if answer.x is None:
        return []
    weights = -np.asarray(answer.ineqlin.marginals)
    slack = sides - normals @ answer.x
    order = sorted(range(len(h)), key=lambda i: (-weights[i], slack[i]))
    return [int(i) for i in order]


def _double(value: fmpq) -> float:
    return int(value.p) / int(value.q)


class LinearProgram:
    """All linear programs over one polytope; keeps what was learnt from one to the next."""

    def __init__(self, polytope: Polytope) -> None:
        self.polytope = polytope
        n, G, h = polytope.dimension_of_space, rows_of(polytope.G), polytope.h.entries()
        self._r, self._n = polytope.rows, n
        self._contradiction = next((i for i, row in enumerate(G) if h[i] < 0 and not any(row)), None)
        home = {}
        parts = groups(G, n)
        for k, coordinates in enumerate(parts):
            for j in coordinates:
                home[j] = k
        rows: list[list[int]] = [[] for _ in parts]
        for i, row in enumerate(G):
            first = next((j for j, v in enumerate(row) if v), None)
            if first is not None:
                rows[home[first]].append(i)
        self._groups = [_Group(c, r, G, h) for c, r in zip(parts, rows)]

    def maximise(self, c: fmpq_mat) -> Answer:
        """Solve max c^T x over the polytope; c has shape (n, 1)."""
        require_shape("the objective", c, self._n, 1)
        if self._contradiction is not None:
            return Infeasible(fmpq_mat(1, self._r, [fmpq(i == self._contradiction) for i in range(self._r)]))
        objective = c.entries()
        x = [fmpq(0)] * self._n
        direction: list[fmpq] | None = None
        y = [fmpq(0)] * self._r
        for group in self._groups:
            part = [objective[j] for j in group.coordinates]
            if not group.rows:
                growing = any(part)
                if growing and direction is None:
                    direction = [fmpq(0)] * self._n
                    for j, v in zip(group.coordinates, part):
                        direction[j] = v
                continue
            dictionary = group.dictionary(part)
            if dictionary.infeasible is None and not any(part):
                for j, v in zip(group.coordinates, dictionary.point()):
                    x[j] = v
                continue
            answer = dictionary.maximise(part)
            if isinstance(answer, InfeasibleRows):
                y = [fmpq(0)] * self._r
                for i, v in zip(group.rows, answer.multipliers):
                    y[i] = v
                return Infeasible(fmpq_mat(1, self._r, y))
            for j, v in zip(group.coordinates, answer.point):
                x[j] = v
            if isinstance(answer, UnboundedRows):
                if direction is None:
                    direction = [fmpq(0)] * self._n
                    for j, v in zip(group.coordinates, answer.direction):
                        direction[j] = v
                continue
            for i, v in zip(group.rows, answer.multipliers):
                y[i] = v
        point = fmpq_mat(self._n, 1, x)
        if direction is not None:
            return Unbounded(point, fmpq_mat(self._n, 1, direction))
        return Optimal(point, fmpq_mat(1, self._r, y), (c.transpose() * point)[0, 0])

    def feasible_point(self) -> fmpq_mat | Infeasible:
        """A member, or the multipliers that show that there is none."""
        answer = self.maximise(fmpq_mat(self._n, 1))
        return answer if isinstance(answer, Infeasible) else answer.point


def maximise(c: fmpq_mat, polytope: Polytope) -> Answer:
    """Solve a single linear program max c^T x over {x : G x <= h}."""
    return LinearProgram(polytope).maximise(c)
