"""What `aesop run` prints: progress while it works, and the tables of the flight."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aesop_verified.kernel.verdict import Verdict

if TYPE_CHECKING:
    from aesop_verified.runtime.flight_checks import FlightCheck
    from aesop_verified.runtime.flying import FlightSample
    from aesop_verified.runtime.scenario import Scenario
    from aesop_verified.runtime.story import Moment

_COLOURS = {Verdict.PROVED: "green", Verdict.REFUTED: "bold red", Verdict.UNKNOWN: "yellow"}


class Progress:
    """Messages and a bar; plain lines on stderr when it is no terminal, nothing when quiet."""

    def __init__(self, scenario_steps: int, dt: float, *, quiet: bool) -> None:
        self._steps, self._dt, self._quiet = scenario_steps, dt, quiet

    def say(self, text: str) -> None:
        """A line about the work in hand."""
        if not self._quiet:
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def bar(self) -> Iterator[Callable[[FlightSample], None]]:
        """Shows each step of the flight."""
        if self._quiet or not sys.stderr.isatty():
            yield self._line
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        with Bar(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[mode]}"), console=Console(stderr=True)) as bar:
            task = bar.add_task("flying", total=self._steps, mode="")

            def show(sample: FlightSample) -> None:
                bar.update(task, completed=sample.step + 1, description=f"t = {sample.step * self._dt:5.1f} s", mode=_mode(sample))

            yield show

    def _line(self, sample: FlightSample) -> None:
        every = max(1, round(1 / self._dt))
        if not self._quiet and sample.step % every == 0:
            print(f"t = {sample.step * self._dt:5.1f} s  {_mode(sample)}", file=sys.stderr, flush=True)


def _mode(sample: FlightSample) -> str:
    mode = sample.report.mode
    parts = [type(mode).__name__.lower(), getattr(mode, "name", "")]
    return " ".join(p for p in parts if p) + ("" if sample.report.certified else " (uncertified)")


def print_tables(scenario: Scenario, moments: list[Moment], checks: list[FlightCheck]) -> None:
    """What happened and why, and what was checked."""
    dt = int(scenario.system.dt.p) / int(scenario.system.dt.q)
    story = [(f"{m.step * dt:.1f} s", m.what, m.why) for m in moments]
    judged = [(c.verdict.value, c.statement, c.detail) for c in checks]
    if sys.stdout.isatty():
        _rich("What happened, and why", ("time", "what", "why"), story, None)
        _rich("What was checked", ("verdict", "statement", "detail"), judged, [c.verdict for c in checks])
        return
    _plain("what happened, and why", story)
    _plain("what was checked", judged)


def _plain(title: str, rows: list[tuple[str, str, str]]) -> None:
    print(f"\n{title}:")
    width = max((len(row[0]) for row in rows), default=0)
    for first, second, third in rows:
        print(f"  {first.rjust(width)}  {second}")
        if third:
            print(f"  {' ' * width}    {third}")


def _rich(title: str, heads: tuple[str, str, str], rows: list[tuple[str, str, str]], verdicts: list[Verdict] | None) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", header_style="bold", show_lines=verdicts is None)
    for head in heads:
        table.add_column(head, overflow="fold")
    for index, row in enumerate(rows):
        style = "" if verdicts is None else _COLOURS[verdicts[index]]
        table.add_row(Text(row[0], style=style), Text(row[1]), Text(row[2]))
    Console().print(table)
