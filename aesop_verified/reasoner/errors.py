"""Errors of the reasoner's clients."""

from __future__ import annotations


class ReasonerError(Exception):
    """Base of every error that the reasoner raises on purpose."""


class QuestionRefused(ReasonerError, ValueError):
    """A question that cannot be asked: no options, a bad name, a repeated name."""


class SpecRefused(ReasonerError, ValueError):
    """A reasoner description with a wrong or unknown field."""


class ReasonerNotInstalled(ReasonerError):
    """A model file or runtime is missing; the message holds the install command."""


class ReasonerFailed(ReasonerError):
    """No usable answer came back (network, server, model); the loop rejects it and its fallback policy decides."""
