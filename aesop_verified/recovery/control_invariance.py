"""The largest robustly control invariant subset, by exact backward iteration (theory 6).

S_0 = X, S_{k+1} = {x in S_k : some u in U has A x + B u + b + w in S_k for every w in W}. Each S_k contains
every invariant subset of X, so it is an outer bound and no more: only S_{k+1} = S_k, shown by an inclusion
that the kernel checked, makes it invariant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.inclusion import InclusionCertificate
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import matrix, rows_of, stacked
from aesop_verified.kernel.verdict import Proved
from aesop_verified.recovery.find import find_subset
from aesop_verified.recovery.lp import Infeasible, LinearProgram
from aesop_verified.recovery.projection import project
from aesop_verified.recovery.redundancy import remove_redundant


@dataclass(frozen=True, slots=True, eq=False)
class ControlInvariant:
    """The largest control invariant subset, reached after `iterations`; `fixed_point` shows S_k inside S_{k+1}."""

    polytope: Polytope
    iterations: int
    fixed_point: InclusionCertificate


@dataclass(frozen=True, slots=True)
class NoControlInvariantSubset:
    """S_k is empty at k = `iterations`: no subset of X is control invariant."""

    iterations: int


@dataclass(frozen=True, slots=True, eq=False)
class NotConverged:
    """No fixed point within the cap. `outer_bound` contains every invariant subset and is **not** invariant itself."""

    outer_bound: Polytope
    iterations: int


ControlOutcome: TypeAlias = "ControlInvariant | NoControlInvariantSubset | NotConverged"


def admissible_pairs(A: fmpq_mat, B: fmpq_mat, b: fmpq_mat, target: Polytope, U: Polytope, W: Disturbance) -> Polytope:
    """{(x, u) : u in U, A x + B u + b + w in target for every w in W}, in dimension n + m."""
    n, m = B.nrows(), B.ncols()
    joined = fmpq_mat(n, n + m, [v for a, c in zip(rows_of(A), rows_of(B)) for v in a + c])
    ahead = target.shrunk(W.supports(target.G)).preimage(joined, b)
    inputs = matrix([[fmpq(0)] * n + row for row in rows_of(U.G)], n + m)
    return Polytope(stacked(ahead.G, inputs), stacked(ahead.h, U.h))


def largest_control_invariant(
    A: fmpq_mat, B: fmpq_mat, b: fmpq_mat, X: Polytope, U: Polytope, W: Disturbance, *, cap: int = 50
) -> ControlOutcome:
    """Iterate until the set repeats, is empty, or the cap is reached; for small dimensions."""
    current = remove_redundant(X).polytope
    for k in range(cap + 1):
        if isinstance(LinearProgram(current).feasible_point(), Infeasible):
            return NoControlInvariantSubset(k)
        if k == cap:
            break
        pairs = admissible_pairs(A, B, b, current, U, W)
        if isinstance(LinearProgram(pairs).feasible_point(), Infeasible):
            return NoControlInvariantSubset(k + 1)
        before = project(pairs, range(B.nrows())).polytope
        repeated = find_subset(current, before)
        if isinstance(repeated, Proved):
            return ControlInvariant(current, k, repeated.certificate)
        current = remove_redundant(current.intersection(before)).polytope
    return NotConverged(current, cap)
