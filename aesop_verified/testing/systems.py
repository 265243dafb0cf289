"""Hypothesis strategies for exact systems with proved recovery sets and a certified first plan."""

from __future__ import annotations

from typing import Any

from flint import fmpq, fmpq_mat
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from aesop_verified.kernel.disturbance import Summand
from aesop_verified.kernel.rational import identity, stacked
from aesop_verified.testing.construction import Ingredients, Instance, build

NAMES = ("meadow", "roof", "yard")


def rationals(low: int, high: int, parts: int) -> SearchStrategy[fmpq]:
    """k / parts with low <= k <= high."""
    return st.integers(low, high).map(lambda k: fmpq(k, parts))


@st.composite
def matrices(draw: DrawFn, rows: int, columns: int, elements: SearchStrategy[fmpq]) -> fmpq_mat:
    """Exact matrices of a given shape."""
    return fmpq_mat(rows, columns, draw(st.lists(elements, min_size=rows * columns, max_size=rows * columns)))


def often(yes: int, no: int) -> SearchStrategy[bool]:
    """True about `yes` times out of `yes + no`."""
    return st.integers(1, yes + no).map(lambda k: k > no)


@st.composite
def summands(draw: DrawFn, n: int, name: str, *, around_zero: bool) -> tuple[Summand, ...]:
    """None, a box, a segment in some direction, or both; `around_zero` keeps 0 inside."""
    parts: list[Summand] = []
    kind = draw(st.sampled_from(["none", "box", "segment", "both"]))
    size = rationals(0, 4, 16)
    for label, columns in (("box", n), ("segment", 1)):
        if kind in (label, "both"):
            m = identity(n) if label == "box" else draw(matrices(n, 1, rationals(-2, 2, 2)))
            low = [-draw(size) for _ in range(columns)]
            high = [draw(size) for _ in range(columns)]
            shift = fmpq(0) if around_zero else draw(st.sampled_from([fmpq(0), fmpq(1, 16)]))
            lower = fmpq_mat(columns, 1, [v + shift for v in low])
            parts.append(Summand(f"{name}_{label}", m, lower, fmpq_mat(columns, 1, [v + shift for v in high])))
    return tuple(parts)


@st.composite
def coordinates(draw: DrawFn, n: int) -> fmpq_mat:
    """An invertible change of coordinates with determinant +-1: the identity or a product of shears."""
    m = identity(n)
    if n > 1 and draw(st.booleans()):
        for _ in range(draw(st.integers(1, 2))):
            i = draw(st.integers(0, n - 1))
            j = draw(st.integers(0, n - 2))
            shear = identity(n)
            shear[i, j + (j >= i)] = draw(st.sampled_from([fmpq(1), fmpq(-1), fmpq(1, 2)]))
            m = m * shear
    return m


def reaching_inputs(A: fmpq_mat, B: fmpq_mat, b: fmpq_mat, start: fmpq_mat, target: fmpq_mat, steps: int) -> fmpq_mat | None:
    """The least-norm inputs that lead from `start` to `target` in `steps` steps, exactly; None when there are none."""
    n, m = B.nrows(), B.ncols()
    free, columns = start, []
    for _ in range(steps):
        free = A * free + b
    power = identity(n)
    for _ in range(steps):
        columns.append(power * B)
        power = A * power
    gamma = stacked(*(c.transpose() for c in reversed(columns))).transpose()
    gram = gamma * gamma.transpose()
    if gram.det() == 0:
        return None
    u = gamma.transpose() * gram.inv() * (target - free)
    return fmpq_mat(m, steps, [u[k * m + i, 0] for i in range(m) for k in range(steps)])


@st.composite
def instances(draw: DrawFn, *, max_states: int = 4, max_inputs: int = 2, max_sets: int = 3) -> Instance:
    """Assured systems with a certified first plan.

    Coupled and decoupled, stable and unstable, with and without an equilibrium, W = {0} and not, input quantum 0
    and not, exact state and not, boxes and slanted sets, touching constraints and slack ones.
    """
    travel = max_states > 1 and draw(often(1, 3))
    size = draw(st.integers(1, max_states - travel))
    m = draw(st.integers(1, max_inputs))
    n = size + travel
    diagonal = draw(st.booleans())
    Acl = draw(matrices(size, size, rationals(-3, 3, 4 * size)))
    B = draw(matrices(size, m, rationals(-2, 2, 1)))
    if diagonal:
        for i in range(size):
            for j in range(size):
                if i != j:
                    Acl[i, j] = fmpq(0)
        for j in range(m):
            for i in range(size):
                if i % m != j:
                    B[i, j] = fmpq(0)
    F = draw(matrices(m, size, rationals(-3, 3, 2)))
    b = draw(matrices(size, 1, rationals(-1, 1, 1))) if draw(st.booleans()) else fmpq_mat(size, 1)
    quiet = draw(often(1, 3))
    W: tuple[Summand, ...] = () if quiet else draw(summands(n, "w", around_zero=False))
    E: tuple[Summand, ...] = () if quiet or draw(st.booleans()) else draw(summands(n, "e", around_zero=True))
    quantum = draw(st.sampled_from([fmpq(0), fmpq(0) if quiet else fmpq(1, 2**30), fmpq(1, 8), fmpq(1, 2)]))
    K = draw(st.sampled_from([1, 1, 2, 2, 3, 0]))
    T = K + draw(st.integers(1, 2)) + (size - 1 if draw(st.booleans()) else 0)
    count = min(max_sets, draw(st.sampled_from([2, 2, 2, 3, 3, 1])))
    names = NAMES[:count]
    chosen = draw(st.sets(st.sampled_from(names), min_size=min(count, 1 if draw(often(1, 8)) else 2)))
    options = tuple(name for name in names if name in chosen)
    offsets = tuple(draw(matrices(m, 1, rationals(-8, 8, 2))) for _ in names)
    state = draw(matrices(n, 1, rationals(-3, 3, 1)))
    common = draw(matrices(m, K + 1, rationals(-4, 4, 4)))
    row = tuple(draw(st.lists(rationals(-1, 1, 2), min_size=size, max_size=size))) if travel else None
    rest = _rests(draw, Acl, B, F, b, state, common, T, offsets, options, names, travel)
    none: tuple[Any, ...] = ()
    return build(
        Ingredients(
            Acl=Acl, B=B, F=F, b=b, travel=row, M=draw(coordinates(n)), summands=W, estimate=E, quantum=quantum, K=K, T=T,
            names=names, offsets=offsets, extra=tuple(draw(st.sampled_from([fmpq(0), fmpq(0), fmpq(1, 2)])) for _ in names),
            options=options, state=state, common=common, rest=rest, nominal=draw(matrices(m, T, rationals(-4, 4, 4))),
            directions=tuple(tuple(draw(st.lists(rationals(-2, 2, 1), min_size=size, max_size=size))) for _ in range(draw(st.integers(0, 2)))),
            input_directions=none if m == 1 else tuple(tuple(draw(st.lists(rationals(-2, 2, 1), min_size=m, max_size=m))) for _ in range(draw(st.integers(0, 2)))),
            slack=tuple(draw(st.lists(st.sampled_from([fmpq(0), fmpq(0), fmpq(1), fmpq(3)]), min_size=1, max_size=3))),
            input_slack=tuple(draw(st.lists(st.sampled_from([fmpq(0), fmpq(1, 3), fmpq(2)]), min_size=1, max_size=3))),
            other_gain=draw(matrices(m, n, rationals(-2, 2, 1))) if quiet and quantum == 0 and draw(st.booleans()) else None,
        )
    )  # fmt: skip


def _rests(
    draw: DrawFn, Acl: fmpq_mat, B: fmpq_mat, F: fmpq_mat, b: fmpq_mat, state: fmpq_mat, common: fmpq_mat, T: int,
    offsets: tuple[fmpq_mat, ...], options: tuple[str, ...], names: tuple[str, ...], travel: bool,
) -> tuple[fmpq_mat, ...]:  # fmt: skip
    """Each option's inputs after the consensus: to the law's equilibrium exactly, or under the law itself."""
    size, m = B.nrows(), B.ncols()
    A = Acl - B * F
    z = fmpq_mat(size, 1, state.entries()[travel:])
    for k in range(common.ncols()):
        z = A * z + B * fmpq_mat(m, 1, [common[i, k] for i in range(m)]) + b
    steps = T + 1 - common.ncols()
    rest = []
    exact = draw(often(2, 1))
    for name in options:
        g = offsets[names.index(name)]
        u = reaching_inputs(A, B, b, z, (identity(size) - Acl).inv() * (B * g + b), steps) if exact else None
        if u is None:
            x, columns = z, []
            for _ in range(steps):
                columns.append(F * x + g)
                x = A * x + B * columns[-1] + b
            u = stacked(*(c.transpose() for c in columns)).transpose()
        rest.append(u)
    return tuple(rest)
