"""Numbers from Python and numpy as exact ones. A float never becomes exact by accident: say which rational you mean.

* `exact_doubles(array)`: every double is the dyadic rational that it is; 0.1 becomes 3602879701896397/2^55.
* `shortest_decimals(array)`: every double is the shortest decimal that reads back as it; 0.1 becomes 1/10.

Infinite bounds mean what they say: x <= inf is dropped, x <= -inf is a row that nothing satisfies, NaN is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import ExactnessError, UsageError
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import exact, from_double, rows_of
from aesop_verified.system.numbers import NumberRefused, read_number

Numbers: TypeAlias = "fmpq_mat | np.ndarray[Any, Any] | Sequence[Any]"
"""A matrix or a vector: nested sequences or an array of int, str ("1/3"), Fraction, fmpq; or a flint matrix."""
ExactArray: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.object_]]"


def exact_doubles(values: Any) -> ExactArray:
    """Every double as the rational that it is; infinities stay as they are (only bounds accept them).

    Raises:
        ExactnessError: for NaN, with its index.
    """
    return _converted(values, from_double)


def shortest_decimals(values: Any) -> ExactArray:
    """Every double as the shortest decimal that reads back as it, so 0.1 becomes 1/10; infinities stay.

    Raises:
        ExactnessError: for NaN, with its index.
    """
    return _converted(values, lambda v: exact(repr(v)))


def _converted(values: Any, convert: Callable[[float], fmpq]) -> ExactArray:
    doubles = np.asarray(values, dtype=np.float64)
    result = np.empty(doubles.shape, dtype=object)
    for index in np.ndindex(*doubles.shape):
        value = float(doubles[index])
        if math.isnan(value):
            raise ExactnessError(f"found NaN at index {list(index)}, expected a number")
        result[index] = value if math.isinf(value) else convert(value)
    return result


def entry(value: Any, where: str) -> fmpq:
    """One exact number; raises ExactnessError for a float, naming the place and what to write instead."""
    if isinstance(value, np.integer):
        return fmpq(int(value))
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(float(value)):
            raise ExactnessError(f"{where}: found {float(value)!r}, expected a finite number")
        raise ExactnessError(
            f"{where}: found the float {float(value)!r}, expected an exact number; write it as text ({str(float(value))!r}), "
            f"or convert the array with shortest_decimals(...) or exact_doubles(...)"
        )
    try:
        return read_number(value) if isinstance(value, str) else exact(value)
    except (ExactnessError, NumberRefused) as error:
        raise ExactnessError(f"{where}: {error}") from None


def exact_matrix(values: Numbers, name: str, columns: int | None = None) -> fmpq_mat:
    """A matrix of exact numbers; `columns` is needed when there may be no rows.

    Raises:
        UsageError: for a ragged or a flat array.
        ExactnessError: for floats, with their index.
    """
    if isinstance(values, fmpq_mat):
        return values
    rows = [list(row) if isinstance(row, (list, tuple, np.ndarray)) else row for row in values]
    if any(not isinstance(row, list) for row in rows):
        raise UsageError(f"{name}: found a flat list, expected a list of rows")
    width = columns if columns is not None else (len(rows[0]) if rows else 0)
    for i, row in enumerate(rows):
        if len(row) != width:
            raise UsageError(f"{name}[{i}]: found {len(row)} entries, expected {width}")
    return fmpq_mat(len(rows), width, [entry(v, f"{name}[{i}][{j}]") for i, row in enumerate(rows) for j, v in enumerate(row)])


def exact_vector(values: Numbers, name: str) -> fmpq_mat:
    """A column of exact numbers, shape (n, 1), from a flat sequence or a flint column."""
    if isinstance(values, fmpq_mat):
        return values
    return fmpq_mat(len(values), 1, [entry(v, f"{name}[{i}]") for i, v in enumerate(values)])


def bound(value: Any, where: str) -> fmpq | float:
    """A bound: an exact number, or a float infinity; NaN is refused."""
    if isinstance(value, (float, np.floating)) and math.isinf(float(value)):
        return float(value)
    return entry(value, where)


def rows_polytope(G: Numbers, h: Sequence[Any] | np.ndarray[Any, Any], *, n: int, name: str = "rows") -> Polytope:
    """{x : G x <= h} in dimension n; a row with h = inf is dropped, with h = -inf it becomes 0 x <= -1 (empty).

    Raises:
        ExactnessError: for NaN and for finite floats, with their index.
    """
    normals = rows_of(exact_matrix(G, f"{name}.G", n))
    if len(normals) != len(h):
        raise UsageError(f"{name}: found {len(normals)} rows in G and {len(h)} entries in h, expected as many")
    rows, sides = list[fmpq](), list[fmpq]()
    for i, normal in enumerate(normals):
        side = bound(h[i], f"{name}.h[{i}]")
        if isinstance(side, float):
            if side > 0:
                continue
            normal, side = [fmpq(0)] * n, fmpq(-1)
        rows.extend(normal)
        sides.append(side)
    return Polytope(fmpq_mat(len(sides), n, rows), fmpq_mat(len(sides), 1, sides))


def bounds_polytope(lower: Sequence[Any] | np.ndarray[Any, Any], upper: Sequence[Any] | np.ndarray[Any, Any], name: str = "bounds") -> Polytope:
    """{x : lower <= x <= upper}; infinite bounds as in `rows_polytope`. Facets: x_i <= upper_i, then x_i >= lower_i."""
    n = len(lower)
    if len(upper) != n:
        raise UsageError(f"{name}: found {n} lower and {len(upper)} upper bounds, expected as many")
    sides: list[fmpq | float] = []
    for i in range(n):
        low, high = bound(lower[i], f"{name}.lower[{i}]"), bound(upper[i], f"{name}.upper[{i}]")
        sides += [high, -low]
    G = [[sign * (i == j) for j in range(n)] for i in range(n) for sign in (1, -1)]
    return rows_polytope(G, sides, n=n, name=name)
