"""The report of `aesop verify`: tables with colour on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys

from aesop_verified.evidence.first_plan import interval_text
from aesop_verified.evidence.obligations import Discharged, Verification
from aesop_verified.kernel.verdict import Verdict

_HEADS = ("obligation", "about", "verdict", "method", "second opinion", "time", "certificate")
_COLOURS = {Verdict.PROVED: "green", Verdict.REFUTED: "bold red", Verdict.UNKNOWN: "yellow"}
_UNDISTURBED = ("", "no disturbance is declared: what is proved holds for a plant that does exactly what the model says")


def report(found: Verification, file: str, folder: str | None, *, undisturbed: bool = False) -> None:
    """Print everything that was found."""
    if sys.stdout.isatty():
        _rich_table(found)
    else:
        _plain_table(found)
    lines = [*_failures(found), *_asked(found), *_reach(found), *(_UNDISTURBED if undisturbed else ()), "", *_summary(found, file, folder)]
    sys.stdout.write("\n".join(lines) + "\n")


def _cells(o: Discharged) -> tuple[str, ...]:
    return (
        o.id, o.subject, o.verdict.value, o.method, o.second_opinion, f"{o.seconds:.2f} s", o.certificate.sha256[:12] if o.certificate else "",
    )  # fmt: skip


def _rich_table(found: Verification) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"Proof obligations of {found.name}", header_style="bold")
    for head in _HEADS:
        table.add_column(head, justify="right" if head == "time" else "left", overflow="fold")
    for o in found.obligations:
        cells = _cells(o)
        table.add_row(*(Text(c, style=_COLOURS[o.verdict]) if head == "verdict" else Text(c) for head, c in zip(_HEADS, cells)))
    Console().print(table)


def _plain_table(found: Verification) -> None:
    rows = [_HEADS, *(_cells(o) for o in found.obligations)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADS))]
    for row in rows:
        sys.stdout.write("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() + "\n")


def _failures(found: Verification) -> list[str]:
    lines = []
    for o in found.obligations:
        if o.verdict is Verdict.REFUTED and o.witness is not None:
            lines += ["", f"refuted: {o.key}: {o.statement}", f"  {o.witness.sentence}"]
            if o.witness.point:
                lines.append(f"  at {o.witness.point_text()}")
            if o.witness.amount_shown:
                lines.append(f"  by {o.witness.amount_shown}")
        elif o.verdict is Verdict.UNKNOWN:
            lines += ["", f"unknown: {o.key}: {o.statement}", f"  {o.reason}"]
    return lines


def _asked(found: Verification) -> list[str]:
    lines = []
    for a in found.asked:
        lines += ["", f"{a.name}: {a.sentence}"]
        if a.escape is not None:
            by = f", by at least {a.escape.amount_shown}" if a.escape.amount_shown else ""
            lines.append(f"  from {a.escape.point_text()}: {a.escape.sentence}{by}")
    for o in found.offers:
        lines += ["", f"{o.name}: offered, certified: {o.sentence}"]
    return lines


def _reach(found: Verification) -> list[str]:
    lines = []
    for r in found.reach:
        lines += ["", f"{r.name} can be reached from {r.vertices[0]} of {r.vertices[1]} vertices of the initial estimates"]
        if r.intervals is None:
            lines.append("  not from the centre of the initial set")
            continue
        part = [interval_text(i) for i in r.intervals if not i.whole]
        rest = "the other states over all of X" if part else "every state over all of X"
        lines.append("  and from its centre with one state changed: " + ", ".join([*part, rest] if len(part) < len(r.intervals) else part))
    return lines


def _summary(found: Verification, file: str, folder: str | None) -> list[str]:
    count = {v: sum(o.verdict is v for o in found.obligations) for v in Verdict}
    parts = ", ".join(f"{n} {v.value}" for v, n in count.items() if n)
    lines = [f"{file}: {found.verdict.value} ({parts}; {sum(o.seconds for o in found.obligations):.1f} s)"]
    lines.append(f"description sha256 {found.description_hash}")
    if found.system_hash:
        lines.append(f"system      sha256 {found.system_hash}")
    if folder:
        lines.append(f"certificates in {folder}; re-check them with: aesop check {folder}/*.json")
    return lines
