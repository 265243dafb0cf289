"""States of a set from which every input leads out: why a landing box is not control invariant (theory 5 and 6).

For a facet g x <= h of the set the least value that any input can give it at the next step, over the worst
state of the set, is  max_x g A x + min_u g B u + g b + h_W(g). If it exceeds h, that state escapes whatever
the input is. The statement about all inputs is an inclusion that the kernel checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.inclusion import (
    EmptinessCertificate,
    InclusionCertificate,
    InclusionStatement,
)
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of, vector
from aesop_verified.kernel.verdict import Proved
from aesop_verified.recovery.control_invariance import admissible_pairs
from aesop_verified.recovery.find import find_empty, find_inclusion
from aesop_verified.recovery.lp import LinearProgram, Optimal


@dataclass(frozen=True, slots=True, eq=False)
class EveryInputEscapes:
    """From `state`, in the set, every u in U lets some w in W lead out.

    Attributes:
        state: shape (n, 1).
        facet: the facet of the set that is left; None when no single facet is to blame.
        amount: by at least how much that facet is exceeded.
        best_input: the input that exceeds the facet least, or None.
        certificate: of "for all u in U the facet is exceeded by at least `amount`", or of "no u in U keeps all facets".
    """

    state: fmpq_mat
    facet: int | None
    amount: fmpq | None
    best_input: fmpq_mat | None
    certificate: InclusionCertificate | EmptinessCertificate


def facet_escape(
    A: fmpq_mat, B: fmpq_mat, b: fmpq_mat, S: Polytope, U: Polytope, W: Disturbance, *,
    facets: Sequence[int] | None = None, near: fmpq_mat | None = None,
) -> EveryInputEscapes | None:  # fmt: skip
    """The worst state of S with respect to a single facet, or None when each facet can be kept on its own.

    Args:
        facets: the facets to try, all by default.
        near: a state whose components are taken where they do not matter, shape (n, 1).
    """
    states, inputs = LinearProgram(S), LinearProgram(U)
    worst: EveryInputEscapes | None = None
    for facet, (row, side) in enumerate(zip(rows_of(S.G), S.h.entries())):
        if facets is not None and facet not in facets:
            continue
        g = fmpq_mat(1, len(row), row)
        x = states.maximise((g * A).transpose())
        push = g * B
        u = inputs.maximise(-push.transpose())
        if not isinstance(x, Optimal) or not isinstance(u, Optimal):
            continue
        rest = x.value + (g * b)[0, 0] + W.support(g.transpose()) - side
        amount = rest - u.value
        if amount <= 0 or (worst is not None and worst.amount is not None and amount <= worst.amount):
            continue
        # for every u in U: push u >= amount - rest
        shown = find_inclusion(InclusionStatement.of(U, Polytope(-push, vector([rest - amount]))), inputs)
        if isinstance(shown, Proved):
            state = _calm(x.point, (g * A).entries(), S, near)
            worst = EveryInputEscapes(state, facet, amount, u.point, shown.certificate)
    return worst


def _calm(point: fmpq_mat, weights: list[fmpq], S: Polytope, near: fmpq_mat | None) -> fmpq_mat:
    """The point with the components of weight 0 taken from `near`, where that stays in S."""
    if near is None:
        return point
    calm = vector([v if w else other for v, w, other in zip(point.entries(), weights, near.entries())])
    return calm if S.contains(calm) else point


def point_escape(
    A: fmpq_mat, B: fmpq_mat, b: fmpq_mat, S: Polytope, U: Polytope, W: Disturbance, points: Sequence[fmpq_mat]
) -> EveryInputEscapes | None:
    """The first of the points of S at which no input of U keeps all facets, or None."""
    n, m = B.nrows(), B.ncols()
    pairs = admissible_pairs(A, B, b, S, U, W)
    states = fmpq_mat(pairs.rows, n, [pairs.G[i, j] for i in range(pairs.rows) for j in range(n)])
    inputs = fmpq_mat(pairs.rows, m, [pairs.G[i, n + j] for i in range(pairs.rows) for j in range(m)])
    for x in points:
        if not S.contains(x):
            continue
        empty = find_empty(Polytope(inputs, pairs.h - states * x))
        if isinstance(empty, Proved):
            return EveryInputEscapes(x, None, None, None, empty.certificate)
    return None


def box_vertices(S: Polytope, most: int = 4096) -> list[fmpq_mat]:
    """The corners of the bounding box of S that lie in S; none when S is unbounded or has too many."""
    n = S.dimension_of_space
    program = LinearProgram(S)
    sides = []
    for i in range(n):
        ends = []
        for sign in (1, -1):
            answer = program.maximise(fmpq_mat(n, 1, [fmpq(sign * (i == j)) for j in range(n)]))
            if not isinstance(answer, Optimal):
                return []
            ends.append(sign * answer.value)
        sides.append(sorted(set(ends)))
    count = 1
    for side in sides:
        count *= len(side)
    if count > most:
        return []
    return [p for corner in product(*sides) if S.contains(p := vector(corner))]
