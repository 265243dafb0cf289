"""Exact H-polytopes {x in Q^n : G x <= h}.

A polytope is an immutable value. No rows means the whole space (never the empty set); flat sets and points
are as good as any other; emptiness is a fact with a certificate (see `certificates`), not a representation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.rational import (
    Exact,
    exact,
    matrix,
    own,
    require_matrix,
    require_shape,
    rows_of,
    signed_units,
    stacked,
    vector,
    zeros,
)


@dataclass(frozen=True, slots=True)
class Violation:
    """Row `facet` of a polytope is violated by `amount` = (G x - h)[facet] > 0."""

    facet: int
    amount: fmpq


@dataclass(frozen=True, slots=True, eq=False)
class Polytope:
    """The set {x : G x <= h}.

    Attributes:
        G: facet normals, shape (r, n); r = 0 is the whole space.
        h: offsets, shape (r, 1).

    Raises:
        UsageError: when n is 0 or the shapes of G and h differ.
    """

    G: fmpq_mat
    h: fmpq_mat

    def __post_init__(self) -> None:
        require_matrix("the facet matrix G of a polytope", self.G)
        if self.G.ncols() < 1:
            raise UsageError(f"a polytope needs a dimension of at least 1; G has shape {self.G.nrows()} x {self.G.ncols()}")
        require_shape("the offset vector h of a polytope", self.h, self.G.nrows(), 1)
        own(self, "G", "h")

    @classmethod
    def of(cls, G: Sequence[Sequence[Exact]], h: Sequence[Exact], *, n: int) -> Polytope:
        """The polytope with the given rows in dimension n."""
        return cls(matrix(G, n), vector(h))

    @classmethod
    def whole_space(cls, n: int) -> Polytope:
        """Q^n: no rows."""
        return cls(zeros(0, n), zeros(0, 1))

    @classmethod
    def box(cls, lower: Sequence[Exact], upper: Sequence[Exact]) -> Polytope:
        """{x : lower <= x <= upper}; rows come in pairs x_i <= upper_i, -x_i <= -lower_i."""
        if len(lower) != len(upper):
            raise UsageError(f"a box has {len(lower)} lower and {len(upper)} upper bounds, expected as many")
        return cls(signed_units(len(lower)), vector(v for lo, hi in zip(lower, upper) for v in (exact(hi), -exact(lo))))

    @property
    def dimension_of_space(self) -> int:
        """n, the dimension of the space (the set itself may be flat)."""
        return self.G.ncols()

    @property
    def rows(self) -> int:
        """The number of inequalities."""
        return self.G.nrows()

    def contains(self, x: fmpq_mat) -> bool:
        """Whether G x <= h, exactly; x has shape (n, 1)."""
        return self.violation(x) is None

    def violation(self, x: fmpq_mat) -> Violation | None:
        """The worst violated row at x, or None when x is a member."""
        require_shape("the point", x, self.dimension_of_space, 1)
        worst: Violation | None = None
        for facet, excess in enumerate((self.G * x - self.h).entries()):
            if excess > (worst.amount if worst is not None else 0):
                worst = Violation(facet, excess)
        return worst

    def intersection(self, other: Polytope) -> Polytope:
        """{x : x in self and x in other}; rows of self come first."""
        if other.dimension_of_space != self.dimension_of_space:
            raise UsageError(f"cannot intersect sets of dimension {self.dimension_of_space} and {other.dimension_of_space}")
        return Polytope(stacked(self.G, other.G), stacked(self.h, other.h))

    def product(self, other: Polytope) -> Polytope:
        """The Cartesian product, coordinates of self first."""
        n, p = self.dimension_of_space, other.dimension_of_space
        rows = [row + [fmpq(0)] * p for row in rows_of(self.G)] + [[fmpq(0)] * n + row for row in rows_of(other.G)]
        return Polytope(matrix(rows, n + p), stacked(self.h, other.h))

    def translated(self, v: fmpq_mat) -> Polytope:
        """{x + v : x in self}."""
        return Polytope(self.G, self.h + self.G * v)

    def preimage(self, M: fmpq_mat, c: fmpq_mat) -> Polytope:
        """{x : M x + c in self}."""
        return Polytope(self.G * M, self.h - self.G * c)

    def shrunk(self, offsets: Sequence[fmpq]) -> Polytope:
        """{x : G x <= h - offsets}: with offsets h_W(G) this is the Pontryagin difference with W."""
        return Polytope(self.G, self.h - vector(offsets))

    def same_rows(self, other: Polytope) -> bool:
        """Whether both are given by identical rows (a fact of syntax; equality of sets is two inclusions)."""
        return bool(self.G == other.G and self.h == other.h)
