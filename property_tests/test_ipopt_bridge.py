"""Pyomo with Ipopt: no failed solve yields a value.

Cases named Y.. and M.. are the public reports of other tools' faults that concern Pyomo and NLP solvers.
"""

from __future__ import annotations

import math
from typing import Any

import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyomo.common.errors import ApplicationError
from pyomo.opt import SolverResults, SolverStatus, TerminationCondition

from aesop_verified.planning.pyomo_solve import PyomoFailure, PyomoSolved, residual, solve_pyomo
from aesop_verified.planning.status import Convexity, SolveStatus, message_of, status_of, weakest


def solved(outcome: object) -> PyomoSolved:
    assert isinstance(outcome, PyomoSolved), outcome
    return outcome


def failure(outcome: object) -> PyomoFailure:
    assert isinstance(outcome, PyomoFailure), outcome
    return outcome


def results_that_say(status: SolverStatus, condition: TerminationCondition, message: str = "") -> SolverResults:
    results = SolverResults()
    results.solver.status = status
    results.solver.termination_condition = condition
    results.solver.message = message
    return results


def test_y01_status_ok_is_not_optimal(solver: Any) -> None:
    """Pyomo/pyomo#3217: max x + 10 y over x + 2 y <= 4, 3 x + y <= 7 has the ray (-2, 1), gain 8."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.first, m.second = pyo.Constraint(expr=m.x + 2 * m.y <= 4), pyo.Constraint(expr=3 * m.x + m.y <= 7)
    m.gain = pyo.Objective(expr=m.x + 10 * m.y, sense=pyo.maximize)
    assert failure(solve_pyomo(solver, m)).status is SolveStatus.UNBOUNDED
    assert m.x.value is None and m.y.value is None
    m.top = pyo.Constraint(expr=m.y <= 100)  # the twin: a bound, and an optimum at x = -196, y = 100
    assert solved(solve_pyomo(solver, m)).values[m.x] == pytest.approx(-196, abs=1e-5)


@pytest.mark.parametrize("process", list(SolverStatus))
def test_y03_the_termination_condition_decides_whatever_the_process_says(process: SolverStatus) -> None:
    """Pyomo/pyomo#2942: a meta-solver reports ok together with infeasible."""
    assert status_of(results_that_say(process, TerminationCondition.infeasible)) is SolveStatus.INFEASIBLE
    assert status_of(results_that_say(process, TerminationCondition.unbounded)) is SolveStatus.UNBOUNDED
    expected = SolveStatus.SOLVED if process is SolverStatus.ok else SolveStatus.FAILED
    assert status_of(results_that_say(process, TerminationCondition.optimal)) is expected


@pytest.mark.parametrize("condition", list(TerminationCondition))
def test_only_an_optimum_is_solved(condition: TerminationCondition) -> None:
    optimal = {TerminationCondition.optimal, TerminationCondition.globallyOptimal, TerminationCondition.locallyOptimal}
    assert (status_of(results_that_say(SolverStatus.ok, condition)) is SolveStatus.SOLVED) == (condition in optimal)


def test_ipopts_acceptable_level_is_inaccurate() -> None:
    """A real ipopt answers code 1 there, which Pyomo reads as ok, optimal."""
    says = results_that_say(SolverStatus.ok, TerminationCondition.optimal, r"Ipopt 3.14.19\x3a Solved To Acceptable Level.")
    assert status_of(says) is SolveStatus.INACCURATE
    assert message_of(says) == "Ipopt 3.14.19: Solved To Acceptable Level."


def test_y06_an_old_value_is_never_a_solution(solver: Any) -> None:
    """Pyomo/pyomo#2544 (a): x in [0, 10] set to 7, x >= 20."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 10), initialize=7)
    m.far = pyo.Constraint(expr=m.x >= 20)
    m.cost = pyo.Objective(expr=m.x)
    outcome = failure(solve_pyomo(solver, m, convexity=Convexity.CONVEX))
    assert outcome.status is SolveStatus.INFEASIBLE
    assert not hasattr(outcome, "values")
    results = solver.solve(m, load_solutions=False)
    assert len(results.solution) == 0 or not results.solution(0).variable, "a failed run must hand over no values"


def test_y06_an_unused_variable_has_no_value(solver: Any) -> None:
    """Pyomo/pyomo#2544 (b): a variable that no constraint uses is absent, not 0."""
    m = pyo.ConcreteModel()
    m.x, m.u = pyo.Var(bounds=(2, 10)), pyo.Var()
    m.cost = pyo.Objective(expr=m.x**2)
    values = solved(solve_pyomo(solver, m)).values
    assert values[m.x] == pytest.approx(2, abs=1e-6)
    assert m.u not in values
    assert m.u.value is None and m.u.stale


def test_y07_local_infeasibility_is_no_proof(solver: Any) -> None:
    """Pyomo/pyomo#2470: x^2 = 1 from 0, where the Jacobian vanishes, is feasible."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(initialize=0)
    m.square = pyo.Constraint(expr=m.x**2 == 1)
    m.cost = pyo.Objective(expr=m.x)
    outcome = solve_pyomo(solver, m)
    assert isinstance(outcome, PyomoSolved) or outcome.status is SolveStatus.FAILED
    m.x.set_value(0.5)  # the twin: from a start with a Jacobian it is found
    assert solved(solve_pyomo(solver, m)).values[m.x] == pytest.approx(1, abs=1e-6)
    local = results_that_say(SolverStatus.warning, TerminationCondition.infeasible, "Converged to a locally infeasible point.")
    assert status_of(local) is SolveStatus.FAILED
    assert status_of(local, Convexity.CONVEX) is SolveStatus.INFEASIBLE


def test_y09_more_equalities_than_variables_are_not_infeasible(solver: Any) -> None:
    """Pyomo/pyomo#303: x = 1 and 2 x = 2 have a solution; Ipopt does not attempt them."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.once, m.twice = pyo.Constraint(expr=m.x == 1), pyo.Constraint(expr=2 * m.x == 2)
    m.cost = pyo.Objective(expr=m.x)
    outcome = solve_pyomo(solver, m, convexity=Convexity.CONVEX)
    if isinstance(outcome, PyomoSolved):
        assert outcome.values[m.x] == pytest.approx(1, abs=1e-8)
    else:
        assert outcome.status is SolveStatus.FAILED
        assert "Not attempted" in outcome.reason
    m.twice.deactivate()
    assert solved(solve_pyomo(solver, m)).values[m.x] == pytest.approx(1, abs=1e-8)


def test_y04_a_variable_fixed_outside_its_bounds_is_refused(solver: Any) -> None:
    """Pyomo/pyomo#3179: x in [0, 1] fixed to 2."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    m.x.fix(2, skip_validation=True)
    m.link = pyo.Constraint(expr=m.y + m.x <= 5)
    m.cost = pyo.Objective(expr=m.y)
    outcome = failure(solve_pyomo(solver, m))
    assert outcome.status is SolveStatus.INFEASIBLE
    assert "variable 'x'" in outcome.reason


def test_y04_also_where_no_constraint_uses_the_variable(solver: Any) -> None:
    """The report's own model: min y over 0 <= y <= 1; the solver never sees x and says optimal."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    m.x.fix(2, skip_validation=True)
    m.cost = pyo.Objective(expr=m.y)
    outcome = failure(solve_pyomo(solver, m))
    assert outcome.status is SolveStatus.INFEASIBLE
    assert "the variable 'x' is fixed to 2, outside its bounds [0, 1]" in outcome.reason
    m.x.fix(1)
    assert solved(solve_pyomo(solver, m)).values[m.y] == pytest.approx(0, abs=1e-6)


def test_m08_a_start_outside_the_box_is_moved_into_it(solver: Any) -> None:
    """coin-or/Ipopt#212: maximum 0.7 * 275 * 9.75 = 1876.875 at the corner, start at zeros."""
    m = pyo.ConcreteModel()
    m.t = pyo.Var(bounds=(0.5, 1.5))
    m.a, m.b, m.c = pyo.Var(bounds=(45, 250)), pyo.Var(bounds=(10, 125)), pyo.Var(bounds=(5, 75))
    for variable in (m.t, m.a, m.b, m.c):
        variable.set_value(0.0, skip_validation=True)
    m.gain = pyo.Objective(expr=0.7 * (m.a + m.b + m.c - 175) * (m.t**2 + 3 * m.t + 3), sense=pyo.maximize)
    values = solved(solve_pyomo(solver, m)).values
    assert [values[v] for v in (m.t, m.a, m.b, m.c)] == pytest.approx([1.5, 250, 125, 75], rel=1e-6)


def test_m09_a_model_undefined_at_its_start_is_named(solver: Any) -> None:
    """do-mpc/do-mpc#26: x+ = u / x at x = 0 is not an infeasible problem."""
    m = pyo.ConcreteModel()
    m.x, m.u, m.after = pyo.Var(initialize=0), pyo.Var(initialize=0), pyo.Var(initialize=0)
    m.dynamics = pyo.Constraint(expr=m.after == m.u / m.x)
    m.cost = pyo.Objective(expr=m.after**2 + m.u**2)
    outcome = failure(solve_pyomo(solver, m))
    assert outcome.status is SolveStatus.INVALID
    assert "Model not finite at x0 (component 0): constraint dynamics" in outcome.reason
    assert m.x.value == 0
    m.x.set_value(1.0)
    assert isinstance(solve_pyomo(solver, m), PyomoSolved)


@pytest.mark.parametrize("kind", ["fixed variable", "parameter"])
def test_m09_a_measured_state_at_which_the_model_is_undefined_is_named_too(solver: Any, kind: str) -> None:
    """As a program writes it that solves again each step: x is no decision but the state, 0."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(initialize=0) if kind == "fixed variable" else pyo.Param(initialize=0, mutable=True)
    if kind == "fixed variable":
        m.x.fix(0)
    m.u, m.after = pyo.Var(initialize=0, bounds=(-1, 1)), pyo.Var(initialize=0)
    m.dynamics = pyo.Constraint(expr=m.after == m.u / m.x)
    m.cost = pyo.Objective(expr=m.after**2 + m.u**2)
    outcome = failure(solve_pyomo(solver, m))
    assert outcome.status is SolveStatus.INVALID
    assert "Model not finite at x0 (component 0): constraint dynamics" in outcome.reason


def test_limits_are_limits_and_carry_no_point(solver: Any) -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(initialize=-1.2), pyo.Var(initialize=1)
    m.cost = pyo.Objective(expr=100 * (m.y - m.x**2) ** 2 + (1 - m.x) ** 2)
    solver.options["max_iter"] = 2
    assert failure(solve_pyomo(solver, m)).status is SolveStatus.LIMIT
    solver.options["max_iter"] = 200
    assert solved(solve_pyomo(solver, m)).values[m.x] == pytest.approx(1, abs=1e-5)
    assert m.x.value == -1.2


@pytest.mark.parametrize(("sense", "sign"), [(pyo.minimize, 1), (pyo.maximize, -1)])
def test_multipliers_are_the_rate_of_the_optimum(solver: Any, sense: Any, sign: int) -> None:
    """The multiplier of x >= 4 under cost (x - 3)^2 is d cost / d bound = 2."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.row = pyo.Constraint(expr=m.x >= 4)
    m.cost = pyo.Objective(expr=sign * (m.x - 3) ** 2, sense=sense)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    m.ipopt_zL_out = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    solver.solve(m)
    assert m.dual[m.row] == pytest.approx(2 * sign, rel=1e-5)
    assert m.x in m.ipopt_zL_out


def test_an_unknown_option_is_refused_by_name(solver: Any) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1))
    m.cost = pyo.Objective(expr=m.x)
    solver.options["no_such_option"] = 1
    with pytest.raises(ApplicationError):
        solver.solve(m, load_solutions=False)
    assert failure(solve_pyomo(solver, m)).status is SolveStatus.INVALID


def test_a_point_that_misses_a_constraint_is_inaccurate() -> None:
    """A solver that claims optimality with a wrong point: our residual takes the word away, and the model is as before."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(initialize=3.0)
    m.row = pyo.Constraint(expr=m.x >= 1)
    m.cost = pyo.Objective(expr=m.x)

    class Liar:
        def __init__(self, value: float) -> None:
            self.value = value

        def solve(self, model: Any, load_solutions: bool) -> Any:
            assert not load_solutions
            results = results_that_say(SolverStatus.ok, TerminationCondition.optimal)
            model.solutions.add_symbol_map(symbols := pyo.SymbolMap())
            symbols.addSymbol(model.x, "v0")
            results._smap_id = id(symbols)
            results.solution.add().variable["v0"] = {"Value": self.value}
            return results

    assert failure(solve_pyomo(Liar(0.99), m)).status is SolveStatus.INACCURATE
    assert failure(solve_pyomo(Liar(math.nan), m)).status is SolveStatus.INVALID
    assert m.x.value == 3.0
    assert solved(solve_pyomo(Liar(1.0), m)).values[m.x] == 1.0
    assert m.x.value == 3.0


def test_the_residual_is_relative_and_sees_bounds_and_nan() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(initialize=101.0, bounds=(None, 200))
    m.row = pyo.Constraint(expr=m.x <= 100)
    assert residual(m) == pytest.approx(0.01)
    m.x.set_value(202, skip_validation=True)
    m.row.deactivate()
    assert residual(m) == pytest.approx(0.01)
    m.log = pyo.Constraint(expr=pyo.log(m.x) <= 9)
    m.x.set_value(-1)
    assert math.isnan(residual(m))


@given(st.lists(st.sampled_from(list(SolveStatus)), min_size=1, max_size=4))
def test_the_weakest_is_solved_only_if_all_are(statuses: list[SolveStatus]) -> None:
    assert (weakest(*statuses) is SolveStatus.SOLVED) == all(s is SolveStatus.SOLVED for s in statuses)
    assert weakest(*statuses) in statuses
    assert weakest() is SolveStatus.INVALID


# The files
