"""Eq. (3) as a Pyomo model that reads like the equation: the reference that the fast programs are tested
against, solved by Ipopt (or any solver that Pyomo knows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import pyomo.environ as pyo

from aesop_verified.planning.ipopt_bridge import IpoptFound, ipopt_solver
from aesop_verified.planning.pricing import Cost, NoPlan, Solved
from aesop_verified.planning.problem import NOMINAL, PlanningProblem
from aesop_verified.planning.program import Matrix, Vector
from aesop_verified.planning.status import Convexity, SolveStatus, message_of, status_of

Expression: TypeAlias = Any
"""A Pyomo expression; Pyomo ships no types."""

REFERENCE_TOLERANCE = 1e-8
"""Largest violation of a scaled set after rolling Ipopt's inputs out."""

IPOPT_OPTIONS: dict[str, float | int | str] = {
    "tol": 1e-10,
    "constr_viol_tol": 1e-12,
    "acceptable_iter": 0,  # "acceptable" is not optimal
    "bound_relax_factor": 0.0,  # sets are not widened behind our back
    "max_iter": 500,
    "print_level": 0,
}


def eq3_model(problem: PlanningProblem) -> pyo.ConcreteModel:
    """Build Eq. (3).

        x[i, k, .], u[i, k, .]   for the trajectories i (nominal and the options), k = 0..T+1 and k = 0..T

    Constraints are named as they stand in Eq. (3): `initial_state`, `dynamics`, `input_set`, `state_set`,
    `recovery_set`, `first_input`, `consensus`.
    """
    data, T, K = problem.model, problem.horizon, problem.consensus
    model = pyo.ConcreteModel(name="Eq. (3)")
    model.trajectories = pyo.Set(initialize=problem.trajectories, ordered=True)
    model.options = pyo.Set(initialize=problem.options, ordered=True)
    model.steps = pyo.RangeSet(0, T)
    model.times = pyo.RangeSet(0, T + 1)
    model.states = pyo.RangeSet(0, data.n - 1)
    model.inputs = pyo.RangeSet(0, data.m - 1)
    model.x = pyo.Var(model.trajectories, model.times, model.states, initialize=0.0)
    model.u = pyo.Var(model.trajectories, model.steps, model.inputs, initialize=0.0)
    x, u = model.x, model.u

    def state(i: str, k: int) -> list[pyo.Var]:
        return [x[i, k, s] for s in model.states]

    def control(i: str, k: int) -> list[pyo.Var]:
        return [u[i, k, c] for c in model.inputs]

    @_constraint(model, model.trajectories, model.states)
    def initial_state(i: str, s: int) -> Expression:
        return x[i, 0, s] == float(problem.state[s])

    @_constraint(model, model.trajectories, model.steps, model.states)
    def dynamics(i: str, k: int, s: int) -> Expression:
        return x[i, k + 1, s] == _dot(data.A[s], state(i, k)) + _dot(data.B[s], control(i, k)) + float(data.b[s])

    @_constraint(model, model.trajectories, model.steps, range(len(data.U.G)))
    def input_set(i: str, k: int, row: int) -> Expression:
        return _at_most(data.U.G[row], control(i, k), data.U.h[k, row])

    @_constraint(model, model.trajectories, model.steps, range(len(data.X.G)))
    def state_set(i: str, k: int, row: int) -> Expression:
        if k == 0:
            return pyo.Constraint.Skip  # x_0 is given; `problem.contradiction` has decided it.
        return _at_most(data.X.G[row], state(i, k), data.X.h[k, row])

    def terminal_rows() -> Iterable[tuple[str, int]]:
        return ((i, row) for i in problem.options for row in range(len(data.terminals[i].sets.G)))

    @_constraint(model, list(terminal_rows()))
    def recovery_set(i: str, row: int) -> Expression:
        sets = data.terminals[i].sets
        return _at_most(sets.G[row], state(i, T + 1), sets.h[T + 1, row])

    @_constraint(model, model.options, model.inputs)
    def first_input(i: str, c: int) -> Expression:
        return u[i, 0, c] == u[NOMINAL, 0, c] if NOMINAL in problem.trajectories else pyo.Constraint.Skip

    @_constraint(model, model.options, pyo.RangeSet(0, K), model.inputs)
    def consensus(i: str, k: int, c: int) -> Expression:
        if i == problem.options[0] or k == 0:
            return pyo.Constraint.Skip  # Step 0 is `first_input`; a second copy would be a dependent row.
        return u[i, k, c] == u[problem.options[0], k, c]

    model.cost = pyo.Objective(expr=_cost(problem, state, control), sense=pyo.minimize)
    return model


def _constraint(model: pyo.ConcreteModel, *sets: Any) -> Callable[[Callable[..., Expression]], Callable[..., Expression]]:
    """Add the decorated rule to the model as an indexed constraint of the rule's name."""

    def attach(rule: Callable[..., Expression]) -> Callable[..., Expression]:
        setattr(model, rule.__name__, pyo.Constraint(*sets, rule=lambda _, *index: rule(*index)))
        return rule

    return attach


def solve_reference(problem: PlanningProblem, ipopt: IpoptFound | None = None) -> Solved | NoPlan:
    """Solve Eq. (3) with Pyomo and Ipopt.

    Solved is the weakest of the process status, the termination condition and our own residual after rolling
    the inputs out. Values are read from the solver's answer only when both statuses say so, never from the
    model (where an old value may be left).

    Args:
        ipopt: which Ipopt; `find_ipopt()` when None, which starts a process of its own.
    """
    why = problem.contradiction
    if why is not None:
        return NoPlan(SolveStatus.INFEASIBLE, why)
    model = eq3_model(problem)
    solver = ipopt_solver(ipopt)
    for name, value in IPOPT_OPTIONS.items():
        solver.options[name] = value
    results = solver.solve(model, load_solutions=False)
    status = status_of(results, Convexity.CONVEX)
    if status is not SolveStatus.SOLVED:
        return NoPlan(status, f"Ipopt says {message_of(results)}")
    model.solutions.load_from(results)
    inputs = {
        i: np.array([[value_or_nan(model.u[i, k, c]) for c in model.inputs] for k in model.steps]) for i in problem.trajectories
    }
    violation = problem.violation_of(inputs)
    if not violation <= REFERENCE_TOLERANCE:
        return NoPlan(SolveStatus.INACCURATE, f"the rolled-out plan violates a constraint of Eq. (3) by {violation:.2e}")
    total = problem.cost_of(inputs)
    return Solved(problem, Cost(total, problem.nominal_cost_of(inputs)), inputs)


def value_or_nan(variable: pyo.Var) -> float:
    """A variable's value; NaN when the solver gave none (a stale or missing value is never a number)."""
    value = pyo.value(variable, exception=False)
    return float("nan") if value is None or variable.stale else float(value)


def _cost(problem: PlanningProblem, state: Callable[[str, int], list[pyo.Var]], control: Callable[[str, int], list[pyo.Var]]) -> Expression:
    """C(x^0, u^0), and the regularisation of the recovery inputs."""
    cost, T = problem.model.cost, problem.horizon
    if problem.recovering:
        (name,) = problem.options
        law = problem.model.terminals[name]
        return sum(
            _square(cost.R, [u - _dot(row, state(name, k)) - float(g) for u, row, g in zip(control(name, k), law.gain, law.offset)])
            for k in range(T + 1)
        )
    nominal = sum(
        _square(cost.Q, _minus(state(NOMINAL, k), cost.goal)) + _square(cost.R, _minus(control(NOMINAL, k), cost.rest)) for k in range(T + 1)
    ) + _square(cost.P, _minus(state(NOMINAL, T + 1), cost.goal))
    weights = problem.regularisation_weights
    recovery = sum(
        _square(cost.recovery * np.sqrt(np.outer(w, w)), _minus(control(i, k), cost.rest))
        for i, w in zip(problem.options, weights)
        for k in range(T + 1)
    )
    return nominal + recovery


def _minus(variables: list[pyo.Var], point: Vector) -> list[Expression]:
    return [v - float(p) for v, p in zip(variables, point)]


def _dot(row: Vector, variables: list[pyo.Var]) -> Expression:
    return sum(float(a) * v for a, v in zip(row, variables) if a != 0)


def _at_most(row: Vector, variables: list[pyo.Var], bound: float) -> Expression:
    if not np.any(row) or bound == np.inf:
        return pyo.Constraint.Skip
    return _dot(row, variables) <= float(bound)


def _square(W: Matrix, e: list[Expression]) -> Expression:
    """e' W e."""
    return sum(float(W[i, j]) * e[i] * e[j] for i in range(len(e)) for j in range(len(e)) if W[i, j] != 0)
