"""Plain descriptions from which a worker process builds its embedder or detector (picklable, no models inside)."""

from __future__ import annotations

from dataclasses import dataclass

from aesop_verified.monitor.cache import EmbeddingCache
from aesop_verified.monitor.calibration import Calibration
from aesop_verified.monitor.detector import Detector
from aesop_verified.monitor.embedder import Embedder
from aesop_verified.monitor.minilm import MiniLmOnnxEmbedder, Overflow
from aesop_verified.monitor.scores import Mahalanobis, TopK
from aesop_verified.monitor.sentence_transformer import SentenceTransformerEmbedder


@dataclass(frozen=True)
class MiniLmSpec:
    """The MiniLM embedder of the base install."""

    overflow: Overflow = Overflow.REFUSE

    def build(self) -> Embedder:
        """Load the model."""
        return MiniLmOnnxEmbedder(overflow=self.overflow)


@dataclass(frozen=True)
class SentenceTransformerSpec:
    """A sentence-transformers model in a folder (extra `st`)."""

    folder: str

    def build(self) -> Embedder:
        """Load the model."""
        return SentenceTransformerEmbedder(self.folder)


EmbedderSpec = MiniLmSpec | SentenceTransformerSpec


@dataclass(frozen=True)
class DetectorSpec:
    """An embedder, a cache file, a score and its threshold."""

    embedder: EmbedderSpec
    cache_path: str
    score: TopK | Mahalanobis
    calibration: Calibration

    def build(self) -> Detector:
        """Load embedder and cache and check that they and the threshold belong together."""
        embedder = self.embedder.build()
        cache = EmbeddingCache.load(self.cache_path, embedder.identity)
        return Detector(embedder, cache, self.score, self.calibration)
