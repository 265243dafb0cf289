"""What stands in a flight log: a header, one line for each step with all that it read and gave, and an end.

`spec/flight-log.schema.json` has the same in JSON Schema. The header holds the exact system and the evidence for
its recovery sets, so that `check_log` re-runs the flight with the kernel and the file alone.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from flint import fmpq, fmpq_mat

import aesop_verified
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import MachineState, Resume, StepInput, StepResult
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.plan import Plan
from aesop_verified.kernel.rational import text
from aesop_verified.runtime.events_text import gave_json, read_json, state_json
from aesop_verified.runtime.exact_text import Json, evidence_json, vector_json
from aesop_verified.runtime.log_file import Durability, Gap, LogFile

SCHEMA_VERSION = 1
_PACKAGES = ("python-flint", "numpy", "daqp", "piqp", "onnxruntime", "tokenizers", "ik-llama-cpp-python")


@dataclass(frozen=True, slots=True)
class About:
    """What a reader wants to know about a flight besides the system; all of it is in the header.

    Attributes:
        name: of the system or the scenario.
        dt: the time step in seconds.
        state_names, input_names: in order.
        seeds: of every source of chance, by name.
        settings: plain values: deadlines, detector, reasoner, plant.
    """

    name: str
    dt: fmpq
    state_names: tuple[str, ...] = ()
    input_names: tuple[str, ...] = ()
    seeds: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ViolatedAssumption:
    """The observed w was outside W (with E): in this state, by this much. Observed, never hidden, never an exception."""

    state: int
    amount: fmpq

    def to_json(self) -> Json:
        """For the log."""
        return {"state": self.state, "amount": text(self.amount)}


def versions() -> dict[str, str]:
    """This program, Python, and the packages whose numbers a flight depends on."""
    found = {"aesop-verified": aesop_verified.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def header_json(assured: AssuredSystem, about: About, durability: Durability) -> Json:
    """The first line."""
    system = assured.system
    return {
        "kind": "header", "schema_version": SCHEMA_VERSION, "name": about.name, "system": system.canonical(),
        "system_hash": system.hash(), "evidence": evidence_json(assured), "horizon": system.horizon,
        "consensus_horizon": system.consensus_horizon, "dt": text(about.dt), "state_names": list(about.state_names),
        "input_names": list(about.input_names), "versions": versions(), "seeds": dict(about.seeds),
        "settings": dict(about.settings), "durability": durability.value,
    }  # fmt: skip


def considered(inp: StepInput, result: StepResult) -> tuple[Plan, ...]:
    """The candidates that the transition looked at: up to the accepted one, all when none was or a resume was asked.

    A re-run on these gives the same events, input and mode, so the others need not be kept.
    """
    if isinstance(inp.operator, Resume):
        return inp.candidates
    for index, plan in enumerate(inp.candidates):
        if result.certified and result.state.held.plan is plan:
            return inp.candidates[: index + 1]
    return inp.candidates


class FlightLog:
    """The log of one flight; `acknowledged` counts the lines that nothing can take away any more."""

    def __init__(self, file: LogFile, steps: int = 0) -> None:
        self._file = file
        self._steps = steps
        self.lost_lines = 0

    @classmethod
    def create(cls, path: str | Path, assured: AssuredSystem, about: About, durability: Durability = Durability.WRITTEN) -> FlightLog:
        """Start a log.

        Raises:
            UsageError: when the file exists or its header cannot be written: no flight starts without a log.
        """
        file = LogFile(Path(path), durability)
        if not file.append(header_json(assured, about, durability), 0, _no_bridge):
            reason = file.gap.reason if file.gap is not None else "unknown"
            file.close()
            raise UsageError(f"{path}: the header of the flight log cannot be written ({reason}); free space, or choose another folder")
        return cls(file)

    @property
    def path(self) -> Path:
        """Of the file."""
        return self._file.path

    @property
    def gap(self) -> Gap | None:
        """The lines that are missing at the end of the file now, None when none are."""
        return self._file.gap

    def step(
        self,
        before: MachineState | None,
        inp: StepInput,
        result: StepResult,
        assumption: ViolatedAssumption | None,
        notes: Json,
        *,
        measured: fmpq_mat | None = None,
    ) -> bool:
        """Write a step's line; True when it is acknowledged. `measured` is the measurement of the step before."""
        content: Json = {
            "kind": "step", "step": result.state.step, "read": read_json(inp, considered(inp, result)), "gave": gave_json(result),
            "assumption": None if assumption is None else assumption.to_json(), "notes": notes,
        }  # fmt: skip
        self._steps += 1
        return self._append(content, result.state.step, before, measured)

    def refused_start(self, inp: StepInput, reasons: tuple[str, ...]) -> bool:
        """Write that the loop refused to start, and on what it had read."""
        content: Json = {"kind": "refused_start", "read": read_json(inp, inp.candidates), "reasons": list(reasons)}
        return self._append(content, 0, None)

    def restart(self, missed: int, state: MachineState, events: list[list[str]]) -> bool:
        """Write that the flight was taken up again after `missed` steps without an input."""
        return self._append({"kind": "restart", "missed": missed, "events": events}, state.step, state)

    def end(self, reason: str, state: MachineState | None) -> bool:
        """Write the last line and close the file; True when the log is whole."""
        content: Json = {"kind": "end", "steps": self._steps, "reason": reason, "lost_lines": self.lost_lines}
        written = self._append(content, 0 if state is None else state.step, state)
        self._file.close()
        return written and self.lost_lines == 0

    def close(self) -> None:
        """Close the file without an end record, as a crash would."""
        self._file.close()

    def _append(self, content: Json, step: int, before: MachineState | None, measured: fmpq_mat | None = None) -> bool:
        def bridge(gap: Gap) -> Json:
            state = None if before is None else state_json(before)
            seen = None if measured is None else vector_json(measured)
            return {"kind": "gap", "first_step": gap.first_step, "lines": gap.lines, "reason": gap.reason, "state": state, "measured": seen}

        written = self._file.append(content, step, bridge)
        self.lost_lines += not written
        return written


def _no_bridge(gap: Gap) -> Json:
    raise AssertionError(f"the first line of a log has a gap before it: {gap}")


