"""Scenario files: read completely or refused with the place, what was found, what was expected and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from aesop_verified.runtime.flying import observations
from aesop_verified.runtime.scenario import KEYS, REQUIRED, load_scenario
from aesop_verified.system import SystemFileError

ROOT = Path(__file__).parent.parent
CART = ROOT / "property_tests" / "scenario_files" / "cart.yaml"
DELIVERY = ROOT / "examples" / "delivery.yaml"
SCHEMA: dict[str, Any] = json.loads((ROOT / "spec" / "scenario.schema.json").read_text())


def written(tmp_path: Path, old: str, new: str) -> Path:
    text = CART.read_text(encoding="utf-8")
    assert old in text
    text = text.replace(old, new, 1).replace("../../examples", str(ROOT / "examples"))
    path = tmp_path / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("path", [CART, DELIVERY])
def test_the_schema_fits_the_reader(path: Path) -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == set(KEYS) and set(SCHEMA["required"]) == set(REQUIRED)
    load_scenario(path)
    validator.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def test_m05_times_are_whole_steps_exactly(tmp_path: Path) -> None:
    """24 steps of 0.5 s are 12 s; 0.3 s is no whole number of steps and is refused, never rounded."""
    assert load_scenario(written(tmp_path, "duration: 24 steps", "duration: 12 s")).steps == 24
    with pytest.raises(SystemFileError, match=r"scenario.yaml:6:\d+: duration: found '12.3 s', expected .* steps"):
        load_scenario(written(tmp_path, "duration: 24 steps", "duration: 12.3 s"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("schema_version: 1", "schema_version: 2", "schema_version: found '2', expected 1"),
        ("seed: 5", "seed: 1.5", "seed: found '1.5', expected a whole number"),
        ("seed: 5", "sead: 5", "found the unknown key 'sead'"),
        ("initial: {x: 0}", "initial: {x: 3}", "outside the initial set of .*double-integrator.yaml; start inside it"),
        ("initial: {x: 0}", "initial: {y: 0}", "found the unknown state 'y'"),
        ("system: ../../examples/double-integrator.yaml", "system: none.yaml", "none.yaml: cannot be read"),
        ("alpha: 0.9", "alpha: 1", "monitor.alpha: found '1', expected a number between 0 and 1"),
        ("unit: observation", "unit: frame", "monitor.unit: found 'frame', expected one of observation, flight"),
        ("until: 8 steps", "until: 3 steps", r"observations.anomalies\[0\].until: found '3 steps', expected a time after 'from'"),
        ("prefer: scripted", "prefer: endpoint", "the key 'endpoint' is missing"),
        ("prefer: scripted", "prefer: oracle", "reasoner.prefer: found 'oracle', expected one of local, scripted, endpoint"),
        ("top: [x, v]", "top: [x]", "figure.top: found 1 states, expected 2"),
        ("speed: [v]", "speed: [w]", r"figure.speed\[0\]: found 'w', expected one of x, v"),
        ("delay: 0.1 s", "delay: -1 s", "delay: found '-1 s', expected a time of at least 0"),
        ("every: 2 steps", "every: 0", "observations.every: found '0', expected at least one step"),
        ("hazard: harmless", "hazard: maybe", "expected one of harmless, dangerous"),
    ],
)
def test_what_cannot_be_understood_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(SystemFileError, match=message):
        load_scenario(written(tmp_path, old, new))


def test_observations_are_seeded_and_anomalies_lie_on_top() -> None:
    scenario = load_scenario(CART)
    seen = observations(scenario)
    assert seen == observations(scenario) and len(seen) == scenario.steps
    assert [t for t, text in enumerate(seen) if "elephant" in text] == [4, 5, 6, 7]
    assert set(seen[:4]) <= set(scenario.nominal) and seen[0] == seen[1]
