"""The JSON Schema of system files agrees with the reader: same keys, and the same verdict on files and faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from aesop_verified.system import SystemFileError, loads, to_yaml
from aesop_verified.system.numbers import NUMBER_PATTERN
from aesop_verified.system.parts import MISREAD_NAMES, RESERVED_NAMES
from aesop_verified.system.reading import KEYS, REQUIRED

ROOT = Path(__file__).parent.parent
SCHEMA: dict[str, Any] = json.loads((ROOT / "spec" / "system.schema.json").read_text())
TANKS = (ROOT / "property_tests" / "system_files" / "tanks.yaml").read_text(encoding="utf-8")
EXAMPLES = [(ROOT / "examples" / f"{name}.yaml").read_text(encoding="utf-8") for name in ("double-integrator", "quadrotor-flat")]
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def as_text(text: str) -> Any:
    """The file as this library sees it: every scalar is its text."""
    return yaml.load(text, Loader=yaml.BaseLoader)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == set(KEYS) and set(SCHEMA["required"]) == set(REQUIRED)
    assert set(SCHEMA["$defs"]["name"]["not"]["enum"]) == {*MISREAD_NAMES, *RESERVED_NAMES}
    assert SCHEMA["$defs"]["number"]["oneOf"][1]["pattern"] == f"^({NUMBER_PATTERN})$"


@pytest.mark.parametrize("text", [TANKS, *EXAMPLES, *(to_yaml(loads(text)) for text in [TANKS, *EXAMPLES])])
def test_files_that_are_read_fit_the_schema(text: str) -> None:
    loads(text)
    VALIDATOR.validate(as_text(text))
    VALIDATOR.validate(yaml.safe_load(text))  # as an editor sees it


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema_version: 1", "schema_version: 2"),
        ("name: tanks", "name: Tanks"),
        ("horizon: 4 s", "horzion: 4 s"),
        ("1/3]]", "010]]"),
        ("1/3]]", ".nan]]"),
        ("unit: m}", "unti: m}"),
        ("  - b\n", "  - max\n"),
        ("[0, 250 cm]", "3"),
        ("[0, 250 cm]", "[0, 1, 2]"),
        (", max: 3, min: -4", ""),
        ("input_set: {box: {p: ±0.5}}", "input_set: {}"),
        ("tube_gain: {p: {a: -1}}", "tube_gain: synthesize"),
        ("    law: {offset: {p: 0.25}}\n", ""),
        ("inside: {a: [1, 2]}, ", ""),
        ("initial: {point: {a: 1}}", "initial: {a: 1}"),
        ("{name: leak, ", "{"),
    ],
)
def test_faults_of_form_are_refused_by_both(old: str, new: str) -> None:
    text = TANKS.replace(old, new, 1)
    assert text != TANKS
    with pytest.raises(SystemFileError):
        loads(text)
    assert not VALIDATOR.is_valid(as_text(text))
