"""Files and surroundings that nobody means well with: the answer is a verdict or a message, never an accident.

Python's own exit status of an accident is 1, which says that something is refuted; so an accident is a wrong verdict.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aesop_verified.commands import main as command_line
from aesop_verified.commands.command import Command
from aesop_verified.commands.exit_status import ExitStatus
from aesop_verified.commands.run import _folder as folder_of
from aesop_verified.evidence import certificates
from aesop_verified.evidence.canonical import encoded
from aesop_verified.evidence.recheck import check_bytes
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.inclusion import EmptinessCertificate
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import matrix
from aesop_verified.runtime.scenario import load_scenario
from aesop_verified.system import load
from aesop_verified.testing.textbook import integrator_fork

EXAMPLES = Path(__file__).parents[1] / "examples"
SYSTEM = EXAMPLES / "constant-speed-fork.yaml"
FORK = integrator_fork().system


def command(*arguments: str, shell: str = "", **surroundings: str) -> subprocess.CompletedProcess[str]:
    """`aesop ARGUMENTS`, with a redirection by the shell."""
    program = " ".join([sys.executable, "-m", "aesop_verified.commands.main", *arguments, shell])
    return subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=60, env=os.environ | surroundings)


def test_a_full_disk_behind_the_output_is_no_refutation() -> None:
    said = command("show", str(SYSTEM), shell=">/dev/full")
    assert said.returncode == 3 and "No space left" in said.stderr and "Traceback" not in said.stderr


def test_closed_streams_change_no_verdict() -> None:
    assert command("show", str(SYSTEM), shell=">&- 2>&- <&-").returncode == 0


def test_a_terminal_that_knows_ascii_only_gets_escapes() -> None:
    said = command("show", str(EXAMPLES / "double-integrator.yaml"), PYTHONIOENCODING="ascii")
    assert said.returncode == 0 and "\\xb1" in said.stdout


def test_an_accident_is_not_reported_as_a_refutation(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def accident(_: Any) -> ExitStatus:
        raise ZeroDivisionError("an accident")

    broken = Command("show", "a", "b", lambda parser: None, accident)
    monkeypatch.setattr(command_line, "commands", lambda: {"show": broken})
    assert command_line.main(["show"]) == command_line.FAULT
    assert "ZeroDivisionError: an accident" in capsys.readouterr().err


def test_a_device_that_never_ends_is_bad_input() -> None:
    assert command("show", "/dev/zero").returncode == 2
    assert command("check", "/dev/zero").returncode == 2


def test_a_file_of_unknown_keys_is_refused_quickly() -> None:
    said = command("show", "/dev/stdin", shell="< <(for i in $(seq 2000); do echo horizn$i: 1; done)")
    assert said.returncode == 2 and len(said.stderr.splitlines()) < 100


def fork_certificate(**changes: object) -> bytes:
    certificate = json.loads(certificates.system("the system", FORK).data)
    certificate["system"] |= changes
    return encoded(certificate)


EMPTY = json.loads(certificates.emptiness("x", Polytope.of([[1], [-1]], [0, -1], n=1), EmptinessCertificate(Polytope.of([[1], [-1]], [0, -1], n=1), matrix([[1, 1]], 2))).data)


@pytest.mark.parametrize(
    "data",
    [
        encoded(EMPTY).replace(b'"schema_version":1', b'"schema_version":' + b"1" * 5000),
        # flint ends the whole process when it cannot have the memory for 10^10 columns
        encoded(EMPTY | {"polytope": {"G": [], "h": [], "n": 10**10}, "multipliers": {"shape": [1, 0], "rows": [[]]}}),
        encoded(EMPTY | {"multipliers": {"shape": ["1", "2"], "rows": [["1", "1"]]}}),
        encoded(EMPTY | {"multipliers": {"shape": [1, 2, 3], "rows": [["1", "1"]]}}),
        fork_certificate(horizon=10**9),
        fork_certificate(B="1"),
    ],
    ids=["thousands-of-digits", "too-many-columns", "shape-as-text", "shape-of-three", "endless-horizon", "text-for-a-matrix"],
)
def test_a_hostile_certificate_is_bad_input(data: bytes) -> None:
    assert check_bytes(encoded(EMPTY)).outcome.value == "proved"
    with pytest.raises(UsageError):
        check_bytes(data)


def test_a_certificate_about_X_does_not_pass_for_one_about_a_recovery_set() -> None:
    """A recovery set of the name `states`: members of X would show that its tightened sets are not empty."""
    canonical = FORK.canonical()
    sets = [s | {"name": name} for s, name in zip(canonical["recovery_sets"], ("states", "right"))]  # type: ignore[call-overload]
    system = canonical | {"recovery_sets": sets, "fallback_order": ["states", "right"]}
    points = {str(k): ["0"] for k in range(FORK.horizon + 2)}
    with pytest.raises(UsageError, match="states"):
        check_bytes(encoded({"schema_version": 1, "kind": "tightened_sets", "statement": "x", "system": system, "which": "states", "points": points}))
    with pytest.raises(UsageError, match="'states'"):
        load_text(SYSTEM.read_text().replace("left_road", "states"))


def load_text(text: str) -> object:
    from aesop_verified.system import loads

    return loads(text)


def test_optimised_python_decides_the_same() -> None:
    """No check is an assert: `python -O` and `-OO` refuse what must be refused."""
    bad = fork_certificate(quantum="1/3")
    for level in ("1", "2"):
        code = "import sys; from aesop_verified.evidence.recheck import check_bytes; print(check_bytes(sys.stdin.buffer.read()).outcome.value)"
        said = subprocess.run([sys.executable, "-c", code], input=bad, capture_output=True, env=os.environ | {"PYTHONOPTIMIZE": level}, timeout=60)
        assert said.stdout == b"refused\n", said.stderr
    assert load(SYSTEM).hash()


def test_two_runs_at_once_take_two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both found the folder without a log, and the later one failed when it began its own."""
    monkeypatch.chdir(tmp_path)
    first, second = folder_of(None, "delivery"), folder_of(None, "delivery")
    assert (first, second) == (Path("out/delivery"), Path("out/delivery-2"))
    assert folder_of("mine", "delivery") == folder_of("mine", "delivery") == Path("mine")
    (tmp_path / "mine" / "flight.jsonl").write_text("")
    with pytest.raises(UsageError, match="never overwritten"):
        folder_of("mine", "delivery")


def test_a_flight_without_end_is_refused_before_it_begins(tmp_path: Path) -> None:
    text = (EXAMPLES / "delivery.yaml").read_text().replace("system: ", f"system: {EXAMPLES}/")
    endless = tmp_path / "endless.yaml"
    endless.write_text(text.replace("duration: 10 s", "duration: 1e300 s"))
    with pytest.raises(UsageError, match="duration: found '1e300 s', expected at most 864000 steps"):
        load_scenario(endless)
