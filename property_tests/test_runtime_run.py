"""`aesop run`: from a scenario to log, figure, result and exit status, with the real embedding model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from matplotlib.image import imread

from aesop_verified.commands.main import main
from aesop_verified.runtime import LogOutcome, check_log

ROOT = Path(__file__).parent.parent
CART = ROOT / "property_tests" / "scenario_files" / "cart.yaml"
LOG_SCHEMA: dict[str, Any] = json.loads((ROOT / "spec" / "flight-log.schema.json").read_text())


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """In a process of its own, as a user runs it: the memory that is measured is then the command's."""
    folder = tmp_path_factory.mktemp("run") / "cart"
    command = [sys.executable, "-m", "aesop_verified.commands.main", "run", str(CART), "--out", str(folder), "--pace", "fast", "--json"]
    return subprocess.run(command, capture_output=True, check=False).returncode, folder


def test_every_check_holds_and_everything_is_written(flown: tuple[int, Path]) -> None:
    status, folder = flown
    assert status == 0
    result = json.loads((folder / "result.json").read_text())
    assert {c["verdict"] for c in result["checks"]} == {"proved"} and len(result["checks"]) == 6
    assert result["log"]["outcome"] == "verified" and "script" in result["reasoner"]
    assert 0 < result["peak_memory_mb"] < 700
    drawn = (folder / "flight.svg").read_text()
    assert drawn.startswith("<?xml") and "speed and its components" in drawn
    height, width, _ = imread(folder / "flight.png").shape
    assert height > 1000 and width > 1500


def test_the_story_is_told(flown: tuple[int, Path]) -> None:
    moments = json.loads((flown[1] / "result.json").read_text())["moments"]
    rows = [m["row"] for m in moments]
    assert rows[:4] == ["TR-ALARM", "TR-ANSWER-CLEAR", "TR-ALARM", "TR-ANSWER-CHOICE"], moments
    assert [m["step"] for m in moments if m["row"] == "TR-ALARM"] == [4, 10]
    assert "elephant" in moments[0]["why"] and "right_pad" in moments[3]["what"]
    assert rows[-1] == "TR-RECOVERED"


def test_the_log_fits_its_schema_and_is_verified(flown: tuple[int, Path]) -> None:
    validator = jsonschema.Draft202012Validator(LOG_SCHEMA)
    validator.check_schema(LOG_SCHEMA)
    for line in (flown[1] / "flight.jsonl").read_bytes().splitlines():
        validator.validate(json.loads(line))
    verdict = check_log(flown[1] / "flight.jsonl")
    assert verdict.outcome is LogOutcome.VERIFIED and len(verdict.steps) == 24
    assert main(["check", str(flown[1] / "flight.jsonl")]) == 0


def test_a_second_flight_needs_another_folder(flown: tuple[int, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(CART), "--out", str(flown[1])]) == 2
    assert "holds a flight already" in capsys.readouterr().err


def test_bad_input_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(tmp_path / "none.yaml")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: [", encoding="utf-8")
    assert main(["run", str(broken)]) == 2


def test_a_start_without_a_certified_plan_is_unknown_and_not_refuted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    system = (ROOT / "examples" / "double-integrator.yaml").read_text(encoding="utf-8").replace("point: {x: 0}", "point: {x: -9.9, v: -1}")
    (tmp_path / "system.yaml").write_text(system, encoding="utf-8")
    text = CART.read_text(encoding="utf-8").replace("../../examples/double-integrator.yaml", "system.yaml").replace("initial: {x: 0}", "initial: {x: -9.9, v: -1}")
    (tmp_path / "cart.yaml").write_text(text, encoding="utf-8")
    assert main(["run", str(tmp_path / "cart.yaml"), "--out", str(tmp_path / "out")]) == 3
    assert "unknown: the loop refuses to start: no candidate plan was offered" in capsys.readouterr().err
    assert check_log(tmp_path / "out" / "flight.jsonl").start_refused


def test_a_flight_too_short_to_arrive_is_unknown_and_without_views_the_figure_calls_no_state_a_speed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = CART.read_text(encoding="utf-8").replace("../../examples", str(ROOT / "examples")).replace("duration: 24 steps", "duration: 14 steps")
    (tmp_path / "short.yaml").write_text(text[: text.index("figure:")], encoding="utf-8")
    assert main(["run", str(tmp_path / "short.yaml"), "--out", str(tmp_path / "out"), "--pace", "fast"]) == 3
    drawn = (tmp_path / "out" / "flight.svg").read_text()
    assert "the first states" in drawn and "speed" not in drawn and "v, m/s" in drawn
    capsys.readouterr()
    assert main(["run", str(tmp_path / "short.yaml"), "--out", str(tmp_path / "plain"), "--pace", "fast", "--no-figure"]) == 3
    assert {p.name for p in (tmp_path / "plain").iterdir()} == {"flight.jsonl", "result.json"}
    printed = capsys.readouterr()
    assert "fly longer" in printed.out and "what happened, and why" in printed.out
    assert "t =   0.0 s  nominal" in printed.err
