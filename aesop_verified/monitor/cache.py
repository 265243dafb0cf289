"""The embedding cache D_e = {phi(o_i)} with texts and groups, and its file: an .npz without pickle.

File layout (a zip archive that `numpy.load(allow_pickle=False)` reads): `embeddings.npy`, float32 (N, e), and
`manifest.json`, which ties it to its embedder and holds the SHA-256 of the embeddings and of every text.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from aesop_verified.monitor.embedder import Embedder, EmbedderIdentity
from aesop_verified.monitor.errors import CacheRefused
from aesop_verified.monitor.vectors import checked_rows

SCHEMA_VERSION: Final = "1"
MAXIMUM_BYTES: Final = 1 << 31
"""Largest uncompressed part of a cache file that is read, in bytes."""

_KEYS: Final = {"schema_version", "embedder", "count", "sha256", "observations"}


@dataclass(frozen=True)
class NominalObservation:
    """One nominal scene description and the group (flight, route, scenario) that it comes from, in time order."""

    text: str
    group: str


def text_digest(text: str) -> str:
    """SHA-256 of the UTF-8 text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True, eq=False)
class EmbeddingCache:
    """N nominal embeddings, float32 (N, e), with text and group of each; immutable.

    Raises `EmbeddingRefused` (with row and component) for a zero or non-finite row, `CacheRefused` when counts,
    groups or dimensions do not fit.
    """

    embedder: EmbedderIdentity
    observations: tuple[NominalObservation, ...]
    embeddings: NDArray[np.float32]

    def __post_init__(self) -> None:
        if not self.observations:
            raise CacheRefused(
                "a cache needs at least one nominal observation, found none; record a nominal flight first"
            )
        checked_rows(self.embeddings, what="embedding cache", dimension=self.embedder.dimension)
        if len(self.observations) != self.embeddings.shape[0]:
            raise CacheRefused(
                f"found {len(self.observations)} observations and {self.embeddings.shape[0]} embeddings, expected one embedding each"
            )
        for index, observation in enumerate(self.observations):
            if not observation.group:
                raise CacheRefused(
                    f"observation {index} has an empty group; name the flight or route that it comes from"
                )
            try:
                (observation.text + observation.group).encode("utf-8")
            except UnicodeEncodeError as error:
                raise CacheRefused(
                    f"observation {index} is not valid Unicode text ({error}); read it as UTF-8"
                ) from None
        with np.errstate(over="ignore"):  # what overflows is refused two lines below
            frozen = np.array(self.embeddings, dtype=np.float32, order="C")
        frozen.setflags(write=False)
        checked_rows(frozen, what="embedding cache as float32")
        object.__setattr__(self, "embeddings", frozen)

    @classmethod
    def build(cls, embedder: Embedder, observations: Sequence[NominalObservation]) -> EmbeddingCache:
        """Embed nominal observations; the order inside a group is taken as the order in time."""
        texts = [observation.text for observation in observations]
        return cls(embedder.identity, tuple(observations), embedder.embed(texts))

    @property
    def groups(self) -> tuple[str, ...]:
        """The group of each row."""
        return tuple(observation.group for observation in self.observations)

    @property
    def group_sizes(self) -> dict[str, int]:
        """Rows per group, in order of first appearance."""
        sizes: dict[str, int] = {}
        for group in self.groups:
            sizes[group] = sizes.get(group, 0) + 1
        return sizes

    @property
    def digest(self) -> str:
        """SHA-256 over manifest and embeddings: equal caches have equal digests."""
        return hashlib.sha256(self._manifest()).hexdigest()

    def _manifest(self) -> bytes:
        body = {
            "schema_version": SCHEMA_VERSION,
            "embedder": {
                "name": self.embedder.name,
                "version": self.embedder.version,
                "dimension": self.embedder.dimension,
                "digest": self.embedder.digest,
            },
            "count": len(self.observations),
            "sha256": hashlib.sha256(self.embeddings.astype("<f4").tobytes()).hexdigest(),
            "observations": [
                {"text": item.text, "group": item.group, "text_sha256": text_digest(item.text)}
                for item in self.observations
            ],
        }
        return json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8")

    def save(self, path: str | Path) -> None:
        """Write the cache; the file appears complete or not at all, and equal caches give equal bytes."""
        target = Path(path)
        array = io.BytesIO()
        np.lib.format.write_array(array, self.embeddings.astype("<f4"), allow_pickle=False)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                    for name, data in (("manifest.json", self._manifest()), ("embeddings.npy", array.getvalue())):
                        archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    @classmethod
    def load(cls, path: str | Path, embedder: EmbedderIdentity) -> EmbeddingCache:
        """Read a cache made by exactly this embedder.

        Raises `CacheRefused` for a damaged file, another schema version, or another embedder; `EmbeddingRefused`
        for a row without a direction; OSError when the file cannot be opened.
        """
        source = Path(path)
        data = source.read_bytes()
        try:
            manifest, array = _parts(data, source)
        except CacheRefused:
            raise
        except Exception as error:  # zipfile and zlib throw errors of many kinds at a damaged file; each means refused
            raise CacheRefused(
                f"{source}: not a readable embedding cache ({type(error).__name__}: {error}); build the cache again"
            ) from error
        observations, identity, digest = _read_manifest(manifest, source)
        if identity != embedder:
            raise CacheRefused(
                f"{source}: made by {identity}, expected {embedder}; scores of different embedders cannot be compared: "
                "build the cache again with the embedder in use"
            )
        if array.dtype != np.dtype("<f4") or array.shape != (len(observations), identity.dimension):
            raise CacheRefused(
                f"{source}: found embeddings {array.dtype} {array.shape}, expected float32 {(len(observations), identity.dimension)}"
            )
        found = hashlib.sha256(array.tobytes()).hexdigest()
        if found != digest:
            raise CacheRefused(
                f"{source}: the embeddings have sha256 {found}, the manifest says {digest}; the file was changed"
            )
        return cls(identity, observations, array)


def _parts(data: bytes, source: Path) -> tuple[Any, NDArray[Any]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sorted(archive.namelist()) != ["embeddings.npy", "manifest.json"]:
            raise CacheRefused(
                f"{source}: found the parts {archive.namelist()}, expected embeddings.npy and manifest.json"
            )
        if any(part.file_size > MAXIMUM_BYTES for part in archive.infolist()):
            raise CacheRefused(
                f"{source}: a part is larger than {MAXIMUM_BYTES} bytes; this is no cache of this program"
            )
        manifest = json.loads(archive.read("manifest.json").decode("utf-8"))
        array = np.lib.format.read_array(io.BytesIO(archive.read("embeddings.npy")), allow_pickle=False)
    return manifest, array


def _read_manifest(manifest: Any, source: Path) -> tuple[tuple[NominalObservation, ...], EmbedderIdentity, str]:
    try:
        version = manifest["schema_version"]
        if version != SCHEMA_VERSION:
            raise CacheRefused(
                f"{source}: schema_version is {version!r}, expected {SCHEMA_VERSION!r}; build the cache again"
            )
        if set(manifest) != _KEYS:
            raise CacheRefused(f"{source}: the manifest has the keys {sorted(manifest)}, expected {sorted(_KEYS)}")
        identity = EmbedderIdentity(**manifest["embedder"])
        rows = manifest["observations"]
        if manifest["count"] != len(rows):
            raise CacheRefused(f"{source}: the manifest says {manifest['count']} observations and lists {len(rows)}")
        for index, row in enumerate(rows):
            if text_digest(row["text"]) != row["text_sha256"]:
                raise CacheRefused(
                    f"{source}: the text of observation {index} does not match its sha256; the file was changed"
                )
        return tuple(NominalObservation(row["text"], row["group"]) for row in rows), identity, str(manifest["sha256"])
    except (KeyError, TypeError, AttributeError, UnicodeEncodeError) as error:
        raise CacheRefused(f"{source}: the manifest is malformed ({error!r}); build the cache again") from error
