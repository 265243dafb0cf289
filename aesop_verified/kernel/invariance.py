"""Robust control invariance of a recovery set under its law (theory 6, kind 1).

(A + B F) X_R + B g + b + W inside X_R, X_R inside X, kappa(X_R) inside U, and X_R not empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from flint import fmpq_mat

from aesop_verified.kernel.errors import UnsoundStep
from aesop_verified.kernel.inclusion import (
    Escape,
    FarkasRows,
    InclusionCertificate,
    InclusionStatement,
    WitnessPoint,
    check_inclusion,
)
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.verdict import (
    Proved,
    Refuted,
    Result,
    Unknown,
    require_kernel,
)


@dataclass(frozen=True, slots=True, eq=False)
class RecoveryStatements:
    """The three inclusions that make a recovery set one.

    Attributes:
        invariance: the successor of every state of X_R under the law, plus every w, is in X_R.
        inside: X_R is inside X.
        law: the law maps X_R into U (the inputs that stay in U when they are rounded).
    """

    invariance: InclusionStatement
    inside: InclusionStatement
    law: InclusionStatement

    @classmethod
    def of(cls, system: System, recovery: RecoverySet) -> RecoveryStatements:
        """The statements about one recovery set of a system."""
        P = recovery.polytope
        return cls(
            InclusionStatement.of(
                P,
                P,
                M=system.A + system.B * recovery.law.gain,
                c=system.B * recovery.law.offset + system.b,
                # SOUNDNESS: h_W facet by facet; W holds the rounding of inputs and the state estimate's error.
                margin=system.total_disturbance.supports(P.G),
            ),
            InclusionStatement.of(P, system.X),
            InclusionStatement.of(P, system.input_set, M=recovery.law.gain, c=recovery.law.offset),
        )


@dataclass(frozen=True, slots=True, eq=False)
class RecoveryEvidence:
    """What is offered for the three statements, and a point of the set (Farkas rows are vacuous without one)."""

    point: fmpq_mat
    invariance: FarkasRows | WitnessPoint
    inside: FarkasRows | WitnessPoint
    law: FarkasRows | WitnessPoint


@dataclass(frozen=True, slots=True, eq=False)
class InvarianceCertificate:
    """X_R of that name is non-empty, robustly control invariant under its law, and inside X."""

    name: str
    system_hash: str
    point: fmpq_mat
    invariance: InclusionCertificate
    inside: InclusionCertificate
    law: InclusionCertificate


@dataclass(frozen=True, slots=True, eq=False)
class RecoveryDefect:
    """Which statement about a recovery set is false, and where."""

    statement: str
    escape: Escape


def check_recovery_set(system: System, name: str, evidence: RecoveryEvidence) -> Result[InvarianceCertificate, RecoveryDefect]:
    """Decide the invariance of a recovery set from evidence found elsewhere."""
    recovery = system.recovery(name)
    if not recovery.polytope.contains(evidence.point):
        return Unknown(f"the point given for the recovery set {name!r} is not in it")
    statements = RecoveryStatements.of(system, recovery)
    proved: list[InclusionCertificate] = []
    for label in ("invariance", "inside", "law"):
        result = check_inclusion(getattr(statements, label), getattr(evidence, label))
        if isinstance(result, Refuted):
            return Refuted(RecoveryDefect(label, result.witness))
        if isinstance(result, Unknown):
            return Unknown(f"{label} of the recovery set {name!r}: {result.reason}")
        proved.append(result.certificate)
    return Proved(InvarianceCertificate(name, system.hash(), fmpq_mat(evidence.point), *proved))


@dataclass(frozen=True, slots=True, eq=False)
class AssuredSystem:
    """A system all of whose recovery sets are proved invariant; the loop runs on nothing else.

    Raises:
        UnsoundStep: when it is made outside the kernel; `assure` makes it.
    """

    system: System
    certificates: tuple[InvarianceCertificate, ...]

    def __post_init__(self) -> None:
        require_kernel("an AssuredSystem")

    def __init_subclass__(cls) -> NoReturn:
        raise UnsoundStep("AssuredSystem cannot be subclassed: a subclass could be made without a check")

    @property
    def input_anchor(self) -> fmpq_mat:
        """A point of U from which best-effort inputs are projected: the law at a point of a recovery set."""
        certificate = self.certificates[0]
        return self.system.recovery(certificate.name).law(certificate.point)


def assure(system: System, evidence: dict[str, RecoveryEvidence]) -> Result[AssuredSystem, RecoveryDefect]:
    """Check every recovery set; only when all are proved is the system assured."""
    certificates = []
    for name in system.names:
        if name not in evidence:
            return Unknown(f"no evidence for the recovery set {name!r}")
        result = check_recovery_set(system, name, evidence[name])
        if not isinstance(result, Proved):
            return result
        certificates.append(result.certificate)
    return Proved(AssuredSystem(system, tuple(certificates)))
