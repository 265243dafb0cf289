"""The checker command, extracted from proofs, and the kernel decide certificate files alike, damaged ones included."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from aesop_verified.evidence import certificates
from aesop_verified.evidence.canonical import encoded
from aesop_verified.evidence.recheck import check_bytes
from aesop_verified.evidence.verification import verify
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.inclusion import BoundingBox, InclusionStatement, Ray, WitnessPoint
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import identity, matrix, vector
from aesop_verified.system import load
from aesop_verified.testing.textbook import fork_plan, integrator_fork
from property_tests.proof_tools import built_checker, needs_checker

ROOT = Path(__file__).parent.parent
EXAMPLES = ("constant-speed-fork", "double-integrator", "coupled-tanks")
MUTANTS = int(os.environ.get("AESOP_CHECKER_MUTANTS", "400"))
SEED = 20240912

pytestmark = needs_checker


@pytest.fixture(scope="module")
def checker() -> Path:
    """The command, built from clean."""
    return built_checker()


def _small_files() -> Iterator[bytes]:
    """Each kind of evidence once, also those that refute."""
    box, wide = Polytope.box([-1, -1], [1, 1]), Polytope.box([-2, -2], [2, 2])
    half_line = Polytope.of([[-1]], [0], n=1)
    empty = Polytope.of([[1], [-1]], [-1, -1], n=1)
    yield certificates.inclusion("", InclusionStatement.of(wide, box), WitnessPoint(vector([2, 0]))).data
    yield certificates.emptiness("", box, WitnessPoint(vector([1, 1]))).data
    yield certificates.boundedness("", half_line, Ray(vector([1]), vector([1]))).data
    yield certificates.boundedness("", box, BoundingBox(vector([1, 1, 1, 1]), identity(4))).data
    yield certificates.support("", box, vector([1, 2]), vector([1, 1]), matrix([[1, 0, 2, 0]], 4)).data
    yield encoded(
        {
            "schema_version": 1,
            "kind": "emptiness",
            "statement": "",
            "polytope": json.loads(certificates.emptiness("", empty, WitnessPoint(vector([0]))).data)["polytope"],
            "multipliers": {"shape": [1, 2], "rows": [["1", "1"]]},
        }
    )


@pytest.fixture(scope="module")
def files() -> list[bytes]:
    """Certificate files of verified examples, plans with and without a disturbance, and the small ones."""
    found = list(_small_files())
    for name in EXAMPLES:
        verification = verify(load(ROOT / "examples" / f"{name}.yaml"), second_opinion=False, reach=False)
        found += [o.certificate.data for o in verification.obligations if o.certificate is not None]
    for fork in (integrator_fork(), integrator_fork(half_width=0, quantum=0), integrator_fork(estimate="1/64")):
        plan = fork_plan(fork)
        found.append(certificates.plan("", fork.system, plan.state, plan.plan).data)
        found.append(certificates.plan("", fork.system, vector(["1/7"]), plan.plan).data)
    return found


def _leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Containers with the key of each number, list or text inside them."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if key not in ("statement", "kind", "schema_version"):
            yield value, key
        if isinstance(inner, (dict, list)):
            yield from _leaves(inner)


def _damaged(data: bytes, rng: random.Random) -> bytes:
    """The file with one to three faults."""
    value = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        container, key = rng.choice(list(_leaves(value)))
        old = container[key]
        if isinstance(old, str):
            try:
                number = Fraction(old)
            except ValueError:
                container[key] = rng.choice(("left", "north", old + "x"))
                continue
            step = Fraction(1, rng.choice((1, 2, 7, 1024, 10**6)))
            container[key] = str(rng.choice((-number, number + step, number - step, 2 * number, number / 3, Fraction(0))))
        elif isinstance(old, bool) or old is None:
            continue
        elif isinstance(old, int):
            container[key] = old + rng.choice((-1, 1))
        elif isinstance(old, list) and old:
            fault = rng.randrange(3)
            if fault == 0:
                old.pop(rng.randrange(len(old)))
            elif fault == 1:
                old.append(old[0])
            else:
                rng.shuffle(old)
    return encoded(value)


def _kernels_answer(data: bytes) -> str:
    try:
        return check_bytes(data).outcome.value
    except UsageError:
        return "bad input"


def _shown(answer: str) -> str:
    """Refused and bad input both show nothing; which of the two is said first is a matter of reading order."""
    return answer if answer in ("proved", "refuted") else "nothing"


def _checkers_answers(checker: Path, folder: Path, files: list[bytes]) -> list[str]:
    paths = [folder / f"{i}.json" for i in range(len(files))]
    for path, data in zip(paths, files):
        path.write_bytes(data)
    answers: list[str] = []
    for start in range(0, len(paths), 200):
        done = subprocess.run([str(checker), *map(str, paths[start : start + 200])], capture_output=True, text=True, timeout=600)
        answers += [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert len(answers) == len(files)
    return answers


def test_checker_and_kernel_agree_on_every_certificate(checker: Path, files: list[bytes], tmp_path: Path) -> None:
    for data, answer in zip(files, _checkers_answers(checker, tmp_path, files)):
        assert answer == _kernels_answer(data), data[:300]


def test_checker_and_kernel_agree_on_damaged_files(checker: Path, files: list[bytes], tmp_path: Path) -> None:
    rng = random.Random(SEED)
    damaged = [_damaged(rng.choice(files), rng) for _ in range(MUTANTS)]
    seen = Counter[str]()
    for i, (data, answer) in enumerate(zip(damaged, _checkers_answers(checker, tmp_path, damaged))):
        expected = _kernels_answer(data)
        seen[expected] += 1
        assert _shown(answer) == _shown(expected), f"{tmp_path / str(i)}.json: the checker says {answer}, the kernel {expected}"
    assert set(seen) == {"proved", "refuted", "refused", "bad input"}, seen


def test_exit_codes(checker: Path, tmp_path: Path) -> None:
    box, wide = Polytope.box([-1], [1]), Polytope.box([-2], [2])
    good = tmp_path / "good.json"
    good.write_bytes(certificates.boundedness("", box, BoundingBox(vector([1, 1]), identity(2))).data)
    wrong = tmp_path / "wrong.json"
    wrong.write_bytes(certificates.inclusion("", InclusionStatement.of(wide, box), WitnessPoint(vector([2]))).data)
    broken = tmp_path / "broken.json"
    broken.write_text("{")

    def code(*paths: Path) -> int:
        return subprocess.run([str(checker), *map(str, paths)], capture_output=True, timeout=60).returncode

    assert (code(good), code(wrong), code(broken), code(tmp_path / "absent.json")) == (0, 1, 2, 2)
    assert code(good, broken, wrong) == 1
    assert code(good, broken) == 2
