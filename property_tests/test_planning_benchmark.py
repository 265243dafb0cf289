"""The baseline of the benchmark solves the same problem as we do, and its violations are measured exactly."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.plan import Plan, check_plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import matrix, vector, zeros
from aesop_verified.kernel.verdict import Proved, Refuted
from aesop_verified.planning.problem import NOMINAL
from property_tests.planning_catalogue import Known, catalogue

pytest.importorskip("osqp")

from benchmarks.decision import exact_violation
from benchmarks.paper_recipe import PairProgram

PAIRS = [k for k in catalogue() if len(k.problem.options) == 2 and k.problem.consensus == k.problem.model.consensus]


@pytest.mark.parametrize("known", PAIRS, ids=lambda known: known.name)
def test_the_recipe_solves_the_same_problem(known: Known) -> None:
    problem = known.problem
    answer = PairProgram(problem.model, problem.options, accuracy=1e-7).solve(problem.state)
    if known.cost is None:
        assert answer.status == "primal infeasible" and answer.inputs is None
    else:
        assert answer.inputs is not None, answer.status
        assert problem.violation_of(answer.inputs) < 1e-4
        assert problem.cost_of(answer.inputs) == pytest.approx(known.cost, rel=1e-3, abs=1e-4)


def test_the_recipe_is_warm_started_and_follows_the_state() -> None:
    problem = next(k.problem for k in PAIRS if k.name == "two axes, a shared branch")
    pair = PairProgram(problem.model, problem.options, accuracy=1e-7)
    first, moved, back = (pair.solve(np.array(state)) for state in ([2.0, 0.0], [0.5, 0.0], [2.0, 0.0]))
    assert first.inputs is not None and moved.inputs is not None and back.inputs is not None
    assert moved.inputs[NOMINAL][0, 0] == pytest.approx(-0.3, abs=1e-3)  # u_0 = -3 x / (5 + 2 RHO)
    assert back.inputs[NOMINAL] == pytest.approx(first.inputs[NOMINAL], abs=1e-4)


def test_exact_violations_agree_with_the_kernel() -> None:
    interval = Polytope.box([-1], [1])
    stay = RecoverySet("stay", interval, AffineLaw(zeros(1), zeros(1)))
    system = System(
        matrix([[1]], 1), matrix([[1]], 1), zeros(1), interval, interval, Disturbance(1), Disturbance(1), zeros(1), (stay,), 1, 0,
        fmpq(0), ("stay",),
    )  # fmt: skip
    for first, second, worst in ((fmpq(1, 2), 0, 0), (1, fmpq(1, 3), fmpq(1, 3)), (fmpq(5, 4), -1, fmpq(1, 4))):
        u = matrix([[first, second]], 2)
        found, gap = exact_violation(system, vector([0]), {NOMINAL: u, "stay": u}, 0)
        assert (found, gap) == (worst, 0)
        verdict = check_plan(system, vector([0]), Plan(("stay",), 0, 1, u, (u,)))
        assert isinstance(verdict, Proved if worst == 0 else Refuted)
    other = matrix([[fmpq(1, 4), 0]], 2)
    assert exact_violation(system, vector([0]), {NOMINAL: matrix([[0, 0]], 2), "stay": other}, 0) == (0, fmpq(1, 4))
