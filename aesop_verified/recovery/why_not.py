"""Why no recovery set was found in an asked box: the first cause in the order in which a person would look.

Words only. What is said about emptiness is exact; about stability and tubes it is floating point, and only
explains a failure that the exact recursion has found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.recovery.equilibrium import Centre
from aesop_verified.recovery.gains import doubles, spectral_radius
from aesop_verified.recovery.lp import Infeasible, LinearProgram
from aesop_verified.system.describe import facet_text, with_unit
from aesop_verified.system.parts import SynthesisRequest, Variable

_MOST = 3  # limits named in one message
_TUBE_STEPS = 200  # of the disturbance's tube; a loop that is slower than this is called slow


def empty_reason(request: SynthesisRequest, state_set: Polytope, states: Sequence[Variable]) -> str | None:
    """Why the asked box and X have no point in common, or None when they have one."""
    for v, lo, hi in zip(states, request.inside.lower, request.inside.upper):
        if lo is not None and hi is not None and lo > hi:
            return f"the asked box is empty: {v.name} lies between {with_unit(lo, v.unit)} and {with_unit(hi, v.unit)}; write the lower bound first"
    if isinstance(LinearProgram(state_set).feasible_point(), Infeasible):
        return "X itself is empty; correct state_set first"
    box = request.inside.polytope()
    joint = LinearProgram(box.intersection(state_set)).feasible_point()
    if not isinstance(joint, Infeasible):
        return None
    used = [i for i, y in enumerate(joint.multipliers.entries()) if y != 0]
    asked = [facet_text(box, i, states) for i in used if i < box.rows]
    limits = [facet_text(state_set, i - box.rows, states) for i in used if i >= box.rows]
    return f"the asked box lies outside X: {' and '.join(asked)} contradicts {' and '.join(limits)} of state_set; move the box or widen X"


def axis_reason(
    M: fmpq_mat, inputs: Sequence[Variable], states: Sequence[Variable], middle: Centre, asked: fmpq_mat, inside: Polytope, law: Polytope,
    W: Disturbance, recursion: str,
) -> str:  # fmt: skip
    """Why one axis has no invariant set.

    Args:
        M: A + B F of the axis.
        inputs, states: of the axis.
        middle: what the set was to be built around.
        asked: the point of the file, shape (n, 1).
        inside: the asked box and X, on the axis.
        law: the states at which the law stays in U.
        W: the disturbance of the axis.
        recursion: how the recursion ended, in words.
    """
    radius = spectral_radius(M)
    if not inputs and radius >= 1:
        return f"no input acts on this axis and it is not stable by itself (largest eigenvalue {radius:.4g} in modulus); give B an entry for it, or leave it out of the box"
    if radius > 1 + 1e-9:
        return (
            f"under the tube gain the closed loop A + B F is unstable on this axis (largest eigenvalue {radius:.4g} in modulus); mind the sign, "
            "the law is u = F x + g, so a gain that brakes is negative; or write tube_gain: synthesise"
        )
    violation = inside.violation(middle.state)
    if violation is not None:
        moved = "" if middle.state == asked else f", the equilibrium nearest to the asked point {_point(states, asked)},"
        return f"the set is built around {_point(states, middle.state)}{moved} which breaks {facet_text(inside, violation.facet, states)}; choose a point inside the box and X"
    outside = law.violation(middle.state)
    if outside is not None:
        return f"holding {_point(states, middle.state)} takes {_point(inputs, middle.input)}, which is outside U; choose another point or a wider U"
    if radius > 1 - 1e-9:
        return f"under the tube gain the closed loop is not contracting on this axis (largest eigenvalue {radius:.6g} in modulus), so disturbances add up; give a gain that pulls back every state"
    tight = _tube_reasons(M, W, inside, law, middle.state, states)
    if tight:
        return f"the disturbance alone takes up the room: under the tube gain it moves {'; '.join(tight)}; make the disturbance smaller, the box (or U) larger, or give another tube gain"
    return f"{recursion}; ask for a larger box, a smaller disturbance, or give another tube gain"


def _point(variables: Sequence[Variable], point: fmpq_mat) -> str:
    return ", ".join(f"{v.name} = {_short(value)} {v.unit}".rstrip() for v, value in zip(variables, point.entries()))


def _short(value: fmpq) -> str:
    return f"{int(value.p) / int(value.q):.6g}"


def _tube_reasons(M: fmpq_mat, W: Disturbance, inside: Polytope, law: Polytope, centre: fmpq_mat, states: Sequence[Variable]) -> list[str]:
    """The limits of the box, of X and of U that the tube of the disturbance overruns, worst first, in words."""
    closed = doubles(M)
    maps = [(doubles(s.map), doubles(s.lower).ravel(), doubles(s.upper).ravel()) for s in W.summands]
    worst: dict[str, tuple[float, str]] = {}
    for P, kind in ((inside, "state"), (law, "input")):
        normals = doubles(P.G)
        reach, power = np.zeros(P.rows), np.eye(len(closed))
        for _ in range(_TUBE_STEPS):
            rows = normals @ power
            for G, lo, hi in maps:
                sides = rows @ G
                reach += np.maximum(sides * lo, sides * hi).sum(axis=1)
            power = closed @ power
        room = doubles(P.h - P.G * centre).ravel()
        for i in np.flatnonzero(reach > room):
            touched = [j for j in range(len(states)) if P.G[int(i), j] != 0]
            single = kind == "state" and len(touched) == 1
            size, unit = (float(abs(normals[i, touched[0]])), states[touched[0]].unit) if single else (1.0, "")
            label = "the input" if kind == "input" else _side(P, int(i), touched, states)
            moved, left = (f"{value / size:.3g} {unit}".rstrip() for value in (reach[i], room[i]))
            share = float(reach[i]) / max(float(room[i]), 1e-300)
            if label not in worst or share > worst[label][0]:
                worst[label] = share, f"{label} by {moved} where {left} are left"
    return [words for _, words in sorted(worst.values(), reverse=True)[:_MOST]]


def _side(P: Polytope, i: int, touched: list[int], states: Sequence[Variable]) -> str:
    if len(touched) == 1:
        return states[touched[0]].name
    return facet_text(P, i, states).split(" <= ")[0]
