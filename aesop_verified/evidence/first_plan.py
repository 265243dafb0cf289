"""The first plan at the vertices of the initial estimates, and from where each recovery set can be reached.

Plans for one set of options Y (and the full K, T) form a convex set in (state, inputs): certified plans for one
Y at all vertices of a box are plans for every state in it. The planner proposes, the kernel certifies.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.evidence import certificates as files
from aesop_verified.evidence.discharge import first_estimates
from aesop_verified.evidence.obligations import Interval, Ledger, Reach
from aesop_verified.evidence.plan_set import plan_set
from aesop_verified.evidence.wording import Witness, components, quantity, shown
from aesop_verified.kernel.events import Request
from aesop_verified.kernel.inclusion import check_empty
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import Plan, check_plan
from aesop_verified.kernel.rational import text, vector
from aesop_verified.kernel.verdict import Proved, Verdict
from aesop_verified.planning.planner import Planner, PlannerSpec
from aesop_verified.recovery.lp import Infeasible, LinearProgram, Optimal
from aesop_verified.system.description import SystemDescription
from aesop_verified.system.parts import Box

MOST_VERTICES = 1024
_EXACT_ENTRIES = 400_000  # of a plan set's G, above which no exact proof of emptiness is tried
_DOUBLINGS = 8  # of a distance along which X has no bound
_HALVINGS = 6  # of an interval's search: its ends are within 1/64 of the half-range


@dataclass(frozen=True, slots=True, eq=False)
class _Asker:
    """Asks for certified plans that keep a single option over the full horizons."""

    system: System
    planner: Planner

    def plan(self, name: str, state: fmpq_mat) -> Plan | None:
        """A certified plan to `name` from `state`, or None when the planner offered none that certifies."""
        request = Request((name,), True, self.system.consensus_horizon, self.system.horizon)
        outcome = self.planner.plan(request, [int(v.p) / int(v.q) for v in state.entries()])
        for plan in outcome.plans(self.system):
            if isinstance(check_plan(self.system, state, plan), Proved):
                return plan
        return None


class FirstPlans:
    """Discharges PO-FIRST-PLAN and collects reachability for one complete system."""

    def __init__(self, description: SystemDescription, system: System, ledger: Ledger) -> None:
        self._description, self._system, self._ledger = description, system, ledger
        self._asker = _Asker(system, Planner(PlannerSpec.described(description, system)))

    def discharge(self, *, reach: bool) -> tuple[Reach, ...]:
        """Certify a plan at every vertex for some option; with `reach`, go through every option and state."""
        id, system = "PO-FIRST-PLAN", self._system
        self._ledger.start(id)
        box = first_estimates(self._description)
        free = sum(lo != hi for lo, hi in zip(box.lower, box.upper))
        if 2**free > MOST_VERTICES:
            self._ledger.unknown(id, "", f"the box of initial estimates has 2^{free} vertices, more than {MOST_VERTICES}; make the initial box flat in more states")
            return ()
        vertices = list(box.vertices())
        plans: dict[str, list[tuple[fmpq_mat, Plan]]] = {}
        complete = ""
        for name in system.fallback_order:
            plans[name] = []
            for v in vertices:
                plan = self._asker.plan(name, v)
                if plan is not None:
                    plans[name].append((v, plan))
                elif not reach:
                    break
            if len(plans[name]) == len(vertices) and not complete:
                complete = name
                if not reach:
                    break
        if complete:
            self._proved(id, complete, box, plans[complete], len(vertices))
        else:
            self._not_proved(id, vertices, plans)
        if not reach:
            return ()
        return tuple(self._reach(name, len(plans[name]), len(vertices)) for name in system.names)

    def _proved(self, id: str, name: str, box: Box, plans: list[tuple[fmpq_mat, Plan]], count: int) -> None:
        lower, upper = (vector([v for v in side if v is not None]) for side in (box.lower, box.upper))
        statement = f"a plan to {name} from every initial estimate"
        certificate = files.plans_at_vertices(statement, self._system, lower, upper, plans)
        self._ledger.add(id, "", Verdict.PROVED, f"{count} plan{'s' if count > 1 else ''} to {name}, kernel", certificate=certificate)

    def _not_proved(self, id: str, vertices: list[fmpq_mat], plans: dict[str, list[tuple[fmpq_mat, Plan]]]) -> None:
        served = {tuple(v.entries()) for entries in plans.values() for v, _ in entries}
        missing = [v for v in vertices if tuple(v.entries()) not in served]
        if not missing:
            best = max(plans, key=lambda name: len(plans[name]))
            self._ledger.unknown(
                id, "", f"every vertex has a certified plan, but no option serves all of them (the best, {best}, serves {len(plans[best])} of "
                f"{len(vertices)}), so nothing follows for the states between; make the initial box smaller",
            )  # fmt: skip
            return
        state = missing[0]
        multipliers = self._no_plan(state)
        if multipliers is None:
            self._ledger.unknown(id, "", f"the planner found no plan at {len(missing)} of {len(vertices)} vertices, and no exact proof that there is none was found")
            return
        witness = Witness("no plan keeps any option from this initial estimate", components(self._description.states, state), "", "")
        certificate = files.no_plan("no plan keeps any option from an initial estimate", self._system, state, multipliers)
        self._ledger.add(id, "", Verdict.REFUTED, "Farkas contradiction, kernel", certificate=certificate, witness=witness)

    def _no_plan(self, state: fmpq_mat) -> dict[str, fmpq_mat] | None:
        """Multipliers that show for every option that no plan exists, when all of them have some."""
        found = {}
        for name in self._system.names:
            P = plan_set(self._system, state, name)
            if P.rows * P.dimension_of_space > _EXACT_ENTRIES:
                return None
            answer = LinearProgram(P).feasible_point()
            if not isinstance(answer, Infeasible) or not isinstance(check_empty(P, answer.multipliers), Proved):
                return None
            found[name] = answer.multipliers
        return found

    def _reach(self, name: str, served: int, count: int) -> Reach:
        d = self._description
        self._ledger.progress(f"reach of {name}")
        centre = d.initial.centre()
        if self._asker.plan(name, centre) is None:
            return Reach(name, (served, count), None)
        program = LinearProgram(d.state_set)
        intervals = []
        for j, variable in enumerate(d.states):
            ends, whole = [], True
            for sign in (-1, 1):
                answer = program.maximise(fmpq_mat(d.n, 1, [fmpq(sign * (i == j)) for i in range(d.n)]))
                middle = centre[j, 0]
                limit = sign * answer.value if isinstance(answer, Optimal) else middle + sign * self._beyond(name, centre, j, sign)
                share = self._share(name, centre, j, limit - middle)
                ends.append(middle + share * (limit - middle))
                whole = whole and (share == 1 or limit == middle) and isinstance(answer, Optimal)
            intervals.append(Interval(variable.name, variable.unit, text(ends[0]), text(ends[1]), whole))
        return Reach(name, (served, count), tuple(intervals))

    def _beyond(self, name: str, centre: fmpq_mat, j: int, sign: int) -> fmpq:
        """Where X has no bound: the first distance of a doubling sequence at which no plan certifies, or its last one."""
        distance = self._description.state_scale[j]
        for _ in range(_DOUBLINGS):
            state = vector([v + (sign * distance if i == j else 0) for i, v in enumerate(centre.entries())])
            if self._asker.plan(name, state) is None:
                break
            distance *= 2
        return distance

    def _share(self, name: str, centre: fmpq_mat, j: int, length: fmpq) -> fmpq:
        """The largest multiple of 1/64 of the way to the limit at which a plan certifies."""
        if length == 0:
            return fmpq(0)

        def certified(share: fmpq) -> bool:
            state = vector([v + (share * length if i == j else 0) for i, v in enumerate(centre.entries())])
            return self._asker.plan(name, state) is not None

        low, high = fmpq(0), fmpq(1)
        if certified(high):
            return high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if certified(middle):
                low = middle
            else:
                high = middle
        return low


def interval_text(interval: Interval) -> str:
    """ "x -2 .. 14 m"."""
    values = []
    for side in (interval.lower, interval.upper):
        numerator, _, denominator = side.partition("/")
        values.append(fmpq(int(numerator), int(denominator or 1)))
    return f"{interval.state} {shown(values[0])} .. {quantity(values[1], interval.unit)}"
