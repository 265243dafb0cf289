"""Public reports about QP solvers and MPC programs, one test a case, named by its id (shared with the other
tests of this folder). Each is checked on both solver adapters where it is about a program."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from flint import fmpq
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import Request, Row, StepInput, StepResult
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.machine import start, transition
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.plan import Plan, check_plan, shifted_plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import matrix, vector, zeros
from aesop_verified.kernel.verdict import Proved, Refuted
from aesop_verified.planning.daqp_solver import DaqpSolver
from aesop_verified.planning.piqp_solver import PiqpSolver
from aesop_verified.planning.planner import NothingPlanned, Planner
from aesop_verified.planning.problem import QuadraticCost
from aesop_verified.planning.program import (
    NonConvexError,
    ProgramVectors,
    QpFailure,
    QpResult,
    QpSolution,
    QuadraticProgram,
    judged,
)
from aesop_verified.planning.status import SolveStatus
from aesop_verified.recovery import assured_system
from aesop_verified.recovery.find import find_empty
from aesop_verified.recovery.pontryagin import same_set

ADAPTERS = (DaqpSolver, PiqpSolver)
both = pytest.mark.parametrize("adapter", ADAPTERS)
INF = math.inf


def program(P: list[list[float]], G: list[list[float]]) -> QuadraticProgram:
    return QuadraticProgram(np.array(P, dtype=float), np.array(G, dtype=float))


def vectors(qp: QuadraticProgram, q: list[float], lower: list[float], upper: list[float]) -> ProgramVectors:
    return qp.vectors(np.array(q, dtype=float), np.array(lower, dtype=float), np.array(upper, dtype=float))


def solved(answer: QpResult) -> QpSolution:
    assert isinstance(answer, QpSolution), answer
    return answer


def refused(answer: QpResult) -> QpFailure:
    assert isinstance(answer, QpFailure), answer
    assert not hasattr(answer, "z"), "a failure must not carry a point"
    return answer


INTERVAL = program([[1]], [[1]])


@both
def test_Q02_feasible_set_of_one_point(adapter: type[DaqpSolver | PiqpSolver]) -> None:
    qp = program([[1, 0], [0, 1]], [[-1, 0], [1, 0], [0, -1], [0, 1], [1, 1]])
    answer = solved(adapter(qp).solve(vectors(qp, [1, 1], [-INF] * 5, [0] * 5)))
    assert answer.z == pytest.approx([0, 0], abs=1e-9) and answer.cost == pytest.approx(0, abs=1e-9)
    assert answer.residual <= 1e-10


@both
def test_Q03_status_does_not_depend_on_settings_or_history(adapter: type[DaqpSolver | PiqpSolver]) -> None:
    v = vectors(INTERVAL, [-2], [-1], [1])
    for limit in (50, 250, 5000):
        solver = adapter(INTERVAL, iteration_limit=limit)
        for _ in range(3):  # cold, then warm
            assert solved(solver.solve(v)).z == pytest.approx([1], abs=1e-8)


def test_Q05_an_inaccurate_answer_is_not_a_solution() -> None:
    v = vectors(INTERVAL, [-2], [-1], [1])
    answer = refused(judged(INTERVAL, v, SolveStatus.SOLVED, "optimal", np.array([1.122]), 3))
    assert answer.status is SolveStatus.INACCURATE and "1.2" in answer.reason
    for point in (1.122, 1.0):  # the flag alone is enough, also where the point happens to be right
        flagged = refused(judged(INTERVAL, v, SolveStatus.INACCURATE, "solved inaccurate", np.array([point]), 3))
        assert flagged.status is SolveStatus.INACCURATE and "solved inaccurate" in flagged.reason


def test_Q06_data_that_is_not_finite_is_refused_with_field_and_index() -> None:
    for q in (math.nan, INF, -INF):
        with pytest.raises(UsageError, match=r"q\[0\] is (nan|inf|-inf)"):
            vectors(INTERVAL, [q], [-1], [1])
    with pytest.raises(UsageError, match=r"upper\[0\] is NaN"):
        vectors(INTERVAL, [0], [-1], [math.nan])
    with pytest.raises(UsageError, match=r"lower\[0\] is NaN"):
        vectors(INTERVAL, [0], [math.nan], [1])
    planner = Planner.for_system(interval_system(), QuadraticCost.diagonal([1], [1], [0]))
    for x in (math.nan, INF):
        with pytest.raises(UsageError, match=r"state\[0\] is (nan|inf)"):
            planner.plan(Request(("stay",), False, 0, 1), [x])
    with pytest.raises(UsageError, match=r"cost\.goal\[1\] is nan"):
        QuadraticCost.diagonal([1, 1], [1], [0, math.nan])
    answer = refused(judged(INTERVAL, vectors(INTERVAL, [0], [-1], [1]), SolveStatus.SOLVED, "optimal", np.array([math.nan]), 1))
    assert answer.status is SolveStatus.FAILED


@both
def test_Q08_matrices_cannot_be_updated_and_a_new_program_is_solved(adapter: type[DaqpSolver | PiqpSolver]) -> None:
    old = program([[0, 0], [0, 0]], [[1, 0], [0, 1]])
    with pytest.raises(FrozenInstanceError):
        old.P = np.eye(2)  # type: ignore[misc]
    for written in (old.P, old.G):
        with pytest.raises(ValueError, match="read-only"):
            written[0, 0] = 4.0
    new = program([[4, 1], [1, 2]], [[1, 0], [0, 1]])
    assert solved(adapter(new).solve(vectors(new, [1, 1], [-1, -1], [1, 1]))).z == pytest.approx([-1 / 7, -3 / 7], abs=1e-8)


def test_Q08_a_program_keeps_its_matrices_whatever_happens_to_those_it_was_made_from() -> None:
    P, G = np.array([[4.0, 1.0], [1.0, 2.0]]), np.eye(2)
    whole, thin = QuadraticProgram(P, G), QuadraticProgram(sparse.csc_matrix(P), sparse.csc_matrix(G))
    solver = DaqpSolver(whole)
    P[:], G[:] = 0.0, 0.0
    for stored in (thin.P.data, thin.G.data):
        with pytest.raises(ValueError, match="read-only"):
            stored[0] = 9.0
    for answer in (solver.solve(vectors(whole, [1, 1], [-1, -1], [1, 1])), PiqpSolver(thin).solve(vectors(thin, [1, 1], [-1, -1], [1, 1]))):
        assert solved(answer).z == pytest.approx([-1 / 7, -3 / 7], abs=1e-8)


@given(st.lists(st.integers(-40, 40).map(lambda v: v / 8), min_size=1, max_size=6))
@example([0.0, -0.5])
def test_Q09_Q11_an_answer_does_not_depend_on_what_was_solved_before(targets: list[float]) -> None:
    for adapter in ADAPTERS:
        solver = adapter(INTERVAL)
        for r in targets:
            answer = solved(solver.solve(vectors(INTERVAL, [r], [-1], [1])))
            best = min(1.0, max(-1.0, -r))
            # Where the bound is only just active an interior-point method is exact in cost, not in z.
            assert answer.z == pytest.approx([best], abs=1e-7 if adapter is DaqpSolver else 1e-4)
            assert answer.cost == pytest.approx(best**2 / 2 + r * best, abs=1e-8)


@both
def test_Q12_infeasible_carries_no_point(adapter: type[DaqpSolver | PiqpSolver]) -> None:
    qp = program([[1]], [[1], [1]])
    answer = refused(adapter(qp).solve(vectors(qp, [0], [2, -INF], [INF, 1])))
    assert answer.status is SolveStatus.INFEASIBLE


def test_Q14_a_non_convex_cost_is_refused_before_solving() -> None:
    with pytest.raises(NonConvexError, match="eigenvalue -1"):
        program([[0, -1], [-1, 0]], [[1, 0], [0, 1]])
    with pytest.raises(NonConvexError, match=r"cost\.Q"):
        QuadraticCost(np.array([[0.0, 1.0], [1.0, 0.0]]), np.eye(1), np.zeros((2, 2)), np.zeros(2), np.zeros(1), np.eye(1))


def test_Q15_the_weaker_of_status_and_residual_decides() -> None:
    answer = judged(INTERVAL, vectors(INTERVAL, [-2], [-1], [1]), SolveStatus.SOLVED, "optimal", np.array([1 + 9e-5]), 3)
    assert refused(answer).status is SolveStatus.INACCURATE


@both
def test_Q17_more_active_rows_than_variables(adapter: type[DaqpSolver | PiqpSolver]) -> None:
    qp = program([[1, 0], [0, 1]], [[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [1, -1], [-1, 1]])
    v = qp.vectors(np.array([-1.0, -1.0]), np.full(8, -INF), np.zeros(8), constant=1.0)
    answer = solved(adapter(qp).solve(v))
    assert answer.z == pytest.approx([0, 0], abs=1e-8) and answer.cost == pytest.approx(1, abs=1e-8)


@both
def test_Q18_infinite_bounds(adapter: type[DaqpSolver | PiqpSolver]) -> None:
    qp = program([[1]], [[1], [1]])
    assert solved(adapter(qp).solve(vectors(qp, [-2], [-1, -INF], [1, INF]))).z == pytest.approx([1], abs=1e-8)
    assert refused(adapter(qp).solve(vectors(qp, [-2], [-1, -INF], [1, -INF]))).status is SolveStatus.INFEASIBLE
    with pytest.raises(UsageError, match=r"upper\[1\] is NaN"):
        vectors(qp, [-2], [-1, -INF], [1, math.nan])


@both
@pytest.mark.parametrize("factor", [10.0, 1e6])
def test_Q20_scaling_the_cost_changes_nothing(adapter: type[DaqpSolver | PiqpSolver], factor: float) -> None:
    qp = program([[0]], [[1]])
    answer = solved(adapter(qp).solve(vectors(qp, [factor], [0], [INF])))
    assert answer.z == pytest.approx([0], abs=1e-9)


def test_Q21_a_hessian_with_nan_is_refused() -> None:
    with pytest.raises(UsageError, match=r"P\[0, 1\] is nan"):
        program([[1, math.nan], [math.nan, 1]], [[1, 0]])
    with pytest.raises(UsageError, match=r"P\[1, 1\] is nan"):
        program([[1, 0], [0, math.nan]], [[1, 0]])


@both
def test_Q23_rows_of_very_different_size(adapter: type[DaqpSolver | PiqpSolver]) -> None:
    qp = program([[0]], [[1e9], [-1], [-1e-6]])
    for price, end in ((1, 0.5), (-1, 1.0)):
        answer = solved(adapter(qp).solve(vectors(qp, [price], [-INF] * 3, [1e9, 0, -5e-7])))
        assert answer.z == pytest.approx([end], abs=1e-8)
    rows = Polytope.of([[10**9], [-1], ["-1e-6"]], [10**9, 0, "-5e-7"], n=1)
    assert isinstance(find_empty(rows), Refuted) and same_set(rows, Polytope.box(["1/2"], [1]))


@both
def test_Q24_starting_at_the_optimum_gives_the_same_verdict(adapter: type[DaqpSolver | PiqpSolver]) -> None:
    solver, v = adapter(INTERVAL), vectors(INTERVAL, [-2], [-1], [1])
    first = solved(solver.solve(v))
    again = solved(solver.solve(v))
    assert again.z == pytest.approx(first.z, abs=1e-9) and again.cost == pytest.approx(first.cost, abs=1e-9)


def test_Y04_a_variable_fixed_outside_its_bounds_is_infeasible_in_every_adapter() -> None:
    qp = program([[0, 0], [0, 1e-3]], [[1, 0], [1, 0], [0, 1]])
    for adapter in ADAPTERS:
        answer = refused(adapter(qp).solve(vectors(qp, [0, 1], [0, 2, 0], [1, 2, 1])))
        assert answer.status is SolveStatus.INFEASIBLE


@both
def test_Y09_dependent_equalities_are_feasible(adapter: type[DaqpSolver | PiqpSolver]) -> None:
    qp = program([[1]], [[1], [2]])
    assert solved(adapter(qp).solve(vectors(qp, [0], [1, 2], [1, 2]))).z == pytest.approx([1], abs=1e-9)


def interval_system(horizon: int = 1) -> System:
    """x+ = x + u, |u| <= 1, |x| <= 1, with X_R = X under the law u = 0."""
    interval = Polytope.box([-1], [1])
    stay = RecoverySet("stay", interval, AffineLaw(zeros(1), zeros(1)))
    return System(
        matrix([[1]], 1), matrix([[1]], 1), zeros(1), interval, interval, Disturbance(1), Disturbance(1), zeros(1), (stay,), horizon, 0,
        fmpq(0), ("stay",),
    )  # fmt: skip


def test_M02_an_infeasible_step_yields_no_control() -> None:
    planner = Planner.for_system(interval_system(), QuadraticCost.diagonal([1], [1], [0]))
    outcome = planner.plan(Request(("stay",), False, 0, 1), [3.0])
    assert isinstance(outcome, NothingPlanned)
    assert outcome.failure.status is SolveStatus.INFEASIBLE and "outside X" in outcome.dropped["stay"]
    assert not hasattr(outcome, "candidates")


def test_M03_the_fallback_is_the_recovery_tail_and_never_the_last_input_again() -> None:
    system = interval_system()
    held = check_plan(system, vector([0]), Plan(("stay",), 0, 1, matrix([[1, 0]], 2), (matrix([[1, 0]], 2),)))
    assert isinstance(held, Proved)
    tail = shifted_plan(system, held.certificate, vector([1]), ("stay",), 0, 1)
    assert tail.first_input[0, 0] == 0 and isinstance(check_plan(system, vector([1]), tail), Proved)
    repeated = Plan(("stay",), 0, 1, matrix([[1, 0]], 2), (matrix([[1, 0]], 2),))
    answer = check_plan(system, vector([1]), repeated)
    assert isinstance(answer, Refuted) and answer.witness.amount == 1


@pytest.mark.parametrize("offered", ["nothing", "the old plan"])
def test_M03_Q05_Q24_a_failed_solve_is_answered_by_the_tail_of_the_held_plan(offered: str) -> None:
    """The step itself: whether the solver gives nothing or the old plan again, the certified 0 is sent and never the old 1."""
    assured, go = assured_system(interval_system()), matrix([[1, 0]], 2)
    plan = Plan(("stay",), 0, 1, go, (go,))
    begun = start(assured, StepInput(vector([0]), candidates=(plan,)))
    assert isinstance(begun, StepResult) and begun.input == vector([1])
    step = transition(assured, begun.state, StepInput(vector([1]), candidates=() if offered == "nothing" else (plan,)))
    assert step.input == vector([0]) and step.certified
    rows = [e.row for e in step.events]
    assert Row.SHIFTED_PLAN in rows and (Row.PLAN_REFUSED in rows) is (offered == "the old plan")


def test_M11_after_any_failure_the_next_solve_is_cold_and_succeeds() -> None:
    rng = np.random.default_rng(0)
    n = 12
    root = rng.standard_normal((n, n))
    qp = QuadraticProgram(root @ root.T + np.eye(n), np.vstack([np.eye(n), rng.standard_normal((2 * n, n))]))
    v = qp.vectors(10 * rng.standard_normal(n), np.full(3 * n, -1.0), np.full(3 * n, 1.0))
    solver = DaqpSolver(qp, iteration_limit=2)
    assert refused(solver.solve(v)).status is SolveStatus.LIMIT
    solver.iteration_limit = 10_000
    answer = solved(solver.solve(v))
    assert solver.cold_starts == 2
    assert answer.cost == pytest.approx(solved(PiqpSolver(qp).solve(v)).cost, rel=1e-7)


def test_M11_a_warm_start_that_is_stopped_early_leaves_nothing_behind() -> None:
    n = 12
    root = np.random.default_rng(0).standard_normal((n, n))
    qp = QuadraticProgram(root @ root.T + np.eye(n), np.vstack([np.eye(n), np.random.default_rng(1).standard_normal((2 * n, n))]))
    easy, hard = (qp.vectors(q, np.full(3 * n, -1.0), np.full(3 * n, 1.0)) for q in (np.zeros(n), 10 * np.random.default_rng(2).standard_normal(n)))
    solver = DaqpSolver(qp, iteration_limit=2)
    assert solved(solver.solve(easy)).z == pytest.approx(np.zeros(n), abs=1e-9)
    assert refused(solver.solve(hard)).status is SolveStatus.LIMIT and solver.cold_starts == 2  # stopped warm, then once more from cold
    assert solved(solver.solve(easy)).z == pytest.approx(np.zeros(n), abs=1e-9)
    assert solver.cold_starts == 3


def test_M11_an_infeasible_step_does_not_poison_the_next() -> None:
    for adapter in ADAPTERS:
        solver = adapter(INTERVAL)
        assert solved(solver.solve(vectors(INTERVAL, [-2], [-1], [1]))).z == pytest.approx([1], abs=1e-8)
        assert refused(solver.solve(vectors(INTERVAL, [-2], [2], [1]))).status is SolveStatus.INFEASIBLE
        assert solved(solver.solve(vectors(INTERVAL, [2], [-1], [1]))).z == pytest.approx([-1], abs=1e-8)
