"""Exact values of the kernel as JSON, and back; the standard library and the kernel only.

A vector is a list of "p/q". A matrix of inputs is its common denominator and one text of numerators a row,
which is short and quick. Reading is strict: what is not exactly the written form is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.inclusion import FarkasRows
from aesop_verified.kernel.invariance import AssuredSystem, InvarianceCertificate, RecoveryEvidence
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.plan import Plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import exact, matrix, rows_of, text, vector

Json = dict[str, Any]
T = TypeVar("T")
MOST_STEPS = 10_000
"""The longest horizon that a log is read with; system files allow no longer one."""
_MOST_STATES = 10_000


class Unreadable(UsageError):
    """A JSON value that is not what was written here; the message names the field."""


def canonical(value: object) -> bytes:
    """The one text of a JSON value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")


def loggable(note: Json, most: int) -> Json:
    """A note from outside if the log can have it: no NaN, at most `most` bytes, not nested without end."""
    try:
        if len(canonical(note)) <= most and _depth(note) <= 8:
            return note
    except (ValueError, RecursionError):
        pass
    return {"garbage_note": str(note)[:200]}


def _depth(value: object) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, parts), default=0)


def field(value: object, name: str, convert: Callable[[Any], T]) -> T:
    """`convert(value[name])`; every fault becomes `Unreadable` with the field's name."""
    if not isinstance(value, dict) or name not in value:
        raise Unreadable(f"the field {name!r} is missing, expected it in {str(value)[:60]!r}")
    try:
        return convert(value[name])
    except Unreadable as error:
        raise Unreadable(f"{name}: {error}") from None
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise Unreadable(f"{name}: found {str(value[name])[:60]!r}, which cannot be read ({error})") from None


def whole(value: object) -> int:
    """An integer; a truth value is none."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unreadable(f"found {value!r}, expected an integer")
    return value


def words(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise Unreadable(f"found {str(value)[:60]!r}, expected text")
    return value


def names(value: object) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(words(v) for v in items(value))


def items(value: object) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise Unreadable(f"found {str(value)[:60]!r}, expected a list")
    return value


def optional(value: object, convert: Callable[[Any], T]) -> T | None:
    """None, or what `convert` makes of the value."""
    return None if value is None else convert(value)


def number(value: object) -> fmpq:
    """A rational from its text."""
    return exact(words(value))


def vector_json(v: fmpq_mat) -> list[str]:
    """A column vector."""
    return [text(x) for x in v.entries()]


def vector_of(value: object) -> fmpq_mat:
    """The vector that `vector_json` wrote."""
    return vector(number(v) for v in items(value))


def inputs_json(m: fmpq_mat) -> Json:
    """A matrix with a common denominator."""
    numerators, denominator = m.numer_denom()
    flat, columns = [str(v) for v in numerators.entries()], m.ncols()
    rows = [" ".join(flat[i * columns : (i + 1) * columns]) for i in range(m.nrows())]
    return {"denominator": str(denominator), "rows": rows}


def inputs_of(value: object) -> fmpq_mat:
    """The matrix that `inputs_json` wrote."""
    denominator = field(value, "denominator", lambda v: fmpz(words(v)))
    rows = field(value, "rows", lambda v: [[fmpz(n) for n in row.split(" ")] for row in names(v)])
    if denominator <= 0 or len({len(row) for row in rows}) != 1:
        raise Unreadable(f"found {str(value)[:60]!r}, expected a positive denominator and rows of one length")
    return fmpq_mat(fmpz_mat(rows)) * fmpq(1, denominator)


def plan_json(plan: Plan) -> Json:
    """A plan: inputs, branch by branch."""
    return {
        "options": list(plan.options), "consensus": plan.consensus, "horizon": plan.horizon,
        "nominal": inputs_json(plan.nominal), "recovery": [inputs_json(u) for u in plan.recovery],
    }  # fmt: skip


def plan_of(value: object) -> Plan:
    """The plan that `plan_json` wrote."""
    return Plan(
        field(value, "options", names),
        field(value, "consensus", whole),
        field(value, "horizon", whole),
        field(value, "nominal", inputs_of),
        field(value, "recovery", lambda v: tuple(inputs_of(u) for u in items(v))),
    )


def matrix_json(m: fmpq_mat) -> list[list[str]]:
    """A matrix as rows of rationals."""
    return [[text(v) for v in row] for row in rows_of(m)]


def matrix_of(value: object, columns: int) -> fmpq_mat:
    """The matrix that `matrix_json` wrote."""
    return matrix([[number(v) for v in items(row)] for row in items(value)], columns)


def _polytope_of(value: object) -> Polytope:
    n = field(value, "n", whole)
    if not 1 <= n <= _MOST_STATES:  # flint ends the process when it cannot have the memory for more
        raise Unreadable(f"n: found {n}, expected 1 to {_MOST_STATES}")
    return Polytope(field(value, "G", lambda v: matrix_of(v, n)), field(value, "h", vector_of))


def _disturbance_of(value: object, n: int) -> Disturbance:
    parts = []
    for s in items(value):
        lower = field(s, "lower", lambda v: matrix_of(v, 1))
        upper = field(s, "upper", lambda v: matrix_of(v, 1))
        parts.append(Summand(field(s, "name", words), _columns(s, lower.nrows()), lower, upper))
    return Disturbance(n, tuple(parts))


def _columns(summand: object, columns: int) -> fmpq_mat:
    return field(summand, "map", lambda v: matrix_of(v, columns))


def system_of(value: object) -> System:
    """The system that `System.canonical` describes."""
    rows = field(value, "B", items)
    m = len(items(rows[0])) if rows else 0
    n = len(rows)

    if field(value, "horizon", whole) > MOST_STEPS:
        raise Unreadable(f"horizon: found {field(value, 'horizon', whole)}, expected at most {MOST_STEPS}")

    def recovery_set(r: object) -> RecoverySet:
        return RecoverySet(
            field(r, "name", words),
            field(r, "polytope", _polytope_of),
            AffineLaw(field(r, "gain", lambda v: matrix_of(v, n)), field(r, "offset", lambda v: matrix_of(v, 1))),
        )

    return System(
        A=field(value, "A", lambda v: matrix_of(v, n)), B=field(value, "B", lambda v: matrix_of(v, m)),
        b=field(value, "b", lambda v: matrix_of(v, 1)), X=field(value, "X", _polytope_of), U=field(value, "U", _polytope_of),
        disturbance=field(value, "disturbance", lambda v: _disturbance_of(v, n)),
        estimate_error=field(value, "estimate_error", lambda v: _disturbance_of(v, n)),
        gain=field(value, "gain", lambda v: matrix_of(v, n)),
        recovery_sets=field(value, "recovery_sets", lambda v: tuple(recovery_set(r) for r in items(v))),
        horizon=field(value, "horizon", whole), consensus_horizon=field(value, "consensus_horizon", whole),
        quantum=field(value, "quantum", number), fallback_order=field(value, "fallback_order", names),
    )  # fmt: skip


_STATEMENTS = ("invariance", "inside", "law")


def evidence_json(assured: AssuredSystem) -> Json:
    """For each recovery set a point of it and the Farkas rows of its three statements."""

    def one(c: InvarianceCertificate) -> Json:
        rows = {label: _farkas_json(getattr(c, label).multipliers) for label in _STATEMENTS}
        return {"point": vector_json(c.point), **rows}

    return {c.name: one(c) for c in assured.certificates}


def _farkas_json(m: fmpq_mat) -> Json:
    return {"columns": m.ncols(), "rows": matrix_json(m)}


def _farkas_of(value: object) -> FarkasRows:
    columns = field(value, "columns", whole)
    return FarkasRows(field(value, "rows", lambda v: matrix_of(v, columns)))


def evidence_of(value: object) -> dict[str, RecoveryEvidence]:
    """The evidence that `evidence_json` wrote, for the kernel to check."""
    if not isinstance(value, dict):
        raise Unreadable(f"found {str(value)[:60]!r}, expected an object")

    def one(e: object) -> RecoveryEvidence:
        return RecoveryEvidence(field(e, "point", vector_of), *(field(e, label, _farkas_of) for label in _STATEMENTS))

    return {name: one(e) for name, e in value.items()}


