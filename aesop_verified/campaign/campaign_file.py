"""Campaign files: which system is flown how many times, by which methods, against what.

A file is a YAML mapping with these keys; * marks the required ones (`spec/campaign.schema.json` has the same):

    schema_version*   1
    name*             [a-z][a-z0-9_]*
    description       free text
    system*           path of the system file, relative to this file; the initial state is drawn from its `initial`
    seed*             a whole number; it fixes every draw of every scenario
    weightings        {name: {terminal, state}, ...}: weights of the slack variables of the two baselines
    variants          {name: {description, and any of the keys below}, ...}: flown one after the other

The keys that a variant may change, with what holds when a key stands nowhere:

    scenarios         500
    recovery_sets     the system's, or others in the words of a system file: other regions for the same vehicle
    methods           [naive, fs_mpc, aesop]
    plant             {kind: rigid_body | drake | rotorpy | mujoco | model, vertex_share: 0.5 (model),
                       drag: 0 N s/m (rigid_body), gust: {speed: 0 m/s, period: 3 s}}
    anomalies         [{from: 1 s, until: 4 s, answer: consequential}]: when each appears, uniform over the steps of the
                      interval, and what the reasoner thinks of it (`harmless` is the answer 0); [] is a flight without any
    latency           consensus_horizon of the system, or another time, or {from, until}: uniform over its steps
    solver_failures   0: the share of steps, from the second on, in which the solver gives nothing
    duration          15 s: of a flight without anomalies; any other ends a little after the region is due
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from flint import fmpq

from aesop_verified.kernel.errors import UsageError
from aesop_verified.plants import BODIES
from aesop_verified.runtime.exact_text import Json
from aesop_verified.runtime.scenario import read_choice, read_share, read_steps, read_whole
from aesop_verified.system import SystemDescription, SystemFileError, load
from aesop_verified.system.document import MapNode, read_document
from aesop_verified.system.errors import Problem, Problems
from aesop_verified.system.fields import Field
from aesop_verified.system.reading import read_regions

METHODS = ("naive", "fs_mpc", "aesop")
KINDS = (*BODIES, "model")
ANSWERS = ("consequential", "harmless")
OF_A_VARIANT = ("scenarios", "recovery_sets", "methods", "plant", "anomalies", "latency", "solver_failures", "duration")
REQUIRED = ("schema_version", "name", "system", "seed")
KEYS = (*REQUIRED, "description", "weightings", "variants", *OF_A_VARIANT)


@dataclass(frozen=True, slots=True)
class Plant:
    """What flies: `drag` in N s/m along each axis of the body, `gust` in m/s and `period` in s of a sinusoidal wind."""

    kind: str = "rigid_body"
    vertex_share: float = 0.5
    drag: float = 0.0
    gust: float = 0.0
    period: float = 3.0


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Appears at one of the steps first..last; harmless when the reasoner answers 0."""

    first: int
    last: int
    harmless: bool


@dataclass(frozen=True, slots=True)
class Weighting:
    """Weights of a baseline's slack variables (in scaled units): how far it misses the recovery set, and leaves X."""

    name: str
    terminal: float
    state: float


WEIGHTINGS = (Weighting("balanced", 1e4, 1e4), Weighting("arrival_first", 1e5, 1e3), Weighting("limits_first", 1e3, 1e5))
"""Shown for each baseline: which of arriving and keeping to X gives way first when both cannot be had."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a variant's flights are up against; times in steps, `latency` as first and last."""

    plant: Plant
    anomalies: tuple[Anomaly, ...]
    latency: tuple[int, int]
    solver_failures: float
    duration: int

    def to_json(self) -> Json:
        """For the results file and the flight logs."""
        plain: Json = json.loads(json.dumps(asdict(self)))
        return plain


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """One table of a campaign."""

    name: str
    text: str
    system: SystemDescription
    scenarios: int
    methods: tuple[str, ...]
    conditions: Conditions


@dataclass(frozen=True, slots=True, eq=False)
class Campaign:
    """See the module's docstring."""

    path: Path
    name: str
    text: str
    seed: int
    weightings: tuple[Weighting, ...]
    variants: tuple[Variant, ...]

    def only(self, variant: str | None, scenarios: int | None) -> Campaign:
        """The same with one variant, or with another number of scenarios.

        Raises:
            UsageError: for a variant that the file does not have.
        """
        chosen = [v for v in self.variants if variant in (None, v.name)]
        if not chosen:
            raise UsageError(f"--variant: found {variant!r}, expected one of {', '.join(v.name for v in self.variants)}")
        return replace(self, variants=tuple(replace(v, scenarios=scenarios or v.scenarios) for v in chosen))


def load_campaign(path: str | Path) -> Campaign:
    """Read a campaign and its system file.

    Raises:
        SystemFileError: for everything in either file that cannot be understood.
    """
    source = Path(path)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise SystemFileError(str(path), [Problem("", None, f"cannot be read: {error.strerror}; check the path")]) from None
    problems = Problems(str(path))
    fields = problems.attempt(Field(read_document(data, str(path)), "", problems).keys, KEYS, REQUIRED) or {}
    problems.raise_if_any()
    version = problems.attempt(fields["schema_version"].text)
    if version != "1":
        problems.add("schema_version", fields["schema_version"].position, f"found {version!r}, expected 1: this version reads schema_version 1 only")
    relative = problems.attempt(fields["system"].text)
    problems.raise_if_any()
    system = load(source.parent / str(relative))
    found = problems.attempt(_campaign, fields, source, system)
    problems.raise_if_any()
    if found is None:
        raise AssertionError("a campaign is missing although no problem was recorded")
    return found


def _campaign(fields: dict[str, Field], path: Path, system: SystemDescription) -> Campaign:
    name = fields["name"].name()
    text = fields["description"].text() if "description" in fields else ""
    K = system.consensus_horizon
    anomaly = Anomaly(_steps(1, system.dt), _steps(4, system.dt), False)
    default = Variant(name, text, system, 500, METHODS, Conditions(Plant(), (anomaly,), (K, K), 0.0, _steps(15, system.dt)))
    base = _changed(default, {key: fields[key] for key in OF_A_VARIANT if key in fields}, system.dt)
    variants = [base]
    if "variants" in fields:
        named = fields["variants"].any_keys("a mapping from names to what is different").items()
        variants = [_variant(replace(base, name=field.checked_name(key)), field, system.dt) for key, field in named]
        if not variants:
            raise fields["variants"].error("found none, expected at least one variant; leave the key out for a campaign without")
    weightings: tuple[Weighting, ...] = WEIGHTINGS
    if "weightings" in fields:
        weightings = tuple(_weighting(key, field) for key, field in fields["weightings"].any_keys("a mapping from names to {terminal, state}").items())
        if not weightings:
            raise fields["weightings"].error("found none, expected at least one weighting")
    return Campaign(path, name, text, read_whole(fields["seed"]), weightings, tuple(variants))


def _steps(seconds: int, dt: fmpq) -> int:
    return max(1, int((fmpq(seconds) / dt).floor()))


def _weighting(name: str, field: Field) -> Weighting:
    parts = _all_of(field, ("terminal", "state"))
    terminal, state = (_positive(parts[key]) for key in ("terminal", "state"))
    return Weighting(field.checked_name(name), terminal, state)


def _variant(base: Variant, field: Field, dt: fmpq) -> Variant:
    parts = field.keys(("description", *OF_A_VARIANT))
    text = parts.pop("description").text() if "description" in parts else base.text
    return _changed(replace(base, text=text), parts, dt)


def _changed(variant: Variant, parts: dict[str, Field], dt: fmpq) -> Variant:
    if "scenarios" in parts:
        variant = replace(variant, scenarios=max(1, read_whole(parts["scenarios"])))
    if "recovery_sets" in parts:
        variant = replace(variant, system=_with_regions(variant.system, parts["recovery_sets"]))
    if "methods" in parts:
        chosen = {read_choice(item, METHODS) for item in parts["methods"].items("a list of methods")}
        if not chosen:
            raise parts["methods"].error(f"found none, expected some of {', '.join(METHODS)}")
        variant = replace(variant, methods=tuple(m for m in METHODS if m in chosen))
    conditions = variant.conditions
    if "plant" in parts:
        conditions = replace(conditions, plant=_plant(parts["plant"]))
    if "anomalies" in parts:
        conditions = replace(conditions, anomalies=tuple(_anomaly(item, dt) for item in parts["anomalies"].items("a list of anomalies")))
    if "latency" in parts:
        conditions = replace(conditions, latency=_latency(parts["latency"], dt))
    if "solver_failures" in parts:
        conditions = replace(conditions, solver_failures=read_share(parts["solver_failures"]))
    if "duration" in parts:
        conditions = replace(conditions, duration=read_steps(parts["duration"], dt))
    return replace(variant, conditions=conditions)


def _with_regions(system: SystemDescription, field: Field) -> SystemDescription:
    regions = read_regions(field, system.states, system.inputs)
    order = system.fallback_order if {r.name for r in regions} == set(system.fallback_order) else ()
    return replace(system, recovery_regions=regions, fallback_order=order)


def _plant(field: Field) -> Plant:
    parts = field.keys(("kind", "vertex_share", "drag", "gust"), ("kind",))
    if "kind" not in parts:
        raise field.error(f"expected a kind, one of {', '.join(KINDS)}")
    plant = Plant(read_choice(parts["kind"], KINDS))
    if "vertex_share" in parts:
        plant = replace(plant, vertex_share=read_share(parts["vertex_share"]))
    if "drag" in parts:
        if plant.kind != "rigid_body":
            raise parts["drag"].error(f"the plant {plant.kind!r} brings its own aerodynamics, or none; expected it with rigid_body only")
        plant = replace(plant, drag=_positive(parts["drag"]))
    if "gust" in parts:
        if plant.kind in ("drake", "model"):
            raise parts["gust"].error(f"the plant {plant.kind!r} has no aerodynamics, so no wind; take rigid_body with drag, rotorpy or mujoco")
        inner = parts["gust"].keys(("speed", "period"), ("speed",))
        speed = _positive(inner["speed"], "m/s") if "speed" in inner else 0.0
        plant = replace(plant, gust=speed, period=_positive(inner["period"], "s") if "period" in inner else plant.period)
    return plant


def _anomaly(field: Field, dt: fmpq) -> Anomaly:
    parts = field.keys(("from", "until", "answer"), ("from", "until"))
    _all_of_parts(field, parts, ("from", "until"))
    first, last = read_steps(parts["from"], dt), read_steps(parts["until"], dt)
    if last < first:
        raise parts["until"].error(f"{parts['until'].found()}, expected a time that is not before 'from'")
    return Anomaly(first, last, "answer" in parts and read_choice(parts["answer"], ANSWERS) == "harmless")


def _latency(field: Field, dt: fmpq) -> tuple[int, int]:
    if isinstance(field.node, MapNode):
        parts = _all_of(field, ("from", "until"))
        first, last = read_steps(parts["from"], dt), read_steps(parts["until"], dt)
        if last < first:
            raise parts["until"].error(f"{parts['until'].found()}, expected a time that is not before 'from'")
        return first, last
    steps = read_steps(field, dt)
    return steps, steps


def _positive(field: Field, unit: str = "") -> float:
    value = field.quantity(unit)
    if value <= 0:
        raise field.error(f"{field.found()}, expected a positive number")
    return int(value.p) / int(value.q)


def _all_of(field: Field, required: tuple[str, ...]) -> dict[str, Field]:
    return _all_of_parts(field, field.keys(required, required), required)


def _all_of_parts(field: Field, parts: dict[str, Field], required: tuple[str, ...]) -> dict[str, Field]:
    if any(key not in parts for key in required):
        raise field.error(f"expected the keys {', '.join(required)}")
    return parts
