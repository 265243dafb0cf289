"""Errors of the monitor: each names the thing, the place, what was found, what was expected and what to do."""

from __future__ import annotations


class MonitorError(Exception):
    """Base of every error that the monitor raises on purpose."""


class ModelNotInstalled(MonitorError):
    """A model file or the library that runs it is not installed; the message holds the install command."""


class EmbeddingRefused(MonitorError, ValueError):
    """An embedding without a direction (zero norm) or with an entry that is not finite.

    Such a vector has no cosine: 0/0 is NaN, every comparison with NaN is false, and the vector would then
    stay in a ranking or pass as nominal. `row` is its index, `component` the index of the bad entry (None
    when the whole row is at fault).
    """

    def __init__(self, message: str, *, row: int | None = None, component: int | None = None) -> None:
        super().__init__(message)
        self.row = row
        self.component = component


class ObservationTooLong(MonitorError, ValueError):
    """A text longer than the embedder reads; its end would be cut off unseen."""


class CacheRefused(MonitorError, ValueError):
    """A cache file that is damaged, of another version, or made by another embedder."""


class CalibrationRefused(MonitorError, ValueError):
    """A threshold was asked for that the data cannot give."""
