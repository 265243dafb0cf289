"""Public reports about Pyomo and Ipopt, one test a case: what may be believed of an answer, and Eq. (3) as a model."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.opt import SolverResults, SolverStatus, TerminationCondition

from aesop_verified.planning.ipopt_bridge import find_ipopt, ipopt_solver
from aesop_verified.planning.pricing import NoPlan
from aesop_verified.planning.reference import eq3_model, solve_reference, value_or_nan
from aesop_verified.planning.status import Convexity, SolveStatus, status_of
from property_tests.planning_catalogue import catalogue

CATALOGUE = {known.name: known.problem for known in catalogue()}


@cache
def found() -> Any:
    return find_ipopt()


def solve(model: pyo.ConcreteModel) -> Any:
    return ipopt_solver(found()).solve(model, load_solutions=False)


def said(status: SolverStatus, condition: TerminationCondition) -> SolverResults:
    results = SolverResults()
    results.solver.status = status
    results.solver.termination_condition = condition
    return results


def test_Y01_status_ok_is_not_optimal() -> None:
    assert status_of(said(SolverStatus.ok, TerminationCondition.unbounded)) is SolveStatus.UNBOUNDED
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.first = pyo.Constraint(expr=m.x + 2 * m.y <= 4)
    m.second = pyo.Constraint(expr=3 * m.x + m.y <= 7)
    m.gain = pyo.Objective(expr=m.x + 10 * m.y, sense=pyo.maximize)
    assert status_of(solve(m), Convexity.CONVEX) is not SolveStatus.SOLVED
    assert m.x.value is None and m.y.value is None


def test_Y03_ok_with_infeasible_is_infeasible() -> None:
    assert status_of(said(SolverStatus.ok, TerminationCondition.infeasible)) is SolveStatus.INFEASIBLE
    assert status_of(said(SolverStatus.warning, TerminationCondition.optimal)) is not SolveStatus.SOLVED
    assert status_of(said(SolverStatus.ok, TerminationCondition.optimal)) is SolveStatus.SOLVED


def test_Y06_old_and_missing_values_are_never_read() -> None:
    m = pyo.ConcreteModel()
    m.x, m.u = pyo.Var(bounds=(0, 10), initialize=7), pyo.Var()
    m.far = pyo.Constraint(expr=m.x >= 20)
    m.cost = pyo.Objective(expr=m.x**2)
    assert status_of(solve(m), Convexity.CONVEX) is not SolveStatus.SOLVED
    assert math.isnan(value_or_nan(m.u))
    answer = solve_reference(CATALOGUE["pair dead-end"])
    assert isinstance(answer, NoPlan) and not hasattr(answer, "inputs")


def test_Y07_a_local_infeasibility_proves_nothing() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(initialize=0)
    m.square = pyo.Constraint(expr=m.x**2 == 1)
    m.cost = pyo.Objective(expr=0 * m.x + m.x**2)
    assert status_of(solve(m)) is not SolveStatus.INFEASIBLE


def test_Y09_more_equalities_than_variables_is_not_called_infeasible() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(initialize=0)
    m.first, m.second = pyo.Constraint(expr=m.x == 1), pyo.Constraint(expr=2 * m.x == 2)
    m.cost = pyo.Objective(expr=m.x**2)
    assert status_of(solve(m)) is not SolveStatus.INFEASIBLE


def test_M08_a_start_outside_the_box_is_moved_into_it() -> None:
    m = pyo.ConcreteModel()
    m.t = pyo.Var(bounds=(0.5, 1.5), initialize=0)
    m.a, m.b, m.c = (pyo.Var(bounds=bounds, initialize=0) for bounds in ((45, 250), (10, 125), (5, 75)))
    m.gain = pyo.Objective(expr=0.7 * (m.a + m.b + m.c - 175) * (m.t**2 + 3 * m.t + 3), sense=pyo.maximize)
    results = solve(m)
    assert status_of(results) is SolveStatus.SOLVED
    m.solutions.load_from(results)
    assert pyo.value(m.gain) == pytest.approx(1876.875, rel=1e-6)


def test_the_model_reads_like_equation_3() -> None:
    problem = CATALOGUE["consensus as long as possible"]
    model = eq3_model(problem)
    names = {c.name for c in model.component_objects(pyo.Constraint)}
    assert names == {"initial_state", "dynamics", "input_set", "state_set", "recovery_set", "first_input", "consensus"}
    n, m, T, K, Y = 2, 1, problem.horizon, problem.consensus, len(problem.options)
    assert len(model.dynamics) == (Y + 1) * (T + 1) * n
    assert len(model.initial_state) == (Y + 1) * n
    assert len(model.first_input) == Y * m
    assert len(model.consensus) == (Y - 1) * K * m  # k = 1..K; k = 0 is first_input
    assert len(model.recovery_set) == Y * 2 * n


def test_the_model_has_the_objective_of_the_problem() -> None:
    rng = np.random.default_rng(0)
    for problem in (CATALOGUE["two axes, turned"], CATALOGUE["law bent to reach the set"], CATALOGUE["no bound active"]):
        model = eq3_model(problem)
        inputs = {name: rng.standard_normal((problem.horizon + 1, problem.model.m)) for name in problem.trajectories}
        for name, u in inputs.items():
            for k, x in enumerate(problem.rolled_out(u)):
                for s in model.states:
                    model.x[name, k, s] = x[s]
            for k in model.steps:
                for c in model.inputs:
                    model.u[name, k, c] = u[k, c]
        assert pyo.value(model.cost) == pytest.approx(problem.cost_of(inputs), rel=1e-12)
