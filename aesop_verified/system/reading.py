"""The format of system files, version 1 (`spec/system.schema.json` has the same in JSON Schema).

A file is a YAML mapping with these keys; * marks the required ones:

    schema_version*      1
    name*                [a-z][a-z0-9_]*
    description          free text
    dt*                  the time step, such as `0.1 s` or `100 ms` (a bare number is in seconds)
    states*, inputs*     lists of names, or of {name: x, unit: m}; they fix the order of every vector
    dynamics*            {A: rows, B: rows, b: vector} for x+ = A x + B u + b (b is 0 when missing), or
                         {model: {kind: integrator_chains, chains: [{states: [x, v], input: a}, ...]}}
    state_set*           X: {box: {x: [0, 12], v: ±2}, rows: [{x: 1, v: -2, max: 3}, ...]}, or one of the two;
                         a state that is not in the box has no bound
    input_set*           U, likewise by input names
    tube_gain*           F in u = F x: {a: {x: -2, v: -3}}, or rows, or `synthesise`
    recovery_sets*       a mapping from names to
                         {description, box and/or rows, law: {gain, offset}}; a law without a gain has F's, or
                         {description, synthesise: {inside: box, around: {x: 8}}}
    initial*             {point: {x: 10}} or {box: {x: [9, 11]}}; a state that is not named is 0
    costs*               {state, input, terminal, goal, recovery_input}: weights by name (or rows of a matrix), the
                         goal by name; terminal is the state's when missing, recovery_input is 1e-4
    horizon*             T: steps, or a time such as `4 s`, which is a whole number of steps; T + 1 inputs
    consensus_horizon*   K likewise, with K < T
    quantum              every input is a multiple of it; 2^-30 when missing, 0 for none
    disturbance          W: [{name, box: {v: ±0.1}, evidence: declared}, {name, map: rows, box: [±1], evidence}, ...];
                         a state that is not in the box has no disturbance
    estimate_error       E in (estimate = state + e), likewise; every interval contains 0
    fallback_order       all recovery sets, most preferred first; the order of the file when missing
    scale                typical sizes by state and input names, for solvers only; 1 when missing

Numbers are exact: `0.1` is 1/10, and `1/3`, `2.5e-3`, `2^-30` are what they say. A number may carry a unit that
converts exactly to the declared one (`150 cm` for m). What cannot be read without doubt is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Concatenate

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.system.canonical import SCHEMA_VERSION
from aesop_verified.system.chains import integrator_chains
from aesop_verified.system.description import DEFAULT_QUANTUM, MAX_HORIZON, SystemDescription
from aesop_verified.system.document import MAX_BYTES, Node, ScalarNode, read_document
from aesop_verified.system.errors import Arguments, Problem, Problems, SystemFileError, Value, suggestion
from aesop_verified.system.fields import Field
from aesop_verified.system.parts import GivenSet, RecoveryRegion, SynthesisRequest, Variable
from aesop_verified.system.sets import read_box, read_costs, read_initial, read_polytope, read_summands
from aesop_verified.system.times import EXPECTED, whole_steps

REQUIRED = (
    "schema_version", "name", "dt", "states", "inputs", "dynamics", "state_set", "input_set", "tube_gain",
    "recovery_sets", "initial", "costs", "horizon", "consensus_horizon",
)  # fmt: skip
OPTIONAL = ("description", "quantum", "disturbance", "estimate_error", "fallback_order", "scale")
KEYS = REQUIRED + OPTIONAL
SYNTHESISE = "synthesise"

Matrices = tuple[fmpq_mat, fmpq_mat, fmpq_mat]


def load(path: str | Path) -> SystemDescription:
    """Read a system file.

    Raises:
        SystemFileError: for everything in it that cannot be understood, all at once.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)  # one too many is refused; a device would never end
    except OSError as error:
        raise SystemFileError(str(path), [Problem("", None, f"cannot be read: {error.strerror}; check the path")]) from None
    return loads(data, str(path))


def loads(data: str | bytes, source: str = "<text>") -> SystemDescription:
    """Read the text of a system file; `source` names it in messages. Raises SystemFileError as `load` does."""
    try:
        encoded = data.encode() if isinstance(data, str) else data
    except UnicodeEncodeError:
        raise SystemFileError(source, [Problem("", None, "found text that has no UTF-8 form (a lone surrogate)")]) from None
    return _Reading(read_document(encoded, source), Problems(source)).description()


class _Reading:
    def __init__(self, root: Node, problems: Problems) -> None:
        self.problems = problems
        self.root = Field(root, "", problems)
        self.fields: dict[str, Field] = {}

    def description(self) -> SystemDescription:
        found = self.problems.attempt(self.root.keys, KEYS, REQUIRED)
        if found is None:
            self.problems.raise_if_any()
        self.fields = found or {}
        self.version()
        dt = self.read("dt", read_dt)
        states = self.read("states", read_variables) or ()
        inputs = self.read("inputs", read_variables) or ()
        self.distinct(states, inputs)
        if not states or not inputs or dt is None:  # without names nothing else can be read
            self.problems.raise_if_any()
        assert dt is not None
        return self.rest(dt, states, inputs)

    def version(self) -> None:
        field = self.fields.get("schema_version")
        if field is not None:
            text = self.problems.attempt(field.text, str(SCHEMA_VERSION))
            if text is not None and text != str(SCHEMA_VERSION):
                self.problems.add(field.path, field.position, f"found {text[:60]!r}, expected {SCHEMA_VERSION}: this version reads schema_version {SCHEMA_VERSION} only")
                self.problems.raise_if_any()

    def distinct(self, states: Sequence[Variable], inputs: Sequence[Variable]) -> None:
        names = [v.name for v in states]
        for i, v in enumerate(inputs):
            if v.name in names:
                self.problems.add(f"inputs[{i}]", self.fields["inputs"].position, f"found the name {v.name!r}, which a state has already; choose another name")

    def read(self, key: str, reader: Callable[Concatenate[Field, Arguments], Value], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Value | None:
        """What `reader` makes of a key's field; None when it is missing or wrong (a problem is recorded then)."""
        return self.problems.attempt(reader, self.fields[key], *args, **kwargs) if key in self.fields else None

    def rest(self, dt: fmpq, states: Sequence[Variable], inputs: Sequence[Variable]) -> SystemDescription:
        name = self.read("name", Field.name)
        text = self.read("description", Field.text)
        dynamics = self.read("dynamics", read_dynamics, dt, states, inputs)
        state_set = self.read("state_set", read_set, states, "state")
        input_set = self.read("input_set", read_set, inputs, "input")
        tube_gain = self.read("tube_gain", read_tube_gain, inputs, states)
        regions = self.read("recovery_sets", read_regions, states, inputs)
        initial = self.read("initial", read_initial, states)
        costs = self.read("costs", read_costs, states, inputs)
        horizon = self.read("horizon", read_steps, dt)
        consensus = self.read("consensus_horizon", read_steps, dt)
        self.horizons(horizon, consensus)
        quantum = self.read("quantum", read_quantum)
        disturbance = self.read("disturbance", read_summands, states, must_contain_zero=False)
        estimate_error = self.read("estimate_error", read_summands, states, must_contain_zero=True)
        order = self.read("fallback_order", read_order, [r.name for r in regions or ()])
        scale = self.read("scale", read_scale, states, inputs)
        self.problems.raise_if_any()
        if name is None or dynamics is None or state_set is None or input_set is None or regions is None or initial is None:
            raise AssertionError("a required field is missing although no problem was recorded")
        if costs is None or horizon is None or consensus is None:
            raise AssertionError("a required field is missing although no problem was recorded")
        try:
            return SystemDescription(
                name=name, dt=dt, states=tuple(states), inputs=tuple(inputs), A=dynamics[0], B=dynamics[1], b=dynamics[2],
                state_set=state_set, input_set=input_set, tube_gain=tube_gain, recovery_regions=regions, initial=initial,
                costs=costs, horizon=horizon, consensus_horizon=consensus, disturbance=disturbance or (),
                estimate_error=estimate_error or (), quantum=DEFAULT_QUANTUM if quantum is None else quantum,
                fallback_order=order or (), state_scale=scale[0] if scale else (), input_scale=scale[1] if scale else (),
                description=text or "",
            )  # fmt: skip
        except UsageError as error:
            raise SystemFileError(self.problems.source, [Problem("", None, str(error))]) from None

    def horizons(self, horizon: int | None, consensus: int | None) -> None:
        for key, steps in (("horizon", horizon), ("consensus_horizon", consensus)):
            if steps is not None and steps > MAX_HORIZON:
                self.problems.add(key, self.fields[key].position, f"found {steps} steps, expected at most {MAX_HORIZON}")
        if horizon is not None and consensus is not None and consensus >= horizon:
            message = f"found K = {consensus} steps with a horizon of T = {horizon} steps, expected K < T; lower consensus_horizon or raise horizon"
            self.problems.add("consensus_horizon", self.fields["consensus_horizon"].position, message)


def read_dt(field: Field) -> fmpq:
    """A positive time in seconds."""
    dt = field.quantity("s")
    if dt <= 0:
        raise field.error(f"{field.found()}, expected a positive time such as 0.1 s")
    return dt


def read_steps(field: Field, dt: fmpq) -> int:
    """A number of steps: a whole number, or a time that is a whole multiple of dt (exactly)."""
    try:
        return whole_steps(field.text(EXPECTED), dt)
    except UsageError as error:
        raise field.error(str(error)) from None


def read_variables(field: Field) -> tuple[Variable, ...]:
    """A list of names, or of {name, unit}."""
    result: list[Variable] = []
    items = field.items("a list such as [{name: x, unit: m}, {name: v, unit: m/s}]")
    if not items:
        raise field.error("found an empty list, expected at least one name")
    for item in items:
        variable = field.problems.attempt(_variable, item)
        if variable is not None and variable.name in [v.name for v in result]:
            field.problems.add(item.path, item.position, f"found the name {variable.name!r} again, expected distinct names")
        elif variable is not None:
            result.append(variable)
    return tuple(result)


def _variable(field: Field) -> Variable:
    if isinstance(field.node, ScalarNode):
        return Variable(field.name())
    parts = field.keys(("name", "unit"), required=("name",))
    if "name" not in parts:
        raise field.error("a state or an input needs a name, such as {name: x, unit: m}")
    return Variable(parts["name"].name(), parts["unit"].unit() if "unit" in parts else "")


def read_dynamics(field: Field, dt: fmpq, states: Sequence[Variable], inputs: Sequence[Variable]) -> Matrices:
    """{A, B, b} or {model: ...}."""
    n, m = len(states), len(inputs)
    parts = field.keys(("A", "B", "b", "model"))
    if "model" in parts:
        if "A" in parts or "B" in parts:
            raise field.error("found both 'model' and matrices, expected one of them")
        A, B = _read_model(parts["model"], dt, states, inputs)
    elif "A" in parts and "B" in parts:
        A, B = parts["A"].matrix(n, n), parts["B"].matrix(n, m)
    else:
        raise field.error("expected 'A' and 'B' (rows), or 'model'")
    return A, B, parts["b"].vector(states, "state") if "b" in parts else fmpq_mat(n, 1)


def _read_model(field: Field, dt: fmpq, states: Sequence[Variable], inputs: Sequence[Variable]) -> tuple[fmpq_mat, fmpq_mat]:
    parts = field.keys(("kind", "chains"), required=("kind", "chains"))
    if "kind" not in parts or "chains" not in parts:
        raise field.error("a model needs the keys kind and chains")
    if parts["kind"].text() != "integrator_chains":
        raise parts["kind"].error(f"{parts['kind'].found()}, expected integrator_chains")
    state_names, input_names = [v.name for v in states], [v.name for v in inputs]
    chains = []
    for item in parts["chains"].items("a list of chains such as {states: [x, v], input: a}"):
        chain = item.keys(("states", "input"), required=("states", "input"))
        if "states" not in chain or "input" not in chain:
            raise item.error("a chain needs the keys states and input")
        indices = [_index(s, state_names, "state") for s in chain["states"].items("a list of states, position first")]
        chains.append((indices, _index(chain["input"], input_names, "input")))
    try:
        return integrator_chains(dt, len(states), len(inputs), chains)
    except UsageError:
        used = [state_names[i] for indices, _ in chains for i in indices] + [input_names[i] for _, i in chains]
        raise parts["chains"].error(f"found chains that use {', '.join(used) or 'nothing'}, expected every state and every input exactly once") from None


def _index(field: Field, names: Sequence[str], what: str) -> int:
    name = field.text(f"the name of a{'n' if what == 'input' else ''} {what}")
    if name not in names:
        raise field.error(f"found the unknown {what} {name[:60]!r}, expected one of {', '.join(names)}{suggestion(name, names)}")
    return names.index(name)


def read_set(field: Field, variables: Sequence[Variable], what: str) -> Polytope:
    """{box, rows}."""
    return read_polytope(field.keys(("box", "rows")), field, variables, what)


def read_tube_gain(field: Field, inputs: Sequence[Variable], states: Sequence[Variable]) -> fmpq_mat | None:
    """A gain, or None for `synthesise`."""
    if isinstance(field.node, ScalarNode):
        if field.node.text == SYNTHESISE:
            return None
        raise field.error(f"{field.found()}, expected a gain such as {{{inputs[0].name}: {{{states[0].name}: -2}}}}, rows, or 'synthesise'")
    return field.gain(inputs, states)


def read_regions(field: Field, states: Sequence[Variable], inputs: Sequence[Variable]) -> tuple[RecoveryRegion, ...]:
    """A mapping from names to recovery sets."""
    entries = field.any_keys("a mapping from names to recovery sets")
    if not entries:
        raise field.error("found no recovery set, expected at least one: without one there is nothing to fall back on")
    found = [field.problems.attempt(_region, name, entry, states, inputs) for name, entry in entries.items()]
    return tuple(r for r in found if r is not None)


def _region(name: str, field: Field, states: Sequence[Variable], inputs: Sequence[Variable]) -> RecoveryRegion:
    field.checked_name(name)
    parts = field.keys(("description", "box", "rows", "law", SYNTHESISE))
    text = parts["description"].text() if "description" in parts else ""
    if SYNTHESISE in parts:
        if {"box", "rows", "law"} & parts.keys():
            raise field.error(f"found '{SYNTHESISE}' beside a given set, expected one of them")
        return RecoveryRegion(name, _request(parts[SYNTHESISE], states), text)
    if "law" not in parts:
        raise field.error(f"found neither 'law' nor '{SYNTHESISE}', expected a set with its law u = gain x + offset, or {{{SYNTHESISE}: {{inside: ..., around: ...}}}}")
    polytope = read_polytope(parts, field, states, "state")
    law = parts["law"].keys(("gain", "offset"))
    gain = law["gain"].gain(inputs, states) if "gain" in law else None
    offset = law["offset"].vector(inputs, "input") if "offset" in law else fmpq_mat(len(inputs), 1)
    return RecoveryRegion(name, GivenSet(polytope, gain, offset), text)


def _request(field: Field, states: Sequence[Variable]) -> SynthesisRequest:
    parts = field.keys(("inside", "around"), required=("inside", "around"))
    if "inside" not in parts or "around" not in parts:
        raise field.error("a synthesis needs the box 'inside' which, and the point 'around' which, the set is wanted")
    return SynthesisRequest(read_box(parts["inside"], states, "state"), parts["around"].vector(states, "state"))


def read_quantum(field: Field) -> fmpq:
    """A number of at least 0."""
    quantum = field.number()
    if quantum < 0:
        raise field.error(f"{field.found()}, expected a positive number such as 2^-30, or 0 to send inputs unrounded")
    return quantum


def read_order(field: Field, names: Sequence[str]) -> tuple[str, ...]:
    """Every recovery set once."""
    items = field.items("a list of all recovery sets, most preferred first")
    if not names:
        return ()
    order = [names[_index(item, names, "recovery set")] for item in items]
    if sorted(order) != sorted(names):
        raise field.error(f"found {', '.join(order) or 'an empty list'}, expected each of {', '.join(names)} once")
    return tuple(order)


def read_scale(field: Field, states: Sequence[Variable], inputs: Sequence[Variable]) -> tuple[tuple[fmpq, ...], tuple[fmpq, ...]]:
    """Positive numbers by state and input names."""
    variables = [*states, *inputs]
    values = [fmpq(1)] * len(variables)
    for i, entry in field.by_name(variables, "state or input").items():
        value = entry.quantity(variables[i].unit)
        if value <= 0:
            raise entry.error(f"{entry.found()}, expected a positive size")
        values[i] = value
    return tuple(values[: len(states)]), tuple(values[len(states) :])
