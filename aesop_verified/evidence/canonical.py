"""Canonical JSON of exact objects, and back: rationals are text, keys sorted, no spaces; kernel and stdlib only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.plan import Plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import exact, matrix, rows_of, text, vector

T = TypeVar("T")
MOST_STEPS = 10_000
"""The longest horizon that a file is read with; system files allow no longer one."""
_MOST_STATES, _MOST_SIDE = 10_000, 1_000_000
Json = dict[str, Any]


def encoded(value: object) -> bytes:
    """The one canonical text of a JSON value, with a final line break."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode() + b"\n"


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def mat(m: fmpq_mat) -> Json:
    """A matrix; its shape is explicit because it may have no rows."""
    return {"shape": [m.nrows(), m.ncols()], "rows": [[text(v) for v in row] for row in rows_of(m)]}


def vec(v: fmpq_mat) -> list[str]:
    """A column vector."""
    return [text(x) for x in v.entries()]


def poly(p: Polytope) -> Json:
    """{x : G x <= h}."""
    return {"G": [[text(v) for v in row] for row in rows_of(p.G)], "h": vec(p.h), "n": p.dimension_of_space}


def plan_json(plan: Plan) -> Json:
    """A plan: its inputs, branch by branch."""
    return {
        "options": list(plan.options), "consensus": plan.consensus, "horizon": plan.horizon,
        "nominal": mat(plan.nominal), "recovery": [mat(u) for u in plan.recovery],
    }  # fmt: skip


class Reader:
    """A JSON object whose fields are taken by name and type; the path of a fault is in its message."""

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, Mapping):
            raise UsageError(f"{path or 'the file'}: found {type(value).__name__}, expected an object")
        self._value, self._path = value, path

    def _get(self, key: str) -> object:
        if key not in self._value:
            raise UsageError(f"{self.path(key)}: missing; expected it among {sorted(self._value)}")
        return self._value[key]

    def path(self, key: str) -> str:
        """The path of a field."""
        return f"{self._path}.{key}" if self._path else key

    def has(self, key: str) -> bool:
        """Whether the field is there."""
        return key in self._value

    def read(self, key: str, convert: Callable[[Any], T]) -> T:
        """Convert a field; a fault of any kind becomes a `UsageError` with the path."""
        found = self._get(key)
        try:
            return convert(found)
        except (TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise UsageError(f"{self.path(key)}: found {str(found)[:60]!r}, which cannot be read ({error})") from None
        except ValueError as error:
            raise UsageError(f"{self.path(key)}: {error}") from None

    def text(self, key: str) -> str:
        """A text."""
        found = self._get(key)
        if not isinstance(found, str):
            raise UsageError(f"{self.path(key)}: found {found!r}, expected text")
        return found

    def integer(self, key: str) -> int:
        """An integer; true and false are none."""
        found = self._get(key)
        if not isinstance(found, int) or isinstance(found, bool):
            raise UsageError(f"{self.path(key)}: found {found!r}, expected an integer")
        return found

    def object(self, key: str) -> Reader:
        """A nested object."""
        return Reader(self._get(key), self.path(key))

    def objects(self, key: str) -> list[Reader]:
        """A list of nested objects."""
        found = self._get(key)
        if not isinstance(found, list):
            raise UsageError(f"{self.path(key)}: found {type(found).__name__}, expected a list")
        return [Reader(v, f"{self.path(key)}[{i}]") for i, v in enumerate(found)]

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        found = self._get(key)
        if not isinstance(found, list) or not all(isinstance(v, str) for v in found):
            raise UsageError(f"{self.path(key)}: found {str(found)[:60]!r}, expected a list of texts")
        return tuple(found)

    def number(self, key: str) -> fmpq:
        """A rational."""
        return self.read(key, number)

    def vector(self, key: str) -> fmpq_mat:
        """A column vector."""
        return self.read(key, lambda v: vector([number(x) for x in _list(v)]))

    def matrix(self, key: str) -> fmpq_mat:
        """A matrix with its shape."""
        inner = self.object(key)
        shape = inner.read("shape", _shape)
        made = inner.read("rows", lambda v: matrix([[number(x) for x in _list(row)] for row in _list(v)], shape[1]))
        if (made.nrows(), made.ncols()) != shape:
            raise UsageError(f"{self.path(key)}: found {made.nrows()} rows, expected the shape {list(shape)}")
        return made

    def plain_matrix(self, key: str, columns: int) -> fmpq_mat:
        """A matrix as a list of rows."""
        return self.read(key, lambda v: matrix([[number(x) for x in _list(row)] for row in _list(v)], columns))

    def polytope(self, key: str) -> Polytope:
        """{x : G x <= h}."""
        inner = self.object(key)
        n = inner.integer("n")
        if not 1 <= n <= _MOST_STATES:
            raise UsageError(f"{inner.path('n')}: found {n}, expected 1 to {_MOST_STATES}")
        return Polytope(inner.plain_matrix("G", n), inner.vector("h"))

    def plan(self, key: str) -> Plan:
        """A plan."""
        inner = self.object(key)
        recovery = tuple(Reader({"u": v._value}, v._path).matrix("u") for v in inner.objects("recovery"))
        return Plan(inner.texts("options"), inner.integer("consensus"), inner.integer("horizon"), inner.matrix("nominal"), recovery)


def _shape(value: object) -> tuple[int, int]:
    """Rows and columns; flint ends the process when it cannot have the memory that they ask for."""
    found = _list(value)
    if len(found) != 2 or any(not isinstance(v, int) or isinstance(v, bool) or not 0 <= v <= _MOST_SIDE for v in found):
        raise UsageError(f"found {found}, expected two integers of 0 to {_MOST_SIDE}")
    return found[0], found[1]


def number(value: object) -> fmpq:
    """A rational from its text."""
    if not isinstance(value, str):
        raise UsageError(f'found {value!r}, expected a rational as text, such as "3/2"')
    return exact(value)


def _list(value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise UsageError(f"found {type(value).__name__}, expected a list")
    return value


def system_of(reader: Reader) -> System:
    """The system that `System.canonical` describes."""
    B = reader.read("B", lambda v: matrix([[number(x) for x in _list(row)] for row in _list(v)], len(v[0])))
    n = B.nrows()
    if reader.integer("horizon") > MOST_STEPS:
        raise UsageError(f"{reader.path('horizon')}: found {reader.integer('horizon')}, expected at most {MOST_STEPS}")

    def disturbance(key: str) -> Disturbance:
        parts = []
        for s in reader.objects(key):
            lower = s.plain_matrix("lower", 1)
            parts.append(Summand(s.text("name"), s.plain_matrix("map", lower.nrows()), lower, s.plain_matrix("upper", 1)))
        return Disturbance(n, tuple(parts))

    sets = tuple(
        RecoverySet(r.text("name"), r.polytope("polytope"), AffineLaw(r.plain_matrix("gain", n), r.plain_matrix("offset", 1))) for r in reader.objects("recovery_sets")
    )
    return System(
        A=reader.plain_matrix("A", n), B=B, b=reader.plain_matrix("b", 1), X=reader.polytope("X"), U=reader.polytope("U"),
        disturbance=disturbance("disturbance"), estimate_error=disturbance("estimate_error"), gain=reader.plain_matrix("gain", n),
        recovery_sets=sets, horizon=reader.integer("horizon"), consensus_horizon=reader.integer("consensus_horizon"),
        quantum=reader.number("quantum"), fallback_order=reader.texts("fallback_order"),
    )  # fmt: skip
