"""Any endpoint that speaks the OpenAI chat completions protocol, read strictly."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from aesop_verified.reasoner.errors import ReasonerFailed, SpecRefused
from aesop_verified.reasoner.prompt import render_prompt
from aesop_verified.reasoner.question import Question

MAXIMUM_BODY_BYTES: Final = 1 << 20
"""A longer response is refused while it is being read."""

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class OpenAiCompatibleReasoner:
    """POST {base_url}/chat/completions with temperature 0; the content of the one choice is the answer.

    `timeout_seconds` bounds the whole exchange, however slowly bytes drip in (the loop's own deadline stands
    beside it and does not rely on it). Redirects, compressed bodies, statuses other than 200, more than one
    choice and a `finish_reason` other than "stop" raise `ReasonerFailed`. Proxies and netrc of the environment are not
    used. The key is read from the environment variable `api_key_env` at construction; over plain http it is
    sent to this machine only. Raises `SpecRefused` for a bad URL, timeout or missing key.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        timeout_seconds: float = 10.0,
        max_tokens: int = 16,
        api_key_env: str | None = None,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SpecRefused(f"base_url={base_url!r}: expected an address such as https://host/v1")
        if not (0.0 < timeout_seconds < float("inf")):
            raise SpecRefused(f"timeout_seconds={timeout_seconds!r}: expected a positive finite number of seconds")
        if max_tokens < 1:
            raise SpecRefused(f"max_tokens={max_tokens!r}: expected at least 1")
        headers = {"Accept-Encoding": "identity", "Accept": "application/json"}
        if api_key_env is not None:
            key = os.environ.get(api_key_env)
            if not key:
                raise SpecRefused(
                    f"api_key_env={api_key_env!r}: this environment variable is not set; set it to the key"
                )
            if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
                raise SpecRefused(
                    f"base_url={base_url!r}: a key is not sent over plain http to another machine; use https"
                )
            headers["Authorization"] = f"Bearer {key}"
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = model
        self._timeout = timeout_seconds
        self._max_tokens = max_tokens
        self._client = httpx.Client(
            headers=headers, timeout=httpx.Timeout(timeout_seconds), follow_redirects=False, trust_env=False
        )

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()

    def ask(self, question: Question) -> bytes:
        """One request; no retry (the loop's fallback policy is the retry)."""
        payload = {
            "model": self._model,
            "messages": render_prompt(question).messages(),
            "temperature": 0,
            "max_tokens": self._max_tokens,
            "n": 1,
            "stream": False,
        }
        return answer_content(self._post(payload))

    def _post(self, payload: dict[str, Any]) -> bytes:
        deadline = time.monotonic() + self._timeout
        body = bytearray()
        try:
            with self._client.stream("POST", self._url, json=payload) as response:
                if response.status_code != 200:
                    raise ReasonerFailed(f"{self._url} answered with status {response.status_code}, expected 200")
                encoding = response.headers.get("content-encoding", "identity")
                if encoding != "identity":
                    raise ReasonerFailed(f"{self._url} answered with content-encoding {encoding!r}, expected none")
                for chunk in response.iter_raw():
                    body += chunk
                    if len(body) > MAXIMUM_BODY_BYTES:
                        raise ReasonerFailed(f"{self._url} answered with more than {MAXIMUM_BODY_BYTES} bytes")
                    if time.monotonic() > deadline:
                        raise ReasonerFailed(f"{self._url} had not finished its answer after {self._timeout} s")
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise ReasonerFailed(f"{self._url}: {type(error).__name__}: {error}") from error
        return bytes(body)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


def answer_content(body: bytes) -> bytes:
    """choices[0].message.content of a chat completion as UTF-8; raises `ReasonerFailed` for every other body."""
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        raise ReasonerFailed(f"the response is not JSON ({type(error).__name__}: {error}): {body[:60]!r}") from error
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise ReasonerFailed(f"the response holds no single choice: {body[:60]!r}")
    reason = choices[0].get("finish_reason")
    if reason != "stop":
        raise ReasonerFailed(f'the model did not finish its answer: finish_reason is {reason!r}, expected "stop"')
    message = choices[0].get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str):
        raise ReasonerFailed(f"the answer's content is {content!r}, expected text")
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ReasonerFailed(f"the answer's content is not valid Unicode: {error}") from error
