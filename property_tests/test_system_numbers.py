"""Numbers, units and times of system files: exact, or refused with what to write instead."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from aesop_verified.kernel.errors import UsageError
from aesop_verified.system import whole_steps
from aesop_verified.system.numbers import NumberRefused, decimal, read_number, split_quantity
from aesop_verified.system.units import UnitRefused, conversion, read_unit

rationals = st.fractions().map(lambda f: fmpq(f.numerator, f.denominator))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", fmpq(0)),
        ("-2", fmpq(-2)),
        ("+3", fmpq(3)),
        ("0.1", fmpq(1, 10)),
        ("-0.25", fmpq(-1, 4)),
        ("1/3", fmpq(1, 3)),
        ("-2/7", fmpq(-2, 7)),
        ("2.5e-3", fmpq(1, 400)),
        ("1e3", fmpq(1000)),
        ("1E3", fmpq(1000)),
        ("1.5E-2", fmpq(3, 200)),
        ("2^-30", fmpq(1, 2**30)),
        ("10^2", fmpq(100)),
        ("0.00", fmpq(0)),
        ("9007199254740993", fmpq(2**53 + 1)),
    ],
)
def test_a_number_is_exactly_what_its_text_says(text: str, value: fmpq) -> None:
    assert read_number(text) == value


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("", "found nothing"),
        ("010", "leading zero"),
        ("-007.5", "leading zero"),
        ("1:30", "base 60"),
        ("0x10", "decimal"),
        ("0o17", "decimal"),
        ("1_000", "without underscores"),
        (".5", "such as 0.5"),
        ("5.", "after the point"),
        ("1,5", "decimal point"),
        ("yes", "truth value"),
        ("Off", "truth value"),
        (".nan", "NaN"),
        ("NaN", "NaN"),
        (".inf", "infinite bound"),
        ("-inf", "infinite bound"),
        ("~", "leave the key out"),
        ("null", "leave the key out"),
        ("1/0", "denominator"),
        ("0^-1", "expected a number"),
        ("-2^2", "two ways"),
        ("10^9999", "expected a number"),
        ("9" * 4001, "expected a number"),
        ("0." + "9" * 1000, "expected a number"),
        ("1/" + "9" * 4001, "expected a number"),
        ("4s", "write a space"),
        ("±3", "interval"),
        ("1e9999", "expected a number"),
        ("--1", "expected a number"),
        ("1 2", "expected a number"),
        ("1/2/3", "expected a number"),
        ("١", "expected a number"),
        ("1\n", "expected a number"),
    ],
)
def test_what_could_be_misread_is_refused_with_advice(text: str, advice: str) -> None:
    with pytest.raises(NumberRefused, match=advice):
        read_number(text)


@given(rationals)
def test_the_text_of_a_number_reads_back(value: fmpq) -> None:
    assert read_number(decimal(value)) == value


@given(st.integers(-(10**12), 10**12), st.integers(0, 12))
def test_decimals_agree_with_python_fractions(digits: int, places: int) -> None:
    text = decimal(fmpq(digits, 10**places))
    assert "/" not in text
    assert Fraction(text) == Fraction(digits, 10**places)


@pytest.mark.parametrize("text", ["9" * 1000, "1e999", "1e-999", "999^999", "999^-999", "9" * 4000 + "/" + "7" * 4000, "0." + "3" * 990])
def test_the_longest_numbers_are_read_and_written(text: str) -> None:
    value = read_number(text)
    assert read_number(decimal(value)) == value and split_quantity(f"{text} m") == (value, "m")


def test_quantities_split_into_number_and_unit() -> None:
    assert split_quantity("1.5 m/s") == (fmpq(3, 2), "m/s")
    assert split_quantity("-2") == (fmpq(-2), "")


@pytest.mark.parametrize(
    ("found", "declared", "factor"),
    [
        ("m", "m", fmpq(1)),
        ("cm", "m", fmpq(1, 100)),
        ("km/h", "m/s", fmpq(5, 18)),
        ("mm/s^2", "m/s^2", fmpq(1, 1000)),
        ("m/s/s", "m/s^2", fmpq(1)),
        ("N", "kg*m/s^2", fmpq(1)),
        ("N/kg", "m/s^2", fmpq(1)),
        ("1/s", "Hz", fmpq(1)),
        ("tokens", "tokens", fmpq(1)),
    ],
)
def test_units_convert_exactly(found: str, declared: str, factor: fmpq) -> None:
    assert conversion(found, declared) == factor


@pytest.mark.parametrize(("found", "declared"), [("s", "m"), ("m/s", "m/s^2"), ("deg", "rad"), ("m", ""), ("tokens", "m"), ("m//s", "m"), ("M", "m")])
def test_units_that_do_not_convert_are_refused(found: str, declared: str) -> None:
    with pytest.raises(UnitRefused):
        conversion(found, declared)


@pytest.mark.parametrize("text", ["", "m s", "m^", "^2", "m*", "2m", "m²"])
def test_a_malformed_unit_is_refused(text: str) -> None:
    with pytest.raises(UnitRefused, match="expected symbols"):
        read_unit(text)


@pytest.mark.parametrize(
    ("duration", "dt", "steps"),
    [
        ("0.3 s", fmpq(1, 10), 3),
        ("0.6 s", fmpq(1, 5), 3),
        ("2.9 s", fmpq(1, 10), 29),
        ("1/49 s", fmpq(1, 49), 1),
        ("300 ms", fmpq(1, 10), 3),
        ("4 s", fmpq(1, 10), 40),
        ("1 min", fmpq(1, 2), 120),
        ("40", fmpq(1, 10), 40),
        ("40 steps", fmpq(1, 10), 40),
        (40, fmpq(1, 7), 40),
        ("0 s", fmpq(1, 10), 0),
    ],
)
def test_m05_a_time_is_a_whole_number_of_steps(duration: int | str, dt: fmpq, steps: int) -> None:
    assert whole_steps(duration, dt) == steps


@pytest.mark.parametrize(("duration", "advice"), [("0.25 s", r"2\.5 steps of 0\.1 s: write 0\.2 s \(2 steps\) or 0\.3 s \(3 steps\)"), ("1.5", "whole number"), ("-1", "whole number"), ("-1 s", "whole number"), ("3 m", "'s'"), ("010", "leading zero")])  # fmt: skip
def test_a_time_between_steps_is_refused_and_never_rounded(duration: str, advice: str) -> None:
    with pytest.raises(UsageError, match=advice):
        whole_steps(duration, fmpq(1, 10))


@given(st.integers(0, 10_000), st.integers(1, 1_000), st.integers(1, 1_000))
def test_m05_whatever_the_step_a_multiple_of_it_is_counted_exactly(steps: int, numerator: int, denominator: int) -> None:
    dt = fmpq(numerator, denominator)
    assert whole_steps(f"{decimal(steps * dt)} s", dt) == steps
