"""The mutation command: its survivors are real and argued, and a sample of mutants is killed in every run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aesop_verified.testing.mutation import argued_survivors, kernel_mutants, sample

REPOSITORY = Path(__file__).parents[1]
MUTANTS = kernel_mutants(REPOSITORY)


def test_mutants_are_named_once_and_cover_the_kernel() -> None:
    ids = [m.id for m in MUTANTS]
    assert len(set(ids)) == len(ids) > 400
    assert {m.path.name for m in MUTANTS} >= {"plan.py", "machine.py", "model.py", "inclusion.py", "rollout.py", "invariance.py", "polytope.py"}
    for wanted in (
        "plan.py: check_plan: plan.horizon > system.horizon -> plan.horizon >= system.horizon",
        "machine.py: _after_waiting: k >= K + 1 -> k > K + 1",
        "inclusion.py: check_inclusion: v < 0 -> v <= 0",
        "plan.py: _consensus_violation: range(plan.consensus + 1) -> range(plan.consensus + 1 - 1)",
    ):
        assert wanted in ids


def test_a_mutant_differs_from_its_module_in_one_place() -> None:
    import ast

    for mutant in sample(MUTANTS, 5, "one place"):
        before, after = ast.unparse(ast.parse(mutant.path.read_text())), ast.unparse(mutant.tree())
        assert before != after
        changed = [(a, b) for a, b in zip(before.splitlines(), after.splitlines()) if a != b]
        assert len(changed) == 1 and len(before.splitlines()) == len(after.splitlines())


def test_every_listed_survivor_exists_and_is_argued() -> None:
    if sys.version_info < (3, 11):
        pytest.importorskip("tomli")
    ids = {m.id for m in MUTANTS}
    for name, why in argued_survivors(REPOSITORY).items():
        assert name in ids, f"spec/mutants.toml lists {name!r}, which is no mutant of the kernel any more; take it out"
        assert len(why.split()) >= 5


def test_a_sample_of_mutants_is_killed() -> None:
    """The same ten every time; `python -m aesop_verified.testing.mutation` runs them all."""
    command = [sys.executable, "-m", "aesop_verified.testing.mutation", "--sample", "10", "--seed", "every run"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "of 10 mutants killed" in done.stdout and "0 of them without an argument" in done.stdout
