"""What a sub-command is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from aesop_verified.commands.exit_status import ExitStatus


@dataclass(frozen=True, slots=True)
class Command:
    """A sub-command of `aesop`: a module of this package that defines `COMMAND` is one.

    `execute` imports what it needs when it runs, so that `aesop --help` is quick. A `UsageError` that it raises
    becomes a message and exit status 2.
    """

    name: str
    summary: str
    """One line for `aesop --help`."""
    description: str
    """A paragraph for `aesop NAME --help`."""
    add_arguments: Callable[[argparse.ArgumentParser], None]
    execute: Callable[[argparse.Namespace], ExitStatus]
