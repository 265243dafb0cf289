"""Parallelotopes {x : lower <= N x <= upper} and Farkas evidence about them in closed form.

A linear function t x on such a set is (t M) (N x) with M = N^-1, so the multipliers of Farkas' lemma are the
entries of t M: positive ones on the upper rows, negative ones on the lower rows. No linear program is solved.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.inclusion import FarkasRows, InclusionStatement
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of


@dataclass(frozen=True, eq=False)
class Parallelotope:
    """{x : lower[i] <= (N x)_i <= upper[i] for i in bounded}, with N = M^-1.

    Attributes:
        M: invertible, shape (n, n).
        bounded: the coordinates z_i = (M^-1 x)_i that have bounds; the others are free.
        lower, upper: one entry a bounded coordinate.
    """

    M: fmpq_mat
    bounded: tuple[int, ...]
    lower: tuple[fmpq, ...]
    upper: tuple[fmpq, ...]

    @property
    def polytope(self) -> Polytope:
        """Rows in pairs: upper, then lower, of each bounded coordinate."""
        normals, n = rows_of(self.M.inv()), self.M.nrows()
        flat: list[fmpq] = []
        sides: list[fmpq] = []
        for i, low, high in zip(self.bounded, self.lower, self.upper):
            flat += [*normals[i], *(-v for v in normals[i])]
            sides += [high, -low]
        return Polytope(fmpq_mat(len(sides), n, flat), fmpq_mat(len(sides), 1, sides))

    @property
    def centre(self) -> fmpq_mat:
        """The point whose bounded coordinates are in the middle and whose free ones are 0."""
        z = fmpq_mat(self.M.nrows(), 1)
        for i, low, high in zip(self.bounded, self.lower, self.upper):
            z[i, 0] = (low + high) / 2
        return self.M * z

    def support(self, t: fmpq_mat) -> fmpq:
        """max of t x over the set; t has shape (1, n) and must not depend on a free coordinate."""
        return sum(((high if c > 0 else low) * c for c, low, high in self._weights(t)), fmpq(0))

    def farkas(self, statement: InclusionStatement) -> FarkasRows:
        """The multipliers for an inclusion whose inner set is this one; the kernel says whether they suffice."""
        targets = statement.outer.G * statement.M
        flat: list[fmpq] = []
        for row in rows_of(targets):
            for c, _, _ in self._weights(fmpq_mat(1, targets.ncols(), row)):
                flat += [max(c, fmpq(0)), max(-c, fmpq(0))]
        return FarkasRows(fmpq_mat(targets.nrows(), 2 * len(self.bounded), flat))

    def _weights(self, t: fmpq_mat) -> list[tuple[fmpq, fmpq, fmpq]]:
        c = (t * self.M).entries()
        return [(c[i], low, high) for i, low, high in zip(self.bounded, self.lower, self.upper)]
