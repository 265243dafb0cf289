"""The disturbance set W as a Minkowski sum of named summands, each an affine image of a box (theory 5).

Only support values are ever needed of W, and for an image {M v : l <= v <= u} they are exact and closed:
h(c) = sum_i max(l_i (M^T c)_i, u_i (M^T c)_i).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import own, require_shape, rows_of, signed_units, vector


@dataclass(frozen=True, slots=True, eq=False)
class Summand:
    """{map v : lower <= v <= upper}.

    Attributes:
        name: what the summand stands for, such as "inner_loop_tracking".
        map: shape (n, p).
        lower, upper: shape (p, 1), lower <= upper.
    """

    name: str
    map: fmpq_mat
    lower: fmpq_mat
    upper: fmpq_mat

    def __post_init__(self) -> None:
        require_shape(f"the lower bounds of the summand {self.name!r}", self.lower, self.map.ncols(), 1)
        require_shape(f"the upper bounds of the summand {self.name!r}", self.upper, self.map.ncols(), 1)
        own(self, "map", "lower", "upper")
        for i, (lo, hi) in enumerate(zip(self.lower.entries(), self.upper.entries())):
            if lo > hi:
                raise UsageError(f"the summand {self.name!r} has lower bound {lo} above upper bound {hi} at index {i}; expected lower <= upper")

    def support(self, direction: fmpq_mat) -> fmpq:
        """h(direction), the largest value of direction^T w; direction has shape (n, 1)."""
        return self.support_of_weights((self.map.transpose() * direction).entries())

    def support_of_weights(self, weights: Sequence[fmpq]) -> fmpq:
        """The largest value of weights^T v over the box; weights = map^T direction gives the support value."""
        total = fmpq(0)
        for weight, lo, hi in zip(weights, self.lower.entries(), self.upper.entries()):
            total += weight * (hi if weight > 0 else lo)
        return total

    @property
    def is_zero(self) -> bool:
        """Whether the summand is {0}."""
        directions = rows_of(signed_units(self.map.nrows()) * self.map)
        return all(self.support_of_weights(weights) == 0 for weights in directions)


@dataclass(frozen=True, slots=True, eq=False)
class Disturbance:
    """W = sum of the summands, {0} when there are none; n is the dimension of the state."""

    n: int
    summands: tuple[Summand, ...] = ()

    def __post_init__(self) -> None:
        for s in self.summands:
            require_shape(f"the map of the summand {s.name!r}", s.map, self.n, s.map.ncols())

    def support(self, direction: fmpq_mat) -> fmpq:
        """h_W(direction), shape of direction (n, 1): support values add over a Minkowski sum."""
        total = fmpq(0)
        for s in self.summands:
            total += s.support(direction)
        return total

    def supports(self, normals: fmpq_mat) -> list[fmpq]:
        """h_W of every row of a matrix of shape (r, n)."""
        totals = [fmpq(0)] * normals.nrows()
        for s in self.summands:
            for row, weights in enumerate(rows_of(normals * s.map)):
                totals[row] += s.support_of_weights(weights)
        return totals

    def plus(self, extra: Sequence[Summand]) -> Disturbance:
        """The Minkowski sum with further summands."""
        return Disturbance(self.n, self.summands + tuple(extra))

    @property
    def is_zero(self) -> bool:
        """Whether W = {0}."""
        return all(s.is_zero for s in self.summands)

    def excess(self, w: fmpq_mat) -> tuple[int, fmpq] | None:
        """The state component in which w leaves the bounding box of W by most, or None.

        This observes the assumption w in W. It is exact when W is a box, and a necessary condition otherwise.
        """
        box = self.bounding_box()
        violation = box.violation(w)
        return None if violation is None else (violation.facet // 2, violation.amount)

    def bounding_box(self) -> Polytope:
        """The smallest box that contains W, rows in the order +x_1, -x_1, ..."""
        directions = signed_units(self.n)
        return Polytope(directions, vector(self.supports(directions)))
