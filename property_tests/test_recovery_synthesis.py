"""Synthesis of recovery sets, and the public reports about invariant sets (I..)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.inclusion import (
    FarkasRows,
    InclusionStatement,
    check_inclusion,
)
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import exact, identity, matrix, vector, zeros
from aesop_verified.kernel.verdict import Proved, Refuted
from aesop_verified.recovery import (
    NotAssured,
    Synthesis,
    SynthesisFailed,
    assured,
    assured_system,
    synthesise,
)
from aesop_verified.recovery.axes import decoupled_axes
from aesop_verified.recovery.control_invariance import (
    ControlInvariant,
    NoControlInvariantSubset,
    NotConverged,
    largest_control_invariant,
)
from aesop_verified.recovery.equilibrium import centre
from aesop_verified.recovery.escape import box_vertices, facet_escape, point_escape
from aesop_verified.recovery.find import find_inclusion
from aesop_verified.recovery.gains import NotStabilisable, spectral_radius, tube_gain
from aesop_verified.recovery.invariant_subset import (
    Invariant,
    NoInvariantSubset,
    NotFinitelyDetermined,
    invariant_subset,
)
from aesop_verified.recovery.pontryagin import same_set
from aesop_verified.system import (
    Box,
    Costs,
    DescribedSummand,
    GivenSet,
    RecoveryRegion,
    SynthesisRequest,
    SystemDescription,
    Variable,
    load,
    loads,
)

EXAMPLES = Path(__file__).parent.parent / "examples"
NO_DISTURBANCE = Disturbance(1)


def interval(radius: str | int | fmpq) -> Polytope:
    return Polytope.box([-exact(radius)], [exact(radius)])


def noise(n: int, radius: str) -> Disturbance:
    return Disturbance(n, (Summand("w", identity(n), vector([-exact(radius)] * n), vector([exact(radius)] * n)),))


@pytest.mark.parametrize("cap", [1, 5, 30])
def test_I02_an_iteration_that_never_repeats_is_not_converged(cap: int) -> None:
    A, B, b = matrix([[2]], 1), matrix([[1]], 1), zeros(1)
    found = largest_control_invariant(A, B, b, interval(10), interval(1), NO_DISTURBANCE, cap=cap)
    assert isinstance(found, NotConverged)
    radius = 1 + fmpq(9, 2**cap)
    assert same_set(found.outer_bound, interval(radius))
    # The outer iterate is not invariant: from x = r > 1 the best next state is 2 r - 1 > r.
    escape = facet_escape(A, B, b, found.outer_bound, interval(1), NO_DISTURBANCE)
    assert escape is not None and abs(escape.state[0, 0]) == radius and escape.amount == radius - 1
    assert isinstance(check_inclusion(escape.certificate.statement, FarkasRows(escape.certificate.multipliers)), Proved)  # type: ignore[union-attr]


def test_I02_twin_the_true_set_is_found_when_it_is_asked_about() -> None:
    A, B, b = matrix([[2]], 1), matrix([[1]], 1), zeros(1)
    found = largest_control_invariant(A, B, b, interval(1), interval(1), NO_DISTURBANCE)
    assert isinstance(found, ControlInvariant) and found.iterations == 0
    assert facet_escape(A, B, b, interval(1), interval(1), NO_DISTURBANCE) is None


def test_I03_a_rotation_is_not_finitely_determined() -> None:
    R = matrix([["3/5", "-4/5"], ["4/5", "3/5"]], 2)
    square = Polytope.box([-1, -1], [1, 1])
    for cap in (3, 12, 24):
        found = invariant_subset(R, zeros(2), square, Disturbance(2), contraction=fmpq(1), cap=cap)
        assert isinstance(found, NotFinitelyDetermined)
        assert not hasattr(found, "polytope")


def test_exact_cuts_end_when_their_numbers_grow_too_long() -> None:
    M = matrix([["0.98798254", "0.42189069"], [0, "0.9048"]], 2)
    W = Disturbance(2, (Summand("w", identity(2), vector(["-0.002", "-0.01"]), vector(["0.002", "0.01"])),))
    box = Polytope.box([fmpq(-3), fmpq(-1, 2)], [fmpq(3), fmpq(1, 2)])
    found = invariant_subset(M, zeros(2), box, W, contraction=fmpq(1))
    assert isinstance(found, NotFinitelyDetermined)
    assert 30 < found.cuts < 100  # with all 400 it takes hours


def test_I03_twin_a_contracting_rotation_is() -> None:
    R = matrix([["3/5", "-4/5"], ["4/5", "3/5"]], 2) * fmpq(9, 10)
    found = invariant_subset(R, zeros(2), Polytope.box([-1, -1], [1, 1]), Disturbance(2))
    assert isinstance(found, Invariant)
    assert isinstance(find_inclusion(InclusionStatement.of(found.polytope, found.polytope, M=R)), Proved)


def test_I05_a_set_that_shrinks_to_nothing() -> None:
    A, B, b = identity(1), matrix([[1]], 1), zeros(1)
    found = largest_control_invariant(A, B, b, interval(5), interval(1), noise(1, "11/10"), cap=60)
    assert isinstance(found, NoControlInvariantSubset)
    # radii 5, 4.9, ..., 1.0 are sets 0..40; set 41 needs the Pontryagin difference of set 40, which is empty
    assert found.iterations == 41
    last = largest_control_invariant(A, B, b, interval(5), interval(1), noise(1, "11/10"), cap=40)
    assert isinstance(last, NotConverged) and same_set(last.outer_bound, interval(1))
    capped = largest_control_invariant(A, B, b, interval(5), interval(1), noise(1, "11/10"), cap=20)
    assert isinstance(capped, NotConverged) and same_set(capped.outer_bound, interval(3))
    whole = largest_control_invariant(A, B, b, interval(5), interval(1), noise(1, "1"))
    assert isinstance(whole, ControlInvariant) and whole.iterations == 0 and same_set(whole.polytope, interval(5))


def test_a_law_that_cannot_hold_the_disturbance_leaves_no_subset() -> None:
    found = invariant_subset(matrix([["1/2"]], 1), zeros(1), interval(1), noise(1, "3/5"))
    assert isinstance(found, NoInvariantSubset)
    enough = invariant_subset(matrix([["1/2"]], 1), zeros(1), interval(1), noise(1, "2/5"))
    assert isinstance(enough, Invariant) and same_set(enough.polytope, interval(1))


def test_the_offset_of_the_law_counts() -> None:
    # theory 6: F = -1, g = 1/2, x+ = x + u + w on [-1, 1] with |w| <= 3/4: the next state reaches 5/4.
    S = interval(1)
    W = noise(1, "3/4")
    with_offset = InclusionStatement.of(S, S, M=zeros(1, 1), c=vector(["1/2"]), margin=W.supports(S.G))
    result = find_inclusion(with_offset)
    assert isinstance(result, Refuted) and result.witness.amount == fmpq(1, 4)
    without = InclusionStatement.of(S, S, M=zeros(1, 1), margin=W.supports(S.G))
    assert isinstance(find_inclusion(without), Proved)


def test_axes_are_split_by_every_kind_of_coupling() -> None:
    A, B = identity(2), identity(2)
    assert len(decoupled_axes(A, B)) == 2
    assert len(decoupled_axes(matrix([[1, 1], [0, 1]], 2), B)) == 1
    assert len(decoupled_axes(A, matrix([[1], [1]], 1))) == 1
    # x_i+ = 2 x_i + u_i with |u_1| + |u_2| <= 1: U is no product.
    diamond = Polytope.of([[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, 1, 1, 1], n=2)
    assert len(decoupled_axes(A, B, input_set=diamond)) == 1
    assert len(decoupled_axes(A, B, state_sets=[diamond])) == 1
    assert len(decoupled_axes(A, B, gain=matrix([[0, 1], [0, 0]], 2))) == 1


def test_the_centre_is_the_nearest_equilibrium_and_may_not_exist() -> None:
    A, B = matrix([[1, "1/2"], [0, 1]], 2), matrix([["1/8"], ["1/2"]], 1)
    rest = centre(A, B, zeros(2), vector([3, 1]), [fmpq(1), fmpq(1)])
    assert rest.is_equilibrium and rest.state.entries() == [3, 0] and rest.input[0, 0] == 0
    moving = centre(matrix([[1]], 1), fmpq_mat(1, 0), vector([1]), vector([3]), [fmpq(1)])
    assert not moving.is_equilibrium and moving.state.entries() == [3]


def test_an_unstable_mode_that_no_input_reaches_is_refused() -> None:
    A, B = matrix([[2, 0], [0, 1]], 2), matrix([[0], [1]], 1)
    with pytest.raises(NotStabilisable):
        tube_gain(A, B, Disturbance(2), [fmpq(1)] * 2, [fmpq(1)])


def test_the_tube_gain_is_short_and_stable() -> None:
    A, B = matrix([[1, "1/10"], [0, 1]], 2), matrix([["1/200"], ["1/10"]], 1)
    F = tube_gain(A, B, noise(2, "1/100"), [fmpq(1)] * 2, [fmpq(2)])
    assert spectral_radius(A + B * F) < 1
    assert all((v * 10**7).q == 1 for v in F.entries())


@pytest.fixture(scope="module")
def quadrotor() -> SystemDescription:
    return load(EXAMPLES / "quadrotor-flat.yaml")


@pytest.fixture(scope="module")
def found(quadrotor: SystemDescription) -> Synthesis:
    return synthesise(quadrotor)


def asked(quadrotor: SystemDescription, name: str) -> SynthesisRequest:
    content = quadrotor.region(name).content
    assert isinstance(content, SynthesisRequest)
    return content


def test_the_quadrotor_is_assured(quadrotor: SystemDescription, found: Synthesis) -> None:
    assert all(len(s.axes) == 3 for s in found.synthesised)
    assert all(s.centre.is_equilibrium for s in found.synthesised)
    assert all(max(s.facets) <= 60 for s in found.synthesised)
    ready = assured_system(found.system)
    assert [c.name for c in ready.certificates] == list(quadrotor.recovery_names)
    assert all(c.system_hash == ready.system.hash() for c in ready.certificates)
    for region, recovery in zip(quadrotor.to_synthesise, ready.system.recovery_sets):
        assert recovery.law.gain == ready.system.gain
        assert recovery.polytope.contains(asked(quadrotor, region.name).around)


def test_the_paper_s_landing_box_is_not_control_invariant(quadrotor: SystemDescription, found: Synthesis) -> None:
    system = found.system
    box = asked(quadrotor, "grass_north").inside.polytope().intersection(quadrotor.state_set)
    escape = facet_escape(system.A, system.B, system.b, box, system.input_set, system.total_disturbance)
    assert escape is not None and box.contains(escape.state)
    assert escape.amount is not None and escape.amount > 0 and escape.facet is not None
    g = matrix([[box.G[escape.facet, j] for j in range(12)]], 12)
    assert escape.best_input is not None
    for u in (escape.best_input, zeros(3), vector([100, -100, 100]), vector([-100, 100, -100])):
        reached = (g * system.next_state(escape.state, u))[0, 0] + system.total_disturbance.support(g.transpose())
        assert reached - box.h[escape.facet, 0] >= escape.amount


def test_a_vertex_without_admissible_input_is_found() -> None:
    # Two facets that no single input can keep at once, though each can be kept alone.
    A, B = identity(2), matrix([[1], [-1]], 1)
    S, U = Polytope.box([0, 0], [1, 1]), interval(1)
    W = Disturbance(2, (Summand("w", identity(2), vector([0, 0]), vector(["1/2", "1/2"])),))
    assert facet_escape(A, B, zeros(2), S, U, W) is None
    escape = point_escape(A, B, zeros(2), S, U, W, box_vertices(S))
    assert escape is not None and escape.state.entries() == [1, 1]
    assert point_escape(A, B, zeros(2), S, U, Disturbance(2), box_vertices(S)) is None


def test_a_region_without_room_fails_with_its_axis(quadrotor: SystemDescription) -> None:
    content = asked(quadrotor, "parking")
    lower, upper = list(content.inside.lower), list(content.inside.upper)
    lower[4], upper[4] = fmpq(-301, 100), fmpq(-299, 100)
    tight = RecoveryRegion("parking", SynthesisRequest(Box(tuple(lower), tuple(upper)), content.around))
    regions = tuple(tight if r.name == "parking" else r for r in quadrotor.recovery_regions)
    with pytest.raises(SynthesisFailed, match=r"recovery_sets.parking: .*axis of y, vy, ay, jy"):
        synthesise(replace(quadrotor, recovery_regions=regions))


def test_a_given_set_that_is_not_invariant_is_named_with_a_state() -> None:
    cart = load(EXAMPLES / "double-integrator.yaml")
    box = Polytope.box([-7, -1], [-3, 1])
    bad = RecoveryRegion("left_pad", GivenSet(box, None, vector([-5])))
    regions = (bad, *cart.recovery_regions[1:])
    with pytest.raises(NotAssured, match="not robustly invariant.*x = "):
        assured(replace(cart, recovery_regions=regions))


FORK = """
schema_version: 1
name: fork
dt: 1
horizon: 4
consensus_horizon: 1
quantum: 0
states: [x, y]
inputs: [u]
dynamics:
  A: [[1, 0], [0, 1]]
  B: [[0], [1]]
  b: [1, 0]
state_set:
  box: {y: ±4}
input_set:
  box: {u: ±1}
tube_gain: synthesise
recovery_sets:
  left:
    synthesise: {inside: {y: [1, 3]}, around: {x: 0, y: 2}}
  right:
    synthesise: {inside: {y: [-3, -1]}, around: {x: 0, y: -2}}
initial:
  point: {x: 0, y: 0}
costs:
  state: {y: 1}
  input: {u: 1}
"""


def test_a_plant_without_equilibrium_has_recovery_sets() -> None:
    ready = assured(loads(FORK))
    left = ready.system.recovery("left").polytope
    assert left.contains(vector([10**6, 2])) and not left.contains(vector([0, 4]))


tenths = st.integers(-9, 9).map(lambda k: fmpq(k, 10))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_synthesis_is_assured_or_fails_by_name(data: st.DataObject) -> None:
    """Random coupled models, stable and not: what is synthesised is proved, and nothing else happens than a named failure."""
    n = data.draw(st.integers(1, 3), label="n")
    m = data.draw(st.integers(1, 2), label="m")
    A = identity(n) + fmpq_mat(n, n, data.draw(st.lists(tenths, min_size=n * n, max_size=n * n), label="A - I"))
    B = fmpq_mat(n, m, data.draw(st.lists(tenths, min_size=n * m, max_size=n * m), label="B"))
    b = vector(data.draw(st.lists(tenths, min_size=n, max_size=n), label="b"))
    w = data.draw(st.sampled_from(["0", "1/1000", "1/10"]), label="w")
    box = Box((fmpq(-1),) * n, (fmpq(2),) * n)
    region = RecoveryRegion("pad", SynthesisRequest(box, vector(["1/2"] * n)))
    description = SystemDescription(
        "random", fmpq(1), tuple(Variable(f"x{i}") for i in range(n)), tuple(Variable(f"u{i}") for i in range(m)), A, B, b,
        Box((fmpq(-5),) * n, (fmpq(5),) * n).polytope(), Box((fmpq(-10),) * m, (fmpq(10),) * m).polytope(), None, (region,),
        Box((fmpq(0),) * n, (fmpq(0),) * n), Costs(identity(n), identity(m), identity(n), zeros(n)), 5, 2,
        (DescribedSummand("w", identity(n), vector(["-" + w] * n), vector([w] * n)),),
    )  # fmt: skip
    try:
        found = synthesise(description)
    except (SynthesisFailed, NotStabilisable) as error:
        event(type(error).__name__)
        return
    event("assured")
    ready = assured_system(found.system)
    recovery = ready.system.recovery("pad")
    x = ready.certificates[0].point
    for _ in range(20):
        x = ready.system.next_state(x, recovery.law(x))
        assert recovery.polytope.contains(x)
