"""`aesop show SYSTEM`: the exact system that a file denotes, and its hash."""

from __future__ import annotations

import argparse
import sys

from aesop_verified.commands.command import Command
from aesop_verified.commands.exit_status import ExitStatus


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="a system file (YAML)")
    parser.add_argument("--json", action="store_true", help="print the canonical JSON text, whose SHA-256 is the hash")


def _execute(asked: argparse.Namespace) -> ExitStatus:
    from aesop_verified.system import load, summary

    description = load(asked.system)
    sys.stdout.write(description.canonical_json() if asked.json else summary(description))
    return ExitStatus.PROVED


COMMAND = Command(
    name="show",
    summary="print the exact system that a file denotes, and its hash",
    description="Print the exact system that SYSTEM denotes: units, horizons, dynamics, sets, and its SHA-256.",
    add_arguments=_add_arguments,
    execute=_execute,
)
