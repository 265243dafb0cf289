"""`aesop verify SYSTEM`: prove or refute every assumption of the theorem for a robot."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from aesop_verified.commands.command import Command
from aesop_verified.commands.exit_status import ExitStatus
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.verdict import Verdict

if TYPE_CHECKING:
    from aesop_verified.evidence.obligations import Verification

_STATUS = {Verdict.PROVED: ExitStatus.PROVED, Verdict.REFUTED: ExitStatus.REFUTED, Verdict.UNKNOWN: ExitStatus.UNKNOWN}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="a system file (YAML)")
    parser.add_argument("--json", action="store_true", help="print one evidence record for each obligation instead of tables")
    parser.add_argument("--certificates", metavar="DIR", help="write every certificate to this folder (made if needed)")
    parser.add_argument("--no-second-opinion", action="store_true", help="do not ask Z3 about the inclusions")
    parser.add_argument("--no-reach", action="store_true", help="do not work out from where each recovery set can be reached")


def _execute(asked: argparse.Namespace) -> ExitStatus:
    from aesop_verified.evidence.records import records
    from aesop_verified.evidence.verification import verify
    from aesop_verified.system import load

    description = load(asked.system)
    ran_at = datetime.now(timezone.utc)
    with _progress() as progress:
        found = verify(description, second_opinion=not asked.no_second_opinion, reach=not asked.no_reach, progress=progress)
        written = _write_certificates(found, asked.certificates) if asked.certificates else {}
        evidence = records(found, ran_at=ran_at, file=asked.system, files=written)
    if asked.json:
        sys.stdout.write(json.dumps(_document(found, evidence), indent=2, ensure_ascii=False) + "\n")
    else:
        from aesop_verified.commands.verify_report import report

        report(found, asked.system, asked.certificates, undisturbed=description.disturbance_set().is_zero)
    return _STATUS[found.verdict]


def _progress() -> AbstractContextManager[Callable[[str], None]]:
    """A line that names the work in hand, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext(lambda _: None)
    return _shown()


@contextmanager
def _shown() -> Iterator[Callable[[str], None]]:
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield status.update


def _write_certificates(found: Verification, folder: str) -> dict[str, str]:
    """Write all certificate files; returns their paths by obligation key."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        paths = {}
        for o in found.obligations:
            if o.certificate is not None:
                (target / o.file_name).write_bytes(o.certificate.data)
                paths[o.key] = str(target / o.file_name)
        extra = [(f"asked-box.{a.name}.json", a.certificate) for a in found.asked] + [(f"offer.{o.name}.json", o.certificate) for o in found.offers]
        for name, certificate in [*extra, ("system.json", found.system_certificate)]:
            if certificate is not None:
                (target / name).write_bytes(certificate.data)
    except OSError as error:
        raise UsageError(f"--certificates {folder}: cannot be written ({error.strerror}); expected a folder that can be made or written to") from None
    return paths


def _document(found: Verification, evidence: list[dict[str, object]]) -> dict[str, object]:
    return {
        "schema_version": 1,
        "system": {"name": found.name, "description_sha256": found.description_hash, "system_sha256": found.system_hash},
        "verdict": found.verdict.value,
        "records": evidence,
        "reach": [
            {
                "recovery_set": r.name, "vertices_certified": r.vertices[0], "vertices": r.vertices[1],
                "intervals": None if r.intervals is None else [{"state": i.state, "unit": i.unit, "from": i.lower, "to": i.upper, "whole": i.whole} for i in r.intervals],
            }
            for r in found.reach
        ],
        "asked_boxes": [
            {
                "recovery_set": a.name, "finding": a.sentence,
                "escape": None if a.escape is None else {
                    "sentence": a.escape.sentence, "amount": a.escape.amount,
                    "state": [{"name": n, "unit": u, "value": v} for n, u, v in a.escape.point],
                },
            }
            for a in found.asked
        ],
        "offers": [{"recovery_set": o.name, "finding": o.sentence, "certificate_sha256": o.certificate.sha256} for o in found.offers],
    }  # fmt: skip


COMMAND = Command(
    name="verify",
    summary="prove or refute every assumption of the theorem for a system",
    description=(
        "Discharge the proof obligations of SYSTEM (ids in spec/obligations.toml): sets well-formed, recovery sets inside X, laws into U, "
        "robust invariance, tightened sets not empty, a first plan for the initial set; and say from where each recovery set can be reached. "
        "Every verdict is the kernel's; Z3 gives a second opinion on every inclusion, and a disagreement is an error."
    ),
    add_arguments=_add_arguments,
    execute=_execute,
)
