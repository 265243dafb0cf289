"""Hypothesis profiles, and the versions in the header of every run.

`ci` derives its inputs from the tests' own code, so that a run can be repeated; `derandomize` gives other inputs in
other versions of Hypothesis, so the header names the version. `discovery` looks for new inputs, in larger numbers.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from aesop_verified.planning.ipopt_bridge import IpoptFound, find_ipopt, ipopt_solver
from aesop_verified.testing.pytest_plugin import pytest_terminal_summary, report_tally

__all__ = ["pytest_report_header", "pytest_terminal_summary", "report_tally"]

# The parent is named: under CI Hypothesis makes a derandomised profile of its own the default, and a profile
# without a parent would inherit it.
_DEFAULT = settings.get_profile("default")
_SLOW_MACHINE = [HealthCheck.too_slow]
settings.register_profile(
    "ci", _DEFAULT, derandomize=True, deadline=None, print_blob=True, database=None, suppress_health_check=_SLOW_MACHINE
)
settings.register_profile(
    "discovery", _DEFAULT, derandomize=False, deadline=None, print_blob=True, max_examples=500, suppress_health_check=_SLOW_MACHINE
)

# Repeatable unless asked otherwise: AESOP_HYPOTHESIS_PROFILE=discovery pytest property_tests
_PROFILE = os.environ.get("AESOP_HYPOTHESIS_PROFILE") or "ci"
settings.load_profile(_PROFILE)

_REPORTED = ("aesop-verified", "hypothesis", "python-flint", "numpy", "scipy", "z3-solver", "pyomo", "casadi", "piqp", "daqp")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """The profile, its seed, and what the tests ran with."""
    chosen = settings.get_profile(_PROFILE)
    seed = "derived from each test (derandomize)" if chosen.derandomize else "random; a failure prints how to repeat it"
    return [
        f"hypothesis profile {_PROFILE}: {chosen.max_examples} examples a test, seed {seed}",
        f"python {platform.python_version()}, " + ", ".join(f"{name} {_version(name)}" for name in _REPORTED),
    ]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


@pytest.fixture(scope="session")
def bridge() -> IpoptFound:
    """Our own Ipopt command, even where a real ipopt is installed."""
    here = str(Path(sys.executable).parent)
    return find_ipopt(here) if not (Path(here) / "ipopt").exists() else pytest.skip("a real ipopt lies beside this Python")


@pytest.fixture
def solver(bridge: IpoptFound) -> Any:
    """Pyomo's solver object for our own Ipopt command."""
    return ipopt_solver(bridge)
