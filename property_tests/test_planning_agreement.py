"""The planners agree on verdict and optimal cost, on a catalogue with known answers and on drawn problems."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aesop_verified.planning.ipopt_bridge import IpoptFound, find_ipopt
from aesop_verified.planning.pricing import NoPlan, PriceBook, ProgramStore, Solved
from aesop_verified.planning.problem import PlanningModel, PlanningProblem
from aesop_verified.planning.reference import solve_reference
from aesop_verified.planning.status import SolveStatus
from property_tests.planning_catalogue import Known, catalogue, model, plane

COST_TOLERANCE = 1e-6
CATALOGUE = catalogue()


def solve(problem: PlanningProblem, *, split: bool, sparse: bool) -> Solved | NoPlan:
    """Solve one problem with the fast programs."""
    store = ProgramStore(problem.model, split=split, dense_limit=0 if sparse else 10_000)
    book = PriceBook(store, problem.consensus, problem.horizon, problem.state, recovering=problem.recovering)
    return book.solutions([problem.options])[0]


@cache
def ipopt() -> IpoptFound:
    return find_ipopt()


SOLVERS: dict[str, Callable[[PlanningProblem], Solved | NoPlan]] = {
    "pyomo and ipopt": lambda p: solve_reference(p, ipopt()),
    "joint, sparse, piqp": lambda p: solve(p, split=False, sparse=True),
    "joint, dense, daqp": lambda p: solve(p, split=False, sparse=False),
    "split, sparse, piqp": lambda p: solve(p, split=True, sparse=True),
    "split, dense, daqp": lambda p: solve(p, split=True, sparse=False),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("known", CATALOGUE, ids=lambda known: known.name)
def test_catalogue(known: Known, solver: str) -> None:
    answer = SOLVERS[solver](known.problem)
    if known.cost is None:
        assert isinstance(answer, NoPlan), f"solved although {known.because}"
        assert answer.status is not SolveStatus.SOLVED
    else:
        assert isinstance(answer, Solved), f"{answer} although {known.because}"
        assert answer.cost.total == pytest.approx(known.cost, rel=COST_TOLERANCE, abs=1e-9)
        assert known.problem.violation_of(answer.inputs) <= 1e-8
        assert known.problem.cost_of(answer.inputs) == pytest.approx(known.cost, rel=COST_TOLERANCE, abs=1e-9)


@pytest.mark.parametrize("known", [k for k in CATALOGUE if k.cost is None], ids=lambda known: known.name)
def test_the_active_set_method_proves_every_infeasibility_of_the_catalogue(known: Known) -> None:
    answer = solve(known.problem, split=True, sparse=False)
    assert isinstance(answer, NoPlan) and answer.status is SolveStatus.INFEASIBLE


def test_axes_are_found_and_a_change_of_coordinates_joins_them() -> None:
    assert [block.states for block in plane().blocks] == [(0,), (1,)]
    assert [block.states for block in plane(np.array([[1.0, 1.0], [-1.0, 1.0]])).blocks] == [(0, 1)]


@st.composite
def problems(draw: st.DrawFn) -> PlanningProblem:
    """Two independent double integrators, three regions that share intervals, drawn bounds and states."""
    number = st.integers(-20, 20).map(lambda v: v / 4)
    half = draw(st.integers(1, 6)) / 2
    centres = {name: (draw(st.sampled_from([-2.0, 3.0])), draw(st.sampled_from([-2.0, 1.0]))) for name in ("a", "b", "c")}
    sets = {name: [(x - half, x + half), (-0.5, 0.5), (y - half, y + half), (-0.5, 0.5)] for name, (x, y) in centres.items()}
    T = draw(st.integers(1, 7))
    m: PlanningModel = model(
        [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]], [[0.5, 0], [1, 0], [0, 0.5], [0, 1]],
        X=[(-6, 6), (-2, 2)] * 2, U=[(-1, 1)] * 2, sets=sets, T=T, K=draw(st.integers(0, T)),
        Q=[1, 0.1, 1, 0.1], P=[2, 1, 2, 1], goal=[draw(number), 0, draw(number), 0],
    )  # fmt: skip
    options = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True))
    state = [draw(number), draw(number) / 4, draw(number), draw(number) / 4]
    return PlanningProblem(m, tuple(sorted(options)), m.consensus, T, np.array(state))


@given(problems())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_split_and_joint_programs_agree_on_drawn_problems(problem: PlanningProblem) -> None:
    answers = [solve(problem, split=split, sparse=sparse) for split, sparse in ((True, False), (False, False), (False, True))]
    solved = [a for a in answers if isinstance(a, Solved)]
    assert len(solved) in (0, 3), [a if isinstance(a, NoPlan) else a.cost for a in answers]
    for other in solved[1:]:
        assert other.cost.total == pytest.approx(solved[0].cost.total, rel=COST_TOLERANCE, abs=1e-9)
        assert other.cost.nominal == pytest.approx(solved[0].cost.nominal, rel=1e-4, abs=1e-6)


@given(problems())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_reference_agrees_on_drawn_problems(problem: PlanningProblem) -> None:
    fast, reference = solve(problem, split=True, sparse=False), solve_reference(problem, ipopt())
    assert isinstance(fast, Solved) == isinstance(reference, Solved)
    if isinstance(fast, Solved) and isinstance(reference, Solved):
        assert reference.cost.total == pytest.approx(fast.cost.total, rel=COST_TOLERANCE, abs=1e-9)
