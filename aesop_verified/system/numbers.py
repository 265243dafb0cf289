"""Numbers as people write them in a file, read exactly or refused, never misread (theory 1).

Accepted: "10", "-2", "+3", "0.1", "2.5e-3", "1E3", "1/3", "2^-30". Everything that another YAML reader would
read differently ("010", "1:30", "0x10", "1_000", "yes", ".5", ".inf") is refused, with what to write instead.
"""

from __future__ import annotations

import re

from flint import fmpq

from aesop_verified.kernel.rational import exact

_INTEGER = r"(?:0|[1-9][0-9]*)"
NUMBER_PATTERN = rf"[+-]?{_INTEGER}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{{1,3}})?|[+-]?{_INTEGER}/[1-9][0-9]*|[1-9][0-9]{{0,2}}\^[+-]?[0-9]{{1,3}}"
_NUMBER = re.compile(NUMBER_PATTERN)
_QUANTITY = re.compile(rf"({NUMBER_PATTERN})(?:\s+(\S+))?")
EXPECTED = "a number such as 1.5, -2, 1/3, 2.5e-3 or 2^-30"
_MAX_DECIMAL = 1_000
_MAX_INTEGER = 4_000
"""In characters. Python itself refuses integers of more than 4,300 digits; every number that is read can also be written."""

_HINTS: tuple[tuple[str, str], ...] = (
    (r"\s*", "write the number"),
    (r"(?i)[+-]?\.?(inf|infinity)", "an infinite bound is written by leaving it out: leave the state out of the box, or give a row with only 'max' or only 'min'"),
    (r"(?i)\.?nan", "NaN is not a number that can be certified; write the value"),
    (r"(?i)yes|no|on|off|true|false|y|n", "a truth value has no meaning here; write the number"),
    (r"(?i)null|~|none", "an empty value has no meaning here; write the number or leave the key out"),
    (r"[+-]?0[0-9]+.*", "some YAML readers take a leading zero as octal; write it without the leading zero"),
    (r"[+-]?[0-9][0-9_]*(:[0-9_.]+)+", "some YAML readers take a:b as base 60; write the number out, such as '90 s'"),
    (r"(?i)[+-]?0[xob][0-9a-f_]+", "write it in decimal"),
    (r"[+-]?[0-9]+(_[0-9]+)+(\..*)?", "write it without underscores"),
    (r"[+-]?\.[0-9]+.*", "write a digit before the point, such as 0.5"),
    (r"[+-]?[0-9]+\.([eE].*)?", "write a digit after the point, or no point"),
    (r"[+-]?[0-9]+,[0-9]+", "write a decimal point, not a comma"),
    (r"[+-]?[0-9]+/0+", "a denominator is never zero"),
    (rf"(?:{NUMBER_PATTERN})[A-Za-z]\S*", "write a space between the number and its unit, such as '4 s'"),
    (r"[+-].*\^.*", "a sign before a power could be read in two ways; write the value"),
    (r"±.*|\+-.*", "'±r' stands for an interval and cannot be used where one number is expected"),
)


class NumberRefused(Exception):
    """The text is not a number that is accepted; the message says why and what to write."""


def refusal(text: str) -> str:
    """What was found, what was expected and what to write, for a text that is not a number."""
    shown = "nothing" if text == "" else repr(text if len(text) <= 60 else text[:57] + "...")
    for pattern, hint in _HINTS:
        if re.fullmatch(pattern, text.strip()):
            return f"found {shown}, expected {EXPECTED}; {hint}"
    return f"found {shown}, expected {EXPECTED}"


def read_number(text: str) -> fmpq:
    """The rational that the text denotes.

    Raises:
        NumberRefused: for anything that is not exactly one of the accepted forms.
    """
    if _too_long(text) or not _NUMBER.fullmatch(text):
        raise NumberRefused(refusal(text))
    if "^" in text:
        base, exponent = text.split("^")
        return fmpq(int(base)) ** int(exponent)
    return exact(text)


def _too_long(text: str) -> bool:
    longest = max(len(part) for part in text.split("/", 1))
    return longest > (_MAX_DECIMAL if set(".eE") & set(text) else _MAX_INTEGER)


def split_quantity(text: str) -> tuple[fmpq, str]:
    """The number and the unit ("" without one) of a text such as "1.5 m/s".

    Raises:
        NumberRefused: when the text does not start with an accepted number followed by a space and a unit.
    """
    match = None if _too_long(text.split(" ", 1)[0]) else _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise NumberRefused(refusal(text))
    return read_number(match.group(1)), match.group(2) or ""


def decimal(value: fmpq) -> str:
    """Text for people: an exact decimal when that is short ("4.1"), else "p/q"; `read_number` reads it back."""
    denominator, places = int(value.q), 0
    for prime in (2, 5):
        power = 0
        while denominator % prime == 0:
            denominator //= prime
            power += 1
        places = max(places, power)
    if denominator != 1 or places > 12:
        return f"{value.p}/{value.q}"
    digits = str(abs(value.p) * 10**places // value.q).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}")
