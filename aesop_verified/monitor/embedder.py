"""What an embedder is: text in, one row of float32 per text out, and an identity that a cache can be tied to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from aesop_verified.monitor.errors import ModelNotInstalled


@dataclass(frozen=True)
class EmbedderIdentity:
    """Name, version, dimension and the SHA-256 over everything that decides the numbers (weights, tokenizer, settings)."""

    name: str
    version: str
    dimension: int
    digest: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} ({self.dimension} components, sha256 {self.digest[:12]})"


class Embedder(Protocol):
    """phi of section IV-A: o -> e = phi(o)."""

    @property
    def identity(self) -> EmbedderIdentity:
        """Which embedder this is; equal identities give equal numbers up to the last bits."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, shape (len(texts), dimension)."""
        ...


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def packaged_file(distribution: str, relative: str, *, install: str) -> Path:
    """The path of a data file of an installed distribution, found without importing its code.

    Raises `ModelNotInstalled`, with the command that installs it, when the distribution or the file is missing.
    """
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        raise ModelNotInstalled(
            f"the package {distribution!r}, which holds {relative}, is not installed; run: {install}"
        ) from None
    path = Path(str(found.locate_file(relative)))
    if not path.is_file():
        raise ModelNotInstalled(
            f"the package {distribution!r} {found.version} is installed but has no file {relative} (looked at {path}); "
            f"reinstall it: {install}"
        )
    return path
