"""Synthesis of recovery sets: a robustly invariant polytope with an affine law inside an asked box (theory 6).

Axes that decouple are found and handled one by one, and regions that differ by a shift share their work.
What comes out is a proposal with its Farkas rows; `assured` has the kernel check it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System, grid_shrunk
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of, stacked, text, zeros
from aesop_verified.kernel.verdict import NotProved, Verdict
from aesop_verified.recovery.axes import (
    Axis,
    block,
    decoupled_axes,
    embedded,
    projected,
    section,
)
from aesop_verified.recovery.equilibrium import Centre, centre
from aesop_verified.recovery.gains import spectral_radius, tube_gain
from aesop_verified.recovery.invariant_subset import (
    Invariant,
    NoInvariantSubset,
    Outcome,
    invariant_subset,
)
from aesop_verified.recovery.lp import LinearProgram, Optimal
from aesop_verified.recovery.redundancy import remove_redundant
from aesop_verified.recovery.why_not import axis_reason, empty_reason
from aesop_verified.system.description import SystemDescription
from aesop_verified.system.parts import SynthesisRequest

_CONTRACTIONS = (fmpq(98, 100), fmpq(995, 1000), fmpq(1))


class SynthesisFailed(NotProved):
    """No recovery set was found for the region `name`; the message says on which axis, and why.

    `empty` is the asked box within X when that is empty: then no set exists at all.
    """

    def __init__(self, name: str, message: str, empty: Polytope | None = None) -> None:
        super().__init__(message, Verdict.UNKNOWN if empty is None else Verdict.REFUTED)
        self.name, self.empty = name, empty


@dataclass(frozen=True, slots=True, eq=False)
class SynthesisedSet:
    """A proposed recovery set with how it came about.

    Attributes:
        recovery_set: the set and its law.
        centre: the state it is built around and the input there.
        axes: the axes that were handled one by one.
        facets: number of facets on each axis.
    """

    recovery_set: RecoverySet
    centre: Centre
    axes: tuple[Axis, ...]
    facets: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Synthesis:
    """The system with all its recovery sets, and a record of each that was synthesised."""

    system: System
    synthesised: tuple[SynthesisedSet, ...]


def synthesise(description: SystemDescription, progress: Callable[[str], None] = lambda _: None) -> Synthesis:
    """Fill in what a description leaves to synthesis: the tube gain and recovery sets.

    Raises:
        SynthesisFailed: when a region has no robustly invariant subset that this method finds.
        NotStabilisable: when the tube gain is asked for and an axis cannot be stabilised.
    """
    gain = description.tube_gain
    if gain is None:
        progress("tube gain")
        gain = synthesised_gain(description)
    W = draft(description, gain).total_disturbance
    input_set = grid_shrunk(description.input_set, description.quantum)
    axes = decoupled_axes(description.A, description.B, state_sets=[description.state_set], input_set=input_set, gain=gain)
    known: dict[tuple[str, ...], Outcome] = {}
    found = []
    for region in description.to_synthesise:
        progress(f"recovery set {region.name}")
        assert isinstance(region.content, SynthesisRequest)
        found.append(_region(description, region.name, region.content, gain, W, input_set, axes, known))
    return Synthesis(description.build(None if description.tube_gain is not None else gain, [s.recovery_set for s in found]), tuple(found))


def draft(description: SystemDescription, gain: fmpq_mat) -> System:
    """A system with the asked boxes as placeholders for recovery sets: it knows the total disturbance and U's grid."""
    whole = Polytope.whole_space(description.n)
    placeholder = RecoverySet("draft", whole, AffineLaw(gain, zeros(description.m)))
    return System(
        A=description.A, B=description.B, b=description.b, X=description.state_set, U=description.input_set,
        disturbance=description.disturbance_set(), estimate_error=description.estimate_error_set(), gain=gain,
        recovery_sets=(placeholder,), horizon=1, consensus_horizon=0, quantum=description.quantum, fallback_order=("draft",),
    )  # fmt: skip


def half_widths(sets: list[Polytope], n: int) -> list[fmpq]:
    """For each coordinate half the smallest extent over the sets; 1 where none bounds it."""
    widths: list[fmpq | None] = [None] * n
    for P in sets:
        program = LinearProgram(P)
        for i in range(n):
            up, down = (program.maximise(fmpq_mat(n, 1, [fmpq(s * (i == j)) for j in range(n)])) for s in (1, -1))
            if isinstance(up, Optimal) and isinstance(down, Optimal) and up.value + down.value > 0:
                half = (up.value + down.value) / 2
                current = widths[i]
                widths[i] = half if current is None or half < current else current
    return [fmpq(1) if w is None else w for w in widths]


def synthesised_gain(description: SystemDescription) -> fmpq_mat:
    """F with short decimals, axis by axis, for small tubes relative to X, U and the asked boxes."""
    n, m = description.n, description.m
    W = draft(description, zeros(m, n)).total_disturbance
    boxes = [r.content.inside.polytope() for r in description.to_synthesise if isinstance(r.content, SynthesisRequest)]
    widths = half_widths([description.state_set, *boxes], n)
    input_widths = half_widths([description.input_set], m)
    entries = [[fmpq(0)] * n for _ in range(m)]
    for axis in decoupled_axes(description.A, description.B):
        F = tube_gain(
            block(description.A, axis.states, axis.states),
            block(description.B, axis.states, axis.inputs),
            projected(W, axis.states),
            [widths[j] for j in axis.states],
            [input_widths[j] for j in axis.inputs],
        )
        for a, i in enumerate(axis.inputs):
            for c, j in enumerate(axis.states):
                entries[i][j] = F[a, c]
    return fmpq_mat(m, n, [v for row in entries for v in row])


def _region(
    description: SystemDescription, name: str, request: SynthesisRequest, gain: fmpq_mat, W: Disturbance,
    input_set: Polytope, axes: tuple[Axis, ...], known: dict[tuple[str, ...], Outcome],
) -> SynthesisedSet:  # fmt: skip
    n, m = description.n, description.m
    box = request.inside.polytope()
    inside = description.state_set.intersection(box)
    nothing = empty_reason(request, description.state_set, description.states)
    if nothing is not None:
        raise SynthesisFailed(name, f"recovery_sets.{name}: there is no room for a recovery set: {nothing}", box.intersection(description.state_set))
    state, inputs, equilibrium = [fmpq(0)] * n, [fmpq(0)] * m, True
    parts: list[Polytope] = []
    for axis in axes:
        A, B, b = block(description.A, axis.states, axis.states), block(description.B, axis.states, axis.inputs), block(description.b, axis.states, [0])
        F = block(gain, axis.inputs, axis.states)
        constraint = section(inside, axis.states)
        scale = half_widths([constraint], len(axis.states))
        middle = centre(A, B, b, block(request.around, axis.states, [0]), scale)
        offset = middle.input - F * middle.state
        law_rows = section(input_set, axis.inputs).preimage(F, offset) if axis.inputs else Polytope.whole_space(len(axis.states))
        outcome = _axis_set(A + B * F, B * offset + b, constraint.intersection(law_rows), projected(W, axis.states), middle, scale, known)
        if not isinstance(outcome, Invariant):
            states, moved_by = [description.states[j] for j in axis.states], [description.inputs[j] for k, j in enumerate(axis.inputs) if any(row[k] for row in rows_of(B))]
            asked, W_axis = block(request.around, axis.states, [0]), projected(W, axis.states)
            why = axis_reason(A + B * F, moved_by, states, middle, asked, constraint, law_rows, W_axis, _reason(outcome))
            names = ", ".join(v.name for v in states)
            raise SynthesisFailed(name, f"recovery_sets.{name}: found no robustly invariant set inside the asked box and X on the axis of {names}: {why}")
        parts.append(outcome.polytope)
        equilibrium = equilibrium and middle.is_equilibrium
        for k, j in enumerate(axis.states):
            state[j] = middle.state[k, 0]
        for k, j in enumerate(axis.inputs):
            inputs[j] = middle.input[k, 0]
    joined = Polytope(
        stacked(*(embedded(P.G, axis.states, n) for P, axis in zip(parts, axes))), stacked(*(P.h for P in parts))
    )
    x, u = fmpq_mat(n, 1, state), fmpq_mat(m, 1, inputs)
    return SynthesisedSet(
        RecoverySet(name, joined, AffineLaw(gain, u - gain * x)), Centre(x, u, equilibrium), axes, tuple(P.rows for P in parts)
    )


def _axis_set(
    M: fmpq_mat, c: fmpq_mat, constraint: Polytope, W: Disturbance, middle: Centre, scale: list[fmpq], known: dict[tuple[str, ...], Outcome]
) -> Outcome:
    """The invariant subset of one axis; computed about the centre, so that shifted regions share it."""
    shift = middle.state
    local = constraint.translated(-shift)
    drift = M * shift + c - shift
    key = tuple(text(v) for part in (M, drift, local.G, local.h) for v in part.entries())
    outcome = known.get(key)
    if outcome is None:
        outcome = _contract(M, drift, local, W, scale)
        known[key] = outcome
    if not isinstance(outcome, Invariant):
        return outcome
    return Invariant(outcome.polytope.translated(shift), outcome.cuts)


def _contract(M: fmpq_mat, c: fmpq_mat, constraint: Polytope, W: Disturbance, scale: list[fmpq]) -> Outcome:
    radius = spectral_radius(M)
    outcome: Outcome | None = None
    for contraction in _CONTRACTIONS:
        if contraction < 1 and radius >= int(contraction.p) / int(contraction.q):
            continue
        outcome = invariant_subset(M, c, constraint, W, contraction=contraction, scale=scale)
        if isinstance(outcome, Invariant):
            return Invariant(remove_redundant(outcome.polytope).polytope, outcome.cuts)
    assert outcome is not None
    return outcome


def _reason(outcome: Outcome) -> str:
    kind = "the cuts leave nothing" if isinstance(outcome, NoInvariantSubset) else "not finitely determined"
    return f"{kind} after {outcome.cuts} cuts"
