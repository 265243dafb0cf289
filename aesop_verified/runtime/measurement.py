"""Measurements on their way into the kernel: exact numbers of bounded length, or missing (theory 1; cases M06, I06)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import TypeAlias

from flint import fmpq, fmpq_mat, fmpz

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.model import System
from aesop_verified.kernel.rational import Exact, exact, from_double, text, vector

Number: TypeAlias = "float | int | str | Fraction | Decimal | fmpq | fmpz | None"

_HALF = fmpq(1, 2)
MOST_BITS = 8192
"""Longest numerator or denominator of a measurement: the time of a step is bounded by it."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A measurement as the kernel takes it: a vector, or None and why it counts as missing."""

    value: fmpq_mat | None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class MeasurementReader:
    """Turns sensor values into exact numbers, rounding component i to a multiple of `quanta[i]` (0: not at all).

    A double without a quantum enters as the dyadic rational that it is. Anything that is not a finite number, or
    a vector of the wrong length, makes the whole measurement missing: a NaN never passes a comparison.
    """

    quanta: tuple[fmpq, ...]

    @classmethod
    def of(cls, system: System, quanta: Sequence[Exact] | None = None) -> MeasurementReader:
        """A reader for a system; the rounding has to lie in the declared estimate error.

        Raises:
            UsageError: when a quantum is negative, or rounds by more than `estimate_error` allows.
        """
        if quanta is None:
            return cls((fmpq(0),) * system.n)
        if len(quanta) != system.n:
            raise UsageError(f"measurement_quantum has {len(quanta)} entries, expected {system.n}, one a state")
        exact_quanta = tuple(exact(q) for q in quanta)
        sides = system.estimate_error.bounding_box().h.entries()
        for i, q in enumerate(exact_quanta):
            allowed = min(sides[2 * i], sides[2 * i + 1])
            if q < 0 or q / 2 > allowed:
                raise UsageError(
                    f"measurement_quantum[{i}] is {text(q)}: rounding to it moves the state by up to {text(q / 2)}, but estimate_error "
                    f"declares {text(allowed)}; declare it in estimate_error, or round more finely"
                )
        return cls(exact_quanta)

    def read(self, values: Sequence[Number] | fmpq_mat | None) -> Measured:
        """The exact measurement; never raises for what a sensor may deliver."""
        if values is None:
            return Measured(None, "no measurement was given")
        if isinstance(values, (str, bytes, bytearray, Mapping, Set)):
            return Measured(None, f"found {_shown(values)}, expected {len(self.quanta)} numbers in the order of the states")
        try:
            parts = list(values.entries()) if isinstance(values, fmpq_mat) else list(values)
        except Exception as error:  # noqa: BLE001 - whatever a driver hands over, the step has to go on
            return Measured(None, f"found {_shown(values)}, expected {len(self.quanta)} numbers ({type(error).__name__})")
        if len(parts) != len(self.quanta):
            return Measured(None, f"found {len(parts)} values, expected {len(self.quanta)}")
        read: list[fmpq] = []
        for i, (value, quantum) in enumerate(zip(parts, self.quanta)):
            number = _exact_or_none(value)
            if number is None:
                return Measured(None, f"value {i} is {_shown(value)}, expected a finite number")
            read.append(number if quantum == 0 else quantum * (number / quantum + _HALF).floor())
        return Measured(vector(read))


def _shown(value: object) -> str:
    try:
        return f"{value!r:.40}"
    except Exception:  # noqa: BLE001 - Python shows no integer of more than 4,300 digits
        return f"a {type(value).__name__} that cannot be shown"


def _exact_or_none(value: object) -> fmpq | None:
    number = _read(value)
    return number if number is not None and max(abs(number.p).bit_length(), number.q.bit_length()) <= MOST_BITS else None


def _read(value: object) -> fmpq | None:
    try:
        if isinstance(value, Integral) and not isinstance(value, bool):
            value = int(value)  # numpy's integers too, which are no int
        if isinstance(value, (int, Fraction)) and max(abs(value.numerator).bit_length(), value.denominator.bit_length()) > MOST_BITS:
            return None
        if isinstance(value, (int, str, Fraction, fmpq, fmpz)) and not isinstance(value, bool):
            return exact(value)
        if isinstance(value, Decimal):
            return exact(Fraction(value)) if value.is_finite() and abs(value.adjusted()) < MOST_BITS and len(value.as_tuple().digits) < MOST_BITS else None
        if type(value).__name__ in ("bool", "bool_") or value is None:  # numpy's truth value is no bool
            return None
        double = float(value)  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001 - float() of a driver's own object may raise anything
        return None
    return from_double(double) if math.isfinite(double) else None
