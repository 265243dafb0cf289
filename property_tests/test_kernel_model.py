"""Disturbances, tightening, systems and invariance: hand values and independent recomputation."""

from __future__ import annotations

import dataclasses
import itertools
import json

import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.inclusion import FarkasRows, WitnessPoint
from aesop_verified.kernel.invariance import (
    RecoveryEvidence,
    RecoveryStatements,
    assure,
    check_recovery_set,
)
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import identity, matrix, rows_of, vector, zeros
from aesop_verified.kernel.verdict import Proved, Refuted, Unknown
from aesop_verified.testing import Instance, instances
from aesop_verified.testing.textbook import integrator_fork, interval_disturbance


def line(**changes: object) -> System:
    """x+ = x + u on [-10, 10] with u in [-1, 1] and one recovery set [-1, 1] under u = -x + 0."""
    defaults: dict[str, object] = {
        "A": identity(1), "B": identity(1), "b": vector([0]), "X": Polytope.box([-10], [10]), "U": Polytope.box([-1], [1]),
        "disturbance": Disturbance(1), "estimate_error": Disturbance(1), "gain": matrix([[-1]], 1),
        "recovery_sets": (RecoverySet("home", Polytope.box([-1], [1]), AffineLaw(matrix([[-1]], 1), vector([0]))),),
        "horizon": 3, "consensus_horizon": 1, "quantum": fmpq(0), "fallback_order": ("home",),
    }  # fmt: skip
    return System(**{**defaults, **changes})  # type: ignore[arg-type]


# --- disturbances -------------------------------------------------------------------------------------------------


def test_support_of_a_segment_and_of_a_lopsided_box() -> None:
    segment = Summand("gust", vector([1, -2]), vector([-1]), vector([3]))
    assert segment.support(vector([1, 0])) == 3 and segment.support(vector([-1, 0])) == 1
    assert segment.support(vector([0, 1])) == 2 and segment.support(vector([0, -1])) == 6
    box = Summand("drift", identity(2), vector([0, "-1/2"]), vector([1, "-1/4"]))
    assert box.support(vector([0, 1])) == fmpq(-1, 4) and box.support(vector([0, -1])) == fmpq(1, 2)
    both = Disturbance(2, (segment, box))
    assert both.support(vector([1, 1])) == 1 + 1 - fmpq(1, 4)
    assert both.supports(matrix([[1, 1], [1, 0], [0, 0]], 2)) == [fmpq(7, 4), fmpq(4), fmpq(0)]
    assert both.supports(zeros(0, 2)) == []
    assert both.bounding_box().same_rows(Polytope.box([-1, "-13/2"], [4, "7/4"]))
    assert not both.is_zero and not segment.is_zero


def test_the_zero_disturbance_and_its_disguises() -> None:
    nothing = Disturbance(2)
    assert nothing.is_zero and nothing.support(vector([5, 5])) == 0 and nothing.supports(identity(2)) == [fmpq(0), fmpq(0)]
    flat = Summand("off", identity(2), vector([0, 0]), vector([0, 0]))
    mapped = Summand("blocked", zeros(2, 1), vector([-1]), vector([1]))
    assert flat.is_zero and mapped.is_zero and nothing.plus([flat, mapped]).is_zero
    assert not Summand("bias", vector([0, 1]), vector([1]), vector([1])).is_zero
    assert not Summand("bias", vector([0, -1]), vector([0]), vector([1])).is_zero


def test_w_outside_the_bounding_box_is_named() -> None:
    W = Disturbance(2, (Summand("w", identity(2), vector([-1, -1]), vector([1, 2])),))
    assert W.excess(vector([1, 2])) is None and W.excess(vector([0, 0])) is None
    assert W.excess(vector([0, "5/2"])) == (1, fmpq(1, 2))
    assert W.excess(vector([-3, "5/2"])) == (0, fmpq(2))
    assert Disturbance(2).excess(vector([0, "1/9"])) == (1, fmpq(1, 9))


def test_summands_check_their_bounds() -> None:
    Summand("point", identity(1), vector([1]), vector([1]))
    with pytest.raises(UsageError, match="'w' has lower bound 1 above upper bound 0 at index 1"):
        Summand("w", identity(2), vector([0, 1]), vector([0, 0]))
    for lower, upper in ((vector([0]), vector([0, 0])), (vector([0, 0]), vector([0]))):
        with pytest.raises(UsageError, match="the summand 'w'"):
            Summand("w", identity(2), lower, upper)
    with pytest.raises(UsageError, match="map of the summand 'w'"):
        Disturbance(2, (Summand("w", identity(1), vector([0]), vector([0])),))


# --- tightening: R_k by its vertices --------------------------------------------------------------------------------


def vertices_of(W: Disturbance) -> list[fmpq_mat]:
    points = [zeros(W.n)]
    for s in W.summands:
        corners = itertools.product(*zip(s.lower.entries(), s.upper.entries()))
        ends = {tuple((s.map * vector(c)).entries()) for c in corners}
        points = [p + vector(e) for p in points for e in ends]
    return list({tuple(p.entries()): p for p in points}.values())


def test_tightening_by_hand() -> None:
    """Acl = 1/2, W = [-1, 1]: R_k = [-(2 - 2^(1-k)), ...]; F = -1/2, so F R_k is half of it."""
    half = matrix([["-1/2"]], 1)
    s = line(gain=half, disturbance=interval_disturbance(1), recovery_sets=(RecoverySet("home", Polytope.box([-4], [4]), AffineLaw(half, vector([0]))),))
    assert s.tightening.states == tuple((10 - r, 10 - r) for r in (fmpq(0), fmpq(1), fmpq(3, 2), fmpq(7, 4), fmpq(15, 8)))
    assert s.tightening.inputs == tuple((1 - r / 2, 1 - r / 2) for r in (fmpq(0), fmpq(1), fmpq(3, 2), fmpq(7, 4), fmpq(15, 8)))
    assert s.tightening.terminals["home"][4] == (4 - fmpq(15, 8),) * 2
    assert [c[0, 0] for c in s.tightening.corrections] == [fmpq(-1, 2), fmpq(-1, 4), fmpq(-1, 8), fmpq(-1, 16)]
    assert s.tightening.state_set(s, 2).same_rows(Polytope.box(["-17/2"], ["17/2"]))
    assert s.tightening.input_set(s, 1).same_rows(Polytope.box(["-1/2"], ["1/2"]))
    assert s.tightening.recovery_set(s, "home", 1).same_rows(Polytope.box([-3], [3]))
    bare = line(X=Polytope.whole_space(1))
    assert bare.tightening.state_set(bare, 3).rows == 0


@settings(max_examples=15, deadline=None)
@given(instances(max_states=2, max_inputs=1, max_sets=2))
def test_tightening_is_the_support_of_the_vertices_of_R_k(instance: Instance) -> None:
    s = instance.system
    corners = vertices_of(s.total_disturbance)
    reach: list[fmpq_mat] = [zeros(s.n)]
    for k in range(3):
        for sets, offsets, gain in (
            (s.X, s.tightening.states[k], identity(s.n)),
            (s.input_set, s.tightening.inputs[k], s.gain),
            *((r.polytope, s.tightening.terminals[r.name][k], identity(s.n)) for r in s.recovery_sets),
        ):
            for g, h, tightened in zip(rows_of(sets.G), sets.h.entries(), offsets):
                normal = fmpq_mat(1, len(g), g) * gain
                assert h - tightened == max((normal * r)[0, 0] for r in reach)
        if k < 2:
            moved = [s.closed_loop * r + w for r in reach for w in corners]
            reach = list({tuple(p.entries()): p for p in moved}.values())


# --- systems ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": zeros(1, 2)}, "A has shape 1 x 2"),
        ({"b": vector([0, 0])}, "b has shape 2 x 1"),
        ({"X": Polytope.whole_space(2)}, "facet matrix of X"),
        ({"U": Polytope.whole_space(2)}, "facet matrix of U"),
        ({"gain": zeros(1, 2)}, "tube gain F"),
        ({"disturbance": Disturbance(2)}, "dimensions 2 and 1, expected 1"),
        ({"estimate_error": Disturbance(2)}, "dimensions 1 and 2, expected 1"),
        ({"recovery_sets": ()}, "at least one and distinct"),
        ({"fallback_order": ()}, "expected each of"),
        ({"fallback_order": ("home", "home")}, "expected each of"),
        ({"fallback_order": ("away",)}, "expected each of"),
        ({"consensus_horizon": 3}, "0 <= K < T"),
        ({"consensus_horizon": -1}, "0 <= K < T"),
        ({"quantum": fmpq(-1)}, "quantum"),
        ({"recovery_sets": (RecoverySet("home", Polytope.whole_space(2), AffineLaw(matrix([[-1]], 1), vector([0]))),)}, "facet matrix of the recovery set"),
        ({"recovery_sets": (RecoverySet("home", Polytope.box([-1], [1]), AffineLaw(zeros(2, 1), vector([0]))),)}, "law's gain"),
        ({"recovery_sets": (RecoverySet("home", Polytope.box([-1], [1]), AffineLaw(matrix([[-1]], 1), vector([0, 0]))),)}, "law's offset"),
        ({"estimate_error": Disturbance(1, (Summand("sensor", identity(1), vector(["1/9"]), vector([1])),))}, "does not allow 0"),
        ({"estimate_error": Disturbance(1, (Summand("sensor", identity(1), vector([-1]), vector(["-1/9"])),))}, "does not allow 0"),
    ],
)  # fmt: skip
def test_systems_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        line(**changes)


def test_edges_of_what_is_accepted() -> None:
    assert line(consensus_horizon=0, horizon=1).horizon == 1 and line(consensus_horizon=2).consensus_horizon == 2
    twice = RecoverySet("home", Polytope.box([0], [0]), AffineLaw(matrix([[-1]], 1), vector([0])))
    with pytest.raises(UsageError, match="distinct"):
        line(recovery_sets=(twice, twice), fallback_order=("home", "home"))
    assert line(estimate_error=Disturbance(1, (Summand("sensor", identity(1), vector([0]), vector([1])),))).n == 1
    assert line(estimate_error=Disturbance(1, (Summand("sensor", identity(1), vector([-1]), vector([0])),))).m == 1


def test_another_gain_needs_a_world_without_disturbance() -> None:
    other = matrix([["-1/2"]], 1)
    assert line(gain=other).closed_loop == matrix([["1/2"]], 1)
    for changes in ({"quantum": fmpq(1, 2**30)}, {"disturbance": interval_disturbance("1/9")}, {"estimate_error": interval_disturbance("1/9")}):
        with pytest.raises(UsageError, match="another gain"):
            line(gain=other, **changes)
    assert line(gain=other, disturbance=interval_disturbance(0)).n == 1


def test_the_sum_of_what_disturbs_the_estimate() -> None:
    """W = 1/16, quantum 1/4 (1/8 either way), E = 1/8 with A = 2: E + 2 E = 3/8; together 9/16."""
    F = matrix([[-2]], 1)
    s = line(
        A=matrix([[2]], 1), gain=F, disturbance=interval_disturbance("1/16"), estimate_error=interval_disturbance("1/8", name="sensor"), quantum=fmpq(1, 4),
        recovery_sets=(RecoverySet("home", Polytope.box([-1], [1]), AffineLaw(F, vector([0]))),),
    )  # fmt: skip
    assert s.total_disturbance.support(vector([1])) == fmpq(9, 16)
    assert s.measured_disturbance.support(vector([1])) == fmpq(7, 16)
    assert [x.name for x in s.total_disturbance.summands] == ["wind", "estimate_error_next.sensor", "estimate_error_now.sensor", "input_rounding"]
    assert s.first_state_set.same_rows(Polytope.box(["-79/8"], ["79/8"]))
    assert s.input_set.same_rows(Polytope.box([-1], [1]))
    lopsided = line(estimate_error=Disturbance(1, (Summand("sensor", identity(1), vector([0]), vector([1])),)))
    assert lopsided.first_state_set.same_rows(Polytope.box([-9], [10]))  # x = xhat - e with e in [0, 1]


def test_a_summand_called_input_rounding_is_a_summand_like_any_other() -> None:
    """It was once left out of the measured disturbance by its name, and a blind step then counted as certified."""
    s = integrator_fork(summand="input_rounding").system
    assert s.measured_disturbance.support(vector([1])) == fmpq(1, 10)
    assert line().total_disturbance.summands == ()
    assert line().measured_disturbance.is_zero and line(quantum=fmpq(1, 8)).measured_disturbance.is_zero


def test_next_state_and_laws_by_hand() -> None:
    s = line(b=vector([3]))
    assert s.next_state(vector([1]), vector([2])) == vector([6])
    assert s.recovery("home").law(vector([5])) == vector([-5])
    with pytest.raises(UsageError, match="no recovery set is named 'away'"):
        s.recovery("away")
    fork = integrator_fork().system
    assert fork.fallback(("right", "left")) == "left" and fork.fallback(("right",)) == "right" and fork.names == ("left", "right")


def test_the_hash_speaks_of_every_datum_and_of_nothing_else() -> None:
    base = line()
    assert base.hash() == line().hash() and len(base.hash()) == 64
    json.dumps(base.canonical())
    home = base.recovery_sets[0]
    changes: list[dict[str, object]] = [
        {"A": matrix([[2]], 1)}, {"B": matrix([[2]], 1)}, {"b": vector([1])}, {"X": Polytope.box([-10], [11])}, {"X": Polytope.whole_space(1)},
        {"U": Polytope.box([-1], [2])}, {"disturbance": interval_disturbance(1)}, {"disturbance": interval_disturbance(1, name="gust")},
        {"estimate_error": interval_disturbance(1)}, {"gain": matrix([[-2]], 1)}, {"horizon": 4}, {"consensus_horizon": 2},
        {"recovery_sets": (dataclasses.replace(home, name="base"),), "fallback_order": ("base",)},
        {"recovery_sets": (dataclasses.replace(home, polytope=Polytope.box([-1], [2])),)},
        {"recovery_sets": (dataclasses.replace(home, law=AffineLaw(home.law.gain, vector([1]))),)},
        {"quantum": fmpq(1, 2**30)},
    ]  # fmt: skip
    hashes = {base.hash(), *(line(**c).hash() for c in changes)}
    assert len(hashes) == len(changes) + 1


# --- invariance -----------------------------------------------------------------------------------------------------


def offset_counterexample(offset: str, law: FarkasRows | WitnessPoint, invariance: FarkasRows | WitnessPoint) -> object:
    """Theory 6: x+ = x + u + w, F = -1, g, X_R = [-1, 1], W = [-3/4, 3/4]: x+ = g + w."""
    home = RecoverySet("home", Polytope.box([-1], [1]), AffineLaw(matrix([[-1]], 1), vector([offset])))
    s = line(U=Polytope.box([-2], [2]), disturbance=interval_disturbance("3/4"), recovery_sets=(home,))
    return check_recovery_set(s, "home", RecoveryEvidence(vector([0]), invariance, FarkasRows(identity(2)), law))


LAW = FarkasRows(matrix([[0, 1], [1, 0]], 2))


def test_the_offset_of_the_law_counts() -> None:
    none = FarkasRows(zeros(2, 2))
    assert isinstance(offset_counterexample("0", LAW, none), Proved)
    assert isinstance(offset_counterexample("1/4", LAW, none), Proved)
    just = offset_counterexample("1/2", LAW, none)
    assert isinstance(just, Unknown) and "too weak" in just.reason and just.reason.startswith("invariance")
    refuted = offset_counterexample("1/2", LAW, WitnessPoint(vector([1])))
    assert isinstance(refuted, Refuted) and refuted.witness.statement == "invariance"
    assert refuted.witness.escape.amount == fmpq(1, 4)  # the next state reaches 5/4
    assert isinstance(offset_counterexample("-1/2", LAW, WitnessPoint(vector([1]))), Refuted)


def test_the_drift_b_counts() -> None:
    """x+ = x + u + 1/2 with u = -x: every state goes to 1/2, which is in [0, 1] and not in [-1, 0]."""
    none = FarkasRows(zeros(2, 2))
    for low, high, expected in ((0, 1, Proved), (-1, 0, Unknown)):
        home = RecoverySet("home", Polytope.box([low], [high]), AffineLaw(matrix([[-1]], 1), vector([0])))
        s = line(b=vector(["1/2"]), recovery_sets=(home,))
        offered = RecoveryEvidence(vector([0]), none, FarkasRows(identity(2)), LAW)
        assert isinstance(check_recovery_set(s, "home", offered), expected)


def test_each_of_the_three_statements_is_needed() -> None:
    none = FarkasRows(zeros(2, 2))
    s = line(disturbance=interval_disturbance("3/4"))
    good = RecoveryEvidence(vector([0]), none, FarkasRows(identity(2)), LAW)
    proved = check_recovery_set(s, "home", good)
    assert isinstance(proved, Proved) and proved.certificate.system_hash == s.hash() and proved.certificate.name == "home"
    outside = check_recovery_set(s, "home", dataclasses.replace(good, point=vector([2])))
    assert isinstance(outside, Unknown) and "point" in outside.reason
    narrow = line(X=Polytope.box([-10], ["1/2"]))
    inside = check_recovery_set(narrow, "home", dataclasses.replace(good, inside=WitnessPoint(vector([1]))))
    assert isinstance(inside, Refuted) and inside.witness.statement == "inside"
    weak = line(U=Polytope.box([-1], ["1/2"]))
    law = check_recovery_set(weak, "home", dataclasses.replace(good, law=WitnessPoint(vector([-1]))))
    assert isinstance(law, Refuted) and law.witness.statement == "law" and law.witness.escape.amount == fmpq(1, 2)
    assert isinstance(check_recovery_set(weak, "home", good), Unknown)
    empty = line(recovery_sets=(RecoverySet("home", Polytope.box([1], [-1]), AffineLaw(matrix([[-1]], 1), vector([0]))),))
    assert isinstance(check_recovery_set(empty, "home", good), Unknown)  # an empty set has no point to show


def test_the_law_must_stay_in_U_after_rounding() -> None:
    """U = [-1, 1] with quantum 3/4 leaves grid inputs up to 3/4; the law needs 1."""
    s = line(quantum=fmpq(3, 4))
    statements = RecoveryStatements.of(s, s.recovery("home"))
    assert statements.law.outer.same_rows(Polytope.box(["-3/4"], ["3/4"]))
    assert statements.invariance.margin == vector(["3/8", "3/8"])


def test_a_system_is_assured_only_as_a_whole() -> None:
    fork = integrator_fork(half_width=0).system
    evidence = {r.name: RecoveryEvidence(r.law.offset, FarkasRows(zeros(2, 2)), FarkasRows(identity(2)), LAW) for r in fork.recovery_sets}
    assured = assure(fork, evidence)
    assert isinstance(assured, Proved) and [c.name for c in assured.certificate.certificates] == ["left", "right"]
    assert assured.certificate.input_anchor == vector([0])
    alone = assure(line(), {"home": RecoveryEvidence(vector(["1/2"]), FarkasRows(zeros(2, 2)), FarkasRows(identity(2)), LAW)})
    assert isinstance(alone, Proved) and alone.certificate.input_anchor == vector(["-1/2"])
    missing = assure(fork, {"left": evidence["left"]})
    assert isinstance(missing, Unknown) and "'right'" in missing.reason
    bad = assure(fork, {**evidence, "right": dataclasses.replace(evidence["right"], law=FarkasRows(zeros(2, 2)))})
    assert isinstance(bad, Unknown) and bad.reason.startswith("law of the recovery set 'right'")
    wrong = dataclasses.replace(evidence["right"], inside=WitnessPoint(vector([2])))
    assert isinstance(assure(fork, {**evidence, "right": wrong}), Unknown)


def test_Z10_for_all_x_exists_u_is_what_a_law_shows() -> None:
    """x+ = 2 x + u on S = U = [-1, 1]: u = -x shows (a); no constant u does, so (b) is refuted for each."""
    a = line(A=matrix([[2]], 1), recovery_sets=(RecoverySet("home", Polytope.box([-1], [1]), AffineLaw(matrix([[-1]], 1), vector([0]))),))
    shown = check_recovery_set(a, "home", RecoveryEvidence(vector([0]), FarkasRows(identity(2)), FarkasRows(identity(2)), LAW))
    assert isinstance(shown, Proved)
    for u, witness in ((0, 1), (1, 1), (-1, -1), ("1/3", 1)):
        constant = RecoverySet("home", Polytope.box([-1], [1]), AffineLaw(zeros(1, 1), vector([u])))
        b = line(A=matrix([[2]], 1), recovery_sets=(constant,))
        one = RecoveryEvidence(vector([0]), WitnessPoint(vector([witness])), FarkasRows(identity(2)), FarkasRows(zeros(2, 2)))
        assert isinstance(check_recovery_set(b, "home", one), Refuted)
