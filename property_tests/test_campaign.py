"""Campaigns: the same tables on any backend and after a kill, what a flight's record says, and the files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from matplotlib.image import imread

from aesop_verified.campaign.campaign_file import KEYS, REQUIRED, load_campaign
from aesop_verified.campaign.draws import draw
from aesop_verified.campaign.flying import Record, fly
from aesop_verified.campaign.running import Prepared, prepare
from aesop_verified.campaign.table import Rate, tables
from aesop_verified.commands.main import main
from aesop_verified.kernel.verdict import Verdict
from aesop_verified.system import SystemFileError

ROOT = Path(__file__).parent.parent
CART = ROOT / "property_tests" / "campaign_files" / "cart.yaml"
EXAMPLES = sorted((ROOT / "examples").glob("campaign*.yaml"))
SCHEMA: dict[str, Any] = json.loads((ROOT / "spec" / "campaign.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "aesop_verified.commands.main", "campaign", *arguments, "--no-figure"]


@pytest.fixture(scope="module")
def cart() -> Prepared:
    return prepare(load_campaign(CART))


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The campaign in one go, in this process alone: what every other way of flying it has to equal."""
    folder = tmp_path_factory.mktemp("campaign")
    assert main(["campaign", str(CART), "--out", str(folder), "--jobs", "1"]) == 0
    return folder


def records(prepared: Prepared, variant: str, method: str) -> list[Record]:
    return [fly(t)[0][0] for t in prepared.tasks if (t.variant, t.method) == (variant, method)]


def test_aesop_recovers_every_time_and_every_log_is_verified(cart: Prepared) -> None:
    for record in records(cart, "published", "aesop"):
        assert record.recovered and record.violations == 0 and record.log == "verified", record
        assert record.alarm is not None and record.answered == record.alarm + 4 and record.choice in record.options
        assert record.arrival is not None and record.arrival <= 13 and record.by == "reasoner"


def test_the_naive_method_is_asked_about_everything_and_loses(cart: Prepared) -> None:
    found = records(cart, "published", "naive")
    assert all(record.options == ("left_pad", "right_pad") for record in found)
    assert not all(record.recovered for record in found)
    # The lateness is the latency's: whoever aims at the region at once arrives T + 1 steps after the answer, or never.
    assert sum(record.recovered_late for record in found) >= sum(record.recovered for record in found)


def test_a_late_answer_is_the_fallback_policys(cart: Prepared) -> None:
    drawn = {t.index: draw(cart.campaign.seed, cart.campaign.variants[1].conditions, t.index, cart.campaign.variants[1].system.initial) for t in cart.tasks}
    found = records(cart, "late", "aesop")
    assert {r.by for r in found} == {"reasoner", "fallback"}
    for record in found:
        assert (record.by == "fallback") == (drawn[record.index].latency > 5) and record.recovered, record


def test_a_solver_that_gives_nothing_costs_plans_and_no_flight(cart: Prepared) -> None:
    found = records(cart, "no_solver", "aesop")
    assert all(r.recovered and r.log == "verified" and r.uncertified == 0 for r in found) and sum(r.shifted for r in found) > 10


def test_a_harmless_anomaly_is_answered_0_and_the_dangerous_one_is_recovered_from(cart: Prepared) -> None:
    for record in records(cart, "two_anomalies", "aesop"):
        assert record.recovered and record.by == "reasoner" and record.log == "verified", record


def test_a_disturbance_outside_w_is_counted_and_in_the_log(cart: Prepared, tmp_path: Path) -> None:
    text = CART.read_text(encoding="utf-8").replace("../../examples/double-integrator.yaml", "system.yaml")
    (tmp_path / "cart.yaml").write_text(text, encoding="utf-8")
    system = (ROOT / "examples" / "quadrotor-flat.yaml").read_text(encoding="utf-8")
    (tmp_path / "system.yaml").write_text(system, encoding="utf-8")
    (tmp_path / "gust.yaml").write_text(
        "schema_version: 1\nname: gust\nsystem: system.yaml\nseed: 1\nscenarios: 1\nmethods: [aesop]\n"
        "anomalies: [{from: 1 s, until: 1 s}]\nplant: {kind: rigid_body, drag: 0.5, gust: {speed: 40 m/s, period: 2 s}}\n",
        encoding="utf-8",
    )
    prepared = prepare(load_campaign(tmp_path / "gust.yaml"))
    (record,) = records(prepared, "gust", "aesop")
    assert record.left_w > 0 and record.logged > 0 and record.share > 1 and record.log == "verified"
    assert record.first_left_w is not None and record.first_logged is not None and record.first_logged > record.first_left_w
    (table,) = tables(prepared, {("gust", "aesop", 0): [record]})
    assert table.assurance is not None and (table.assurance.left_w, table.assurance.flights_in_w) == (1, 0)


def test_a_scenario_is_the_same_alone_and_after_others(cart: Prepared) -> None:
    """Warm starts are forgotten between flights: with them the 12th digit depends on what was flown before."""
    first = cart.tasks[2]
    again = [fly(first)[0], [fly(t) for t in cart.tasks[:6]] and fly(first)[0]]
    assert again[0] == again[1] == fly(first)[0]


def test_two_processes_and_dask_give_the_same_table(flown: Path, tmp_path: Path) -> None:
    for backend in ("loky", "dask"):
        folder = tmp_path / backend
        done = subprocess.run(command(str(CART), "--out", str(folder), "--backend", backend, "--jobs", "2"), capture_output=True, text=True, check=False, timeout=240)
        assert done.returncode == 0, done.stderr
        assert (folder / "table.json").read_bytes() == (flown / "table.json").read_bytes(), backend
        assert (folder / "table.md").read_bytes() == (flown / "table.md").read_bytes(), backend


def test_a_killed_campaign_goes_on_where_it_stopped(flown: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    running = subprocess.Popen(command(str(CART), "--out", str(tmp_path), "--jobs", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while time.monotonic() < end and (not results.exists() or results.read_bytes().count(b"\n") < 5):
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = results.read_bytes()
    whole = before[: before.rfind(b"\n") + 1]
    assert whole.count(b"\n") >= 5 and not (tmp_path / "table.json").exists()
    with results.open("ab") as file:
        file.write(b'{"kind":"scenario","vari')  # what a write that was cut off leaves behind
    assert main(["campaign", str(CART), "--out", str(tmp_path), "--jobs", "1", "--no-figure"]) == 0
    after = results.read_bytes()
    assert after.startswith(whole), "a line that was on the disk has changed"
    keys = [(c["variant"], c["method"], c["index"]) for c in map(json.loads, after.splitlines())]
    assert len(keys) == len(set(keys)) == len((flown / "results.jsonl").read_bytes().splitlines())
    assert (tmp_path / "table.json").read_bytes() == (flown / "table.json").read_bytes()


def test_results_of_another_campaign_are_not_mixed(flown: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(CART.read_text(encoding="utf-8").replace("seed: 7", "seed: 8").replace("../..", str(ROOT)), encoding="utf-8")
    assert main(["campaign", str(other), "--out", str(flown)]) == 2
    assert "results of another published: its seed, system or conditions have changed" in capsys.readouterr().err


def test_a_variant_alone_and_fewer_scenarios_are_part_of_the_whole(flown: Path, tmp_path: Path) -> None:
    assert main(["campaign", str(CART), "--out", str(tmp_path), "--jobs", "1", "--no-figure", "--variant", "late", "--scenarios", "2"]) == 0
    first = (tmp_path / "results.jsonl").read_bytes()
    assert first.count(b"\n") == 2
    assert main(["campaign", str(CART), "--out", str(tmp_path), "--jobs", "1", "--no-figure"]) == 0
    assert (tmp_path / "results.jsonl").read_bytes().startswith(first)
    assert (tmp_path / "table.json").read_bytes() == (flown / "table.json").read_bytes()


def test_the_tables_and_the_figure(flown: Path) -> None:
    page = (flown / "table.md").read_text(encoding="utf-8")
    assert "| AESOP | 100.0 %" in page and "naive MPC (" in page and "0 refused" in page
    found = json.loads((flown / "table.json").read_text(encoding="utf-8"))
    assert {v["verdict"] for v in found["variants"]} == {"proved"}
    height, width, _ = imread(flown / "campaign.png").shape
    assert height > 500 and width > 1500
    assert "Clopper-Pearson" in (flown / "campaign.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("successes", "flights", "low", "high"),
    # Published values: Brown, Cai and DasGupta (2001) and tables of the exact binomial interval; 500 of 500 by hand: 0.025^(1/500).
    [(500, 500, 0.025 ** (1 / 500), 1.0), (0, 10, 0.0, 1 - 0.025 ** (1 / 10)), (5, 10, 0.187, 0.813), (7, 20, 0.154, 0.592)],
)
def test_the_interval_is_clopper_and_pearsons(successes: int, flights: int, low: float, high: float) -> None:
    rate = Rate.of(successes, flights)
    assert rate.low == pytest.approx(low, abs=5e-4) and rate.high == pytest.approx(high, abs=5e-4)


def test_a_lost_flight_or_a_refused_log_refutes(cart: Prepared) -> None:
    good = [Record("published", "aesop", "", i, recovered=True, recovered_late=True, log="verified") for i in range(6)]
    bad = [Record("published", "aesop", "", 0, recovered=False, log="verified"), Record("published", "aesop", "", 0, recovered=True, log="refused")]

    def verdict(found: list[Record]) -> Verdict:
        return tables(cart, {("published", "aesop", r.index): [r] for r in found})[0].verdict

    assert verdict(good) is Verdict.PROVED and verdict(good[1:]) is Verdict.UNKNOWN
    assert [verdict([one, *good[1:]]) for one in bad] == [Verdict.REFUTED] * 2


def test_draws_are_uniform_and_do_not_depend_on_the_conditions(cart: Prepared) -> None:
    variant = cart.campaign.variants[0]
    drawn = [draw(1, variant.conditions, i, variant.system.initial) for i in range(2000)]
    steps = [d.anomalies[0][0] for d in drawn]
    first, last = variant.conditions.anomalies[0].first, variant.conditions.anomalies[0].last
    assert set(steps) == set(range(first, last + 1))
    assert abs(sum(d.choice(("a", "b", "c", "d")) == "a" for d in drawn) / 2000 - 0.25) < 0.03
    other = [draw(1, cart.campaign.variants[1].conditions, i, variant.system.initial) for i in range(50)]
    assert all(a.initial == b.initial and a.share == b.share and a.anomalies == b.anomalies for a, b in zip(drawn, other))


@pytest.mark.parametrize("path", [CART, *EXAMPLES], ids=lambda p: p.name)
def test_files_that_are_read_fit_the_schema(path: Path) -> None:
    load_campaign(path)
    text = path.read_text(encoding="utf-8")
    VALIDATOR.validate(yaml.load(text, Loader=yaml.BaseLoader))
    VALIDATOR.validate(yaml.safe_load(text))


def test_the_schema_has_the_keys_of_the_reader() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == set(KEYS) and set(SCHEMA["required"]) == set(REQUIRED)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seed: 7", "seed: -7", "seed: found '-7', expected a whole number of at least 0"),
        ("seed: 7\n", "", "the key 'seed' is missing"),
        ("scenarios:", "scenaries:", "did you mean 'scenarios'?"),
        ("methods: [naive", "methods: [native", "methods[0]: found 'native', expected one of naive, fs_mpc, aesop"),
        ("{from: 0.5 s, until: 5 s}", "{from: 5 s, until: 0.5 s}", "variants.late.latency.until: found '0.5 s', expected a time that is not before 'from'"),
        ("plant: {kind: model", "plant: {kind: glider", "plant.kind: found 'glider', expected one of rigid_body"),
        ("kind: model", "gust: {speed: 1 m/s}, kind: model", "has no aerodynamics, so no wind"),
        ("answer: harmless", "answer: 0", "expected one of consequential, harmless"),
    ],
)
def test_faults_in_a_file_are_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = CART.read_text(encoding="utf-8").replace("../..", str(ROOT))
    assert old in text
    broken = tmp_path / "broken.yaml"
    broken.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SystemFileError) as error:
        load_campaign(broken)
    assert said in str(error.value)


def test_arguments_that_make_no_sense_are_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in ((["--variant", "no"], "expected one of published"), (["--scenarios", "0"], "expected at least 1"), (["--address", "x"], "has no cluster"), (["--jobs", "0"], "--jobs")):
        assert main(["campaign", str(CART), *arguments, "--out", os.devnull + "/x"]) == 2
        assert said in capsys.readouterr().err
