"""Theorem 1 by exact simulation: generated systems, an adversary that owns everything the theorem does not assume.

The counts are asserted: a run in which the interesting cases never came up proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import fmpq, fmpq_mat
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aesop_verified.kernel.events import Alarm, AlarmCause, Choice, Nominal, Recovering, Row, StepInput, StepResult
from aesop_verified.kernel.machine import start, transition
from aesop_verified.kernel.plan import CertifiedPlan, Plan, check_plan
from aesop_verified.kernel.rational import vector
from aesop_verified.testing import Instance, Powers, Tally, adversarial_flight, instances
from aesop_verified.testing.textbook import constant_speed_fork, fork_plan, integrator_fork, proved, sequence

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
_ONLY_WITH_BROKEN_ASSUMPTIONS = {Row.OVERRIDE}
_ROWS_OF_BROKEN_ASSUMPTIONS = [Row.OVERRIDE, Row.SUSPENDED, Row.CERTIFIED_AGAIN, Row.RESUME, Row.RESTART, Row.PLAN_REFUSED]
_KINDS = ("coupled", "decoupled", "n=1", "n=2", "n=3", "n=4", "m=1", "m=2", "no equilibrium", "equilibrium",
          "W={0}", "W", "quantum 0", "quantum", "exact state", "estimate error")  # fmt: skip


def _steps(instance: Instance) -> int:
    """Past an alarm in the first four steps, the deadline, and T + 1 steps of recovery."""
    s = instance.system
    return min(18, s.horizon + s.consensus_horizon + 6)


def test_theorem_holds_whatever_the_solver_the_detector_and_the_reasoner_do(report_tally: Callable[[Tally], None]) -> None:
    tally = Tally()

    @settings(max_examples=320, deadline=None, suppress_health_check=_SLOW)
    @given(instances(), st.data())
    def fly(instance: Instance, data: st.DataObject) -> None:
        flight = adversarial_flight(instance.assured, instance.first_plan, data, powers=Powers(steps=_steps(instance)))
        flight.check_claims()
        assert flight.keeps_assumptions or any(s.read.measurement is None for s in flight.steps)
        tally.add(flight, instance.tags)

    fly()
    report_tally(tally)
    missing = [row.value for row in Row if tally.rows[row] == 0 and row not in _ONLY_WITH_BROKEN_ASSUMPTIONS]
    assert not missing, f"rows that never ran: {missing}"
    assert 4 * tally.kinds["all four at once"] >= tally.flights, tally.lines()
    assert 2 * tally.kinds["assumptions kept"] >= tally.flights, tally.lines()
    assert all(tally.kinds[kind] * 50 >= tally.flights for kind in _KINDS), tally.lines()


def test_broken_assumptions_leave_claim_4_and_honesty(report_tally: Callable[[Tally], None]) -> None:
    """Jumps, lies of the sensor, overrides and missed steps: an input in U always, `certified` only when it is so."""
    tally = Tally()

    @settings(max_examples=160, deadline=None, suppress_health_check=_SLOW)
    @given(instances(), st.data())
    def fly(instance: Instance, data: st.DataObject) -> None:
        powers = Powers(steps=_steps(instance), breaks_assumptions=True)
        flight = adversarial_flight(instance.assured, instance.first_plan, data, powers=powers)
        flight.check_claims()
        tally.add(flight, instance.tags)

    fly()
    report_tally(tally)
    missing = [row.value for row in _ROWS_OF_BROKEN_ASSUMPTIONS if tally.rows[row] == 0]
    assert not missing, f"rows that never ran: {missing}"
    assert 4 * (tally.flights - tally.kinds["assumptions kept"]) >= tally.flights, tally.lines()
    assert tally.kinds["steps"] > tally.kinds["certified steps"] > tally.kinds["steps"] // 2


@settings(max_examples=60, deadline=None, suppress_health_check=_SLOW)
@given(st.data())
def test_the_adversary_flies_a_system_of_ones_own(data: st.DataObject) -> None:
    assured = integrator_fork(estimate="1/64")
    adversarial_flight(assured, fork_plan(assured), data).check_claims()


@settings(max_examples=40, deadline=None, suppress_health_check=_SLOW)
@given(st.data())
def test_a_fork_at_constant_speed_has_no_equilibrium_and_flies(data: st.DataObject) -> None:
    assured = constant_speed_fork()
    adversarial_flight(assured, _lanes(), data).check_claims()


def _lanes() -> CertifiedPlan:
    north, south = sequence(0, 0, 1, 0, 0), sequence(0, 0, -1, 0, 0)
    plan = Plan(("north", "south"), 1, 4, north, (north, south))
    return proved(check_plan(constant_speed_fork().system, vector([0, 0]), plan))


def test_recovering_sets_are_reached_in_time_and_kept_at_every_delay() -> None:
    """Claim 3 exhaustively on the fork: every time of the answer, both choices, w at the ends of W in turn."""
    assured = integrator_fork()
    s, first = assured.system, fork_plan(assured)
    for answered_at in range(1, s.consensus_horizon + 2):
        for name in s.names:
            for w in (fmpq(1, 10), fmpq(-1, 10)):
                begun = start(assured, StepInput(first.state, candidates=(first.plan,), alarm=Alarm(AlarmCause.SCORE, "o")))
                assert isinstance(begun, StepResult)
                x, result = first.state, begun
                for t in range(1, 3 * s.horizon):
                    x = s.next_state(x, result.input) + vector([w if t % 3 else -w])
                    result = transition(assured, result.state, StepInput(x, answer=Choice(0, name) if t == answered_at else None))
                    assert result.certified
                    if t >= answered_at:
                        assert result.state.mode == Recovering(name, t)
                    if t >= s.horizon + 1:
                        assert s.recovery(name).polytope.contains(x)


@example(seeds=[0] * 40)
@settings(max_examples=10, deadline=None)
@given(seeds=st.lists(st.integers(-3, 3), min_size=40, max_size=40))
def test_numbers_stay_short_when_the_solver_never_answers(seeds: list[int]) -> None:
    """Claim 4, bounded time: the held plan's numbers do not grow with the length of the flight."""
    assured = integrator_fork(quantum="1/1024")
    s, first = assured.system, fork_plan(assured)
    begun = start(assured, StepInput(first.state, candidates=(first.plan,)))
    assert isinstance(begun, StepResult)
    result, x, lengths = begun, first.state, []
    for step in range(240):
        x = s.next_state(x, result.input) + vector([fmpq(seeds[step % 40], 32)])
        result = transition(assured, result.state, StepInput(x))
        assert result.certified and result.state.mode == Nominal()
        lengths.append(max(_bits(u) for u in result.state.held.plan.recovery))
    assert max(lengths[120:]) <= max(lengths[:120])


def _bits(m: fmpq_mat) -> int:
    return max(abs(v.p).bit_length() + v.q.bit_length() for v in m.entries())
