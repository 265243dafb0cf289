"""Views of a description as float arrays, for solvers and plots: nearest doubles, never used by a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from flint import fmpq, fmpq_mat

from aesop_verified.kernel.rational import rows_of

if TYPE_CHECKING:
    from aesop_verified.system.description import SystemDescription

FloatArray: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"


@dataclass(frozen=True, slots=True, eq=False)
class SystemArrays:
    """A description as doubles; names and shapes as in `SystemDescription`, vectors of shape (n,) or (m,).

    Attributes:
        X, U: pairs (G, h) of shapes (r, n), (r,).
        tube_gain: None when it is to be synthesised.
        state_cost, input_cost, terminal_cost, goal, recovery_input_weight: the objective.
        initial_lower, initial_upper: the initial box.
    """

    dt: float
    A: FloatArray
    B: FloatArray
    b: FloatArray
    X: tuple[FloatArray, FloatArray]
    U: tuple[FloatArray, FloatArray]
    tube_gain: FloatArray | None
    state_cost: FloatArray
    input_cost: FloatArray
    terminal_cost: FloatArray
    goal: FloatArray
    recovery_input_weight: float
    initial_lower: FloatArray
    initial_upper: FloatArray
    state_scale: FloatArray
    input_scale: FloatArray


def number(value: fmpq) -> float:
    """The nearest double (Python's division of integers rounds correctly)."""
    return int(value.p) / int(value.q)


def array(m: fmpq_mat) -> FloatArray:
    """A matrix as doubles, shape (rows, columns)."""
    return np.array([[number(v) for v in row] for row in rows_of(m)], dtype=np.float64).reshape(m.nrows(), m.ncols())


def flat(m: fmpq_mat) -> FloatArray:
    """A column as doubles, shape (rows,)."""
    return array(m).reshape(-1)


def to_arrays(d: SystemDescription) -> SystemArrays:
    """All matrices of a description."""

    def numbers(values: tuple[fmpq | None, ...]) -> FloatArray:
        return np.array([np.nan if v is None else number(v) for v in values], dtype=np.float64)

    return SystemArrays(
        dt=number(d.dt), A=array(d.A), B=array(d.B), b=flat(d.b),
        X=(array(d.state_set.G), flat(d.state_set.h)), U=(array(d.input_set.G), flat(d.input_set.h)),
        tube_gain=None if d.tube_gain is None else array(d.tube_gain),
        state_cost=array(d.costs.state), input_cost=array(d.costs.input), terminal_cost=array(d.costs.terminal),
        goal=flat(d.costs.goal), recovery_input_weight=number(d.costs.recovery_input),
        initial_lower=numbers(d.initial.lower), initial_upper=numbers(d.initial.upper),
        state_scale=numbers(d.state_scale), input_scale=numbers(d.input_scale),
    )  # fmt: skip
