"""Mutation testing of the kernel: `python -m aesop_verified.testing.mutation`, from a checkout of the repository.

Every mutant is run against the kernel's tests in a process of its own, first the examples with hand values, then,
if they notice nothing, the properties. What survives is printed; each survivor has its argument in
`spec/mutants.toml`, and one without is an error (exit code 1).
"""

from __future__ import annotations

import argparse
import ast
import enum
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from aesop_verified.testing.mutants import Mutant, mutants

TESTS = ("test_kernel_*.py", "test_machine_*.py", "test_theorem_sharpness.py")
PROPERTY_TESTS = (*TESTS, "test_theorem.py")
MEMORY_BYTES = 6 * 2**30
SECONDS = {"hand values": 60.0, "properties": 240.0}


class Fate(enum.Enum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMED_OUT = "killed: out of time"
    SURVIVED = "survived"


@dataclass(frozen=True)
class Outcome:
    """A mutant, its fate, the stage that decided, and how long it took."""

    mutant: Mutant
    fate: Fate
    stage: str
    seconds: float


def kernel_mutants(repository: Path) -> list[Mutant]:
    """All mutants of the kernel."""
    return mutants(repository / "aesop_verified" / "kernel", "aesop_verified.kernel")


def sample(population: Sequence[Mutant], size: int, seed: str) -> list[Mutant]:
    """`size` mutants, the same ones for the same seed and the same population."""
    return sorted(population, key=lambda m: hashlib.sha256(f"{seed} {m.id}".encode()).digest())[:size]


def run(repository: Path, chosen: Iterable[Mutant], *, jobs: int, stages: Sequence[str]) -> Iterator[Outcome]:
    """Run the mutants, `jobs` at a time; outcomes come as they fall."""
    waiting = list(reversed(list(chosen)))
    running: dict[int, tuple[Mutant, int, float]] = {}
    started: dict[str, float] = {}
    retry: list[tuple[Mutant, int]] = []
    while waiting or running or retry:
        while (waiting or retry) and len(running) < jobs:
            mutant, stage = retry.pop() if retry else (waiting.pop(), 0)
            started.setdefault(mutant.id, time.monotonic())
            running[_fork(repository, mutant, stages[stage])] = (mutant, stage, time.monotonic())
        for pid, (mutant, stage, since) in list(running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            late = time.monotonic() - since > SECONDS[stages[stage]]
            if not done and not late:
                continue
            if not done:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            del running[pid]
            code = os.waitstatus_to_exitcode(status) if done else None
            if code in (3, 4, 5):
                raise RuntimeError(f"pytest ended with code {code} for the mutant {mutant.id}: no test ran; see property_tests")
            if code == 0 and stage + 1 < len(stages):
                retry.append((mutant, stage + 1))
                continue
            fate = Fate.TIMED_OUT if code is None else Fate.SURVIVED if code == 0 else Fate.KILLED
            yield Outcome(mutant, fate, stages[stage], time.monotonic() - started[mutant.id])
        time.sleep(0.02)


def _fork(repository: Path, mutant: Mutant, stage: str) -> int:
    """A child process that runs one stage on one mutant and exits with pytest's code."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = _child(repository, mutant, stage)
    finally:
        os._exit(code)


def _child(repository: Path, mutant: Mutant, stage: str) -> int:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    os.chdir(repository)
    os.environ["CI"] = "1"  # the derandomised profile
    os.environ.pop("AESOP_HYPOTHESIS_PROFILE", None)
    for name in [n for n in sys.modules if n.partition(".")[0] in ("aesop_verified", "property_tests")]:
        del sys.modules[name]
    sys.meta_path.insert(0, _MutantFinder(mutant))
    import pytest

    properties = stage == "properties"
    files = [str(p) for pattern in (PROPERTY_TESTS if properties else TESTS) for p in sorted(Path("property_tests").glob(pattern))]
    nearest = mutant.path.stem
    files = sorted((f for f in files if not f.endswith("test_kernel_mutants.py")), key=lambda f: nearest not in f)
    marker = "hypothesis or not hypothesis" if properties else "not hypothesis"
    return int(pytest.main([*files, "-x", "-q", "-m", marker, "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore", "--assert=plain"]))


class _MutantFinder(importlib.abc.MetaPathFinder):
    """Loads one module from its mutated tree."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.mutant.module:
            return None
        return importlib.util.spec_from_loader(fullname, _MutantLoader(self.mutant), origin=str(self.mutant.path))


class _MutantLoader(importlib.abc.InspectLoader):
    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def get_source(self, fullname: str) -> str:
        return ast.unparse(self.mutant.tree())

    def get_code(self, fullname: str) -> CodeType:
        code = compile(self.mutant.tree(), str(self.mutant.path), "exec")
        assert isinstance(code, CodeType)
        return code


def argued_survivors(repository: Path) -> dict[str, str]:
    """The survivors listed in spec/mutants.toml, with their arguments."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    table = tomllib.loads((repository / "spec" / "mutants.toml").read_text())
    return {entry["id"]: entry["why"] for entry in table["survivor"]}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m aesop_verified.testing.mutation", description="Mutate the kernel and see which changes no test notices.")
    parser.add_argument("--repository", type=Path, default=Path.cwd(), help="the checkout (default: here)")
    parser.add_argument("--sample", type=int, metavar="N", help="run N mutants that are not known to survive, the same ones every time")
    parser.add_argument("--seed", default="", help="another sample")
    parser.add_argument("--match", default="", help="only mutants whose id contains this text")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (default: 2)")
    parser.add_argument("--quick", action="store_true", help="hand values only, no properties")
    options = parser.parse_args(arguments)
    # What every child needs is imported once, before the forks.
    for name in ("pytest", "hypothesis", "flint", "numpy", "daqp"):
        importlib.import_module(name)
    argued = argued_survivors(options.repository)
    chosen = [m for m in kernel_mutants(options.repository) if options.match in m.id]
    if options.sample is not None:
        chosen = sample([m for m in chosen if m.id not in argued], options.sample, options.seed)
    outcomes: list[Outcome] = []
    for outcome in run(options.repository, chosen, jobs=options.jobs, stages=["hand values"] if options.quick else list(SECONDS)):
        outcomes.append(outcome)
        listed = " (argued in spec/mutants.toml)" if outcome.mutant.id in argued else ""
        if outcome.fate is not Fate.KILLED or listed:
            print(f"[{len(outcomes)}/{len(chosen)}] {outcome.fate.value} by {outcome.stage}{listed}: {outcome.mutant.id}", flush=True)
    survivors = [o.mutant.id for o in outcomes if o.fate is Fate.SURVIVED]
    unargued = [s for s in survivors if s not in argued]
    killed = len(outcomes) - len(survivors)
    print(f"{killed} of {len(outcomes)} mutants killed, {len(survivors)} survived, {len(unargued)} of them without an argument in spec/mutants.toml")
    return 1 if unargued else 0


if __name__ == "__main__":
    raise SystemExit(main())
