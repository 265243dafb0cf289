"""The largest robustly invariant subset of a polytope under x+ = M x + c + w, by contractive cuts (theory 6).

A facet g x <= h of the current set S is kept when h_S(M^T g) + h_W(g) <= h, which is what the kernel will
check. Otherwise the cut (g M / lambda) x <= h - h_W(g) is added, about a point that M x + c leaves at rest:
a little deeper than needed, so that the recursion ends and that rounding a cut to short decimals does no
harm. Everything is exact; only a finished recursion yields a set.

References: Gilbert and Tan (1991); Blanchini and Miani, Set-Theoretic Methods in Control, chapter 5.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import identity, rows_of
from aesop_verified.recovery.equilibrium import particular_solution
from aesop_verified.recovery.lp import Infeasible, LinearProgram, Unbounded

CONTRACTION = fmpq(98, 100)  # theory 6: with it all facets of a quadrotor axis were proved
_DIGITS = 4  # of a rounded cut, relative to the scale of each coordinate
_LONGEST = 512  # bits of a number in an exact cut: cut by cut they grow, and the programs' cost with them


@dataclass(frozen=True, slots=True, eq=False)
class Invariant:
    """A subset for which every facet passed the invariance test; the kernel has the last word."""

    polytope: Polytope
    cuts: int


@dataclass(frozen=True, slots=True)
class NoInvariantSubset:
    """The recursion ran empty after so many cuts: with lambda = 1 no non-empty invariant subset exists."""

    cuts: int
    contraction: fmpq


@dataclass(frozen=True, slots=True)
class NotFinitelyDetermined:
    """The recursion did not end within its budget; the outer iterate is no invariant set and is not returned."""

    cuts: int


Outcome: TypeAlias = "Invariant | NoInvariantSubset | NotFinitelyDetermined"


def resting_point(M: fmpq_mat, c: fmpq_mat) -> fmpq_mat | None:
    """A point with x = M x + c, or None."""
    solved = particular_solution(identity(M.nrows()) - M, c)
    return None if solved is None else solved[0]


def invariant_subset(
    M: fmpq_mat,
    c: fmpq_mat,
    constraint: Polytope,
    W: Disturbance,
    *,
    contraction: fmpq = CONTRACTION,
    scale: Sequence[fmpq] | None = None,
    cap: int = 400,
) -> Outcome:
    """A robustly invariant subset of `constraint`, found by cuts.

    Args:
        M, c: the closed loop, shapes (n, n) and (n, 1).
        constraint: what the set must lie in; its own rows stay exactly as they are.
        W: the disturbance, in dimension n.
        contraction: lambda in (0, 1]; with 1 the cuts are exact and the maximal subset is sought.
        scale: typical sizes of the coordinates, for the rounding of cuts (lambda < 1 only).
        cap: the number of cuts after which the answer is "not finitely determined"; so it is when the numbers of
            exact cuts grow too long.
    """
    n = M.nrows()
    rest = resting_point(M, c) if contraction < 1 else None
    if rest is None:
        contraction, rest = fmpq(1), fmpq_mat(n, 1)
    drift = M * rest + c - rest  # zero at a resting point
    sizes = list(scale) if scale is not None else [fmpq(1)] * n
    G = rows_of(constraint.G)
    h = (constraint.h - constraint.G * rest).entries()
    program = LinearProgram(Polytope(constraint.G, constraint.h - constraint.G * rest))
    waiting = deque(range(len(G)))
    cuts = 0
    while waiting:
        i = waiting.popleft()
        normal = fmpq_mat(1, n, G[i])
        bound = h[i] - W.support(normal.transpose()) - (normal * drift)[0, 0]
        image = normal * M
        answer = program.maximise(image.transpose())
        if isinstance(answer, Infeasible):
            return NoInvariantSubset(cuts, contraction)
        if not isinstance(answer, Unbounded) and answer.value <= bound:
            continue
        if cuts == cap:
            return NotFinitelyDetermined(cuts)
        row, side = image.entries(), bound
        if contraction < 1:
            row, side = rounded_cut([v / contraction for v in row], bound, sizes)
        elif not any(row):
            return NoInvariantSubset(cuts, contraction)
        elif max(_bits(v) for v in (*row, side)) > _LONGEST:
            return NotFinitelyDetermined(cuts)
        G.append(row)
        h.append(side)
        waiting.append(len(G) - 1)
        cuts += 1
        program = LinearProgram(Polytope(fmpq_mat(len(G), n, [v for r in G for v in r]), fmpq_mat(len(h), 1, h)))
    found = Polytope(fmpq_mat(len(G), n, [v for r in G for v in r]), fmpq_mat(len(h), 1, h))
    if isinstance(program.feasible_point(), Infeasible):
        return NoInvariantSubset(cuts, contraction)
    return Invariant(found.translated(rest), cuts)


def _bits(v: fmpq) -> int:
    return max(int(v.p).bit_length(), int(v.q).bit_length())


def rounded_cut(row: list[fmpq], side: fmpq, scale: Sequence[fmpq]) -> tuple[list[fmpq], fmpq]:
    """The cut scaled so that its largest weight is about 1, with short decimals; the side is rounded down."""
    largest = max(abs(v) * s for v, s in zip(row, scale))
    if largest == 0:
        return row, side
    unit = fmpq(10) ** -math.floor(math.log10(int(largest.p) / int(largest.q)))
    out = []
    for v, s in zip(row, scale):
        places = fmpq(10) ** max(0, _DIGITS + math.ceil(math.log10(int(s.p) / int(s.q))))
        out.append((v * unit * places + fmpq(1, 2)).floor() / places)
    places = fmpq(10) ** _DIGITS
    return out, (side * unit * places).floor() / places
