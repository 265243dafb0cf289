"""The plan check by hand, against an independent check, and the shifted plan."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.plan import CertifiedPlan, Plan, PlanViolation, check_plan, shifted_plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import matrix, rows_of, vector, zeros
from aesop_verified.kernel.rollout import IntegerModel, Sides
from aesop_verified.kernel.verdict import Proved, Refuted
from aesop_verified.testing import Instance, instances
from aesop_verified.testing.textbook import constant_speed_fork, integrator_fork, proved, sequence


def double_integrator(**changes: object) -> System:
    """p+ = p + v + u / 2, v+ = v + u; |p| <= 5, |v| <= 2, |u| <= 1; recovery sets: at rest at 1 and at -1."""
    sets = tuple(RecoverySet(name, Polytope.box([p, 0], [p, 0]), AffineLaw(zeros(1, 2), zeros(1))) for name, p in (("east", 1), ("west", -1)))
    defaults: dict[str, object] = {
        "A": matrix([[1, 1], [0, 1]], 2), "B": matrix([["1/2"], [1]], 1), "b": zeros(2), "X": Polytope.box([-5, -2], [5, 2]), "U": Polytope.box([-1], [1]),
        "disturbance": Disturbance(2), "estimate_error": Disturbance(2), "gain": zeros(1, 2), "recovery_sets": sets,
        "horizon": 3, "consensus_horizon": 1, "quantum": fmpq(0), "fallback_order": ("east", "west"),
    }  # fmt: skip
    return System(**{**defaults, **changes})  # type: ignore[arg-type]


# From rest at 0, u = (0, 0, 1, -1) ends at rest at 1: p = 0, 0, 0, 1/2, 1 and v = 0, 0, 0, 1, 0.
EAST, WEST = sequence(0, 0, 1, -1), sequence(0, 0, -1, 1)
REST = vector([0, 0])


def pair(nominal: fmpq_mat = EAST, east: fmpq_mat = EAST, west: fmpq_mat = WEST, *, K: int = 1, T: int = 3) -> Plan:
    return Plan(("east", "west"), K, T, nominal, (east, west))


def violation(system: System, state: fmpq_mat, plan: Plan) -> PlanViolation:
    result = check_plan(system, state, plan)
    assert isinstance(result, Refuted), result
    return result.witness


def test_a_plan_by_hand() -> None:
    result = check_plan(double_integrator(), REST, pair())
    assert isinstance(result, Proved)
    held = result.certificate
    assert isinstance(held, CertifiedPlan) and held.state == REST and held.next_state == REST and held.plan.first_input == vector([0])


def test_the_next_state_is_the_nominal_branchs() -> None:
    u = sequence("1/2", "-1/2", 0, 0)
    plan = Plan(("east",), 0, 3, u, (u,))
    held = proved(check_plan(double_integrator(), vector(["1/2", 0]), plan))
    assert held.next_state == vector(["3/4", "1/2"])


@pytest.mark.parametrize("miss", [fmpq(1, 10**30), fmpq(-1, 10**30)])
def test_a_plan_that_misses_by_1e_30_is_refused(miss: fmpq) -> None:
    missed = violation(double_integrator(), vector([miss, 0]), pair())
    assert missed == PlanViolation("terminal", "east", 4, 0 if miss > 0 else 1, fmpq(1, 10**30))


def test_each_constraint_is_named_with_branch_step_facet_and_amount() -> None:
    s = double_integrator()
    assert violation(s, REST, pair(nominal=sequence("1/9", 0, 1, -1))) == PlanViolation("first input", "east", 0, 0, fmpq(1, 9))
    assert violation(s, REST, pair(west=sequence("-1/9", 0, -1, 1))) == PlanViolation("first input", "west", 0, 0, fmpq(1, 9))
    assert violation(s, REST, pair(west=sequence(0, "1/3", -1, 1))) == PlanViolation("consensus", "west", 1, 0, fmpq(1, 3))
    assert violation(s, REST, pair(K=2)) == PlanViolation("consensus", "west", 2, 0, fmpq(2))
    assert violation(s, REST, pair(nominal=sequence(0, 0, 0, "3/2"))) == PlanViolation("input", "nominal", 3, 0, fmpq(1, 2))
    assert violation(s, REST, pair(west=sequence(0, 0, "-5/4", 1))) == PlanViolation("input", "west", 2, 1, fmpq(1, 4))
    assert violation(s, vector([0, 3]), pair()) == PlanViolation("state", "nominal", 0, 2, fmpq(1))
    assert violation(s, vector([-6, 0]), pair()) == PlanViolation("state", "nominal", 0, 1, fmpq(1))
    faster = double_integrator(U=Polytope.box([-9], [9]))
    assert violation(faster, REST, Plan(("east",), 0, 3, sequence(0, 0, 4, 0), (EAST,))) == PlanViolation("state", "nominal", 3, 2, fmpq(2))
    assert violation(faster, REST, Plan(("east",), 0, 3, EAST, (sequence(0, 0, -3, 0),))) == PlanViolation("state", "east", 3, 3, fmpq(1))
    assert violation(s, REST, pair(west=EAST)) == PlanViolation("terminal", "west", 4, 0, fmpq(2))


def test_what_is_not_constrained() -> None:
    s = double_integrator()
    # The nominal branch shares u_0 only, has no terminal set, and its state T + 1 may leave X.
    away = Plan(("east", "west"), 1, 3, sequence(0, 1, 1, 1), (EAST, WEST))
    assert isinstance(check_plan(s, vector([0, 0]), away), Proved)
    edge = double_integrator(X=Polytope.box([-5, -2], ["5/2", 2]))
    assert isinstance(check_plan(edge, REST, away), Proved)  # p = 0, 0, 1/2, 2, then 9/2 at step T + 1
    assert violation(double_integrator(X=Polytope.box([-5, -2], ["19/10", 2])), REST, away).step == 3


def test_I06_the_state_at_step_0_is_never_left_out() -> None:
    s = double_integrator(X=Polytope.box([-1, -2], [1, 2]))
    outside = violation(s, vector([fmpq(1) + fmpq(1, 10**6), 0]), Plan(("east",), 0, 3, EAST, (EAST,)))
    assert outside == PlanViolation("state", "nominal", 0, 0, fmpq(1, 10**6))


def test_shorter_plans_down_to_one_input() -> None:
    s = double_integrator()
    still = sequence(0)
    assert isinstance(check_plan(s, vector([1, 0]), Plan(("east",), 0, 0, still, (still,))), Proved)
    assert violation(s, vector([1, 0]), Plan(("west",), 0, 0, still, (still,))) == PlanViolation("terminal", "west", 1, 0, fmpq(2))
    assert isinstance(check_plan(s, vector(["1/2", 1]), Plan(("east",), 0, 0, sequence(-1), (sequence(-1),))), Proved)


def test_sets_without_rows() -> None:
    s = constant_speed_fork().system
    north, south = sequence(0, 0, 1, 0, 0), sequence(0, 0, -1, 0, 0)
    held = check_plan(s, vector([10**9, 0]), Plan(("north", "south"), 1, 4, north, (north, south)))
    assert isinstance(held, Proved) and held.certificate.next_state == vector([10**9 + 1, 0])
    late = sequence(0, 0, 0, 0, "999/1000")
    assert violation(s, vector([0, 0]), Plan(("north",), 0, 4, late, (late,))).amount == fmpq(1, 1000)


def test_plans_that_do_not_fit_are_refused() -> None:
    s = double_integrator()
    with pytest.raises(UsageError, match="horizon 4, expected at most the system's 3"):
        check_plan(s, REST, Plan(("east",), 0, 4, sequence(*[0] * 5), (sequence(*[0] * 5),)))
    with pytest.raises(UsageError, match=r"\['moon'\]"):
        check_plan(s, REST, Plan(("moon",), 0, 3, EAST, (EAST,)))
    with pytest.raises(UsageError, match="the state has shape 1 x 1"):
        check_plan(s, vector([0]), pair())
    two = fmpq_mat(2, 4)
    with pytest.raises(UsageError, match="nominal branch has shape 2 x 4, expected 1 x 4"):
        check_plan(s, REST, Plan(("east",), 0, 3, two, (two,)))
    for options, K, T, count in ((("east",), -1, 3, 1), (("east",), 4, 3, 1), (("east", "east"), 0, 3, 2), (("east",), 0, 3, 2), ((), 0, 3, 0)):
        with pytest.raises(UsageError):
            Plan(options, K, T, EAST, (EAST,) * count)
    with pytest.raises(UsageError, match="'west' has shape 1 x 3, expected 1 x 4"):
        pair(west=sequence(0, 0, 0))
    assert Plan(("east",), 3, 3, EAST, (EAST,)).consensus == 3


def test_a_plan_owns_its_numbers() -> None:
    u, x = fmpq_mat(EAST), vector([0, 0])
    plan = Plan(("east",), 0, 3, u, (u,))
    held = proved(check_plan(double_integrator(), x, plan))
    u[0, 0], x[0, 0] = fmpq(9), fmpq(9)
    assert held.plan.nominal == held.plan.recovery[0] == EAST and held.state == REST


# --- against an independent check in Fractions ----------------------------------------------------------------------


def fractions(m: fmpq_mat) -> list[list[Fraction]]:
    return [[Fraction(int(v.p), int(v.q)) for v in row] for row in rows_of(m)]


def holds(G: list[list[Fraction]], bounds: tuple[fmpq, ...], x: list[Fraction]) -> bool:
    sides = [Fraction(int(h.p), int(h.q)) for h in bounds]
    return all(sum(g * v for g, v in zip(row, x)) <= h for row, h in zip(G, sides))


def reference(system: System, state: fmpq_mat, plan: Plan) -> bool:
    """Eq. (3) once more, in plain loops."""
    A, B, b = fractions(system.A), fractions(system.B), [r[0] for r in fractions(system.b)]
    branches = [fractions(u) for u in (plan.nominal, *plan.recovery)]
    for i in range(system.m):
        if any(u[i][0] != branches[0][i][0] for u in branches):
            return False
        if any(u[i][k] != branches[1][i][k] for u in branches[1:] for k in range(plan.consensus + 1)):
            return False
    for index, u in enumerate(branches):
        x = [r[0] for r in fractions(state)]
        for k in range(plan.horizon + 1):
            now = [row[k] for row in u]
            if not holds(fractions(system.X.G), system.tightening.states[k], x):
                return False
            if not holds(fractions(system.input_set.G), system.tightening.inputs[k], now):
                return False
            x = [sum(a * v for a, v in zip(A[i], x)) + sum(c * v for c, v in zip(B[i], now)) + b[i] for i in range(system.n)]
        if index > 0:
            name = plan.options[index - 1]
            if not holds(fractions(system.recovery(name).polytope.G), system.tightening.terminals[name][plan.horizon + 1], x):
                return False
    return True


@settings(max_examples=80, deadline=None)
@given(instances(), st.data())
def test_the_check_agrees_with_plain_loops(instance: Instance, data: st.DataObject) -> None:
    s, held = instance.system, instance.first_plan
    assert reference(s, held.state, held.plan)
    branches = [fmpq_mat(held.plan.nominal), *(fmpq_mat(u) for u in held.plan.recovery)]
    for _ in range(data.draw(st.integers(1, 3))):
        u = branches[data.draw(st.integers(0, len(branches) - 1))]
        i, k = data.draw(st.integers(0, s.m - 1)), data.draw(st.integers(0, held.plan.horizon))
        u[i, k] += data.draw(st.sampled_from([fmpq(1, 2**70), fmpq(-1, 2**70), fmpq(1, 3), fmpq(-1), fmpq(0)]))
    plan = Plan(held.plan.options, held.plan.consensus, held.plan.horizon, branches[0], tuple(branches[1:]))
    shift = vector([data.draw(st.sampled_from([0, 0, "1/1000000007", "-1/3"])) for _ in range(s.n)])
    result = check_plan(s, held.state + shift, plan)
    assert isinstance(result, Proved) == reference(s, held.state + shift, plan)
    if isinstance(result, Proved):
        assert result.certificate.next_state == s.next_state(held.state + shift, plan.first_input)
    else:
        assert isinstance(result, Refuted) and result.witness.amount > 0


@settings(max_examples=60, deadline=None)
@given(instances(max_states=3), st.integers(1, 3))
def test_an_integer_roll_out_is_the_rational_one(instance: Instance, extra: int) -> None:
    s, held = instance.system, instance.first_plan
    inputs = (held.plan.nominal * fmpq(1, extra), *held.plan.recovery)
    run = IntegerModel.of(s.A, s.B, s.b).roll_out(held.state, inputs)
    assert len(run.states) == len(run.state_factors) == held.plan.horizon + 2 and len(run.inputs) == held.plan.horizon + 1
    for branch, u in enumerate(inputs):
        x = held.state
        for k in range(held.plan.horizon + 1):
            now = fmpq_mat(s.m, 1, [u[i, k] for i in range(s.m)])
            assert run.state(k, branch) == x
            assert [fmpq(run.inputs[k][i, branch], run.input_factor) for i in range(s.m)] == now.entries()
            x = s.next_state(x, now)
        assert run.state(held.plan.horizon + 1, branch) == x


def test_a_roll_out_of_one_branch_by_hand() -> None:
    """x+ = x / 2 + u + 1/3 from 1 with u = 1/4, 0: 1, 13/12, 7/8; D = 6, d = 4."""
    run = IntegerModel.of(matrix([["1/2"]], 1), matrix([[1]], 1), vector(["1/3"])).roll_out(vector([1]), [sequence("1/4", 0)])
    assert [run.state(k, 0) for k in range(3)] == [vector([1]), vector(["13/12"]), vector(["7/8"])]
    assert run.state_factors == [4, 24, 144] and run.input_factor == 4
    assert [m.entries() for m in run.states] == [[4], [26], [126]] and [m.entries() for m in run.inputs] == [[1], [0]]


@example(3, 7, 1)
@given(st.integers(-20, 20), st.integers(1, 12), st.integers(-20, 20))
def test_sides_compare_exactly(p: int, q: int, value: int) -> None:
    """The row x / 3 at 3 value / 4 against p / q: scaled by 3 inside, reported unscaled."""
    sides = Sides.of(matrix([["1/3"], ["-1/6"]], 1), [[fmpq(p, q), fmpq(100)]])
    excess = sides.excess(0, fmpz_mat(1, 1, [3 * value]), fmpz(4))
    if fmpq(value, 4) <= fmpq(p, q):
        assert excess is None
    else:
        assert excess is not None and (excess.facet, excess.branch) == (0, 0)
        assert excess.amount == fmpq(value, 4) - fmpq(p, q)


# --- the shifted plan ------------------------------------------------------------------------------------------------


def test_the_shifted_plan_by_hand() -> None:
    """Fork, F = -1, Acl = 0: w changes u_0 only; the law u = -x + 2 is appended where the horizon does not shrink."""
    s = integrator_fork(quantum=0).system
    left, right = sequence(0, 0, 0, "-3/4", "-3/4", "-1/2", 0), sequence(0, 0, 0, "3/4", "3/4", "1/4", 0)
    held = proved(check_plan(s, vector([0]), Plan(("left", "right"), 2, 6, left, (left, right))))
    x = vector(["1/16"])
    waiting = shifted_plan(s, held, x, ("left", "right"), 1, 5)
    assert (waiting.options, waiting.consensus, waiting.horizon) == (("left", "right"), 1, 5)
    assert waiting.nominal == waiting.recovery[0] == sequence("-1/16", 0, "-3/4", "-3/4", "-1/2", 0)
    assert waiting.recovery[1] == sequence("-1/16", 0, "3/4", "3/4", "1/4", 0)
    nominal = shifted_plan(s, held, x, ("right",), 2, 6)
    assert nominal.nominal == sequence("-1/16", 0, "3/4", "3/4", "1/4", 0, "1/4")  # the law at 7/4
    shorter = shifted_plan(s, held, x, ("right",), 0, 2)
    assert shorter.nominal == sequence("-1/16", 0, "3/4") and shorter.consensus == 0
    one = proved(check_plan(s, vector([2]), Plan(("right",), 0, 0, sequence(0), (sequence(0),))))
    assert shifted_plan(s, one, vector(["15/8"]), ("right",), 0, 0).nominal == sequence("1/8")
    longer = shifted_plan(s, one, vector(["15/8"]), ("right",), 0, 2)
    assert longer.nominal == sequence("1/8", 0, 0)
    for plan, state in ((waiting, x), (nominal, x), (longer, vector(["15/8"]))):
        assert isinstance(check_plan(s, state, plan), Proved)


@settings(max_examples=60, deadline=None)
@given(instances(), st.data())
def test_shifted_plans_are_certified_for_every_w_in_W(instance: Instance, data: st.DataObject) -> None:
    """The lemma of theory 5, for each use: all of Y, one of Y at full length, one of Y shrinking."""
    s, held = instance.system, instance.first_plan
    w = zeros(s.n)
    for d in s.total_disturbance.summands:
        ends = [data.draw(st.sampled_from([lo, hi, (lo + hi) / 3])) if lo <= 0 <= hi else lo for lo, hi in zip(d.lower.entries(), d.upper.entries())]
        w = w + d.map * fmpq_mat(len(ends), 1, ends)
    x = held.next_state + w
    K, T, name = s.consensus_horizon, s.horizon, data.draw(st.sampled_from(held.plan.options))
    uses = [((name,), K, T), ((name,), 0, T - 1)] + ([(held.plan.options, K - 1, T - 1)] if K > 0 else [])
    for options, consensus, horizon in uses:
        assert isinstance(check_plan(s, x, shifted_plan(s, held, x, options, consensus, horizon)), Proved)
