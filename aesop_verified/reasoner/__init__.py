"""The slow reasoner: ask a language model which certified fallback to take, and read its answer strictly.

It proposes only: an answer names one of the certified options or "0", anything else is rejected (theory sections 3, 9).
"""

from aesop_verified.reasoner.answer import (
    Answer,
    Choice,
    Clear,
    Rejected,
    TaggedAnswer,
    parse_answer,
    tag_answer,
    tag_failure,
)
from aesop_verified.reasoner.client import Reasoner
from aesop_verified.reasoner.errors import (
    QuestionRefused,
    ReasonerError,
    ReasonerFailed,
    ReasonerNotInstalled,
    SpecRefused,
)
from aesop_verified.reasoner.latency import LatencyBound, bound_rank, consensus_horizon_for, latency_bound, steps_for
from aesop_verified.reasoner.local_gguf import Decoding, LocalGgufReasoner
from aesop_verified.reasoner.openai_compatible import OpenAiCompatibleReasoner, answer_content
from aesop_verified.reasoner.prompt import Prompt, render_prompt, template_digest
from aesop_verified.reasoner.question import Option, Question
from aesop_verified.reasoner.scripted import ScriptedReasoner, ScriptLine
from aesop_verified.reasoner.spec import (
    LocalGgufSpec,
    OpenAiCompatibleSpec,
    ReasonerSpec,
    ScriptedSpec,
    reasoner_spec_from_json,
)

__all__ = [
    "Answer",
    "Choice",
    "Clear",
    "Decoding",
    "LatencyBound",
    "LocalGgufReasoner",
    "LocalGgufSpec",
    "OpenAiCompatibleReasoner",
    "OpenAiCompatibleSpec",
    "Option",
    "Prompt",
    "Question",
    "QuestionRefused",
    "Reasoner",
    "ReasonerError",
    "ReasonerFailed",
    "ReasonerNotInstalled",
    "ReasonerSpec",
    "Rejected",
    "ScriptLine",
    "ScriptedReasoner",
    "ScriptedSpec",
    "SpecRefused",
    "TaggedAnswer",
    "answer_content",
    "bound_rank",
    "consensus_horizon_for",
    "latency_bound",
    "parse_answer",
    "reasoner_spec_from_json",
    "render_prompt",
    "steps_for",
    "tag_answer",
    "tag_failure",
    "template_digest",
]
