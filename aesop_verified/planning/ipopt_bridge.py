"""Find an Ipopt that Pyomo can call: the user's own `ipopt` executable, else `aesop-ipopt` over CasADi's Ipopt.

Pyomo also lists `cyipopt` as available. That interface needs the AMPL library (ASL), which no package ships, and
fails at the first model; it is never chosen here, and a user who has only cyipopt is served by `aesop-ipopt`.
"""

from __future__ import annotations

import enum
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aesop_verified.kernel.errors import AesopError

BRIDGE_COMMAND = "aesop-ipopt"
_VERSION_TIMEOUT_S = 20.0
"""A cold start of the bridge imports CasADi from disk."""


class IpoptMissing(AesopError):
    """No Ipopt can be called; the message lists what was looked at."""


class IpoptOrigin(enum.Enum):
    """Which Ipopt it is."""

    EXECUTABLE = "the ipopt executable on the search path"
    BRIDGE = "CasADi's Ipopt through aesop-ipopt"


@dataclass(frozen=True, slots=True)
class IpoptFound:
    """An executable that speaks the AMPL protocol."""

    executable: Path
    origin: IpoptOrigin
    version: str

    def __str__(self) -> str:
        return f"Ipopt {self.version} ({self.origin.value}: {self.executable})"


def find_ipopt(search_path: str | None = None) -> IpoptFound:
    """Find Ipopt, a user's own executable first.

    Args:
        search_path: folders as in PATH; the process's own PATH when None.

    Raises:
        IpoptMissing: when neither an `ipopt` that answers `-v` nor `aesop-ipopt` is there.
    """
    rejected = []
    own = shutil.which("ipopt", path=search_path)
    if own is not None:
        version = _version(own)
        if version is not None:
            return IpoptFound(Path(own), IpoptOrigin.EXECUTABLE, version)
        rejected.append(f"{own} does not answer -v as Ipopt does")
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.defpath if search_path is None else search_path])
    bridge = shutil.which(BRIDGE_COMMAND, path=beside) or shutil.which(BRIDGE_COMMAND, path=search_path)
    if bridge is not None and importlib.util.find_spec("casadi") is not None:
        version = _version(bridge)
        if version is not None:
            return IpoptFound(Path(bridge), IpoptOrigin.BRIDGE, version)
        rejected.append(f"{bridge} does not start")
    elif bridge is not None:
        rejected.append(f"{bridge} needs the package casadi")
    else:
        rejected.append(f"the command {BRIDGE_COMMAND} is not installed")
    if importlib.util.find_spec("cyipopt") is not None:
        rejected.append("cyipopt is installed, but Pyomo cannot use it: it has no AMPL library (ASL)")
    raise IpoptMissing(f"no Ipopt for Pyomo: {'; '.join(rejected)}; install aesop-verified again, or put ipopt on the PATH")


def ipopt_solver(found: IpoptFound | None = None) -> Any:
    """Make the Pyomo solver; call it with `load_solutions=False` and read its answer with `status_of`.

    Args:
        found: which Ipopt; `find_ipopt()` when None.

    Raises:
        IpoptMissing: as `find_ipopt`.
    """
    from pyomo.environ import SolverFactory  # it takes half a second, which `find_ipopt` need not pay

    chosen = find_ipopt() if found is None else found
    return SolverFactory("ipopt", executable=str(chosen.executable))


def _version(executable: str) -> str | None:
    """The version that `EXECUTABLE -v` prints, None unless it is an Ipopt with the AMPL library."""
    return _version_of_file(executable, Path(executable).stat().st_mtime_ns)


@functools.lru_cache(maxsize=16)
def _version_of_file(executable: str, modified_ns: int) -> str | None:
    """As `_version`, asked once as long as the file stays the same: the question costs a quarter of a second."""
    try:
        said = subprocess.run(
            [executable, "-v"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"Ipopt (\d+(?:\.\d+)+)\b.*(?:ASL|AMPL)", said)
    return None if match is None else match.group(1)
