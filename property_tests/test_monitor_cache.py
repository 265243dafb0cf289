"""The embedding cache: rows without a direction, the file and its damage."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from aesop_verified.monitor import (
    CacheRefused,
    EmbeddingCache,
    EmbeddingRefused,
    NominalObservation,
)
from property_tests.monitor_samples import BASE, TableEmbedder, cache_of


def test_E02_cache_refuses_rows_without_a_direction() -> None:
    with pytest.raises(EmbeddingRefused, match="row 1 has zero norm"):
        cache_of(("east", "a"), ("zero", "b"))
    with pytest.raises(EmbeddingRefused, match="row 1, component 0"):
        cache_of(("east", "a"), ("nan", "b"))
    with pytest.raises(EmbeddingRefused, match="as float32"):  # finite as a double, infinite as stored
        EmbeddingCache(TableEmbedder().identity, (NominalObservation("x", "a"),), np.array([[1e200, 1.0]]))


def test_empty_cache_and_empty_group_are_refused() -> None:
    with pytest.raises(CacheRefused, match="at least one nominal observation"):
        EmbeddingCache.build(TableEmbedder(), [])
    with pytest.raises(CacheRefused, match="observation 0 has an empty group"):
        cache_of(("east", ""))


def test_cache_is_immutable() -> None:
    with pytest.raises(ValueError, match="read-only"):
        cache_of(*BASE).embeddings[0, 0] = 5.0


def test_cache_round_trip_is_exact_and_reproducible(tmp_path: Path) -> None:
    cache = cache_of(*BASE)
    cache.save(tmp_path / "one.npz")
    cache.save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    back = EmbeddingCache.load(tmp_path / "one.npz", cache.embedder)
    assert back.digest == cache.digest and back.observations == cache.observations
    assert back.embeddings.tobytes() == cache.embeddings.tobytes()
    assert sorted(os.listdir(tmp_path)) == ["one.npz", "two.npz"]
    with np.load(tmp_path / "one.npz", allow_pickle=False) as plain:
        assert plain["embeddings"].shape == (4, 2)


def test_cache_of_another_embedder_is_refused(tmp_path: Path) -> None:
    cache_of(*BASE).save(tmp_path / "c.npz")
    with pytest.raises(CacheRefused, match="made by table 1"):
        EmbeddingCache.load(tmp_path / "c.npz", TableEmbedder("2").identity)


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.npz"
    cache_of(*BASE).save(path)
    before = path.read_bytes()

    def full_disk(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        cache_of(("west", "z")).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c.npz"]


def test_every_changed_byte_and_every_cut_is_refused_or_harmless(tmp_path: Path) -> None:
    cache = cache_of(*BASE)
    cache.save(tmp_path / "c.npz")
    good = (tmp_path / "c.npz").read_bytes()
    target = tmp_path / "bad.npz"
    refused = 0
    for index in range(0, len(good), 3):
        target.write_bytes(good[:index] + bytes([good[index] ^ 0x41]) + good[index + 1 :])
        try:
            assert EmbeddingCache.load(target, cache.embedder).digest == cache.digest
        except CacheRefused:
            refused += 1
        target.write_bytes(good[:index])
        with pytest.raises(CacheRefused):
            EmbeddingCache.load(target, cache.embedder)
    assert refused > len(good) // 6


def _rewrite(path: Path, replacements: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**parts, **replacements}.items():
            archive.writestr(name, data)


def test_pickled_arrays_wrong_versions_and_forged_texts_are_refused(tmp_path: Path) -> None:
    cache, path = cache_of(*BASE), tmp_path / "c.npz"
    cache.save(path)
    with zipfile.ZipFile(path) as archive:
        manifest = archive.read("manifest.json")
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array([{"x": 1}], dtype=object), allow_pickle=True)
    assert pickle.dumps({"x": 1})[:1] in stream.getvalue()
    for part, data, message in [
        ("embeddings.npy", stream.getvalue(), "not a readable embedding cache"),
        ("manifest.json", manifest.replace(b'"schema_version":"1"', b'"schema_version":"2"'), "schema_version is '2'"),
        ("manifest.json", manifest.replace(b'"text":"north"', b'"text":"south"'), "text of observation 2"),
        ("manifest.json", manifest.replace(b'"count":4', b'"count":5'), "says 5 observations"),
        ("manifest.json", manifest.replace(b'{"count"', b'{"colour":1,"count"'), "expected .*sha256"),
        ("manifest.json", b"[]", "malformed"),
        ("manifest.json", b"\xff", "not a readable embedding cache"),
        ("extra", b"", "found the parts"),
    ]:
        cache.save(path)
        _rewrite(path, {part: data})
        with pytest.raises(CacheRefused, match=message):
            EmbeddingCache.load(path, cache.embedder)
    changed = io.BytesIO()
    np.lib.format.write_array(changed, np.array(cache.embeddings) * np.float32(2), allow_pickle=False)
    cache.save(path)
    _rewrite(path, {"embeddings.npy": changed.getvalue()})
    with pytest.raises(CacheRefused, match="the file was changed"):
        EmbeddingCache.load(path, cache.embedder)


def test_missing_cache_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        EmbeddingCache.load(tmp_path / "none.npz", TableEmbedder().identity)
