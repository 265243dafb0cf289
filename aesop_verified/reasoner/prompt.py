"""The prompt: robot and monitoring task, then task and observation, then the output instruction (section -G).

The observation comes from outside and may hold anything, instructions to the model included. It is written as one
JSON string on one line, so that it cannot end its field. That keeps the prompt readable; it is no defence, and
none is needed for safety: whatever comes back is parsed strictly and can only choose among certified plans.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from aesop_verified.reasoner.question import Question

SYSTEM_TEMPLATE = (
    "You are the safety monitor of a robot. The robot: {robot}\n"
    "Its fast monitor has flagged the current observation as unlike anything in its normal operation. Unusual does not mean "
    "dangerous. Decide whether the robot can carry on with its task safely, or must divert to one of its prepared fallbacks."
)

USER_TEMPLATE = (
    "Task of the robot: {task}\n"
    "Current observation: {observation}\n"
    "Possible answers:\n"
    "0: no hazard, carry on with the task\n"
    "{options}\n"
    "Answer with exactly one of these words and nothing else: {words}"
)


@dataclass(frozen=True)
class Prompt:
    """The two messages of a chat model."""

    system: str
    user: str

    def messages(self) -> list[dict[str, str]]:
        """As an OpenAI-compatible chat endpoint takes them."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}]


def _line(text: str) -> str:
    """One line of valid Unicode."""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())


def render_prompt(question: Question) -> Prompt:
    """Fill the template; it ends with the output instruction that lists the words of the answer grammar."""
    return Prompt(
        system=SYSTEM_TEMPLATE.format(robot=_line(question.robot)),
        user=USER_TEMPLATE.format(
            task=_line(question.task),
            observation=json.dumps(question.observation, ensure_ascii=True),
            options="\n".join(f"{name}: {_line(description)}" for name, description in question.options),
            words=", ".join(("0", *question.names)),
        ),
    )


def template_digest() -> str:
    """SHA-256 of the templates, for the flight log."""
    return hashlib.sha256((SYSTEM_TEMPLATE + "\0" + USER_TEMPLATE).encode("utf-8")).hexdigest()
