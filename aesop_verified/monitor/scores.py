"""Anomaly scores s(e; D_e), higher = more anomalous (section IV-A and -D3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aesop_verified.monitor.errors import CalibrationRefused, EmbeddingRefused
from aesop_verified.monitor.vectors import Rows, checked_rows, cosines, unit_rows


class FittedScore(Protocol):
    """A score with its reference embeddings inside."""

    def score(self, embedding: object) -> float:
        """Score of one embedding (e,): always finite; raises `EmbeddingRefused` otherwise."""
        ...


class Score(Protocol):
    """A score function before it has seen reference embeddings."""

    @property
    def name(self) -> str:
        """Name with parameters, as in reports."""
        ...

    @property
    def minimum_rows(self) -> int:
        """How many reference embeddings it needs."""
        ...

    def fit(self, rows: object) -> FittedScore:
        """Fit to reference embeddings (N, e)."""
        ...


def _one(embedding: object, dimension: int) -> Rows:
    return checked_rows(np.asarray(embedding)[None, :], what="embedding", dimension=dimension)


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise EmbeddingRefused(
            f"the {name} score is {value!r}, expected a finite number; the embedding or the cache is unusable"
        )
    return value


def _require(rows: Rows, minimum: int, name: str) -> Rows:
    if rows.shape[0] < minimum:
        raise CalibrationRefused(
            f"{name}: found {rows.shape[0]} reference embeddings, expected at least {minimum}; record more nominal "
            "observations or choose a smaller k"
        )
    return rows


@dataclass(frozen=True)
class TopK:
    """s(e; D_e) = -(mean of the k largest cosine similarities of e with D_e); k = 1 is the paper's displayed formula."""

    k: int = 5

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise CalibrationRefused(
                f"k={self.k!r} (type={type(self.k).__name__}): expected a whole number of at least 1"
            )

    @property
    def name(self) -> str:
        """For example "top-5 cosine"."""
        return f"top-{self.k} cosine"

    @property
    def minimum_rows(self) -> int:
        """k."""
        return self.k

    def fit(self, rows: object) -> FittedScore:
        """Keep the unit rows."""
        unit = unit_rows(rows, what="reference embeddings")
        return _FittedTopK(_require(unit, self.k, self.name), self.k, self.name)


class _FittedTopK:
    def __init__(self, unit: Rows, k: int, name: str) -> None:
        self._unit, self._k, self._name = unit, k, name

    def score(self, embedding: object) -> float:
        vector = unit_rows(np.asarray(embedding)[None, :], what="embedding", dimension=self._unit.shape[1])[0]
        similarity = cosines(self._unit, vector)
        largest = np.sort(np.partition(similarity, similarity.size - self._k)[-self._k :])
        return _finite(-float(largest.sum() / self._k), self._name)


@dataclass(frozen=True)
class Mahalanobis:
    """s(e; D_e) = sqrt((e - m)^T S^-1 (e - m)), S = (1 - shrinkage) C + shrinkage (tr C / e) I, C with divisor N.

    With fewer embeddings than components C alone is singular; shrinkage toward a multiple of the identity
    (Ledoit and Wolf 2004, with a stated instead of an estimated weight) makes S invertible.
    """

    shrinkage: float = 0.1

    def __post_init__(self) -> None:
        if not (0.0 < self.shrinkage <= 1.0):
            raise CalibrationRefused(f"shrinkage={self.shrinkage!r}: expected a number in (0, 1]")

    @property
    def name(self) -> str:
        """For example "Mahalanobis, shrinkage 0.1"."""
        return f"Mahalanobis, shrinkage {self.shrinkage!r}"

    @property
    def minimum_rows(self) -> int:
        """Two: one embedding has no covariance."""
        return 2

    def fit(self, rows: object) -> FittedScore:
        """Mean, shrunk covariance, its Cholesky factor; refuses embeddings that are all equal."""
        checked = _require(checked_rows(rows, what="reference embeddings"), 2, self.name)
        mean = checked.mean(axis=0)
        centred = checked - mean
        covariance = centred.T @ centred / checked.shape[0]
        scale = float(np.trace(covariance)) / checked.shape[1]
        if not (0.0 < scale < math.inf):
            raise CalibrationRefused(
                f"{self.name}: the reference embeddings have variance {scale!r}, expected a positive finite one; "
                "they are all equal (or overflow): record more varied observations or use top-k"
            )
        covariance *= 1.0 - self.shrinkage
        covariance[np.diag_indices_from(covariance)] += self.shrinkage * scale
        return _FittedMahalanobis(mean, np.linalg.inv(np.linalg.cholesky(covariance)), self.name)


class _FittedMahalanobis:
    def __init__(self, mean: Rows, whitening: Rows, name: str) -> None:
        self._mean, self._whitening, self._name = mean, whitening, name

    def score(self, embedding: object) -> float:
        centred = _one(embedding, self._mean.size)[0] - self._mean
        white = np.einsum("ij,j->i", self._whitening, centred)
        return _finite(float(np.sqrt((white * white).sum())), self._name)
