"""Builds the verified checker command once a run, for the tests that hold it against the kernel."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_FOLDER = tempfile.TemporaryDirectory(prefix="aesop-proofs-")
PROOFS = Path(__file__).parent.parent / "proofs"

needs_checker = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("coqc", "ocamlfind", "make")),
    reason="coqc or ocamlfind is not installed; on Debian: apt-get install coq libzarith-ocaml-dev libsha-ocaml-dev",
)


@functools.cache
def built_checker() -> Path:
    """The command, built from clean; once a process, in a folder that goes with it.

    Raises:
        AssertionError: when it does not build.
    """
    folder = Path(_FOLDER.name) / "proofs"
    shutil.copytree(PROOFS, folder, ignore=shutil.ignore_patterns("*.vo*", "*.glob", ".*", "build", "Makefile.coq*"))
    done = subprocess.run(["make", "-C", str(folder), "checker"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "checker" / "build" / "checker"
