"""A flight against an adversary that owns everything Theorem 1 does not assume.

It owns the solver, the detector, the reasoner, the disturbance within W (vertices included), the estimation
error within E, and which measurements arrive; if it is allowed to break assumptions, also jumps of the plant
and of the measurement, inputs that are not applied, and an operator who overrides.

Use it on your own system:

    robot = assured(load("my-robot.yaml"))  # from aesop_verified.recovery and aesop_verified.system
    plan = first_plan(robot.system, vector([14, 0, 4, 0]))  # from here, and aesop_verified.kernel.rational

    @settings(deadline=None)
    @given(st.data())
    def test_my_robot(data):
        powers = Powers(steps=robot.system.horizon + robot.system.consensus_horizon + 5)
        adversarial_flight(robot, plan, data, powers=powers).check_claims()
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq, fmpq_mat
from hypothesis import strategies as st

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.events import (
    Alarm,
    AlarmCause,
    Hold,
    MachineState,
    Operator,
    Override,
    Resume,
    Row,
    StartRefused,
    StepInput,
    StepResult,
    Suspended,
)
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.kernel.machine import requests, restarted, start, transition
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import CertifiedPlan, Plan
from aesop_verified.testing.flight import Flight, FlightStep
from aesop_verified.testing.misbehaviour import (
    ReasonerAdversary,
    Solver,
    SolverAdversary,
)
from aesop_verified.testing.planner import HonestPlanner


@dataclass(frozen=True)
class Powers:
    """What the adversary may do beyond the solver, the detector, the reasoner, W and E.

    Attributes:
        steps: length of the flight, at most; the flight goes on past the deadline and T + 1 steps of recovery.
        breaks_assumptions: jumps of the plant and the sensor, overrides, restarts that miss steps.
        missing_measurements: whether measurements may be missing.
    """

    steps: int = 16
    breaks_assumptions: bool = False
    missing_measurements: bool = True


def adversarial_flight(
    assured: AssuredSystem,
    first_plan: CertifiedPlan,
    data: st.DataObject,
    *,
    powers: Powers = Powers(),
    planner: HonestPlanner | None = None,
) -> Flight:
    """Fly the system from the state of its first plan against the adversary that `data` draws.

    Args:
        assured: a system whose recovery sets are proved invariant.
        first_plan: certified, for the full (K, T); its state is the first estimate.
        data: the argument of a test under `@given(st.data())`.
        powers: what the adversary may do.
        planner: proposes plans when the adversary lets the solver be honest; built for the system when None.

    Returns:
        The record; `check_claims()` asserts Theorem 1 about it.

    Raises:
        AssertionError: when the loop refuses to start with the certified plan.
    """
    return _Adversary(assured, first_plan, data, powers, planner or HonestPlanner(assured.system)).fly()


_SOLVERS: dict[str, list[Solver]] = {
    "honest": [Solver.HONEST],
    "dead": [Solver.SILENT],
    "mixed": list(Solver),
    "wrong": [s for s in Solver if s is not Solver.HONEST],
}


class _Adversary:
    def __init__(self, assured: AssuredSystem, first: CertifiedPlan, data: st.DataObject, powers: Powers, planner: HonestPlanner) -> None:
        self.assured, self.first, self.data, self.powers = assured, first, data, powers
        self.system: System = assured.system
        self.solver = SolverAdversary(self.system, planner, data)
        self.reasoner = ReasonerAdversary(self.system, data)
        self.behaviours = _SOLVERS[data.draw(st.sampled_from(sorted(_SOLVERS)), label="solver")]
        self.alarm_at = data.draw(st.integers(0, 3), label="first alarm")
        self.nags = data.draw(st.booleans(), label="detector nags")
        self.noise = data.draw(st.sampled_from(["vertices", "any", "zero"]), label="disturbance")
        self.trouble = data.draw(st.integers(0, 2), label="trouble") if powers.missing_measurements or powers.breaks_assumptions else 0
        self.rows: list[Row] = []

    def chance(self, one_in: int, label: str) -> bool:
        """Whether something rare happens (shrinks to no)."""
        return bool(self.data.draw(st.integers(0, one_in - 1), label=label) == one_in - 1)

    def point(self, D: Disturbance, *, zero: bool) -> fmpq_mat:
        """A point of a disturbance set; 0 if `zero` says that 0 is in it and the noise is to be 0."""
        total = fmpq_mat(D.n, 1)
        if zero and self.noise == "zero":
            return total
        parts = 1 if self.noise == "vertices" else 4
        for s in D.summands:
            shares = [fmpq(self.data.draw(st.integers(0, parts), label=f"{s.name} share"), parts) for _ in range(s.map.ncols())]
            v = [lo + (hi - lo) * share for share, lo, hi in zip(shares, s.lower.entries(), s.upper.entries())]
            total = total + s.map * fmpq_mat(len(v), 1, v)
        return total

    def fly(self) -> Flight:
        """The whole flight."""
        estimate = self.first.state
        truth = estimate - self.point(self.system.estimate_error, zero=True)
        read = StepInput(estimate, candidates=(self.first.plan,), alarm=self.alarm(0))
        if self.chance(4, "start without a plan"):
            wrong = (Plan(self.first.plan.options, 0, 0, fmpq_mat(self.system.m, 1), (fmpq_mat(self.system.m, 1),) * len(self.first.plan.options)),)
            refused = start(self.assured, StepInput(estimate, candidates=wrong))
            assert isinstance(refused, StartRefused) and refused.reasons, f"started with a plan for other horizons: {refused}"
            self.rows.append(Row.START_REFUSED)
        begun = start(self.assured, read)
        assert isinstance(begun, StepResult), f"the loop refused to start with the certified first plan: {begun}"
        steps = [FlightStep(truth, None, read, begun, disturbed=False, deceived=False)]
        if begun.question is not None:
            self.reasoner.ask(begun.question, 0)
        for t in range(1, self.powers.steps):
            steps.append(self.step(t, steps[-1]))
        return Flight(self.assured, tuple(steps), tuple(self.rows))

    def step(self, t: int, last: FlightStep) -> FlightStep:
        """One step of plant, sensor, reasoner, solver and loop."""
        disturbed = self.breaks(8, "jump of the plant")
        truth = self.system.next_state(last.true_state, last.result.input) + self.point(self.system.disturbance, zero=False)
        if disturbed:
            truth = truth + self.jump()
        state = last.result.state
        if self.trouble and self.chance(12, "restart"):
            missed = self.data.draw(st.integers(0, 2), label="missed steps") if self.powers.breaks_assumptions else 0
            state, events = restarted(self.assured, state, missed)
            self.rows += [e.row for e in events]
            disturbed = disturbed or missed > 0
        error = self.point(self.system.estimate_error, zero=True)
        deceived = self.breaks(10, "jump of the measurement")
        if deceived:
            error = error + self.jump()
        missing = self.powers.missing_measurements and self.trouble > 0 and self.chance(6, "missing measurement")
        read = StepInput(
            None if missing else truth + error,
            answer=self.reasoner.readable(t),
            alarm=self.alarm(t),
            operator=self.operator(state),
        )
        read = self.with_candidates(state, read)
        result = transition(self.assured, state, read)
        if missing:
            # The loop worked with its prediction, which is the true state only where nothing disturbs it.
            deceived = result.state.held.state != truth
        if result.question is not None:
            self.reasoner.ask(result.question, t)
        return FlightStep(truth, state, read, result, disturbed, deceived)

    def breaks(self, one_in: int, label: str) -> bool:
        return self.powers.breaks_assumptions and self.trouble > 0 and self.chance(one_in, label)

    def jump(self) -> fmpq_mat:
        """Outside W and E as a rule, sometimes by very little, sometimes by very much."""
        size = self.data.draw(st.sampled_from([fmpq(1, 2**40), fmpq(1, 4), fmpq(2), fmpq(1000)]), label="size of the jump")
        signs = [self.data.draw(st.integers(-1, 1), label="direction of the jump") for _ in range(self.system.n)]
        return fmpq_mat(self.system.n, 1, [size * s for s in signs])

    def alarm(self, t: int) -> Alarm | None:
        """The detector: fires when it likes, by score or by a fault of its own."""
        if t == self.alarm_at or self.chance(2 if self.nags else 8, "another alarm"):
            cause = self.data.draw(st.sampled_from(list(AlarmCause)), label="cause")
            return Alarm(cause, f"observation {t}")
        return None

    def operator(self, state: MachineState) -> Operator | None:
        """A person who holds and resumes, and who overrides when assumptions may be broken."""
        if isinstance(state.mode, Suspended) and self.powers.breaks_assumptions and self.chance(4, "operator resumes"):
            return Resume("pilot")
        if not (self.trouble and self.chance(10, "operator")):
            return None
        kinds = ["hold", "resume", "override"] if self.powers.breaks_assumptions else ["hold", "resume"]
        kind = self.data.draw(st.sampled_from(kinds), label="command")
        if kind == "override":
            return Override("pilot", fmpq_mat(self.system.m, 1, [fmpq(self.data.draw(st.integers(-9, 9), label="stick"))] * self.system.m))
        return Hold("pilot") if kind == "hold" else Resume("pilot")

    def with_candidates(self, state: MachineState, read: StepInput) -> StepInput:
        """What the solver delivers for what the loop asks of the planner in this step."""
        plans: list[Plan] = []
        x = read.measurement if read.measurement is not None else state.held.next_state
        for request in requests(self.assured, state, read):
            behaviour = self.data.draw(st.sampled_from(self.behaviours), label="solver's behaviour")
            plans += self.solver.candidates(state.held, x, request, behaviour)
        return StepInput(read.measurement, read.answer, tuple(plans), read.alarm, read.operator)
