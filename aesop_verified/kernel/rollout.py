"""Roll-outs and comparisons in integers, so that no fraction is reduced inside a step.

With D a common denominator of A, B and b, and d one of the first state and of all inputs, the integers
y_k = d D^k x_k and v_k = d u_k satisfy

    y_{k+1} = (D A) y_k + D^k ((D B) v_k + d (D b)),

which is x_{k+1} = A x_k + B u_k + b times d D^{k+1}. Nothing is rounded: this is the same arithmetic as over the
rationals, without the greatest common divisors (which took most of the time of a check).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import gt

from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from aesop_verified.kernel.rational import rows_of, stacked_columns


@dataclass(frozen=True, slots=True, eq=False)
class IntegerModel:
    """D A, D B, D b and D, for x+ = A x + B u + b; D b has shape (n, 1)."""

    A: fmpz_mat
    B: fmpz_mat
    b: fmpz_mat
    denominator: fmpz

    @classmethod
    def of(cls, A: fmpq_mat, B: fmpq_mat, b: fmpq_mat) -> IntegerModel:
        """The model with one common denominator."""
        denominator = stacked_columns(A, B, b).numer_denom()[1]
        whole = [(part * denominator).numer_denom()[0] for part in (A, B, b)]
        return cls(whole[0], whole[1], whole[2], denominator)

    def roll_out(self, state: fmpq_mat, inputs: Sequence[fmpq_mat]) -> RollOut:
        """All branches from one state: `inputs` has one matrix of shape (m, N) a branch, N >= 1."""
        m, steps, width = self.B.ncols(), inputs[0].ncols(), len(inputs)
        whole, input_denominator = stacked_columns(*inputs).numer_denom()
        start, state_denominator = state.numer_denom()
        d = input_denominator.lcm(state_denominator)
        scaled = (whole * (d // input_denominator)).entries()
        # Column j of v[k] is input k of branch j; row i of `scaled` holds the branches one after the other.
        starts = [i * width * steps + j * steps for i in range(m) for j in range(width)]
        v = [fmpz_mat(m, width, [scaled[s + k] for s in starts]) for k in range(steps)]
        ones = fmpz_mat(1, width, [1] * width)
        drift = self.b * ones * d
        y = [start * ones * (d // state_denominator)]
        power = fmpz(1)
        factors = [d]
        for inputs_now in v:
            y.append(self.A * y[-1] + (self.B * inputs_now + drift) * power)
            power *= self.denominator
            factors.append(d * power)
        return RollOut(v, d, y, factors)


@dataclass(frozen=True, slots=True, eq=False)
class RollOut:
    """Inputs and states of all branches, one column a branch.

    Attributes:
        inputs[k]: input_factor u_k, k = 0..N-1.
        states[k]: state_factors[k] x_k, k = 0..N.
    """

    inputs: list[fmpz_mat]
    input_factor: fmpz
    states: list[fmpz_mat]
    state_factors: list[fmpz]

    def state(self, k: int, branch: int) -> fmpq_mat:
        """x_k of a branch, shape (n, 1)."""
        y = self.states[k]
        return fmpq_mat(y.nrows(), 1, [fmpq(y[i, branch], self.state_factors[k]) for i in range(y.nrows())])


@dataclass(frozen=True, slots=True, eq=False)
class Excess:
    """Column `branch` breaks row `facet` by `amount` > 0."""

    facet: int
    branch: int
    amount: fmpq


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Inequalities G p <= sides[k] with the rows of G times positive scales, so that they are integers.

    Attributes:
        rows: scales[i] G_i, row by row.
        scales: one entry a row.
        sides: numerator and denominator of scales[i] sides[k][i].
    """

    rows: fmpz_mat
    scales: tuple[fmpz, ...]
    sides: tuple[tuple[tuple[fmpz, fmpz], ...], ...]

    @classmethod
    def of(cls, G: fmpq_mat, sides: Sequence[Sequence[fmpq]]) -> Sides:
        """Scale every row by the common denominator of its own entries."""
        rows: list[fmpz] = []
        scales: list[fmpz] = []
        for row in rows_of(G):
            scale = fmpz(1)
            for value in row:
                scale = scale.lcm(value.q)
            scales.append(scale)
            rows += [value.p * (scale // value.q) for value in row]
        scaled = [[side * scale for side, scale in zip(step, scales)] for step in sides]
        return cls(fmpz_mat(G.nrows(), G.ncols(), rows), tuple(scales), tuple(tuple((s.p, s.q) for s in step) for step in scaled))

    def excess(self, k: int, points: fmpz_mat, factor: fmpz) -> Excess | None:
        """The first row that a column of `points` / factor breaks at step k, or None."""
        values = (self.rows * points).entries()
        broken = list(map(gt, values, _bounds(self, k, points.ncols(), factor)))
        if True not in broken:
            return None
        position = broken.index(True)
        facet, branch = divmod(position, points.ncols())
        amount = (fmpq(values[position], factor) - fmpq(*self.sides[k][facet])) / self.scales[facet]
        return Excess(facet, branch, amount)


@lru_cache  # Steps of one flight have the same factors; the sides are values, told apart by identity.
def _bounds(sides: Sides, k: int, width: int, factor: fmpz) -> list[fmpz]:
    """The largest integers that satisfy the rows of step k times `factor`, each as often as there are columns."""
    # SOUNDNESS: the values are integers, so value <= side * factor exactly when value <= its floor.
    return [bound for numerator, denominator in sides.sides[k] for bound in (numerator * factor // denominator,) * width]
