"""Evidence records: one for each obligation, with what an assessor asks of a piece of evidence.

Exact numbers are text. Times stand outside the part that is hashed, so that two runs can be compared.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import aesop_verified
from aesop_verified.evidence.canonical import Json, encoded, sha256
from aesop_verified.evidence.obligations import Discharged, Verification
from aesop_verified.evidence.recheck import Outcome, check_bytes
from aesop_verified.evidence.wording import Witness
from aesop_verified.kernel.errors import UnsoundStep
from aesop_verified.kernel.verdict import Verdict

SCHEMA_VERSION = 1

_VERDICTS = {Verdict.PROVED: "pass", Verdict.REFUTED: "fail", Verdict.UNKNOWN: "inconclusive"}

ASSUMPTIONS = (
    "the declared disturbance W, with the estimate's error E, contains the difference between plant and model",
    "measurements are those of the plant within E, at the sample times; claims hold at sample times",
    "an input that was handed over is applied for one step",
    "python-flint's arithmetic, Python and the machine are right",
)


def kernel_digest() -> str:
    """SHA-256 over the kernel's source files, in order of their names."""
    folder = Path(aesop_verified.__file__).parent / "kernel"
    return sha256(b"".join(f.name.encode() + b"\0" + f.read_bytes() for f in sorted(folder.glob("*.py"))))


def environment() -> Json:
    """Python, operating system, processor count and the versions that matter."""
    versions = {}
    for package in ("python-flint", "numpy", "scipy", "z3-solver", "daqp", "piqp"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {"python": platform.python_version(), "os": platform.platform(), "cpus": os.cpu_count() or 0, "packages": versions}


def records(found: Verification, *, ran_at: datetime, file: str, files: Mapping[str, str]) -> list[Json]:
    """One record for each obligation.

    Args:
        found: the verification.
        ran_at: when it ran, with its time zone.
        file: the system file's name, as given.
        files: path of the certificate file by obligation key, where it was written.
    """
    common = _common(found)
    return [_record(found, o, common, ran_at, file, files.get(o.key, "")) for o in found.obligations]


def _common(found: Verification) -> Json:
    subject = [
        {"name": found.name, "version": "", "digest": {"sha256": found.description_hash}, "gitCommit": ""},
        {"name": f"{found.name} (complete system)", "version": "", "digest": {"sha256": found.system_hash}, "gitCommit": ""},
        {"name": "aesop_verified.kernel", "version": aesop_verified.__version__, "digest": {"sha256": kernel_digest()}, "gitCommit": ""},
    ]
    return {"subject": [s for s in subject if s["digest"] != {"sha256": ""}], "environment": environment()}


def _record(found: Verification, o: Discharged, common: Json, ran_at: datetime, file: str, path: str) -> Json:
    attempted = not o.reason.startswith("not attempted")
    body: Json = {
        "evidence_id": f"{found.name}/{o.key}",
        "kind": "proof",
        "title": f"{o.statement}{f' ({o.subject})' if o.subject else ''}",
        "schema_version": SCHEMA_VERSION,
        "claim_id": "THEOREM-1",
        "requirement_ids": [{"id": o.id, "coverage": "full"}],
        "hazard_ids": [],
        "assumption_ids": [f"ASSUMPTION-{i + 1}" for i in range(len(ASSUMPTIONS))],
        "standards": [],
        "subject": common["subject"],
        "technique": "formal proof by exact certificate" if o.certificate else "none",
        "tool": "aesop verify",
        "tool_version": aesop_verified.__version__,
        "checker": "aesop_verified.kernel",
        "checker_version": aesop_verified.__version__,
        "config": {"method": o.method, "second_opinion": o.second_opinion},
        "environment": common["environment"],
        "verdict": _VERDICTS[o.verdict] if attempted else "not_run",
        "reason": o.reason or (o.witness.sentence if o.witness else ""),
        "witness": _witness(o.witness),
        "metrics": [],
        "recheck": _recheck(o, path),
        "what_is_verified": o.statement,
        "what_is_trusted": ["aesop_verified.kernel", "python-flint", "the system file as a model of the plant"],
        "residual_assumptions": list(ASSUMPTIONS),
        "known_limits": ["exact for the described system only; nothing is said between samples"],
        "valid_for": {"description_sha256": found.description_hash, "system_sha256": found.system_hash},
        "review_trigger": "any change of the system file or of aesop_verified.kernel",
        "artifacts": _artifacts(o, path),
    }
    times = {"ran_at": ran_at.isoformat(), "seconds": round(o.seconds, 6), "ran_by": f"{Path(sys.argv[0]).name or 'python'} on {file}"}
    return body | {"record_sha256": sha256(encoded(body)), "times": times}


def _witness(w: Witness | None) -> Json | None:
    if w is None:
        return None
    point = [{"name": name, "unit": unit, "value": value} for name, unit, value in w.point]
    return {"sentence": w.sentence, "point": point, "amount": w.amount, "amount_shown": w.amount_shown}


def _artifacts(o: Discharged, path: str) -> list[Json]:
    if o.certificate is None:
        return []
    return [{"path": path, "sha256": o.certificate.sha256, "media_type": "application/json", "bytes": len(o.certificate.data)}]


def _recheck(o: Discharged, path: str) -> Json:
    """Evidence counts once the kernel has decided again from the file's bytes."""
    if o.certificate is None:
        return {"argv": [], "expect_exit": None, "exit_code": None, "outcome": "there is no certificate"}
    checked = check_bytes(o.certificate.data)
    # A refutation shows either that a statement is false (exit 1) or that the opposite one is true (exit 0).
    expected = 1 if o.verdict is Verdict.REFUTED and checked.kind in ("inclusion", "boundedness") else 0
    if checked.outcome is Outcome.REFUSED or checked.outcome.exit_code != expected:
        raise UnsoundStep(f"{o.key}: the certificate just written is not confirmed by the kernel: {checked.outcome.value} ({checked.detail})")
    argv = ["aesop", "check", path or o.file_name]
    return {"argv": argv, "expect_exit": expected, "exit_code": checked.outcome.exit_code, "outcome": checked.outcome.value}
