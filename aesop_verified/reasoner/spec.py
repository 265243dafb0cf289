"""Plain descriptions from which a worker process builds its reasoner: picklable, and readable from JSON."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from aesop_verified.reasoner.client import Reasoner
from aesop_verified.reasoner.errors import SpecRefused
from aesop_verified.reasoner.local_gguf import Decoding, LocalGgufReasoner
from aesop_verified.reasoner.openai_compatible import OpenAiCompatibleReasoner
from aesop_verified.reasoner.scripted import ScriptedReasoner, ScriptLine


@dataclass(frozen=True)
class OpenAiCompatibleSpec:
    """An OpenAI-compatible endpoint; the key itself is never part of it, only its variable's name."""

    base_url: str
    model: str
    timeout_seconds: float = 10.0
    max_tokens: int = 16
    api_key_env: str | None = None

    def build(self) -> Reasoner:
        """Make the client; no request is sent."""
        return OpenAiCompatibleReasoner(
            self.base_url,
            self.model,
            timeout_seconds=self.timeout_seconds,
            max_tokens=self.max_tokens,
            api_key_env=self.api_key_env,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values with `kind`."""
        return {"kind": "openai_compatible", **{item.name: getattr(self, item.name) for item in fields(self)}}


@dataclass(frozen=True)
class LocalGgufSpec:
    """The packaged SmolLM2 (or another ChatML model) on this machine."""

    model_path: str | None = None
    decoding: Decoding = Decoding.CONSTRAINED
    context_tokens: int = 1024
    max_tokens: int = 24
    threads: int = 1

    def build(self) -> Reasoner:
        """Load the model."""
        return LocalGgufReasoner(
            self.model_path,
            decoding=self.decoding,
            context_tokens=self.context_tokens,
            max_tokens=self.max_tokens,
            threads=self.threads,
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values with `kind`."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {"kind": "local_gguf", **values, "decoding": self.decoding.value}


@dataclass(frozen=True)
class ScriptedSpec:
    """A script of (match, answer, delay)."""

    lines: tuple[ScriptLine, ...]

    def build(self) -> Reasoner:
        """Make the reasoner."""
        return ScriptedReasoner(self.lines)

    def to_json(self) -> dict[str, Any]:
        """Plain values with `kind`; answers in base64, since they may be any bytes."""
        return {
            "kind": "scripted",
            "lines": [
                {
                    "match": line.match,
                    "answer_base64": base64.b64encode(line.answer).decode("ascii"),
                    "delay_seconds": line.delay_seconds,
                }
                for line in self.lines
            ],
        }


ReasonerSpec = OpenAiCompatibleSpec | LocalGgufSpec | ScriptedSpec


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


Check = tuple[Callable[[object], bool], str]
_TEXT: Check = (_is_text, "text")
_TEXT_OR_NONE: Check = (_is_text_or_none, "text or nothing")
_WHOLE: Check = (_is_whole, "a whole number")
_NUMBER: Check = (_is_number, "a number")


def _checked(value: Any, place: str, required: dict[str, Check], optional: dict[str, Check]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SpecRefused(f"{place}: found {value!r:.60}, expected an object")
    known = {**required, **optional}
    for key in value:
        if key not in known:
            raise SpecRefused(f"{place}.{key}: unknown field, expected one of {sorted(known)}")
    for key in required:
        if key not in value:
            raise SpecRefused(f"{place}.{key}: missing, expected {required[key][1]}")
    for key, item in value.items():
        accepts, expected = known[key]
        if not accepts(item):
            raise SpecRefused(f"{place}.{key}: found {item!r:.60} (type={type(item).__name__}), expected {expected}")
    return value


def _script_line(value: Any, place: str) -> ScriptLine:
    line = _checked(value, place, {"match": _TEXT}, {"answer": _TEXT, "answer_base64": _TEXT, "delay_seconds": _NUMBER})
    if ("answer" in line) == ("answer_base64" in line):
        raise SpecRefused(f"{place}: expected exactly one of answer and answer_base64")
    delay = float(line.get("delay_seconds", 0.0))
    if not (0.0 <= delay < float("inf")):
        raise SpecRefused(f"{place}.delay_seconds: found {delay!r}, expected a finite number of seconds of at least 0")
    if "answer" in line:
        return ScriptLine(line["match"], line["answer"].encode("utf-8"), delay)
    try:
        answer = base64.b64decode(line["answer_base64"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise SpecRefused(f"{place}.answer_base64: {error}; expected base64, or use answer for plain text") from None
    return ScriptLine(line["match"], answer, delay)


def reasoner_spec_from_json(value: Any, *, place: str = "reasoner") -> ReasonerSpec:
    """Read a specification; `place` is the path of the field in the user's file, for messages.

    Raises `SpecRefused` with the path of the field, what was found and what was expected.
    """
    if not isinstance(value, dict):
        raise SpecRefused(f"{place}: found {value!r:.60}, expected an object with the field kind")
    kind = value.get("kind")
    body = {key: item for key, item in value.items() if key != "kind"}
    if kind == "openai_compatible":
        body = _checked(
            body,
            place,
            {"base_url": _TEXT, "model": _TEXT},
            {"timeout_seconds": _NUMBER, "max_tokens": _WHOLE, "api_key_env": _TEXT_OR_NONE},
        )
        return OpenAiCompatibleSpec(**body)
    if kind == "local_gguf":
        body = _checked(
            body,
            place,
            {},
            {
                "model_path": _TEXT_OR_NONE,
                "decoding": _TEXT,
                "context_tokens": _WHOLE,
                "max_tokens": _WHOLE,
                "threads": _WHOLE,
            },
        )
        decoding = body.pop("decoding", Decoding.CONSTRAINED.value)
        names = [item.value for item in Decoding]
        if decoding not in names:
            raise SpecRefused(f"{place}.decoding: found {decoding!r}, expected one of {names}")
        return LocalGgufSpec(decoding=Decoding(decoding), **body)
    if kind == "scripted":
        lines = _checked(body, place, {"lines": (lambda item: isinstance(item, list), "a list")}, {})["lines"]
        return ScriptedSpec(tuple(_script_line(line, f"{place}.lines[{index}]") for index, line in enumerate(lines)))
    raise SpecRefused(f"{place}.kind: found {kind!r}, expected openai_compatible, local_gguf or scripted")
