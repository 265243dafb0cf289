"""What each choice of the completed algorithm is for: exact counterexamples to its absence."""

from __future__ import annotations

import pytest
from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import (
    Alarm,
    AlarmCause,
    Choice,
    Event,
    Recovering,
    Row,
    StepInput,
    StepResult,
    Suspended,
)
from aesop_verified.kernel.inclusion import check_empty
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.machine import start, transition
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.plan import CertifiedPlan, Plan, check_plan, shifted_plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import identity, matrix, vector
from aesop_verified.kernel.verdict import Proved, Refuted
from aesop_verified.testing.textbook import fork_plan, integrator_fork, proved, sequence


def _started(assured: object, first: CertifiedPlan) -> StepResult:
    begun = start(assured, StepInput(first.state, candidates=(first.plan,), alarm=Alarm(AlarmCause.SCORE, "o")))  # type: ignore[arg-type]
    assert isinstance(begun, StepResult)
    return begun


def test_the_papers_theorem_is_false_when_Y_may_be_empty() -> None:
    """With Y empty, Eq. (3) asks for a nominal branch in X only. It leads to a state from which no y is feasible."""
    s = integrator_fork(half_width=0, quantum=0).system
    x = vector([0])
    for _ in range(10):
        assert s.X.contains(x)  # the nominal branch "go right" is feasible at every step
        x = s.next_state(x, vector([1]))
    assert x == vector([10]) and s.X.contains(x)
    # From 10 the T + 1 = 7 inputs of at most 1 end at 3 or more: outside right = [3/2, 5/2], and left is farther.
    for name in s.names:
        left = sequence(*[-1] * 7)
        best = check_plan(s, x, Plan((name,), s.consensus_horizon, s.horizon, left, (left,)))
        assert isinstance(best, Refuted) and best.witness.constraint == "terminal"
        assert best.witness.amount == (fmpq(1, 2) if name == "right" else fmpq(9, 2))
    with pytest.raises(UsageError, match="at least one"):
        Plan((), 2, 6, sequence(*[0] * 7), ())


def test_the_papers_theorem_is_false_when_the_reasoner_may_name_a_y_outside_Y() -> None:
    """At 2 only `right` is in Y. `left` cannot be reached in T + 1 steps, so following the answer breaks claim 3."""
    assured = integrator_fork(half_width=0, quantum=0, horizon=3, consensus=1)
    s = assured.system
    first = fork_plan(assured, 2, options=("right",))
    begun = _started(assured, first)
    x = s.next_state(first.state, begun.input)
    rush = sequence(-1, -1, -1)
    followed = check_plan(s, x, Plan(("left",), 0, 2, rush, (rush,)))
    assert isinstance(followed, Refuted) and followed.witness.constraint == "terminal" and followed.witness.amount == fmpq(1, 2)
    result = transition(assured, begun.state, StepInput(x, answer=Choice(0, "left")))
    assert result.certified and result.state.mode == Recovering("right", 1)
    assert Event(Row.ANSWER_REJECTED, "'left' is not one of ['right']") in result.events


def test_the_deadline_is_sharp() -> None:
    """An answer at K + 2 is too late: after one more common input no pair of plans exists (Farkas certificate)."""
    assured = integrator_fork(half_width=0, quantum=0, horizon=3, consensus=1)
    s = assured.system
    first = fork_plan(assured, 0)
    # In time: at the start of step K + 1 = 2 both options are still open from x = 0, with T - K = 2 inputs each.
    for name, u in (("left", -1), ("right", 1)):
        branch = sequence(u, fmpq(u, 2))
        assert isinstance(check_plan(s, vector([0]), Plan((name,), 0, 1, branch, (branch,))), Proved)
    # Later: step K + 1 is one more common input u, then one input each, v to the left and w to the right.
    # Rows over (u, v, w): x_4 = u + v <= -3/2, -(u + w) <= -3/2, -v <= 1, w <= 1.
    late = Polytope.of([[1, 1, 0], [-1, 0, -1], [0, -1, 0], [0, 0, 1]], ["-3/2", "-3/2", 1, 1], n=3)
    assert isinstance(check_empty(late, matrix([[1, 1, 1, 1]], 4)), Proved)
    # The machine decides at K + 1, by the fallback policy if need be.
    x, result = first.state, _started(assured, first)
    for k in (1, 2):
        x = s.next_state(x, result.input)
        result = transition(assured, result.state, StepInput(x))
        assert result.certified and (Row.DEADLINE in [e.row for e in result.events]) == (k == 2)
    assert result.state.mode == Recovering("left", 2)


def test_consensus_has_to_include_its_last_step() -> None:
    """With u^i_k = u^j_k for k < K only, the plan of the last waiting step has no common first input."""
    assured = integrator_fork(half_width=0, quantum=0, horizon=3, consensus=1)
    s = assured.system
    left, right = sequence(0, -1, "-1/2", 0), sequence(0, 1, "1/2", 0)
    exclusive = check_plan(s, vector([0]), Plan(("left", "right"), 1, 3, left, (left, right)))
    assert isinstance(exclusive, Refuted) and (exclusive.witness.constraint, exclusive.witness.step) == ("consensus", 1)
    # Accepted as a plan of K = 0 it cannot be carried on: its shifted plan splits at once.
    held = proved(check_plan(s, vector([0]), Plan(("left", "right"), 0, 3, left, (left, right))))
    shifted = check_plan(s, held.next_state, shifted_plan(s, held, held.next_state, ("left", "right"), 0, 2))
    assert isinstance(shifted, Refuted) and shifted.witness.constraint == "first input" and shifted.witness.amount == 2


def test_without_the_correction_a_shifted_plan_is_refused() -> None:
    """w = 1/10 in W, a plan that ends on the edge of the tightened right set, 12/5."""
    s = integrator_fork(quantum=0).system
    branch = sequence(0, 0, 0, "9/10", "9/10", "3/5", 0)
    held = proved(check_plan(s, vector([0]), Plan(("right",), 2, 6, branch, (branch,))))
    measured = held.next_state + vector(["1/10"])
    uncorrected = sequence(0, 0, "9/10", "9/10", "3/5", 0)
    refused = check_plan(s, measured, Plan(("right",), 1, 5, uncorrected, (uncorrected,)))
    assert isinstance(refused, Refuted)
    assert (refused.witness.constraint, refused.witness.step, refused.witness.amount) == ("terminal", 6, fmpq(1, 10))
    corrected = shifted_plan(s, held, measured, ("right",), 1, 5)
    assert corrected.nominal == sequence("-1/10", 0, "9/10", "9/10", "3/5", 0)
    assert isinstance(check_plan(s, measured, corrected), Proved)


def test_the_correction_is_taken_from_the_planned_input_and_not_from_the_sent_one() -> None:
    """The counterexample of spec/README.md: x+ = 2 x + u, F = -2, q = 1, X = [-2, 2]."""
    s = System(
        A=matrix([[2]], 1), B=identity(1), b=vector([0]), X=Polytope.box([-2], [2]), U=Polytope.box([-9], [9]),
        disturbance=Disturbance(1), estimate_error=Disturbance(1), gain=matrix([[-2]], 1),
        recovery_sets=(RecoverySet("home", Polytope.box([-2], [2]), AffineLaw(matrix([[-2]], 1), vector([0]))),),
        horizon=2, consensus_horizon=0, quantum=fmpq(1), fallback_order=("home",),
    )  # fmt: skip
    u = sequence("9/20", "3/5", -3)
    held = proved(check_plan(s, vector([0]), Plan(("home",), 0, 2, u, (u,))))
    assert held.next_state == vector(["9/20"])
    measured = vector([0])  # the input that was sent is the rounded one, 0
    naive = sequence("3/5", -3)
    refused = check_plan(s, measured, Plan(("home",), 0, 1, naive, (naive,)))
    assert isinstance(refused, Refuted) and refused.witness.amount == fmpq(3, 10)
    assert isinstance(check_plan(s, measured, shifted_plan(s, held, measured, ("home",), 0, 1)), Proved)


@pytest.mark.parametrize(("w", "certified"), [("1/10", True), ("-1/10", True), ("101/1000", False)])
def test_w_outside_W_suspends_where_the_plan_touches(w: str, certified: bool) -> None:
    """The plan's next input is -9/10, the tightened bound: w in W leaves -1, a thousandth more asks for -1.001."""
    assured = integrator_fork(quantum=0, consensus=1, horizon=2)
    s = assured.system
    branch = sequence(0, "-9/10", "-1/2")
    first = proved(check_plan(s, vector([-1]), Plan(("left",), 1, 2, branch, (branch,))))
    begun = _started(assured, first)
    result = transition(assured, begun.state, StepInput(s.next_state(first.state, begun.input) + vector([w])))
    assert result.certified is certified
    assert isinstance(result.state.mode, Suspended) is not certified
    assert s.U.contains(result.input)


def test_the_deadline_and_the_claims_hold_for_the_true_state_only_with_the_whole_estimate_summand() -> None:
    """E + (-A E), not E: with xhat = x + e the estimate of x+ = x + u moves by e+ - e, up to twice E."""
    s = integrator_fork(half_width=0, quantum=0, estimate="1/8").system
    e_now, e_next = fmpq(-1, 8), fmpq(1, 8)
    x, u = fmpq(0), fmpq(1, 2)
    moved = (x + u + e_next) - ((x + e_now) + u)
    assert moved == fmpq(1, 4)
    assert s.measured_disturbance.support(vector([1])) == fmpq(1, 4)
    assert s.tightening.states[1] == (10 - fmpq(1, 4), 10 - fmpq(1, 4))


def test_matrix_of_a_plan_is_inputs_by_steps() -> None:
    """The counterexamples above read their sequences as u_0, u_1, ..."""
    assert sequence(1, 2, 3) == fmpq_mat(1, 3, [1, 2, 3])
