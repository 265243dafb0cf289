"""The entry point of the command `aesop`."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
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
"""


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
    available = commands()
    asked = parser(available).parse_args(arguments)
    try:
        status = available[asked.command].execute(asked)
        sys.stdout.flush()
    except UnsoundStep:
        raise  # A fault of this program: its trace is the message.
    except NotProved as error:
        print(f"aesop {asked.command}: {error}", file=sys.stderr)
        return int(overall([error.verdict]))
    except AesopError as error:
        print(f"aesop {asked.command}: {error}", file=sys.stderr)
        return int(ExitStatus.BAD_INPUT)
    except BrokenPipeError:
        # The reader of our output went away (aesop show ... | head): no message, and no verdict either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitStatus.UNKNOWN)
    except KeyboardInterrupt:
        print(f"aesop {asked.command}: interrupted", file=sys.stderr)
        return 130
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
