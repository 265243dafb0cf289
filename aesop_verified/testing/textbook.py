"""Small systems that fit on a page, with their evidence and plans: for examples, unit tests and counterexamples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.inclusion import FarkasRows
from aesop_verified.kernel.invariance import AssuredSystem, RecoveryEvidence, assure
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.plan import CertifiedPlan, Plan, check_plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import (
    Exact,
    exact,
    identity,
    matrix,
    vector,
    zeros,
)
from aesop_verified.kernel.verdict import Proved, Refuted, Unknown

C = TypeVar("C")
W = TypeVar("W")


def sequence(*inputs: Exact) -> fmpq_mat:
    """Inputs u_0, u_1, ... of a system with one input, shape (1, T + 1)."""
    return matrix([inputs], len(inputs))


def interval_disturbance(half_width: Exact, *, name: str = "wind") -> Disturbance:
    """[-half_width, half_width] on the line."""
    bound = vector([half_width])
    return Disturbance(1, (Summand(name, identity(1), -bound, bound),))


def integrator_fork(
    *,
    half_width: Exact = "1/10",
    quantum: Exact = "1/1024",
    estimate: Exact = 0,
    horizon: int = 6,
    consensus: int = 2,
    state_bound: Exact = 10,
    input_bound: Exact = 1,
    summand: str = "wind",
) -> AssuredSystem:
    """x+ = x + u + w on the line with the recovery sets left = [-5/2, -3/2] and right = [3/2, 5/2].

    The laws u = -x - 2 and u = -x + 2 are deadbeat (Acl = 0), so R_k = W for all k >= 1.

    Raises:
        AssertionError: when a recovery set is not invariant for these numbers.
    """
    half = fmpq(1, 2)
    sets = tuple(
        RecoverySet(name, Polytope.box([c - half], [c + half]), AffineLaw(matrix([[-1]], 1), vector([c])))
        for name, c in (("left", fmpq(-2)), ("right", fmpq(2)))
    )
    bound, reach = exact(state_bound), exact(input_bound)
    system = System(
        A=identity(1), B=identity(1), b=vector([0]),
        X=Polytope.box([-bound], [bound]), U=Polytope.box([-reach], [reach]),
        disturbance=Disturbance(1) if exact(half_width) == 0 else interval_disturbance(half_width, name=summand),
        estimate_error=Disturbance(1) if exact(estimate) == 0 else interval_disturbance(estimate, name="sensor"),
        gain=matrix([[-1]], 1), recovery_sets=sets, horizon=horizon, consensus_horizon=consensus,
        quantum=exact(quantum), fallback_order=("left", "right"),
    )  # fmt: skip
    evidence = {
        r.name: RecoveryEvidence(r.law.offset, FarkasRows(zeros(2, 2)), FarkasRows(identity(2)), FarkasRows(matrix([[0, 1], [1, 0]], 2)))
        for r in sets
    }
    return proved(assure(system, evidence))


def fork_plan(assured: AssuredSystem, state: Exact = 0, *, options: Sequence[str] = ("left", "right")) -> CertifiedPlan:
    """From near 0: stay for K + 1 steps, then go to either side with steps of at most 3/4 and stop there.

    Raises:
        AssertionError: when the plan is not certified.
    """
    s = assured.system
    x = exact(state)
    stay = [fmpq(0)] * (s.consensus_horizon + 1)
    branches = []
    for name in options:
        goal, at, inputs = (fmpq(-2) if name == "left" else fmpq(2)), x, list(stay)
        for _ in range(s.horizon - s.consensus_horizon):
            step = max(min(goal - at, fmpq(3, 4)), fmpq(-3, 4))
            inputs.append(step)
            at = at + step
        branches.append(sequence(*inputs))
    plan = Plan(tuple(options), s.consensus_horizon, s.horizon, branches[0], tuple(branches))
    return proved(check_plan(s, vector([x]), plan))


def constant_speed_fork(*, horizon: int = 4, consensus: int = 1) -> AssuredSystem:
    """x+ = x + 1, y+ = y + u: no equilibrium; the recovery sets are the half-planes y >= 1 and y <= -1.

    X is the whole plane (no rows) and |u| <= 1; the law is u = 0, and W = {0} without a quantum.
    """
    half_planes = (("north", -1), ("south", 1))
    sets = tuple(RecoverySet(name, Polytope.of([[0, sign]], [-1], n=2), AffineLaw(zeros(1, 2), zeros(1))) for name, sign in half_planes)
    system = System(
        A=identity(2), B=matrix([[0], [1]], 1), b=vector([1, 0]), X=Polytope.whole_space(2), U=Polytope.box([-1], [1]),
        disturbance=Disturbance(2), estimate_error=Disturbance(2), gain=zeros(1, 2), recovery_sets=sets,
        horizon=horizon, consensus_horizon=consensus, quantum=fmpq(0), fallback_order=("north", "south"),
    )  # fmt: skip
    evidence = {
        name: RecoveryEvidence(vector([0, -sign]), FarkasRows(identity(1)), FarkasRows(zeros(0, 1)), FarkasRows(zeros(2, 1)))
        for name, sign in half_planes
    }
    return proved(assure(system, evidence))


def proved(result: Proved[C] | Refuted[W] | Unknown) -> C:
    """The certificate of a result that has to be `Proved`.

    Raises:
        AssertionError: when it is not.
    """
    assert isinstance(result, Proved), result
    return result.certificate
