"""`aesop check FILE...`: re-check certificates and flight logs with the kernel alone."""

from __future__ import annotations

import argparse
import json
import sys

from aesop_verified.commands.command import Command
from aesop_verified.commands.exit_status import ExitStatus
from aesop_verified.kernel.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="a certificate file (.json) or a flight log (.jsonl)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")


def _execute(asked: argparse.Namespace) -> ExitStatus:
    worst = ExitStatus.PROVED
    for path in asked.files:
        try:
            outcome, kind, detail, status = _log(path) if path.endswith(".jsonl") else _certificate(path)
        except UsageError as error:
            outcome, kind, detail, status = "bad input", "", str(error), ExitStatus.BAD_INPUT
        if asked.json:
            sys.stdout.write(json.dumps({"file": path, "outcome": outcome, "kind": kind, "detail": detail}) + "\n")
        else:
            sys.stdout.write(f"{outcome:10}  {path}  {kind}: {detail}\n" if kind else f"{outcome:10}  {detail}\n")
        worst = _worse(worst, status)
    return worst


def _certificate(path: str) -> tuple[str, str, str, ExitStatus]:
    from aesop_verified.evidence.recheck import check_file

    checked = check_file(path)
    return checked.outcome.value, checked.kind, checked.detail, ExitStatus(checked.outcome.exit_code)


def _log(path: str) -> tuple[str, str, str, ExitStatus]:
    """A log that ends early or has a gap proves its lines, not the flight: unknown."""
    from aesop_verified.runtime.check import LogOutcome, check_log

    checked = check_log(path)
    status = {LogOutcome.VERIFIED: ExitStatus.PROVED, LogOutcome.REFUSED: ExitStatus.REFUTED}.get(checked.outcome, ExitStatus.UNKNOWN)
    return checked.outcome.value, "flight log", checked.summary, status


def _worse(a: ExitStatus, b: ExitStatus) -> ExitStatus:
    """1 beats 2 beats 3 beats 0: a file that is refuted or refused is never hidden by one that cannot be read."""
    for status in (ExitStatus.REFUTED, ExitStatus.BAD_INPUT, ExitStatus.UNKNOWN):
        if status in (a, b):
            return status
    return ExitStatus.PROVED


COMMAND = Command(
    name="check",
    summary="re-check certificates and flight logs with the kernel alone",
    description=(
        "Decide again, from the evidence in each FILE, what the file claims. Nothing but the kernel is used: no solver, no Z3. "
        "'refuted' is a file that shows a statement to be false, 'refused' one whose evidence shows nothing."
    ),
    add_arguments=_add_arguments,
    execute=_execute,
)
