"""The Pontryagin difference P - Q = {x : x + q in P for every q in Q}, for any operands.

Row by row the offset falls by the support value h_Q(g); nothing else is needed, flat sets included: for an
equality (two opposite rows) the result is non-empty only if h_Q(g) + h_Q(-g) = 0 (LazySets, theorem 2.3 of
Kolmanovsky and Gilbert 1998).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import column, rows_of, zeros
from aesop_verified.recovery.lp import Infeasible, LinearProgram, Unbounded


class Kind(enum.Enum):
    """What the difference is."""

    ORDINARY = "the rows of P, each shrunk by the support value of Q"
    WHOLE_SPACE = "Q is empty, so every point qualifies"
    EMPTY = "no point qualifies"


@dataclass(frozen=True, slots=True, eq=False)
class PontryaginDifference:
    """The set and, in words, which case it is; an empty one has rows that contradict each other."""

    polytope: Polytope
    kind: Kind


def pontryagin_difference(P: Polytope, Q: Polytope) -> PontryaginDifference:
    """P - Q by the definition: Q empty gives the whole space, an unbounded h_Q in a row of P the empty set."""
    n = P.dimension_of_space
    if Q.dimension_of_space != n:
        raise UsageError(f"cannot subtract a set of dimension {Q.dimension_of_space} from one of dimension {n}")
    program = LinearProgram(Q)
    if isinstance(program.feasible_point(), Infeasible):
        return PontryaginDifference(Polytope.whole_space(n), Kind.WHOLE_SPACE)
    offsets: list[fmpq] = []
    transposed = P.G.transpose()
    for i in range(P.rows):
        answer = program.maximise(column(transposed, i))
        if isinstance(answer, (Unbounded, Infeasible)):
            return PontryaginDifference(empty_set(n), Kind.EMPTY)
        offsets.append(answer.value)
    found = P.shrunk(offsets)
    empty = isinstance(LinearProgram(found).feasible_point(), Infeasible)
    return PontryaginDifference(found, Kind.EMPTY if empty else Kind.ORDINARY)


def empty_set(n: int) -> Polytope:
    """{x : 0 x <= -1}."""
    return Polytope(zeros(1, n), fmpq_mat(1, 1, [fmpq(-1)]))


def same_set(first: Polytope, second: Polytope) -> bool:
    """Whether both describe one set, decided by two inclusions; for tests and reports."""
    return all(_inside(a, b) for a, b in ((first, second), (second, first)))


def _inside(inner: Polytope, outer: Polytope) -> bool:
    program = LinearProgram(inner)
    for row, side in zip(rows_of(outer.G), outer.h.entries()):
        answer = program.maximise(fmpq_mat(len(row), 1, row))
        if isinstance(answer, Infeasible):
            return True
        if isinstance(answer, Unbounded) or answer.value > side:
            return False
    return True
