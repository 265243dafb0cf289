"""Any sentence-transformers model (MPNet, for one) from a folder on disk: the optional extra `st`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from aesop_verified.monitor.embedder import EmbedderIdentity, file_digest
from aesop_verified.monitor.errors import ModelNotInstalled, ObservationTooLong

INSTALL: Final = 'pip install "aesop-verified[st]"'


class SentenceTransformerEmbedder:
    """Embeddings of a model in sentence-transformers format, loaded from `folder`, on the CPU.

    The paper's detector uses MPNet (all-mpnet-base-v2). Loading is local only: a name that is not a folder is
    refused, so nothing is fetched in flight. Texts are embedded one at a time, as in flight.

    Raises `ModelNotInstalled` when the extra or the folder is missing, `ObservationTooLong` for a text of more
    word pieces than the model reads.
    """

    def __init__(self, folder: str | Path, *, name: str | None = None) -> None:
        path = Path(folder)
        if not (path / "modules.json").is_file():
            raise ModelNotInstalled(
                f"{path} is no sentence-transformers model: expected a folder with modules.json; "
                "give the folder of the unpacked model (names on a hub are not fetched)"
            )
        try:
            from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]
        except ImportError as error:
            raise ModelNotInstalled(f"sentence-transformers is not installed ({error}); run: {INSTALL}") from error
        self._model: Any = SentenceTransformer(str(path), device="cpu", local_files_only=True)
        digest = hashlib.sha256()
        for file in sorted(item for item in path.rglob("*") if item.is_file()):
            digest.update(f"{file.relative_to(path).as_posix()} {file_digest(file)}\n".encode())
        probe = np.asarray(self._model.encode(["probe"], convert_to_numpy=True))
        self._identity = EmbedderIdentity(
            name=name if name is not None else path.name,
            version="sentence-transformers",
            dimension=int(probe.shape[1]),
            digest=digest.hexdigest(),
        )

    @property
    def identity(self) -> EmbedderIdentity:
        """Digest over every file of the model's folder."""
        return self._identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text, shape (len(texts), dimension)."""
        if isinstance(texts, str):
            raise TypeError("embed() takes a list of texts; write embed([text]) for one text")
        rows = np.zeros((len(texts), self._identity.dimension), dtype=np.float32)
        limit = int(self._model.max_seq_length)
        for index, text in enumerate(texts):
            count = len(self._model.tokenizer(text, truncation=False)["input_ids"])
            if count > limit:
                raise ObservationTooLong(
                    f"text {index} ({text[:40]!r}...) has {count} word pieces, expected at most {limit}; shorten the description"
                )
            rows[index] = self._model.encode(
                [text], convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False
            )[0]
        return rows
