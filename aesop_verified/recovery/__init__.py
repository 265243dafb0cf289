"""Recovery sets: synthesis, exact evidence, and Z3's second opinion. Everything here proposes; the kernel decides."""

from aesop_verified.recovery.assured import (
    NotAssured,
    assured,
    assured_system,
    recovery_evidence,
)
from aesop_verified.recovery.gains import NotStabilisable
from aesop_verified.recovery.synthesis import Synthesis, SynthesisFailed, synthesise

__all__ = ["NotAssured", "NotStabilisable", "Synthesis", "SynthesisFailed", "assured", "assured_system", "recovery_evidence", "synthesise"]
