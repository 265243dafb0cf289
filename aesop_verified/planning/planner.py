"""The planner: proposes plans of Eq. (3) for the kernel to certify. Untrusted.

A `Planner` is built from a `PlannerSpec`, which is plain data and can be sent to a worker process; its
answers are plain data too and become kernel plans in the process that holds the exact system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import Request
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import Plan
from aesop_verified.kernel.rational import from_double
from aesop_verified.planning.float_image import MARGIN, Scaling, as_float, described_cost, planning_model
from aesop_verified.planning.pricing import KEPT_PROGRAMS, Cost, NoPlan, Price, PriceBook, ProgramStore, Solved
from aesop_verified.planning.problem import NOMINAL, PlanningModel, PlanningProblem, QuadraticCost
from aesop_verified.planning.program import Vector
from aesop_verified.planning.selection import EVERY_SUBSET_UP_TO, AsManyAsAffordable, SelectionPolicy
from aesop_verified.planning.status import SolveStatus, weakest
from aesop_verified.system.description import SystemDescription


@dataclass(frozen=True, eq=False)
class PlannerSpec:
    """Everything a planner needs, as plain data that can be pickled.

    Attributes:
        model: Eq. (3) in scaled units.
        scaling: what a scaled unit is.
        quantum: inputs are rounded to multiples of it; 0 leaves them.
        policy: how Y_t is chosen.
    """

    model: PlanningModel
    scaling: Scaling
    quantum: float
    policy: SelectionPolicy = field(default_factory=AsManyAsAffordable)

    @classmethod
    def of(
        cls,
        system: System,
        cost: QuadraticCost,
        *,
        policy: SelectionPolicy | None = None,
        margin: float = MARGIN,
        scaling: Scaling | None = None,
    ) -> PlannerSpec:
        """The spec for an exact system and a cost in its units; scaled by the half-widths of X and U by default."""
        scaling = Scaling.of(system) if scaling is None else scaling
        model = planning_model(system, cost, scaling, margin=margin)
        return cls(model, scaling, as_float(system.quantum), policy if policy is not None else AsManyAsAffordable())

    @classmethod
    def described(cls, description: SystemDescription, system: System, *, policy: SelectionPolicy | None = None) -> PlannerSpec:
        """The spec for a system file and the complete system that was made from it."""
        return cls.of(system, described_cost(description), policy=policy, scaling=Scaling.described(description))


@dataclass(frozen=True, eq=False)
class ProposedPlan:
    """A plan as plain data: inputs in the units of the system.

    Attributes:
        options, consensus, horizon: Y, K and T of the plan.
        nominal: shape (m, T + 1); whole multiples of the quantum when `whole`, else doubles.
        recovery: one array of the same shape for each option.
        whole: whether the arrays count quanta (int64) or hold doubles.
        cost: of the optimum of Eq. (3), before rounding.
    """

    options: tuple[str, ...]
    consensus: int
    horizon: int
    nominal: NDArray[np.int64] | NDArray[np.float64]
    recovery: tuple[NDArray[np.int64] | NDArray[np.float64], ...]
    whole: bool
    cost: Cost

    def plan(self, system: System) -> Plan:
        """The kernel's plan: exact inputs, to be certified."""
        exact: dict[int, fmpq_mat] = {}

        def matrix(values: NDArray[np.int64] | NDArray[np.float64]) -> fmpq_mat:
            if id(values) not in exact:
                exact[id(values)] = _exact_inputs(values, system.quantum if self.whole else None)
            return exact[id(values)]

        return Plan(self.options, self.consensus, self.horizon, matrix(self.nominal), tuple(matrix(u) for u in self.recovery))


def _exact_inputs(values: NDArray[np.int64] | NDArray[np.float64], quantum: fmpq | None) -> fmpq_mat:
    rows, columns = values.shape
    if quantum is not None:
        counts = [int(v) for v in values.ravel().tolist()]
        return fmpq_mat(fmpz_mat(rows, columns, counts)) * quantum
    return fmpq_mat(rows, columns, [from_double(v) for v in values.ravel().tolist()])


@dataclass(frozen=True, eq=False)
class Planned:
    """Plans to be certified, most preferred first.

    Attributes:
        candidates: non-empty.
        dropped: for each option that the first candidate does not keep, why.
        prices: the cost of every set of options that was considered, or why it has none.
        solves: how many programs were solved.
    """

    candidates: tuple[ProposedPlan, ...]
    dropped: Mapping[str, str]
    prices: Mapping[tuple[str, ...], Price]
    solves: int

    def plans(self, system: System) -> tuple[Plan, ...]:
        """The candidates as kernel plans."""
        return tuple(candidate.plan(system) for candidate in self.candidates)


@dataclass(frozen=True, eq=False)
class NothingPlanned:
    """No plan at all: why, as a whole and for each option. It holds no input.

    Attributes:
        failure: status and reason.
        dropped: for each option asked for, why.
    """

    failure: NoPlan
    dropped: Mapping[str, str]
    solves: int

    def plans(self, system: System) -> tuple[Plan, ...]:
        """No plans."""
        return ()


PlanningOutcome: TypeAlias = "Planned | NothingPlanned"


class Planner:
    """Solves Eq. (3) step after step, keeping programs and warm starts between steps.

    Args:
        spec: the model, its units and the policy.
        split: whether to use the axes along which the problem falls apart.
        price_every_subset: price all subsets of the options, also those that the policy does not need.
        kept_programs: programs kept between steps; one that plans for many flights needs more than a flight does.
    """

    def __init__(self, spec: PlannerSpec, *, split: bool = True, price_every_subset: bool = False, kept_programs: int = KEPT_PROGRAMS) -> None:
        self.spec = spec
        self._split, self._every, self._most_kept = split, price_every_subset, kept_programs
        self._store = ProgramStore(spec.model, split=split, kept_programs=kept_programs)

    def __getstate__(self) -> tuple[PlannerSpec, bool, bool, int]:
        return self.spec, self._split, self._every, self._most_kept

    def __setstate__(self, state: tuple[PlannerSpec, bool, bool, int]) -> None:
        """A copy starts with no programs: workspaces of solvers do not travel."""
        spec, split, every, kept = state
        Planner.__init__(self, spec, split=split, price_every_subset=every, kept_programs=kept)

    def forget(self) -> None:
        """Forget all warm starts, so that the answers that follow do not depend on the past; the programs stay."""
        self._store.forget()

    @property
    def programs_built(self) -> int:
        """How many programs were built so far."""
        return self._store.built

    @classmethod
    def for_system(cls, system: System, cost: QuadraticCost, *, policy: SelectionPolicy | None = None) -> Planner:
        """A planner for an exact system, with the default margin and scaling."""
        return cls(PlannerSpec.of(system, cost, policy=policy))

    def prepare(self, request: Request) -> None:
        """Build the programs that a request will need: the first step with them costs several times a later one.

        A loop that waits knows its next requests; its planner can prepare them while it has nothing to do. For
        a request that leaves the choice of Y open, all subsets are prepared for up to `EVERY_SUBSET_UP_TO`
        options, else only the single ones.
        """
        model, names = self.spec.model, request.options
        sizes = [len(names)] if request.exact_options else range(1, len(names) + 1 if len(names) <= EVERY_SUBSET_UP_TO else 2)
        recovering = _is_recovering(request)
        for size in sizes:
            for options in combinations(names, size):
                problem = PlanningProblem(model, options, request.consensus, request.horizon, model.cost.goal, recovering)
                for block in range(len(self._store.blocks)):
                    self._store.program(block, self._store.group_set(block, problem), problem)

    def plan(self, request: Request, state: Sequence[float] | Vector) -> PlanningOutcome:
        """Plans that answer a request of the kernel at a state.

        A request for exactly one option with K = 0 is that of a robot on its way to it: then C is the distance
        to the certified law (`PlanningProblem.recovering`).

        Args:
            state: shape (n,), in the units of the system.

        Raises:
            UsageError: for a state or a request that does not fit, with the field and the index.
        """
        x = np.asarray(state, dtype=float)
        model = self.spec.model
        if x.shape != (model.n,):
            raise UsageError(f"the state has shape {x.shape}, expected ({model.n},)")
        before = self._store.solves
        recovering = _is_recovering(request)
        book = PriceBook(self._store, request.consensus, request.horizon, x / self.spec.scaling.state, recovering=recovering)
        book.problem(request.options)  # Refuses what does not fit, before any solve.
        if request.exact_options:
            ranking: tuple[tuple[str, ...], ...] = (request.options,)
            dropped: dict[str, str] = {}
        else:
            if self._every:
                _price_all(request.options, book)
            choice = self.spec.policy.choose(request.options, book)
            ranking, dropped = choice.ranking, dict(choice.dropped)
        answers = book.solutions(ranking)
        plans = tuple(self._proposed(answer) for answer in answers if isinstance(answer, Solved))
        solves = self._store.solves - before
        if plans:
            if not isinstance(answers[0], Solved):
                dropped |= {name: answers[0].reason for name in ranking[0] if name not in plans[0].options}
                dropped = {name: why for name, why in dropped.items() if name not in plans[0].options}
            return Planned(plans, dropped, book.prices, solves)
        failures = [answer for answer in answers if isinstance(answer, NoPlan)]
        failures = failures or [price for price in book.prices.values() if isinstance(price, NoPlan)]
        reason = "; ".join(dict.fromkeys(f.reason for f in failures))
        worst = weakest(*(f.status for f in failures)) if failures else SolveStatus.FAILED
        failure = NoPlan(worst, reason)
        return NothingPlanned(failure, dropped or dict.fromkeys(request.options, reason), solves)

    def _proposed(self, solved: Solved) -> ProposedPlan:
        problem, quantum = solved.problem, self.spec.quantum
        doubles = {name: u.T * self.spec.scaling.input[:, None] for name, u in solved.inputs.items()}
        whole = quantum > 0 and all(np.abs(u).max(initial=0.0) < quantum * 2.0**62 for u in doubles.values())
        scaled: dict[str, NDArray[np.int64] | NDArray[np.float64]] = {}
        for name, u in doubles.items():
            scaled[name] = np.rint(u / quantum).astype(np.int64) if whole else u
        nominal = scaled[problem.options[0] if problem.recovering else NOMINAL]
        recovery = tuple(scaled[name] for name in problem.options)
        return ProposedPlan(problem.options, problem.consensus, problem.horizon, nominal, recovery, whole, solved.cost)


def _is_recovering(request: Request) -> bool:
    """Whether a request is that of a robot on its way to its only option."""
    return request.exact_options and len(request.options) == 1 and request.consensus == 0


def _price_all(options: Sequence[str], book: PriceBook) -> None:
    """Price every non-empty subset, small ones first so that infeasibility is inherited."""
    for bits in sorted(range(1, 2 ** len(options)), key=lambda b: (b.bit_count(), b)):
        book.price(tuple(name for i, name in enumerate(options) if bits >> i & 1))
