"""Embedding vectors that have a direction: the one place where a vector is accepted or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aesop_verified.monitor.errors import EmbeddingRefused

Rows = NDArray[np.float64]


def checked_rows(values: object, *, what: str, dimension: int | None = None) -> Rows:
    """Return the rows as float64 (N x e) after checking that each one has a direction.

    Parameters: `values` array (N, e); `what` names the rows in messages; `dimension` the expected e.
    Raises `EmbeddingRefused` for a wrong shape, a non-finite entry (with row and component), a zero row.
    """
    array: NDArray[Any] = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise EmbeddingRefused(
            f"{what}: found an array of shape {array.shape} and type {array.dtype}, expected real numbers of shape "
            "(rows, components); return one row per text"
        )
    if dimension is not None and array.shape[1] != dimension:
        raise EmbeddingRefused(
            f"{what}: found {array.shape[1]} components a row, expected {dimension}; use the embedder that made the cache"
        )
    rows: Rows = array.astype(np.float64)
    finite = np.isfinite(rows)
    if not finite.all():
        row, component = (int(i) for i in np.argwhere(~finite)[0])
        raise EmbeddingRefused(
            f"{what}: row {row}, component {component} is {rows[row, component]!r}, expected a finite number; "
            "an embedding that is not finite cannot be ranked: find out why the embedder made it",
            row=row,
            component=component,
        )
    nonzero = (rows != 0.0).any(axis=1)
    if not nonzero.all():
        row = int(np.argmin(nonzero))
        raise EmbeddingRefused(
            f"{what}: row {row} has zero norm, so its direction is undefined, expected a non-zero vector; "
            "drop this text or find out why the embedder gives nothing for it",
            row=row,
        )
    return rows


def unit_rows(values: object, *, what: str, dimension: int | None = None) -> Rows:
    """Return the rows scaled to length 1; each is divided by its largest entry first, so nothing over- or underflows."""
    rows = checked_rows(values, what=what, dimension=dimension)
    if rows.shape[0] == 0:
        return rows
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    unit: Rows = rows / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return unit


def cosines(unit: Rows, vector: Rows) -> Rows:
    """Cosines of `vector` (e,) with each unit row (N, e), clipped to [-1, 1].

    One fixed order of summation per row (einsum, not BLAS): the value for a row does not depend on which
    other rows are present, so a leave-out score at calibration and the score in flight agree to the last bit.
    """
    product: Rows = np.einsum("ij,j->i", unit, vector)
    clipped: Rows = np.clip(product, -1.0, 1.0)
    return clipped
