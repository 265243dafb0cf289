"""What is asked of the slow reasoner, w(o_t, Y) of section IV-A."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from aesop_verified.reasoner.errors import QuestionRefused

NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
"""Grammar of a recovery set's name; "0", the answer "no hazard", is none."""

Option = tuple[str, str]
"""(name of the recovery set, description in words)."""


@dataclass(frozen=True)
class Question:
    """One anomaly put to the reasoner.

    `trigger_id`: fresh for each alarm; an answer that carries another one is ignored by the loop.
    `observation`: the scene description o_t that alarmed. `options`: (name, description) for each y in Y, in
    the system's order. `robot`: what the robot is. `task`: what it is doing.
    Raises `QuestionRefused` for no options, a malformed or a repeated name.
    """

    trigger_id: str
    observation: str
    options: tuple[Option, ...]
    robot: str
    task: str

    def __post_init__(self) -> None:
        check_options(self.names)
        if not self.trigger_id:
            raise QuestionRefused("trigger_id is empty, expected an id that is fresh for each alarm")

    @property
    def names(self) -> tuple[str, ...]:
        """The names that may be answered, besides "0"."""
        return tuple(name for name, _ in self.options)

    def to_json(self) -> dict[str, Any]:
        """Plain values for a pipe or a file; `from_json` reads them back."""
        return {
            "trigger_id": self.trigger_id,
            "observation": self.observation,
            "options": [list(option) for option in self.options],
            "robot": self.robot,
            "task": self.task,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Question:
        """Read what `to_json` wrote; raises `QuestionRefused` for anything else."""
        expected = {"trigger_id", "observation", "options", "robot", "task"}
        if not isinstance(value, dict) or set(value) != expected:
            raise QuestionRefused(f"found {value!r:.80}, expected an object with the keys {sorted(expected)}")
        texts = {key: value[key] for key in expected - {"options"}}
        for key, text in texts.items():
            if not isinstance(text, str):
                raise QuestionRefused(f"{key} is {text!r} (type={type(text).__name__}), expected text")
        options = value["options"]
        if not isinstance(options, list) or not all(
            isinstance(item, list) and len(item) == 2 and all(isinstance(part, str) for part in item)
            for item in options
        ):
            raise QuestionRefused(f"options is {options!r:.80}, expected a list of [name, description]")
        return cls(options=tuple((name, description) for name, description in options), **texts)


def check_options(names: tuple[str, ...]) -> None:
    """Raise `QuestionRefused` unless there is at least one name and all are well formed and different."""
    if not names:
        raise QuestionRefused(
            "found no options, expected at least one recovery set: with none there is nothing to choose"
        )
    for name in names:
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            raise QuestionRefused(f"option {name!r}: expected a name of the form {NAME.pattern}")
    if len(set(names)) != len(names):
        raise QuestionRefused(f"options {names}: a name occurs twice, expected different names")
