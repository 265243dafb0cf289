"""Units such as "m/s^2": two units convert when they are products of the same base units, by an exact factor.

A symbol that is not in the table is a base unit of its own ("tokens"), so any unit can be declared; it only
converts to itself. Degrees and radians do not convert, because their ratio is irrational.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flint import fmpq

_SYMBOL = re.compile(r"([A-Za-z%]+|1)(?:\^(-?[0-9]{1,2}))?")

_TABLE: dict[str, tuple[fmpq, dict[str, int]]] = {
    "1": (fmpq(1), {}),
    "s": (fmpq(1), {"s": 1}),
    "ms": (fmpq(1, 1_000), {"s": 1}),
    "us": (fmpq(1, 1_000_000), {"s": 1}),
    "min": (fmpq(60), {"s": 1}),
    "h": (fmpq(3600), {"s": 1}),
    "Hz": (fmpq(1), {"s": -1}),
    "m": (fmpq(1), {"m": 1}),
    "cm": (fmpq(1, 100), {"m": 1}),
    "mm": (fmpq(1, 1_000), {"m": 1}),
    "km": (fmpq(1_000), {"m": 1}),
    "kg": (fmpq(1), {"kg": 1}),
    "g": (fmpq(1, 1_000), {"kg": 1}),
    "N": (fmpq(1), {"kg": 1, "m": 1, "s": -2}),
}


class UnitRefused(Exception):
    """The text is not a unit, or two units do not convert; the message says which."""


@dataclass(frozen=True, slots=True)
class Unit:
    """factor times a product of base units, as sorted (symbol, power) pairs."""

    factor: fmpq
    powers: tuple[tuple[str, int], ...]


def read_unit(text: str) -> Unit:
    """Read "m", "m/s^2", "kg*m/s" ('/' divides by the one symbol after it).

    Raises:
        UnitRefused: when the text has another form.
    """
    factor, powers = fmpq(1), dict[str, int]()
    parts = re.split(r"([*/])", text)
    for operator, part in zip(["*", *parts[1::2]], parts[0::2]):
        match = _SYMBOL.fullmatch(part)
        if match is None:
            raise UnitRefused(f"found the unit {text!r}, expected symbols joined by '*' and '/', such as m, m/s or m/s^2")
        power = int(match.group(2) or 1) * (1 if operator == "*" else -1)
        size, base = _TABLE.get(match.group(1), (fmpq(1), {match.group(1): 1}))
        factor *= size**power
        for symbol, exponent in base.items():
            powers[symbol] = powers.get(symbol, 0) + exponent * power
    return Unit(factor, tuple(sorted((s, p) for s, p in powers.items() if p != 0)))


def conversion(found: str, declared: str) -> fmpq:
    """The factor that turns a value in `found` into a value in `declared`.

    Raises:
        UnitRefused: when they are not products of the same base units.
    """
    if found == declared:
        return fmpq(1)
    if declared == "":
        raise UnitRefused(f"found the unit {found!r} where none is declared; declare it with the name, such as {{name: x, unit: {found}}}, or leave it out here")
    a, b = read_unit(found), read_unit(declared)
    if a.powers != b.powers:
        raise UnitRefused(f"found the unit {found!r}, expected {declared!r} or one that converts to it exactly")
    return a.factor / b.factor
