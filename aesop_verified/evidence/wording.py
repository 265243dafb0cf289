"""Numbers, rows and states in words, with names and units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import text
from aesop_verified.system.numbers import decimal
from aesop_verified.system.parts import Variable

_LONG = 14  # characters from which a decimal is shown as an approximation
_LONG_FRACTION = 7


def shown(value: fmpq) -> str:
    """The exact value when it is short, else six digits after a tilde (files hold it exactly)."""
    exact = decimal(value)
    return exact if len(exact) <= (_LONG_FRACTION if "/" in exact else _LONG) else f"~{int(value.p) / int(value.q):.6g}"


def quantity(value: fmpq, unit: str) -> str:
    """A value with its unit."""
    return f"{shown(value)} {unit}" if unit else shown(value)


@dataclass(frozen=True, slots=True)
class Witness:
    """Why an obligation is refuted.

    Attributes:
        sentence: what happens there.
        point: name, unit and exact value of each component of the state (or input) that shows it.
        amount: by how much it fails, exact text; empty when there is no measure.
        amount_shown: the same with its unit, for people.
    """

    sentence: str
    point: tuple[tuple[str, str, str], ...]
    amount: str
    amount_shown: str

    def point_text(self) -> str:
        """The components that are not zero, for people."""
        parts = []
        for name, unit, value in self.point:
            numerator, _, denominator = value.partition("/")
            number = fmpq(int(numerator), int(denominator or 1))
            if number != 0:
                parts.append(f"{name} = {quantity(number, unit)}")
        rest = "" if len(parts) == len(self.point) else ("all components 0" if not parts else "the rest 0")
        return ", ".join([*parts, rest] if rest else parts)


def components(variables: Sequence[Variable], point: fmpq_mat) -> tuple[tuple[str, str, str], ...]:
    """A point with names and units."""
    return tuple((v.name, v.unit, text(x)) for v, x in zip(variables, point.entries()))


def row(P: Polytope, facet: int, variables: Sequence[Variable]) -> str:
    """A facet in words, such as "x <= 10 m" or "vx >= -1.5 m/s"."""
    entries = [(P.G[facet, j], v) for j, v in enumerate(variables) if P.G[facet, j] != 0]
    side = P.h[facet, 0]
    if len(entries) == 1:
        g, v = entries[0]
        return f"{v.name} {'<=' if g > 0 else '>='} {quantity(side / g, v.unit)}"
    terms = " ".join(f"{'+' if g > 0 else '-'} {'' if abs(g) == 1 else shown(abs(g)) + ' '}{v.name}" for g, v in entries)
    return f"{terms.removeprefix('+ ') or '0'} <= {shown(side)}"


def excess(P: Polytope, facet: int, amount: fmpq, variables: Sequence[Variable]) -> tuple[fmpq, str]:
    """By how much a facet is exceeded, in the unit of its variable when it has a single one."""
    entries = [(P.G[facet, j], v) for j, v in enumerate(variables) if P.G[facet, j] != 0]
    if len(entries) == 1:
        value = amount / abs(entries[0][0])
        return value, quantity(value, entries[0][1].unit)
    return amount, shown(amount)
