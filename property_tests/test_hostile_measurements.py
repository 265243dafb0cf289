"""What a driver may hand over as a measurement: read exactly or missing, in bounded time, and never an exception."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpq

from aesop_verified.runtime.measurement import MeasurementReader

READER = MeasurementReader((fmpq(0),))


class Angry:
    """A driver's object that cannot be used."""

    def __iter__(self) -> None:
        raise OSError("device gone")

    def __float__(self) -> float:
        raise OSError("device gone")


MISSING: dict[str, Any] = {
    "scalar": 3.0,
    "array-without-axis": np.array(3.0),
    "text": "3",
    "bytes": b"3",
    "mapping": {0: 1},
    "set": {0},
    "object": object(),
    "angry": Angry(),
    "angry-entry": [Angry()],
    "matrix": np.array([[0.0]]),
    "complex": [1j],
    "bool": [True],
    "numpy-bool": [np.bool_(True)],
    "huge-int": [10**200_000],
    "huge-fraction": [Fraction(1, 10**100_000)],
    "huge-decimal": [Decimal("1e400000")],
    "tiny-decimal": [Decimal("1e-400000")],
    "huge-text": ["1e9999"],
}


@pytest.mark.parametrize("what", MISSING)
def test_what_is_no_vector_of_finite_numbers_of_bounded_length_is_missing(what: str) -> None:
    begin = time.monotonic()
    found = READER.read(MISSING[what])
    assert found.value is None and found.missing
    assert time.monotonic() - begin < 0.5


@pytest.mark.parametrize("value", [np.int64(2**53 + 1), 2**53 + 1, str(2**53 + 1), Fraction(2**53 + 1), Decimal(2**53 + 1)])
def test_an_integer_that_no_double_has_is_read_exactly(value: Any) -> None:
    found = READER.read([value]).value
    assert found is not None and found[0, 0] == 2**53 + 1
