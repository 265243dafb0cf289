"""A table of two-dimensional embeddings whose scores can be worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aesop_verified.monitor import EmbedderIdentity, EmbeddingCache, NominalObservation

TABLE: dict[str, list[float]] = {
    "east": [1.0, 0.0],
    "north": [0.0, 1.0],
    "north east": [0.6, 0.8],
    "west": [-1.0, 0.0],
    "nan": [math.nan, 1.0],
    "inf": [math.inf, 0.0],
    "zero": [0.0, 0.0],
}


class TableEmbedder:
    """Looks texts up; unknown texts raise KeyError."""

    def __init__(self, version: str = "1") -> None:
        self._identity = EmbedderIdentity("table", version, 2, "00")

    @property
    def identity(self) -> EmbedderIdentity:
        return self._identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([TABLE[text] for text in texts], dtype=np.float32).reshape(len(texts), 2)


def cache_of(*pairs: tuple[str, str]) -> EmbeddingCache:
    return EmbeddingCache.build(TableEmbedder(), [NominalObservation(text, group) for text, group in pairs])


BASE = (("east", "a"), ("east", "a"), ("north", "b"), ("north east", "c"))
