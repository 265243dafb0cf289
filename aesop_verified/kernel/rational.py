"""Exact numbers: rationals, vectors and matrices over Q.

The kernel has one scalar type, `flint.fmpq`, and one linear-algebra type, `flint.fmpq_mat`; a vector is a
matrix of one column. Floats never enter by accident: `exact` refuses them, and `from_double` is the one
named door through which a solver's double comes in, as the dyadic rational that it is (theory 1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

from flint import fmpq, fmpq_mat, fmpz

from aesop_verified.kernel.errors import ExactnessError, UsageError

Exact: TypeAlias = "int | str | Fraction | fmpq | fmpz"

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,4})?|[+-]?\d+/\d+", re.ASCII)
_MAX_DIGITS = 20_000


def exact(value: Exact) -> fmpq:
    """The rational that `value` denotes.

    Accepts integers, `Fraction`, flint numbers and text such as "-2", "0.1", "1e-3" or "2/7" (theory 1: the
    text "0.1" is 1/10).

    Raises:
        ExactnessError: for a float, a bool, or text that is not a finite number.
    """
    if isinstance(value, fmpq):
        return value
    if isinstance(value, bool):
        raise ExactnessError(f"found the truth value {value!r}, expected a number")
    if isinstance(value, (int, fmpz)):
        return fmpq(value)
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    if isinstance(value, str):
        return _from_text(value)
    raise ExactnessError(
        f"found {value!r} of type {type(value).__name__}, expected an exact number: an int, a Fraction, or text "
        f'such as "0.1" or "1/3"; use from_double(x) to take the exact value of a double'
    )


def _from_text(text: str) -> fmpq:
    if len(text) > _MAX_DIGITS or not _NUMBER.fullmatch(text):
        raise ExactnessError(f'found the text {text[:40]!r}, expected a finite number such as "-2", "0.1", "1e-3" or "2/7"')
    # Python's own int() refuses more than 4,300 digits; flint's integers do not.
    if "/" in text:
        numerator, denominator = (fmpz(part.lstrip("+")) for part in text.split("/"))
        if denominator == 0:
            raise ExactnessError(f"found {text[:40]!r}, whose denominator is zero")
        return fmpq(numerator, denominator)
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, decimals = mantissa.lstrip("+").partition(".")
    return fmpq(fmpz(whole + decimals)) * fmpq(10) ** (int(exponent or 0) - len(decimals))


def from_double(value: float) -> fmpq:
    """The exact value of a double, a dyadic rational (theory 1).

    Raises:
        ExactnessError: for NaN and infinities.
    """
    try:
        numerator, denominator = value.as_integer_ratio()
    except (AttributeError, OverflowError, ValueError):
        raise ExactnessError(f"found {value!r} of type {type(value).__name__}, expected a finite double") from None
    return fmpq(numerator, denominator)


def text(value: fmpq) -> str:
    """The canonical text of a rational: "p" or "p/q" in lowest terms."""
    return f"{value.p}" if value.q == 1 else f"{value.p}/{value.q}"


def vector(values: Iterable[Exact]) -> fmpq_mat:
    """A column vector, shape (n, 1), of exact numbers."""
    entries = [exact(v) for v in values]
    return fmpq_mat(len(entries), 1, entries)


def matrix(rows: Sequence[Sequence[Exact]], columns: int) -> fmpq_mat:
    """A matrix from rows, shape (len(rows), columns); `columns` is explicit because there may be no rows.

    Raises:
        UsageError: when a row has another length.
    """
    entries: list[fmpq] = []
    for index, row in enumerate(rows):
        if len(row) != columns:
            raise UsageError(f"row {index} has {len(row)} entries, expected {columns}")
        entries.extend(exact(v) for v in row)
    return fmpq_mat(len(rows), columns, entries)


def identity(n: int) -> fmpq_mat:
    """The identity matrix, shape (n, n)."""
    return fmpq_mat(n, n, [fmpq(i == j) for i in range(n) for j in range(n)])


def signed_units(n: int) -> fmpq_mat:
    """The rows e_1, -e_1, e_2, ..., shape (2 n, n): the facet normals of a box."""
    return fmpq_mat(2 * n, n, [fmpq(sign * (i == j)) for i in range(n) for sign in (1, -1) for j in range(n)])


def zeros(rows: int, columns: int = 1) -> fmpq_mat:
    """A matrix of zeros."""
    return fmpq_mat(rows, columns)


def entries(m: fmpq_mat) -> list[fmpq]:
    """All entries of a matrix, row by row; for a vector, its components."""
    return m.entries()


def rows_of(m: fmpq_mat) -> list[list[fmpq]]:
    """The rows of a matrix as lists."""
    columns, flat = m.ncols(), m.entries()
    return [flat[i * columns : (i + 1) * columns] for i in range(m.nrows())]


def column(m: fmpq_mat, j: int) -> fmpq_mat:
    """Column j as a vector."""
    return fmpq_mat(m.nrows(), 1, [m[i, j] for i in range(m.nrows())])


def from_columns(columns: Sequence[fmpq_mat], rows: int) -> fmpq_mat:
    """The matrix with the given columns, each of shape (rows, 1)."""
    parts = [c.entries() for c in columns]
    return fmpq_mat(rows, len(parts), [p[i] for i in range(rows) for p in parts])


def stacked(*blocks: fmpq_mat) -> fmpq_mat:
    """Blocks of equal width one above the other."""
    return fmpq_mat(sum(b.nrows() for b in blocks), blocks[0].ncols(), [v for b in blocks for v in b.entries()])


def stacked_columns(*blocks: fmpq_mat) -> fmpq_mat:
    """Blocks of equal height side by side."""
    return stacked(*(b.transpose() for b in blocks)).transpose()


def own(instance: object, *names: str) -> None:
    """Replace matrix attributes of a new frozen value by copies: flint's matrices can be written to in place."""
    for name in names:
        object.__setattr__(instance, name, fmpq_mat(getattr(instance, name)))


def require_matrix(name: str, m: object) -> None:
    """Refuse what is not an exact matrix, naming it."""
    if not isinstance(m, fmpq_mat):
        raise ExactnessError(f"{name} is a {type(m).__name__}, expected an exact matrix; build it with matrix(...) or vector(...)")


def require_shape(name: str, m: fmpq_mat, rows: int, columns: int) -> None:
    """Refuse a matrix of another shape, naming it."""
    require_matrix(name, m)
    if m.nrows() != rows or m.ncols() != columns:
        raise UsageError(f"{name} has shape {m.nrows()} x {m.ncols()}, expected {rows} x {columns}")
