"""Scenario files: which system flies, from where, for how long, and what there is to see on the way.

A file is a YAML mapping with these keys; * marks the required ones (`spec/scenario.schema.json` has the same):

    schema_version*   1
    name*             [a-z][a-z0-9_]*
    description       free text
    system*           path of the system file, relative to this file
    duration*         steps, or a time that is a whole number of steps
    seed*             a whole number; it fixes the disturbance and the order of nominal observations
    initial*          the true initial state by name; a state that is not named is 0
    goal              by name; the system file's when missing
    robot*, task*     in words, for the reasoner
    plant             {vertex_share: share of the steps whose disturbance is a vertex of W, 0.5 when missing}
    monitor*          {top_k, alpha, unit: observation | flight, dismissal: {radius, lifetime},
                       nominal_history: {flight: [texts in time order], ...}}; at least two flights
    observations*     {nominal: [texts], every: time, anomalies: [{from, until, text, hazard}, ...]}
    reasoner*         {prefer: local | scripted | endpoint, script: [{match, answer, delay}, ...],
                       endpoint: {base_url, model, api_key_env}}; the script answers when the preferred one is absent
    figure            {top: [x, y], side: [x, z], speed: [vx, vy, vz]}: names of states
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Concatenate

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.reasoner import OpenAiCompatibleSpec, ScriptedSpec, ScriptLine
from aesop_verified.runtime.calibration import Monitoring
from aesop_verified.system import SystemDescription, SystemFileError, load, whole_steps
from aesop_verified.system.document import read_document
from aesop_verified.system.errors import Arguments, Problem, Problems, Value
from aesop_verified.system.fields import Field

REQUIRED = ("schema_version", "name", "system", "duration", "seed", "initial", "robot", "task", "monitor", "observations", "reasoner")
KEYS = (*REQUIRED, "description", "goal", "plant", "figure")
UNITS = ("observation", "flight")
REASONERS = ("local", "scripted", "endpoint")
MOST_STEPS = 864_000


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something unusual that is seen in the steps begin <= t < end; `hazard` is the author's word, for tables only."""

    begin: int
    end: int
    text: str
    hazard: str


@dataclass(frozen=True, slots=True)
class FigureAxes:
    """States that the figure shows: horizontal and vertical of two views, and the components of the speed."""

    top: tuple[str, str]
    side: tuple[str, str] | None
    speed: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A flight to be flown; see the module's docstring."""

    path: Path
    name: str
    text: str
    system: SystemDescription
    steps: int
    seed: int
    initial: fmpq_mat
    robot: str
    task: str
    vertex_share: float
    monitoring: Monitoring
    nominal: tuple[str, ...]
    every: int
    anomalies: tuple[Anomaly, ...]
    prefer: str
    script: ScriptedSpec
    endpoint: OpenAiCompatibleSpec | None
    figure: FigureAxes | None

    def anomaly(self, step: int) -> Anomaly | None:
        """What is unusual at a step."""
        return next((a for a in self.anomalies if a.begin <= step < a.end), None)


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario and its system file.

    Raises:
        SystemFileError: for everything in either file that cannot be understood.
    """
    source = Path(path)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise SystemFileError(str(path), [Problem("", None, f"cannot be read: {error.strerror}; check the path")]) from None
    return _Reading(Field(read_document(data, str(path)), "", Problems(str(path))), source).scenario()


class _Reading:
    def __init__(self, root: Field, path: Path) -> None:
        self.root, self.path, self.problems = root, path, root.problems
        self.fields: dict[str, Field] = {}

    def scenario(self) -> Scenario:
        self.fields = self.problems.attempt(self.root.keys, KEYS, REQUIRED) or {}
        self.problems.raise_if_any()
        version = self.read("schema_version", Field.text)
        if version != "1":
            self.problems.add("schema_version", self.fields["schema_version"].position, f"found {version!r}, expected 1: this version reads schema_version 1 only")
        relative = self.read("system", Field.text)
        self.problems.raise_if_any()
        system = load(self.path.parent / str(relative))
        goal = self.read("goal", lambda f: f.vector(system.states, "state"))
        if goal is not None:
            system = replace(system, costs=replace(system.costs, goal=goal))
        made = self.rest(system)
        self.problems.raise_if_any()
        if made is None:
            raise AssertionError("a scenario is missing although no problem was recorded")
        return made

    def rest(self, system: SystemDescription) -> Scenario | None:
        dt = system.dt
        name, text = self.read("name", Field.name), self.read("description", Field.text) or ""
        steps, seed = self.read("duration", read_steps, dt), self.read("seed", read_whole)
        initial = self.read("initial", lambda f: f.vector(system.states, "state"))
        if initial is not None and not system.initial.polytope().contains(initial):
            self.problems.add("initial", self.fields["initial"].position, f"this state is outside the initial set of {self.fields['system'].text()}; start inside it, or widen `initial` there")
        robot, task = self.read("robot", Field.text), self.read("task", Field.text)
        share = self.read("plant", read_plant)
        monitoring = self.read("monitor", read_monitoring, dt)
        seen = self.read("observations", read_observations, dt)
        asked = self.read("reasoner", read_reasoner)
        figure = self.read("figure", read_figure, system.state_names)
        if name is None or steps is None or seed is None or initial is None or robot is None or task is None:
            return None
        if monitoring is None or seen is None or asked is None:
            return None
        return Scenario(
            self.path, name, text, system, steps, seed, initial, robot, task, 0.5 if share is None else share, monitoring, *seen,
            *asked, figure,
        )  # fmt: skip

    def read(self, key: str, reader: Callable[Concatenate[Field, Arguments], Value], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Value | None:
        """What `reader` makes of a key's field; None when it is missing or wrong (a problem is recorded then)."""
        return self.problems.attempt(reader, self.fields[key], *args, **kwargs) if key in self.fields else None


def read_steps(field: Field, dt: fmpq) -> int:
    """At least one step, and no more than a day of them at 10 Hz."""
    try:
        steps = whole_steps(field.text("a number of steps, or a time such as 4 s"), dt)
    except UsageError as error:
        raise field.error(str(error)) from None
    if steps < 1:
        raise field.error(f"{field.found()}, expected at least one step")
    if steps > MOST_STEPS:
        raise field.error(f"{field.found()}, expected at most {MOST_STEPS} steps")
    return steps


def read_whole(field: Field) -> int:
    """A whole number of at least 0."""
    value = field.number()
    if value.q != 1 or value < 0 or value >= 2**63:
        raise field.error(f"{field.found()}, expected a whole number of at least 0")
    return int(value.p)


def read_share(field: Field) -> float:
    """A number from 0 to 1."""
    value = field.number()
    if not 0 <= value <= 1:
        raise field.error(f"{field.found()}, expected a number from 0 to 1")
    return int(value.p) / int(value.q)


def read_plant(field: Field) -> float:
    """{vertex_share}."""
    parts = field.keys(("vertex_share",), required=("vertex_share",))
    return read_share(parts["vertex_share"]) if "vertex_share" in parts else 0.5


def read_texts(field: Field) -> tuple[str, ...]:
    """A list of at least one non-blank text."""
    found = tuple(item.text("a scene in words") for item in field.items("a list of texts"))
    if not found or not all(t.strip() for t in found):
        raise field.error("found no text, or a blank one, expected at least one scene in words")
    return found


def read_monitoring(field: Field, dt: fmpq) -> Monitoring:
    """The detector's part."""
    parts = _complete(field, ("top_k", "alpha", "unit", "nominal_history"), ("dismissal",))
    top_k, alpha = read_whole(parts["top_k"]), parts["alpha"]
    if not 0 < alpha.number() < 1:
        raise alpha.error(f"{alpha.found()}, expected a number between 0 and 1, such as 0.95")
    unit = read_choice(parts["unit"], UNITS)
    history = tuple((name, read_texts(texts)) for name, texts in parts["nominal_history"].any_keys("a mapping from flights to lists of texts").items())
    radius, lifetime = None, 1
    if "dismissal" in parts:
        inner = _complete(parts["dismissal"], ("radius", "lifetime"), ())
        radius, lifetime = read_share(inner["radius"]), read_steps(inner["lifetime"], dt)
    return Monitoring(top_k, alpha.text(), unit, radius, lifetime, history)


def read_observations(field: Field, dt: fmpq) -> tuple[tuple[str, ...], int, tuple[Anomaly, ...]]:
    """Nominal texts, how long each is seen, and what else there is."""
    parts = _complete(field, ("nominal", "every"), ("anomalies",))
    anomalies = []
    for item in parts["anomalies"].items("a list of anomalies") if "anomalies" in parts else []:
        inner = _complete(item, ("from", "until", "text", "hazard"), ())
        begin, end = read_steps(inner["from"], dt), read_steps(inner["until"], dt)
        if end <= begin:
            raise inner["until"].error(f"{inner['until'].found()}, expected a time after 'from'")
        anomalies.append(Anomaly(begin, end, inner["text"].text(), read_choice(inner["hazard"], ("harmless", "dangerous"))))
    return read_texts(parts["nominal"]), read_steps(parts["every"], dt), tuple(anomalies)


def read_reasoner(field: Field) -> tuple[str, ScriptedSpec, OpenAiCompatibleSpec | None]:
    """Which reasoner is preferred, the script, and an endpoint."""
    parts = _complete(field, ("prefer", "script"), ("endpoint",))
    lines = []
    for item in parts["script"].items("a list of {match, answer, delay}"):
        inner = _complete(item, ("match", "answer"), ("delay",))
        delay = inner["delay"].quantity("s") if "delay" in inner else fmpq(0)
        if delay < 0:
            raise inner["delay"].error(f"{inner['delay'].found()}, expected a time of at least 0")
        lines.append(ScriptLine(inner["match"].text(), inner["answer"].text().encode(), int(delay.p) / int(delay.q)))
    endpoint = None
    if "endpoint" in parts:
        inner = _complete(parts["endpoint"], ("base_url", "model"), ("api_key_env",))
        key = inner["api_key_env"].text() if "api_key_env" in inner else None
        endpoint = OpenAiCompatibleSpec(inner["base_url"].text(), inner["model"].text(), api_key_env=key)
    prefer = read_choice(parts["prefer"], REASONERS)
    if prefer == "endpoint" and endpoint is None:
        raise field.error("the endpoint is preferred, but the key 'endpoint' is missing; expected its base_url and model")
    return prefer, ScriptedSpec(tuple(lines)), endpoint


def read_figure(field: Field, names: Sequence[str]) -> FigureAxes:
    """Names of states."""
    parts = _complete(field, ("top", "speed"), ("side",))

    def states(key: str, count: int | None) -> tuple[str, ...]:
        found = tuple(read_choice(item, names) for item in parts[key].items("a list of states"))
        if count is not None and len(found) != count:
            raise parts[key].error(f"found {len(found)} states, expected {count}")
        return found

    top = states("top", 2)
    side = states("side", 2) if "side" in parts else None
    return FigureAxes((top[0], top[1]), None if side is None else (side[0], side[1]), states("speed", None))


def read_choice(field: Field, known: Sequence[str]) -> str:
    """One of some words."""
    word = field.text(f"one of {', '.join(known)}")
    if word not in known:
        raise field.error(f"{field.found()}, expected one of {', '.join(known)}")
    return word


def _complete(field: Field, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Field]:
    """The values under keys that must all be there; what is missing or unknown is reported together."""
    parts = field.keys(required + optional, required)
    missing = [key for key in required if key not in parts]
    if missing:
        raise field.error(f"expected the keys {', '.join(required)}")
    return parts
