"""The command `aesop`: its exit status, its sub-commands, and `aesop show`."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aesop_verified
from aesop_verified.commands import main as command_line
from aesop_verified.commands.command import Command
from aesop_verified.commands.exit_status import ExitStatus, overall
from aesop_verified.kernel.errors import UnsoundStep, UsageError
from aesop_verified.kernel.verdict import NotProved, Verdict
from aesop_verified.system import load

ROOT = Path(__file__).resolve().parents[1]
SYSTEM = ROOT / "examples/double-integrator.yaml"


@given(st.lists(st.sampled_from(list(Verdict)), max_size=6))
def test_one_refutation_beats_any_unknown_and_nothing_proves_nothing(verdicts: list[Verdict]) -> None:
    if Verdict.REFUTED in verdicts:
        expected = 1
    elif verdicts and all(v is Verdict.PROVED for v in verdicts):
        expected = 0
    else:
        expected = 3
    assert overall(iter(verdicts)) == expected


def test_every_sub_command_explains_itself(capsys: Any) -> None:
    available = command_line.commands()
    assert "show" in available
    for name, command in available.items():
        assert name == command.name and command.summary and command.description
        with pytest.raises(SystemExit) as left:
            command_line.main([name, "--help"])
        assert left.value.code == 0
        assert "2  bad input" in capsys.readouterr().out


def test_show_prints_the_system_and_its_hash(capsys: Any) -> None:
    assert command_line.main(["show", str(SYSTEM)]) == 0
    assert f"sha256             {load(SYSTEM).hash()}\n" in capsys.readouterr().out
    assert command_line.main(["show", "--json", str(SYSTEM)]) == 0
    assert hashlib.sha256(capsys.readouterr().out.encode()).hexdigest() == load(SYSTEM).hash()


def test_a_missing_file_is_bad_input_and_names_the_file(capsys: Any) -> None:
    assert command_line.main(["show", "absent.yaml"]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("aesop show: absent.yaml: cannot be read")
    assert said.out == ""


@pytest.mark.parametrize("arguments", [[], ["conjure"], ["show"], ["show", "--no-such-option", "x"]])
def test_arguments_that_make_no_sense_are_bad_input(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as left:
        command_line.main(arguments)
    assert left.value.code == 2
    assert "usage: aesop" in capsys.readouterr().err


def raising(error: BaseException) -> dict[str, Command]:
    def execute(_: Any) -> ExitStatus:
        raise error

    return {"show": Command("show", "a", "b", lambda parser: None, execute)}


def test_errors_become_statuses_and_faults_stay_faults(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(command_line, "commands", lambda: raising(UsageError("x: found 1, expected 2")))
    assert command_line.main(["show"]) == 2
    assert capsys.readouterr().err == "aesop show: x: found 1, expected 2\n"
    for verdict, status in ((Verdict.REFUTED, 1), (Verdict.UNKNOWN, 3)):
        failure = NotProved("no recovery set", verdict)
        monkeypatch.setattr(command_line, "commands", lambda failure=failure: raising(failure))
        assert command_line.main(["show"]) == status
        assert capsys.readouterr().err == "aesop show: no recovery set\n"
    monkeypatch.setattr(command_line, "commands", lambda: raising(KeyboardInterrupt()))
    assert command_line.main(["show"]) == 130
    monkeypatch.setattr(command_line, "commands", lambda: raising(UnsoundStep("a false claim")))
    assert command_line.main(["show"]) == command_line.FAULT
    assert "UnsoundStep: a false claim" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_fault() -> None:
    program = f"{sys.executable} -m aesop_verified.commands.main show {SYSTEM} | true; echo ${{PIPESTATUS[0]}}"
    said = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert said.stderr == ""
    assert said.stdout.strip() in {"0", "3"}  # 0 when the pipe took all of it before its reader went


def test_version_and_start_are_light() -> None:
    """`aesop --version` loads no solver and no model runtime."""
    program = (
        "import sys\nfrom aesop_verified.commands.main import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'pyomo', 'casadi', 'onnxruntime', 'z3', 'matplotlib'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [f"aesop-verified {aesop_verified.__version__}", "[]"]
