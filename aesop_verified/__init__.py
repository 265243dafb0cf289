"""Run-time assurance for robots that ask a language model what to do: a kernel certifies, the rest proposes."""

__version__ = "0.1.0"
