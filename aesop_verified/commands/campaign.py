"""`aesop campaign FILE`: many randomised flights of AESOP and of two baselines, in parallel, resumed after a kill."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from aesop_verified.commands.command import Command
from aesop_verified.commands.exit_status import ExitStatus, overall
from aesop_verified.kernel.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("campaign", metavar="FILE", help="a campaign file (YAML)")
    parser.add_argument("--out", metavar="DIR", help="folder for results, tables and figure; one that holds results of this campaign is resumed (default: out/NAME)")
    parser.add_argument("--backend", choices=("loky", "dask", "ray"), default="loky", help="where the flights are flown (loky: processes on this machine)")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="how many processes (-1: one a processor; 1: none beside this one)")
    parser.add_argument("--address", metavar="ADDRESS", help="of a running Dask or Ray cluster (default: a local one is started)")
    parser.add_argument("--variant", metavar="NAME", help="fly this variant of the file only")
    parser.add_argument("--scenarios", type=int, metavar="N", help="fly this many scenarios of each variant, in place of the file's number")
    parser.add_argument("--no-figure", action="store_true", help="draw no figure")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON and nothing else")


def _execute(asked: argparse.Namespace) -> ExitStatus:
    # Before numpy is imported, here and in every process that is started: the flights share the processors already.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from aesop_verified.campaign.campaign_file import load_campaign
    from aesop_verified.campaign.results import ResultsFile
    from aesop_verified.campaign.running import prepare, run
    from aesop_verified.campaign.table import markdown, table_json, tables

    if asked.scenarios is not None and asked.scenarios < 1:
        raise UsageError(f"--scenarios: found {asked.scenarios}, expected at least 1")
    if asked.jobs == 0 or asked.jobs < -1:
        raise UsageError(f"--jobs: found {asked.jobs}, expected -1, or a number of processes")
    if asked.address is not None and asked.backend == "loky":
        raise UsageError("--address: found it with the backend loky, which has no cluster; take it out, or choose --backend dask or ray")
    say: Callable[[str], None] = (lambda _: None) if asked.json else (lambda text: print(text, file=sys.stderr, flush=True))
    campaign = load_campaign(asked.campaign)
    prepared = prepare(campaign.only(asked.variant, asked.scenarios), say)
    folder = Path(asked.out or Path("out") / campaign.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({error.strerror}); choose another folder with --out") from None
    results = ResultsFile(folder / "results.jsonl", prepared.settings)
    try:
        keys = {t.key for t in prepared.tasks}
        known = len(keys & results.records.keys())
        say(f"{campaign.name}: {len(keys)} flights, {known} of them flown already")
        with _bar(len(keys), known, quiet=asked.json) as done:
            run(prepared.tasks, results, backend=asked.backend, jobs=asked.jobs, address=asked.address, done=lambda _: done())
        records = {key: value for key, value in results.records.items() if key in keys}
        seconds = sum(results.seconds[key] for key in records)
    finally:
        results.close()
    found = tables(prepared, records)
    document = json.dumps(table_json(prepared, found), indent=2, sort_keys=True) + "\n"
    page = markdown(prepared, found)
    files = [folder / "results.jsonl", folder / "table.json", folder / "table.md"]
    files[1].write_text(document, encoding="utf-8")
    files[2].write_text(page, encoding="utf-8")
    if not asked.no_figure:
        from aesop_verified.campaign.figure import draw_campaign

        files += draw_campaign(prepared, found, records, folder)
    if asked.json:
        sys.stdout.write(document)
    else:
        sys.stdout.write(page)
        print(f"\nprocessor time: {seconds:.0f} s, {seconds / max(1, len(records)):.2f} s a scenario and method")
        print(f"written: {', '.join(str(f) for f in files)}")
        for table in found:
            print(f"{table.name}: {_statement(table.verdict.value)}")
    return overall(t.verdict for t in found)


def _statement(verdict: str) -> str:
    return f"{verdict}: where w stayed in W, AESOP kept to X and U, arrived in time, and its logs, run again, say the same"


@contextmanager
def _bar(total: int, known: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Counts flights: a bar on a terminal, a line for every twentieth part elsewhere."""
    count, every = known, max(1, total // 20)
    if not quiet and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        with Progress(BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=total, completed=known)
            yield lambda: bar.update(task, advance=1)
        return

    def line() -> None:
        nonlocal count
        count += 1
        if not quiet and count % every == 0:
            print(f"{count} of {total}", file=sys.stderr, flush=True)

    yield line


COMMAND = Command(
    name="campaign",
    summary="fly many randomised scenarios with AESOP and two baselines, and compare",
    description=(
        "Prove the systems of FILE, then fly its scenarios in parallel: naive MPC, fallback-safe MPC and AESOP under the same draws and "
        "disturbances. A campaign that was killed is taken up where it stopped. Writes results, tables (JSON and Markdown) and a figure. Exit status "
        "0 when AESOP did what it promises in every flight in which the plant kept to its assumptions."
    ),
    add_arguments=_add_arguments,
    execute=_execute,
)
