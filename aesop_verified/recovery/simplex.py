"""An exact simplex method over the rationals for max c^T x over {G x <= h}, x free.

Total for rational data: Bland's rule ends every cycle, so an answer is always one of optimal, infeasible or
unbounded, each with what the kernel needs to check it. The dictionary is kept between objectives, so that
the many linear programs over one polytope cost a few pivots each.

References: Chvatal, Linear Programming (1983), chapters 2, 3 and 8; Bland (1977).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

_ZERO = fmpq(0)
_ONE = fmpq(1)
_LARGEST_COEFFICIENT_PIVOTS = 60  # then Bland's rule, which cannot cycle


@dataclass(frozen=True, slots=True, eq=False)
class OptimalRows:
    """A maximiser and multipliers y >= 0 with y^T G = c^T and y^T h = c^T point."""

    point: list[fmpq]
    multipliers: list[fmpq]


@dataclass(frozen=True, slots=True, eq=False)
class InfeasibleRows:
    """Multipliers y >= 0 with y^T G = 0 and y^T h < 0."""

    multipliers: list[fmpq]


@dataclass(frozen=True, slots=True, eq=False)
class UnboundedRows:
    """A member and a direction d with G d <= 0 and c^T d > 0."""

    point: list[fmpq]
    direction: list[fmpq]


class Dictionary:
    """The simplex dictionary of one polytope: basic = constant + sum of coefficient * non-basic.

    Variables 0..r-1 are the slacks s = h - G x (>= 0), r..r+n-1 are x (free), r+n is the auxiliary variable
    of phase 1. Rows hold the constant last.
    """

    def __init__(self, G: Sequence[Sequence[fmpq]], h: Sequence[fmpq], preferred: Sequence[int] = ()) -> None:
        self.r = len(G)
        self.n = len(G[0]) if G else 0
        self.basic = list(range(self.r))
        self.nonbasic = list(range(self.r, self.r + self.n))
        self.rows = [[-v for v in row] + [b] for row, b in zip(G, h)]
        self.infeasible: InfeasibleRows | None = None
        self._free_into_basis(preferred)
        if any(row[-1] < 0 for b, row in zip(self.basic, self.rows) if b < self.r):
            self._phase_one()

    def _pivot(self, i: int, j: int, extra: list[list[fmpq]]) -> None:
        """Exchange basic row i and non-basic column j; `extra` holds objective rows."""
        row = self.rows[i]
        inverse = _ONE / row[j]
        new = [-v * inverse if v else v for v in row]
        new[j] = inverse
        self.rows[i] = new
        self.basic[i], self.nonbasic[j] = self.nonbasic[j], self.basic[i]
        support = [k for k, v in enumerate(new) if v and k != j]
        for other in (*self.rows, *extra):
            if other is new:
                continue
            factor = other[j]
            if factor:
                for k in support:
                    other[k] += factor * new[k]
                other[j] = factor * inverse

    def _free_into_basis(self, preferred: Sequence[int]) -> None:
        """Pivot the free variables into the basis, on the preferred rows first."""
        position = {variable: i for i, variable in enumerate(self.basic)}
        for slack in (*preferred, *range(self.r)):
            i = position.get(slack)
            if i is None or self.basic[i] != slack:
                continue
            row = self.rows[i]
            j = next((j for j, v in enumerate(self.nonbasic) if v >= self.r and row[j]), None)
            if j is not None:
                self._pivot(i, j, [])
                if all(v < self.r for v in self.nonbasic):
                    return

    def _phase_one(self) -> None:
        r, auxiliary = self.r, self.r + self.n
        for b, row in zip(self.basic, self.rows):
            row.insert(-1, _ONE if b < r else _ZERO)
        self.nonbasic.append(auxiliary)
        j = len(self.nonbasic) - 1
        goal = [_ZERO] * j + [-_ONE, _ZERO]
        worst = min((i for i, b in enumerate(self.basic) if b < r), key=lambda i: (self.rows[i][-1], self.basic[i]))
        self._pivot(worst, j, [goal])
        self._ascend(goal)
        if goal[-1] < 0:
            multipliers = [_ZERO] * r
            for j, v in enumerate(self.nonbasic):
                if v < r:
                    multipliers[v] = -goal[j]
            self.infeasible = InfeasibleRows(multipliers)
            return
        if auxiliary in self.basic:
            i = self.basic.index(auxiliary)
            j = next((j for j in range(len(self.nonbasic)) if self.rows[i][j]), -1)
            if j < 0:
                del self.basic[i], self.rows[i]
            else:
                self._pivot(i, j, [])
        if auxiliary in self.nonbasic:
            j = self.nonbasic.index(auxiliary)
            del self.nonbasic[j]
            for row in self.rows:
                del row[j]

    def _ascend(self, goal: list[fmpq]) -> int | None:
        """Pivot until `goal` is optimal (None) or improves without end along a column (its index)."""
        r, auxiliary = self.r, self.r + self.n
        count = 0
        while True:
            entering = [j for j, v in enumerate(self.nonbasic) if (goal[j] > 0 if v < r or v == auxiliary else goal[j] != 0)]
            if not entering:
                return None
            if count < _LARGEST_COEFFICIENT_PIVOTS:
                j = max(entering, key=lambda j: (abs(goal[j]), -self.nonbasic[j]))
            else:
                j = min(entering, key=lambda j: self.nonbasic[j])
            best: tuple[fmpq, int] | None = None
            leaving = -1
            for i, row in enumerate(self.rows):
                b = self.basic[i]
                if row[j] < 0 and (b < r or b == auxiliary):
                    key = (row[-1] / -row[j], b)
                    if best is None or key < best:
                        best, leaving = key, i
            if best is None:
                return j
            self._pivot(leaving, j, [goal])
            count += 1

    def point(self) -> list[fmpq]:
        """The x of the current dictionary."""
        x = [_ZERO] * self.n
        for b, row in zip(self.basic, self.rows):
            if self.r <= b < self.r + self.n:
                x[b - self.r] = row[-1]
        return x

    def maximise(self, c: Sequence[fmpq]) -> OptimalRows | InfeasibleRows | UnboundedRows:
        """Maximise c^T x from the current (feasible) dictionary."""
        if self.infeasible is not None:
            return self.infeasible
        goal = [_ZERO] * (len(self.nonbasic) + 1)
        for b, row in zip(self.basic, self.rows):
            if b >= self.r and c[b - self.r]:
                weight = c[b - self.r]
                for k, entry in enumerate(row):
                    if entry:
                        goal[k] += weight * entry
        for j, variable in enumerate(self.nonbasic):
            if variable >= self.r:
                goal[j] += c[variable - self.r]
        column = self._ascend(goal)
        if column is None:
            multipliers = [_ZERO] * self.r
            for j, variable in enumerate(self.nonbasic):
                if variable < self.r:
                    multipliers[variable] = -goal[j]
            return OptimalRows(self.point(), multipliers)
        sign = _ONE if goal[column] > 0 else -_ONE
        direction = [_ZERO] * self.n
        for b, row in zip(self.basic, self.rows):
            if b >= self.r:
                direction[b - self.r] = sign * row[column]
        if self.nonbasic[column] >= self.r:
            direction[self.nonbasic[column] - self.r] = sign
        return UnboundedRows(self.point(), direction)
