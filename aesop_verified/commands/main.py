"""The entry point of the command `aesop`."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import pkgutil
import sys
import traceback
from collections.abc import Sequence

import aesop_verified
import aesop_verified.commands
from aesop_verified.commands.command import Command
from aesop_verified.commands.exit_status import ExitStatus, overall
from aesop_verified.kernel.errors import AesopError, UnsoundStep
from aesop_verified.kernel.verdict import NotProved

EXIT_TABLE = """exit status:
  0  proved: everything asked holds
  1  refuted: something asked is false, and a witness is shown (1 beats 3)
  2  bad input: it cannot be understood, nothing was decided
  3  unknown: nothing was refuted, something was not proved
 70  a fault of this program: nothing was decided, and its trace is the message
"""
FAULT = 70


def commands() -> dict[str, Command]:
    """Every sub-command by name, found in this package, so that adding one is adding its file."""
    found = {}
    for module in pkgutil.iter_modules(aesop_verified.commands.__path__):
        candidate = getattr(importlib.import_module(f"aesop_verified.commands.{module.name}"), "COMMAND", None)
        if isinstance(candidate, Command):
            found[candidate.name] = candidate
    return found


def parser(available: dict[str, Command]) -> argparse.ArgumentParser:
    """The argument parser of `aesop` with all sub-commands."""
    top = argparse.ArgumentParser(
        prog="aesop",
        description=aesop_verified.__doc__,
        epilog=EXIT_TABLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"aesop-verified {aesop_verified.__version__}")
    below = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in available.values():
        one = below.add_parser(
            command.name,
            help=command.summary,
            description=command.description,
            epilog=EXIT_TABLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(one)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `aesop`; returns its exit status."""
    _prepare_streams()
    available = commands()
    asked = parser(available).parse_args(arguments)
    try:
        status = available[asked.command].execute(asked)
        sys.stdout.flush()
    except NotProved as error:
        print(f"aesop {asked.command}: {error}", file=sys.stderr)
        return int(overall([error.verdict]))
    except AesopError as error:
        if isinstance(error, UnsoundStep):
            return _fault()
        print(f"aesop {asked.command}: {error}", file=sys.stderr)
        return int(ExitStatus.BAD_INPUT)
    except BrokenPipeError:
        # The reader of our output went away (aesop show ... | head): no message, and no verdict either.
        _discard_output()
        return int(ExitStatus.UNKNOWN)
    except OSError as error:
        _discard_output()
        print(f"aesop {asked.command}: {error}; the output may be incomplete: free space, or send it elsewhere", file=sys.stderr)
        return int(ExitStatus.UNKNOWN)
    except KeyboardInterrupt:
        print(f"aesop {asked.command}: interrupted", file=sys.stderr)
        return 130
    except Exception:  # noqa: BLE001 - Python's own status of an accident is 1, which says that something is refuted
        return _fault()
    return int(status)


def _prepare_streams() -> None:
    """Closed standard streams go to nowhere, so that no file takes their place; what a terminal cannot show is escaped."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the end
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Nothing more is written to standard output, not even what is buffered, when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fault() -> int:
    traceback.print_exc()
    return FAULT


if __name__ == "__main__":
    sys.exit(main())
