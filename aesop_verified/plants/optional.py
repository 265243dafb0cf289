"""Simulators that this project did not write are optional; they are imported when a body of theirs is made."""

from __future__ import annotations

import importlib
from types import ModuleType

from aesop_verified.kernel.errors import AesopError


class SimulatorMissing(AesopError):
    """A simulator is not installed; the message names the command that installs it."""


def simulator(module: str, distribution: str, wanted_for: str) -> ModuleType:
    """Import a module of an optional simulator.

    Args:
        module: to import.
        distribution: what pip calls it.
        wanted_for: what needs it, for the message.

    Raises:
        SimulatorMissing: when it cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SimulatorMissing(f"{wanted_for} needs the module {module}, which cannot be imported ({error}); pip install {distribution}") from error
