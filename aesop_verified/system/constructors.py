"""System descriptions from Python: matrices and bounds instead of a file, the same exactness (theory 1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import Exact, exact
from aesop_verified.system.description import DEFAULT_QUANTUM, SystemDescription
from aesop_verified.system.exact_arrays import Numbers, bound, bounds_polytope, exact_doubles, exact_matrix, exact_vector
from aesop_verified.system.parts import (
    DEFAULT_RECOVERY_INPUT_WEIGHT,
    NAME_PATTERN,
    Box,
    Costs,
    DescribedSummand,
    GivenSet,
    RecoveryRegion,
    SynthesisRequest,
    Variable,
)
from aesop_verified.system.times import seconds, whole_steps

Bounds = tuple[Sequence[Any], Sequence[Any]]
"""Lower and upper bounds, each of length n."""


def box(lower: Sequence[Any], upper: Sequence[Any], name: str = "box") -> Box:
    """A box from bounds; a component with -inf and inf has no bounds (one-sided bounds belong into a polytope)."""
    sides: list[tuple[fmpq | None, ...]] = []
    for what, values, infinite in (("lower", lower, -np.inf), ("upper", upper, np.inf)):
        bounds = [bound(v, f"{name}.{what}[{i}]") for i, v in enumerate(values)]
        for i, v in enumerate(bounds):
            if isinstance(v, float) and v != infinite:
                raise UsageError(f"{name}.{what}[{i}]: found {v}, expected a number or {infinite}")
        sides.append(tuple(None if isinstance(v, float) else v for v in bounds))
    return Box(*sides)


def region_to_synthesise(name: str, inside: Bounds, around: Numbers, description: str = "") -> RecoveryRegion:
    """A recovery region that is to be synthesised inside a box, around a point of length n."""
    return RecoveryRegion(name, SynthesisRequest(box(*inside, name=f"{name}.inside"), exact_vector(around, f"{name}.around")), description)


def region_with_law(name: str, polytope: Polytope, offset: Numbers, gain: Numbers | None = None, description: str = "") -> RecoveryRegion:
    """A recovery region given with its law u = gain x + offset; without a gain it has the tube's."""
    exact_gain = None if gain is None else exact_matrix(gain, f"{name}.gain")
    return RecoveryRegion(name, GivenSet(polytope, exact_gain, exact_vector(offset, f"{name}.offset")), description)


def box_summand(name: str, lower: Sequence[Any], upper: Sequence[Any], map: Numbers | None = None, evidence: str = "") -> DescribedSummand:
    """{map v : lower <= v <= upper}; without a map, a box in the state space."""
    low, high = exact_vector(lower, f"{name}.lower"), exact_vector(upper, f"{name}.upper")
    p = low.nrows()
    matrix = fmpq_mat(p, p, [fmpq(i == j) for i in range(p) for j in range(p)]) if map is None else exact_matrix(map, f"{name}.map", p)
    return DescribedSummand(name, matrix, low, high, evidence)


def quadratic_costs(
    state: Numbers, input: Numbers, *, terminal: Numbers | None = None, goal: Numbers | None = None, recovery_input: Exact = DEFAULT_RECOVERY_INPUT_WEIGHT
) -> Costs:
    """The objective from weights: a flat sequence is a diagonal; the terminal weights are the state's when missing."""
    Q = _weights(state, "state")
    P = Q if terminal is None else _weights(terminal, "terminal")
    target = fmpq_mat(Q.nrows(), 1) if goal is None else exact_vector(goal, "goal")
    return Costs(Q, _weights(input, "input"), P, target, exact(recovery_input))


def _weights(values: Numbers, name: str) -> fmpq_mat:
    if isinstance(values, fmpq_mat) or (len(values) > 0 and isinstance(values[0], (list, tuple, np.ndarray))):
        return exact_matrix(values, f"costs.{name}")
    diagonal = exact_vector(values, f"costs.{name}").entries()
    n = len(diagonal)
    return fmpq_mat(n, n, [diagonal[i] if i == j else fmpq(0) for i in range(n) for j in range(n)])


def from_arrays(
    *,
    name: str,
    dt: Exact,
    A: Numbers,
    B: Numbers,
    state_set: Polytope | Bounds,
    input_set: Polytope | Bounds,
    recovery_regions: Sequence[RecoveryRegion],
    initial: Bounds | Numbers,
    costs: Costs,
    horizon: int | str,
    consensus_horizon: int | str,
    b: Numbers | None = None,
    tube_gain: Numbers | None = None,
    states: Sequence[str | Variable] | None = None,
    inputs: Sequence[str | Variable] | None = None,
    disturbance: Sequence[DescribedSummand] = (),
    estimate_error: Sequence[DescribedSummand] = (),
    quantum: Exact = DEFAULT_QUANTUM,
    fallback_order: Sequence[str] = (),
    scale: Mapping[str, Exact] | None = None,
    description: str = "",
) -> SystemDescription:
    """A description from arrays.

    Every number is exact: an int, a Fraction, a flint number, or text ("0.1", "1/3"); a float is refused with
    its index, because 0.1 is not 1/10. Convert an array of floats with `exact_doubles` or `shortest_decimals`.

    Args:
        name: `[a-z][a-z0-9_]*`.
        dt: seconds, exact; text may carry a unit ("100 ms").
        A, B, b: shapes (n, n), (n, m), (n,); b is 0 when missing.
        state_set, input_set: a polytope, or (lower, upper), where infinite bounds are allowed.
        recovery_regions: from `region_to_synthesise` and `region_with_law`.
        initial: a point of length n, or (lower, upper).
        costs: from `quadratic_costs`.
        horizon, consensus_horizon: T and K in steps, or a time such as "4 s".
        tube_gain: F of shape (m, n), u = F x; None asks for synthesis.
        states, inputs: names; x1, x2, ... and u1, u2, ... when missing.
        scale: typical sizes by name.

    Raises:
        ExactnessError: for floats, NaN and infinities outside bounds.
        UsageError: for shapes, names and horizons that do not fit.
    """
    matrix_A, matrix_B = exact_matrix(A, "A"), exact_matrix(B, "B")
    n, m = matrix_B.nrows(), matrix_B.ncols()
    state_variables = _variables(states, "x", n)
    input_variables = _variables(inputs, "u", m)
    step = seconds(dt) if isinstance(dt, str) else exact(dt)
    if step <= 0:
        raise UsageError(f"dt is {step}, expected a positive number of seconds")
    sizes = {key: exact(value) for key, value in (scale or {}).items()}
    if unknown := sorted(sizes.keys() - {v.name for v in state_variables + input_variables}):
        raise UsageError(f"scale names {unknown}, expected names of states and inputs")
    return SystemDescription(
        name=name, dt=step, states=state_variables, inputs=input_variables, A=matrix_A, B=matrix_B,
        b=fmpq_mat(n, 1) if b is None else exact_vector(b, "b"),
        state_set=_set(state_set, "state_set"), input_set=_set(input_set, "input_set"),
        tube_gain=None if tube_gain is None else exact_matrix(tube_gain, "tube_gain"),
        recovery_regions=tuple(recovery_regions), initial=_initial(initial), costs=costs,
        horizon=whole_steps(horizon, step), consensus_horizon=whole_steps(consensus_horizon, step),
        disturbance=tuple(disturbance), estimate_error=tuple(estimate_error), quantum=exact(quantum),
        fallback_order=tuple(fallback_order), description=description,
        state_scale=tuple(sizes.get(v.name, fmpq(1)) for v in state_variables),
        input_scale=tuple(sizes.get(v.name, fmpq(1)) for v in input_variables),
    )  # fmt: skip


def from_control(system: Any, *, dt: Exact, K: Any | None = None, numbers: Callable[[Any], Any] = exact_doubles, **rest: Any) -> SystemDescription:
    """A description from a discrete-time `control.StateSpace` (python-control); C and D are not used.

    Args:
        system: its A and B are taken, and its labels where they are names here.
        dt: the time step, exact ("0.1"); it must be the one whose nearest double the system carries.
        K: python-control's gain, u = -K x; the tube gain is F = -K. None asks for synthesis.
        numbers: which rational a double stands for: `exact_doubles` or `shortest_decimals`.
        rest: the other arguments of `from_arrays`.

    Raises:
        UsageError: for a continuous system, an unspecified time step, or another one than `dt`.
    """
    step = seconds(dt) if isinstance(dt, str) else exact(dt)
    if system.dt is None or system.dt is True or system.dt == 0:
        kind = "continuous" if system.dt == 0 and system.dt is not None else "without a time step"
        raise UsageError(f"found a system that is {kind} (dt = {system.dt!r}), expected a discrete one; sample it with control.c2d(system, Ts)")
    if float(system.dt) != int(step.p) / int(step.q):
        raise UsageError(f"found a system with dt = {system.dt!r}, expected the time step {step} s that was passed as dt")
    rest.setdefault("states", _labels(system, "state_labels"))
    rest.setdefault("inputs", _labels(system, "input_labels"))
    if K is not None:
        rest["tube_gain"] = numbers(-np.asarray(K, dtype=np.float64))
    return from_arrays(dt=step, A=numbers(system.A), B=numbers(system.B), **rest)


def _labels(system: Any, attribute: str) -> list[str] | None:
    labels = [str(label) for label in getattr(system, attribute, ())]
    return labels if labels and all(re.fullmatch(NAME_PATTERN, label) for label in labels) else None


def _variables(given: Sequence[str | Variable] | None, letter: str, count: int) -> tuple[Variable, ...]:
    if given is None:
        return tuple(Variable(f"{letter}{i + 1}") for i in range(count))
    return tuple(Variable(v) if isinstance(v, str) else v for v in given)


def _set(value: Polytope | Bounds, name: str) -> Polytope:
    return value if isinstance(value, Polytope) else bounds_polytope(value[0], value[1], name)


def _initial(value: Bounds | Numbers) -> Box:
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(side, (list, tuple, np.ndarray)) for side in value):
        return box(value[0], value[1], "initial")
    point = tuple(exact_vector(value, "initial").entries())
    return Box(point, point)
