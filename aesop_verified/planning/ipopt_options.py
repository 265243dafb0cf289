"""The options of the `ipopt` command: its command line, the variable `ipopt_options`, and an options file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from aesop_verified.kernel.errors import UsageError

OptionValue: TypeAlias = "int | float | str"

DEFAULT_FILE = "ipopt.opt"
"""Ipopt reads this file in the working directory unless `option_file_name` names another one."""

# Short names that AMPL's users know.
_SYNONYMS = {"outlev": "print_level", "maxit": "max_iter", "maxiter": "max_iter"}
# They speak to AMPL's own driver and have no meaning here.
_DRIVER_ONLY = frozenset({"wantsol", "halt_on_ampl_error", "objno"})


class OptionError(UsageError):
    """An option that cannot be read; the message names where it stands."""


def read_options(words: Sequence[str], environment: Mapping[str, str], folder: Path) -> dict[str, OptionValue]:
    """Every option, the command line before `ipopt_options` before the file.

    Args:
        words: `name=value` words of the command line.
        environment: the process's environment; `ipopt_options` is read.
        folder: where `ipopt.opt` is looked for.

    Raises:
        OptionError: for a word without a value, an unreadable quotation, or a named options file that is missing.
    """
    given = _pairs(words, "the command line")
    try:
        variable = shlex.split(environment.get("ipopt_options", ""))
    except ValueError as error:
        raise OptionError(f"ipopt_options={environment['ipopt_options']!r}: {error}; close the quotation") from error
    options = {**_pairs(variable, "ipopt_options"), **given}
    name = options.pop("option_file_name", None)
    file = folder / (DEFAULT_FILE if name is None else str(name))
    if name is not None and not file.is_file():
        raise OptionError(f"option_file_name={name!r}: no such file")
    return {**(_file_options(file) if file.is_file() else {}), **options}


def _pairs(words: Sequence[str], place: str) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, text = word.partition("=")
        if not equals:
            if not left:
                raise OptionError(f"{place}: found {word!r} without a value, expected name=value")
            text = left.pop(0)
        _put(options, name, text, place)
    return options


def _file_options(file: Path) -> dict[str, OptionValue]:
    options: dict[str, OptionValue] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        words = line.partition("#")[0].split(maxsplit=1)
        if not words:
            continue
        if len(words) != 2:
            raise OptionError(f"{file}, line {number}: found {words[0]!r} without a value, expected 'name value'")
        _put(options, words[0], words[1].strip(), f"{file}, line {number}")
    return options


def _put(options: dict[str, OptionValue], name: str, text: str, place: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise OptionError(f"{place}: found {name!r}, expected the name of an Ipopt option")
    name = _SYNONYMS.get(name, name)
    if name not in _DRIVER_ONLY:
        options[name] = _value(text.strip("\"'"))


def _value(text: str) -> OptionValue:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
