"""`aesop run SCENARIO`: fly a scenario in simulation, every input certified before it is applied."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from aesop_verified.commands.command import Command
from aesop_verified.commands.exit_status import ExitStatus, overall
from aesop_verified.kernel.errors import UsageError

if TYPE_CHECKING:
    from aesop_verified.runtime.simulation import Simulated

_MOST_FOLDERS = 10_000


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", metavar="SCENARIO", help="a scenario file (YAML)")
    parser.add_argument("--out", metavar="DIR", help="a new folder for log, figure and result (default: out/NAME, out/NAME-2, ...)")
    parser.add_argument(
        "--reasoner", choices=("auto", "local", "scripted", "endpoint"), default="auto", help="who answers (auto: whom the scenario prefers, else its script)"
    )
    parser.add_argument("--pace", choices=("sim", "real", "fast"), default="sim", help="sim: a step takes dt or longer, the plant waits for the loop; real: what is not there in time is done without, as on the robot; fast: like sim, in real time only while the reasoner thinks")
    parser.add_argument("--no-figure", action="store_true", help="draw no figure")
    parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")


def _execute(asked: argparse.Namespace) -> ExitStatus:
    from aesop_verified.commands.run_report import Progress, print_tables
    from aesop_verified.runtime.flying import Pace
    from aesop_verified.runtime.loop import StartRefusedError
    from aesop_verified.runtime.scenario import load_scenario
    from aesop_verified.runtime.simulation import result_json, simulate
    from aesop_verified.system.numbers import decimal

    scenario = load_scenario(asked.scenario)
    folder = _folder(asked.out, scenario.name)
    dt = int(scenario.system.dt.p) / int(scenario.system.dt.q)
    progress = Progress(scenario.steps, dt, quiet=asked.json)
    progress.say(f"{scenario.name}: {scenario.text or scenario.task} ({scenario.steps} steps of {decimal(scenario.system.dt)} s)")
    try:
        found = simulate(scenario, folder, reasoner=asked.reasoner, pace=Pace(asked.pace), say=progress.say, watching=progress.bar)
    except StartRefusedError as error:
        # That no plan was offered, or that the ones offered are none, does not show that there is none.
        print(f"aesop run: unknown: {error}; `aesop verify` on the system file shows from where a plan is certified", file=sys.stderr)
        return ExitStatus.UNKNOWN
    document = json.dumps(result_json(found), indent=2, ensure_ascii=False) + "\n"
    files = [found.log_path, folder / "result.json"]
    files[1].write_text(document, encoding="utf-8")
    if not asked.no_figure:
        progress.say("drawing")
        files += _drawn(found, folder)
    if asked.json:
        sys.stdout.write(document)
    else:
        print_tables(scenario, found.moments, found.checks)
        sys.stdout.write("\n" + "\n".join(_summary(found, files)) + "\n")
    return overall(c.verdict for c in found.checks)


def _folder(wanted: str | None, name: str) -> Path:
    """A folder that does not hold a flight yet; a numbered one is made, so that two runs at once take two."""
    numbered = (Path("out") / (name if i == 1 else f"{name}-{i}") for i in range(1, _MOST_FOLDERS))
    for folder in [Path(wanted)] if wanted else numbered:
        if (folder / "flight.jsonl").exists():
            continue
        try:
            folder.mkdir(parents=True, exist_ok=wanted is not None)
        except FileExistsError as error:
            if wanted is None:
                continue
            raise UsageError(f"{folder}: cannot be made ({error.strerror}); choose another folder with --out") from None
        except OSError as error:
            raise UsageError(f"{folder}: cannot be made ({error.strerror}); choose another folder with --out") from None
        return folder
    raise UsageError(f"{wanted or 'out'}: holds a flight already, and a flight log is never overwritten; choose another folder with --out, or move it away")


def _drawn(found: Simulated, folder: Path) -> list[Path]:
    from aesop_verified.evidence.flight_figure import draw_flight

    held = sum(c.verdict.value == "proved" for c in found.checks)
    subtitle = f"{held} of {len(found.checks)} checks proved; reasoner: {found.reasoner}"
    return draw_flight(found.flight, found.assured, found.log, found.moments, subtitle, folder)


def _summary(found: Simulated, files: list[Path]) -> list[str]:
    from aesop_verified.runtime.simulation import late_steps

    flight = found.flight
    late = len(late_steps(flight))
    return [
        f"reasoner: {found.reasoner}",
        f"decision time: p50 {flight.quantile_ms(0.5):.1f} ms, p99 {flight.quantile_ms(0.99):.1f} ms; {late} of {len(flight.samples)} steps took longer than dt",
        f"peak memory of all processes in flight: {found.peak_kilobytes / 1024:.0f} MB",
        f"written: {', '.join(str(f) for f in files)}",
        f"re-check the log with: aesop check {found.log_path}",
    ]


COMMAND = Command(
    name="run",
    summary="fly a scenario in simulation, every input certified before it is applied",
    description=(
        "Prove the system of SCENARIO, then fly it: the planner, the detector and the reasoner propose from processes of their own, the kernel "
        "certifies. Writes the flight log, a figure and the result. Exit status 0 when every check of the flight holds."
    ),
    add_arguments=_add_arguments,
    execute=_execute,
)
