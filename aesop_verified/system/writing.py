"""A description as the text of a system file: reading it back gives the same exact description."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flint import fmpq_mat

from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of
from aesop_verified.system.canonical import SCHEMA_VERSION
from aesop_verified.system.description import SystemDescription
from aesop_verified.system.numbers import decimal
from aesop_verified.system.parts import Box, DescribedSummand, RecoveryRegion, SynthesisRequest, Variable


def to_yaml(d: SystemDescription) -> str:
    """The text of a system file with every value written out: matrices as rows, sets as rows by name."""
    lines = [
        f"schema_version: {SCHEMA_VERSION}",
        f"name: {d.name}",
        f"description: {quoted(d.description)}",
        f"dt: {decimal(d.dt)} s",
        f"horizon: {d.horizon}",
        f"consensus_horizon: {d.consensus_horizon}",
        f"quantum: {decimal(d.quantum)}",
        *_variables("states", d.states),
        *_variables("inputs", d.inputs),
        "dynamics:",
        *_matrix("  A", d.A),
        *_matrix("  B", d.B),
        f"  b: {_list(d.b)}",
        "state_set:",
        *_rows("  ", d.state_set, d.state_names),
        "input_set:",
        *_rows("  ", d.input_set, d.input_names),
        *(["tube_gain: synthesise"] if d.tube_gain is None else _matrix("tube_gain", d.tube_gain)),
        "recovery_sets:",
    ]
    for region in d.recovery_regions:
        lines += _region(region, d.state_names)
    lines += [f"fallback_order: [{', '.join(d.fallback_order)}]", "initial:", f"  box: {_box(d.initial, d.state_names)}", "costs:"]
    for key, matrix in (("state", d.costs.state), ("input", d.costs.input), ("terminal", d.costs.terminal)):
        lines += _matrix(f"  {key}", matrix)
    lines += [f"  goal: {_list(d.costs.goal)}", f"  recovery_input: {decimal(d.costs.recovery_input)}"]
    lines += _summands("disturbance", d.disturbance) + _summands("estimate_error", d.estimate_error)
    scales = zip(d.state_names + d.input_names, d.state_scale + d.input_scale)
    lines.append(f"scale: {{{', '.join(f'{name}: {decimal(size)}' for name, size in scales)}}}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A double-quoted YAML scalar; everything but printable ASCII is escaped."""
    return '"' + "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in text) + '"'


def _list(vector: fmpq_mat) -> str:
    return f"[{', '.join(decimal(v) for v in vector.entries())}]"


def _matrix(key: str, matrix: fmpq_mat) -> list[str]:
    indent = " " * (len(key) - len(key.lstrip()) + 2)
    return [f"{key}:", *(f"{indent}- [{', '.join(decimal(v) for v in row)}]" for row in rows_of(matrix))]


def _variables(key: str, variables: Sequence[Variable]) -> list[str]:
    return [f"{key}:", *(f"  - {{name: {v.name}, unit: {quoted(v.unit)}}}" if v.unit else f"  - {v.name}" for v in variables)]


def _rows(indent: str, polytope: Polytope, names: Sequence[str]) -> list[str]:
    lines = []
    for row, side in zip(rows_of(polytope.G), polytope.h.entries()):
        terms = [f"{name}: {decimal(c)}" for name, c in zip(names, row) if c != 0] or [f"{names[0]}: 0"]
        lines.append(f"{indent}  - {{{', '.join(terms)}, max: {decimal(side)}}}")
    return [f"{indent}rows:", *lines] if lines else [f"{indent}rows: []"]


def _box(box: Box, names: Sequence[str]) -> str:
    bounds = zip(names, box.lower, box.upper)
    return f"{{{', '.join(f'{n}: [{decimal(lo)}, {decimal(hi)}]' for n, lo, hi in bounds if lo is not None and hi is not None)}}}"


def _region(region: RecoveryRegion, names: Sequence[str]) -> list[str]:
    lines = [f"  {region.name}:", f"    description: {quoted(region.description)}"]
    content = region.content
    if isinstance(content, SynthesisRequest):
        return [*lines, "    synthesise:", f"      inside: {_box(content.inside, names)}", f"      around: {_list(content.around)}"]
    gain = [] if content.gain is None else _matrix("      gain", content.gain)
    return [*lines, *_rows("    ", content.polytope, names), "    law:", *gain, f"      offset: {_list(content.offset)}"]


def _summands(key: str, summands: Iterable[DescribedSummand]) -> list[str]:
    lines = []
    for s in summands:
        intervals = ", ".join(f"[{decimal(lo)}, {decimal(hi)}]" for lo, hi in zip(s.lower.entries(), s.upper.entries()))
        lines += [f"  - name: {s.name}", f"    evidence: {quoted(s.evidence)}", *_matrix("    map", s.map), f"    box: [{intervals}]"]
    return [f"{key}:", *lines] if lines else [f"{key}: []"]
