"""Solve a Pyomo model and take nothing on trust: no values without all three of process, claim and residual."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyomo.environ as pyo
from pyomo.common.errors import ApplicationError, InfeasibleConstraintException

from aesop_verified.planning.status import Convexity, SolveStatus, message_of, status_of, weakest


@dataclass(frozen=True, slots=True)
class PyomoSolved:
    """The values of the variables that the solver saw; its construction loads nothing into the model."""

    values: Any
    """A Pyomo ComponentMap from variable to float. A variable used nowhere is absent, never 0."""
    residual: float
    """The largest violation of a constraint or bound, relative to max(1, |bound|)."""


@dataclass(frozen=True, slots=True)
class PyomoFailure:
    """No values: `status` and what to tell a person."""

    status: SolveStatus
    reason: str


PyomoOutcome: TypeAlias = "PyomoSolved | PyomoFailure"


def solve_pyomo(
    solver: Any, model: Any, *, convexity: Convexity = Convexity.UNKNOWN, residual_bound: float = 1e-6
) -> PyomoOutcome:
    """Solve `model`; SOLVED is the weakest of process status, termination condition and our own residual.

    The variables of the model keep the values that they had, whatever happens: read the outcome's.

    Args:
        solver: a Pyomo solver, such as `ipopt_solver()`.
        model: a Pyomo model.
        convexity: whether a local solver's "infeasible" may be believed.
        residual_bound: the largest relative violation of a solved point.
    """
    fixed = fixed_outside_bounds(model, residual_bound)
    if fixed is not None:
        return PyomoFailure(SolveStatus.INFEASIBLE, f"not attempted: {fixed}")
    try:
        results = solver.solve(model, load_solutions=False)
    except InfeasibleConstraintException as error:
        # Pyomo's writer evaluates constants and fixed variables; it raises where they contradict a bound.
        return PyomoFailure(SolveStatus.INFEASIBLE, f"not attempted: {error}")
    except ApplicationError as error:
        return PyomoFailure(SolveStatus.INVALID, f"not attempted: {error}")
    except (ValueError, ArithmeticError) as error:
        # A fixed state or a parameter at which the model is undefined stops the writer already.
        return PyomoFailure(SolveStatus.INVALID, start_fault(model) or f"not attempted: {error}")
    status = status_of(results, convexity)
    if status is not SolveStatus.SOLVED:
        fault = start_fault(model)
        if fault is not None and status is not SolveStatus.LIMIT:
            return PyomoFailure(SolveStatus.INVALID, fault)
        return PyomoFailure(status, message_of(results))
    before = [(v, v.value, v.stale) for v in model.component_data_objects(pyo.Var)]
    try:
        for variable, _, _ in before:
            if not variable.fixed:
                variable.set_value(None, skip_validation=True)
        model.solutions.load_from(results)
        worst = residual(model)
        values = pyo.ComponentMap(
            (v, float(v.value)) for v, _, _ in before if v.value is not None and (v.fixed or not v.stale)
        )
    finally:
        for variable, value, stale in before:
            variable.set_value(value, skip_validation=True)
            variable.stale = stale
    judged = SolveStatus.SOLVED if worst <= residual_bound else SolveStatus.INACCURATE
    if math.isnan(worst):
        judged = SolveStatus.INVALID
    if weakest(status, judged) is not SolveStatus.SOLVED:
        return PyomoFailure(judged, f"the solver says optimal, but its point misses a constraint by {worst:.3e} (relative)")
    return PyomoSolved(values, worst)


def residual(model: Any) -> float:
    """The largest violation over all active constraints and variable bounds at the model's present values.

        max over rows of  max(lower - body, body - upper, 0) / max(1, |bound|)

    A row that uses a variable without a value, or is not finite, makes it NaN.
    """
    worst = 0.0
    for constraint in model.component_data_objects(pyo.Constraint, active=True):
        violation = _violation(_evaluate(constraint.body), constraint.lb, constraint.ub)
        worst = violation if math.isnan(violation) else max(worst, violation)
        if math.isnan(worst):
            return worst
    for variable in model.component_data_objects(pyo.Var):
        if variable.value is not None:
            worst = max(worst, _violation(float(variable.value), variable.lb, variable.ub))
    return worst


def fixed_outside_bounds(model: Any, residual_bound: float) -> str | None:
    """The first variable that is fixed outside its own bounds, in words; solvers that never see it say "optimal"."""
    for variable in model.component_data_objects(pyo.Var):
        if variable.fixed and variable.value is not None and not _violation(float(variable.value), variable.lb, variable.ub) <= residual_bound:
            return f"the variable '{variable.name}' is fixed to {variable.value}, outside its bounds [{variable.lb}, {variable.ub}]"
    return None


def start_fault(model: Any) -> str | None:
    """Where the model has no finite value at its start (values clipped to their bounds, 0 where none is given).

    None when it is finite everywhere. Ipopt's own words for such a model range from "invalid number" to
    "infeasible" (do-mpc/do-mpc#26).
    """
    before = [(v, v.value, v.stale) for v in model.component_data_objects(pyo.Var)]
    try:
        for variable, value, _ in before:
            start = 0.0 if value is None else value
            lower = -math.inf if variable.lb is None else variable.lb
            upper = math.inf if variable.ub is None else variable.ub
            variable.set_value(start if variable.fixed else min(max(start, lower), upper), skip_validation=True)
        for i, constraint in enumerate(model.component_data_objects(pyo.Constraint, active=True)):
            if not math.isfinite(_evaluate(constraint.body)):
                return f"Model not finite at x0 (component {i}): constraint {constraint.name}; give its variables a start where it is defined"
        for objective in model.component_data_objects(pyo.Objective, active=True):
            if not math.isfinite(_evaluate(objective.expr)):
                return f"Model not finite at x0: objective {objective.name}; give its variables a start where it is defined"
    finally:
        for variable, value, stale in before:
            variable.set_value(value, skip_validation=True)
            variable.stale = stale
    return None


def _evaluate(expression: Any) -> float:
    """The value of an expression, NaN where it has none."""
    try:
        value = pyo.value(expression, exception=False)
    except (ArithmeticError, ValueError):
        return math.nan
    if value is None or isinstance(value, complex):
        return math.nan
    return float(value)


def _violation(value: float, lower: float | None, upper: float | None) -> float:
    if not math.isfinite(value):
        return math.nan
    below = 0.0 if lower is None or lower == -math.inf else (lower - value) / max(1.0, abs(lower))
    above = 0.0 if upper is None or upper == math.inf else (value - upper) / max(1.0, abs(upper))
    return max(below, above, 0.0)
