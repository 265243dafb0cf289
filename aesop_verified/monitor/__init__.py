"""The fast runtime monitor: embed an observation, score it against nominal experience, compare with a threshold.

It proposes only: an alarm starts the slow reasoner, it never chooses an input (theory section 8).
"""

from aesop_verified.monitor.cache import EmbeddingCache, NominalObservation, text_digest
from aesop_verified.monitor.calibration import (
    Calibration,
    Method,
    PerGroup,
    PerObservation,
    PerWindow,
    Unit,
    calibrate,
    calibrate_conformal,
    false_alarm_level,
    leave_out_scores,
    window_maxima,
)
from aesop_verified.monitor.detector import SILENT_CAUSES, Cause, Detection, Detector, Nearest, alarm_without_score
from aesop_verified.monitor.dismissed import Dismissal, DismissedObservations
from aesop_verified.monitor.embedder import Embedder, EmbedderIdentity
from aesop_verified.monitor.errors import (
    CacheRefused,
    CalibrationRefused,
    EmbeddingRefused,
    ModelNotInstalled,
    MonitorError,
    ObservationTooLong,
)
from aesop_verified.monitor.minilm import MiniLmOnnxEmbedder, Overflow
from aesop_verified.monitor.quantile import conformal_quantile, conformal_rank, empirical_quantile, empirical_rank
from aesop_verified.monitor.scores import FittedScore, Mahalanobis, Score, TopK
from aesop_verified.monitor.sentence_transformer import SentenceTransformerEmbedder
from aesop_verified.monitor.spec import DetectorSpec, EmbedderSpec, MiniLmSpec, SentenceTransformerSpec

__all__ = [
    "SILENT_CAUSES",
    "CacheRefused",
    "Calibration",
    "CalibrationRefused",
    "Cause",
    "Detection",
    "Detector",
    "DetectorSpec",
    "Dismissal",
    "DismissedObservations",
    "Embedder",
    "EmbedderIdentity",
    "EmbedderSpec",
    "EmbeddingCache",
    "EmbeddingRefused",
    "FittedScore",
    "Mahalanobis",
    "Method",
    "MiniLmOnnxEmbedder",
    "MiniLmSpec",
    "ModelNotInstalled",
    "MonitorError",
    "Nearest",
    "NominalObservation",
    "ObservationTooLong",
    "Overflow",
    "PerGroup",
    "PerObservation",
    "PerWindow",
    "Score",
    "SentenceTransformerEmbedder",
    "SentenceTransformerSpec",
    "TopK",
    "Unit",
    "alarm_without_score",
    "calibrate",
    "calibrate_conformal",
    "conformal_quantile",
    "conformal_rank",
    "empirical_quantile",
    "empirical_rank",
    "false_alarm_level",
    "leave_out_scores",
    "text_digest",
    "window_maxima",
]
