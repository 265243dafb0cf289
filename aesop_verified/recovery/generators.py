"""Vertices, extreme rays and lines of a polyhedron, the vertices of a hull, and the area of a polygon; all exact.

The enumeration goes through all choices of n rows: meant for the small sets of figures and tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import combinations
from math import comb

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import identity, matrix, rows_of, stacked, zeros
from aesop_verified.recovery.equilibrium import particular_solution
from aesop_verified.recovery.lp import Infeasible, LinearProgram
from aesop_verified.recovery.redundancy import remove_redundant

_MOST_CHOICES = 300_000

Point = tuple[fmpq, ...]


@dataclass(frozen=True, slots=True)
class Generators:
    """P = conv(vertices) + cone(rays) + span(lines); no vertex means the empty set.

    With lines there are no true vertices: those given are of the section orthogonal to the lines.
    """

    vertices: tuple[Point, ...]
    rays: tuple[Point, ...]
    lines: tuple[Point, ...]

    @property
    def unbounded(self) -> bool:
        """Whether the set is unbounded."""
        return bool(self.vertices) and bool(self.rays or self.lines)


def generators(polytope: Polytope) -> Generators:
    """All generators of a polyhedron, sorted.

    Raises:
        UsageError: when there are too many choices of rows to go through.
    """
    if isinstance(LinearProgram(polytope).feasible_point(), Infeasible):
        return Generators((), (), ())
    P = remove_redundant(polytope).polytope
    n = P.dimension_of_space
    lines = _null_space(P.G)
    if lines:
        across = stacked(*(v.transpose() for v in lines))
        P = Polytope(stacked(P.G, across, -across), stacked(P.h, zeros(2 * len(lines))))
    if comb(P.rows, n) > _MOST_CHOICES:
        raise UsageError(f"the set has {P.rows} facets in dimension {n}; enumeration goes through at most {_MOST_CHOICES} choices of rows")
    G, h = rows_of(P.G), P.h.entries()
    vertices = set()
    for chosen in combinations(range(P.rows), n):
        square = matrix([G[i] for i in chosen], n)
        if square.rank() == n:
            x = square.solve(fmpq_mat(n, 1, [h[i] for i in chosen]))
            if P.contains(x):
                vertices.add(tuple(x.entries()))
    rays = set()
    for chosen in combinations(range(P.rows), n - 1):
        null = _null_space(matrix([G[i] for i in chosen], n))
        if len(null) != 1:
            continue
        for sign in (fmpq(1), fmpq(-1)):
            d = null[0] * sign
            if all(v <= 0 for v in (P.G * d).entries()):
                largest = max(abs(v) for v in d.entries())
                rays.add(tuple(v / largest for v in d.entries()))
    return Generators(tuple(sorted(vertices)), tuple(sorted(rays)), tuple(tuple(v.entries()) for v in lines))


def _null_space(M: fmpq_mat) -> list[fmpq_mat]:
    if M.nrows() == 0:
        return [fmpq_mat(M.ncols(), 1, [fmpq(i == j) for i in range(M.ncols())]) for j in range(M.ncols())]
    solved = particular_solution(M, zeros(M.nrows()))
    assert solved is not None  # 0 solves M y = 0
    return solved[1]


def hull_vertices(points: Sequence[Sequence[fmpq]]) -> tuple[Point, ...]:
    """Those of the points that are no convex combination of the others."""
    distinct = sorted({tuple(p) for p in points})
    kept = list(distinct)
    for p in distinct:
        others = [q for q in kept if q != p]
        if others and _is_combination(p, others):
            kept = others
    return tuple(kept)


def _is_combination(p: Point, others: list[Point]) -> bool:
    k = len(others)
    equal = fmpq_mat(len(p) + 1, k, [q[i] for i in range(len(p)) for q in others] + [fmpq(1)] * k)
    right = fmpq_mat(len(p) + 1, 1, [*p, fmpq(1)])
    weights = Polytope(stacked(equal, -equal, -identity(k)), stacked(right, -right, zeros(k)))
    return not isinstance(LinearProgram(weights).feasible_point(), Infeasible)


def area(polytope: Polytope) -> fmpq:
    """The area of a bounded set in the plane, from its vertices (redundant rows cannot change it).

    Raises:
        UsageError: in another dimension, or for an unbounded set.
    """
    if polytope.dimension_of_space != 2:
        raise UsageError(f"the area of a set of dimension {polytope.dimension_of_space} was asked for, expected dimension 2")
    found = generators(polytope)
    if found.unbounded:
        raise UsageError("the set is unbounded and has no finite area")
    return polygon_area(found.vertices)


def polygon_area(vertices: Iterable[Point]) -> fmpq:
    """The area of the convex hull of points in convex position, in any order."""
    points = list(vertices)
    if len(points) < 3:
        return fmpq(0)
    pivot = min(points, key=lambda p: (p[1], p[0]))

    def turn(a: Point, b: Point) -> int:
        cross = (a[0] - pivot[0]) * (b[1] - pivot[1]) - (a[1] - pivot[1]) * (b[0] - pivot[0])
        return (cross < 0) - (cross > 0)

    around = [pivot, *sorted((p for p in points if p != pivot), key=cmp_to_key(turn))]
    total = fmpq(0)
    for (x1, y1), (x2, y2) in zip(around, around[1:] + around[:1]):
        total += x1 * y2 - x2 * y1
    return total / 2
