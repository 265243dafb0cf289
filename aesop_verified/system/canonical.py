"""The one exact text of a description, for hashes and for comparison."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flint import fmpq_mat

from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of, text
from aesop_verified.system.parts import Box, DescribedSummand, RecoveryRegion, SynthesisRequest

if TYPE_CHECKING:
    from aesop_verified.system.description import SystemDescription

SCHEMA_VERSION = 1


def _mat(m: fmpq_mat) -> list[list[str]]:
    return [[text(v) for v in row] for row in rows_of(m)]


def _vec(m: fmpq_mat) -> list[str]:
    return [text(v) for v in m.entries()]


def _poly(p: Polytope) -> dict[str, object]:
    return {"G": _mat(p.G), "h": _vec(p.h)}


def _box(b: Box) -> dict[str, object]:
    return {side: [None if v is None else text(v) for v in values] for side, values in (("lower", b.lower), ("upper", b.upper))}


def _region(r: RecoveryRegion) -> dict[str, object]:
    common: dict[str, object] = {"name": r.name, "description": r.description}
    if isinstance(r.content, SynthesisRequest):
        return common | {"synthesise": {"inside": _box(r.content.inside), "around": _vec(r.content.around)}}
    gain = "tube" if r.content.gain is None else _mat(r.content.gain)
    return common | {"polytope": _poly(r.content.polytope), "law": {"gain": gain, "offset": _vec(r.content.offset)}}


def _summands(parts: Iterable[DescribedSummand]) -> list[dict[str, object]]:
    return [{"name": s.name, "map": _mat(s.map), "lower": _vec(s.lower), "upper": _vec(s.upper), "evidence": s.evidence} for s in parts]


def canonical(d: SystemDescription) -> dict[str, object]:
    """The description as JSON values; rationals are text."""
    return {
        "schema_version": SCHEMA_VERSION, "name": d.name, "description": d.description, "dt": text(d.dt),
        "states": [{"name": v.name, "unit": v.unit} for v in d.states],
        "inputs": [{"name": v.name, "unit": v.unit} for v in d.inputs],
        "dynamics": {"A": _mat(d.A), "B": _mat(d.B), "b": _vec(d.b)},
        "state_set": _poly(d.state_set), "input_set": _poly(d.input_set),
        "tube_gain": "synthesise" if d.tube_gain is None else _mat(d.tube_gain),
        "recovery_sets": [_region(r) for r in d.recovery_regions],
        "initial": _box(d.initial),
        "costs": {
            "state": _mat(d.costs.state), "input": _mat(d.costs.input), "terminal": _mat(d.costs.terminal),
            "goal": _vec(d.costs.goal), "recovery_input": text(d.costs.recovery_input),
        },
        "horizon": d.horizon, "consensus_horizon": d.consensus_horizon,
        "disturbance": _summands(d.disturbance), "estimate_error": _summands(d.estimate_error),
        "quantum": text(d.quantum), "fallback_order": list(d.fallback_order),
        "scale": {"states": [text(v) for v in d.state_scale], "inputs": [text(v) for v in d.input_scale]},
    }  # fmt: skip
