"""Pricing sets of options: the optimal cost of Eq. (3) for every subset Y that is asked for, from as few
solves as the structure allows (theory 7).

J(Y) is the sum over blocks of a cost that depends only on which distinct terminal sets Y has on the block
(`PlanningProblem.regularisation_weights`), so each (block, set of terminal sets) is solved once a step. An
infeasible set makes all its supersets infeasible, without a solve.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from aesop_verified.planning.condensed import CondensedProgram
from aesop_verified.planning.daqp_solver import DaqpSolver
from aesop_verified.planning.piqp_solver import PiqpSolver
from aesop_verified.planning.problem import NOMINAL, PlanningModel, PlanningProblem, violations
from aesop_verified.planning.program import Matrix, QpFailure, QpSolution, Vector
from aesop_verified.planning.separation import Block
from aesop_verified.planning.sparse_form import SparseProgram
from aesop_verified.planning.status import SolveStatus, weakest
from aesop_verified.planning.tree_program import BlockModel, TreeProgram

DENSE_LIMIT = 260
"""Largest number of inputs of a tree that DAQP is given; larger trees go to PIQP in sparse form."""

KEPT_PROGRAMS = 256
"""Programs kept between steps; the least recently used one goes first."""

ROLLED_OUT_TOLERANCE = 1e-9
"""Largest violation of the shrunk, scaled sets after rolling the inputs out; a hundredth of the margin."""


@dataclass(frozen=True)
class NoPlan:
    """No plan, and why. It holds no input, so none can be sent by mistake.

    Attributes:
        status: the weakest of what the solvers and our residual say; never SOLVED.
        reason: in words.
    """

    status: SolveStatus
    reason: str


@dataclass(frozen=True)
class Cost:
    """The cost of an optimal plan.

    Attributes:
        total: the optimal value J(Y, K, T), regularisation included.
        nominal: C(x^0, u^0) alone, what the mission pays.
    """

    total: float
    nominal: float


@dataclass(frozen=True, eq=False)
class Solved:
    """Inputs that solve Eq. (3) for some Y, in the units of the model.

    Attributes:
        problem: what was solved.
        cost: of the optimum.
        inputs: one sequence of shape (T + 1, m) for each trajectory.
    """

    problem: PlanningProblem
    cost: Cost
    inputs: dict[str, Matrix]


Price: TypeAlias = "Cost | NoPlan"


@dataclass(frozen=True, eq=False)
class _Part:
    """The answer on one block."""

    cost: Cost
    paths: list[Matrix]


class ProgramStore:
    """Programs and warm solvers that outlive a step, for one model.

    Attributes:
        solves, built: how many solves were made and how many programs built so far.
    """

    def __init__(
        self, model: PlanningModel, *, split: bool = True, dense_limit: int = DENSE_LIMIT, kept_programs: int = KEPT_PROGRAMS
    ) -> None:
        self.model, self._most_kept = model, kept_programs
        self.blocks = model.blocks if split else (Block(tuple(range(model.n)), tuple(range(model.m))),)
        self.solves = 0
        self.built = 0
        self._dense_limit = dense_limit
        self._kept: OrderedDict[tuple[object, ...], tuple[TreeProgram, DaqpSolver | PiqpSolver]] = OrderedDict()
        self._groups: dict[tuple[int, int], dict[str, int]] = {}
        self._group_sets: dict[tuple[int, int, tuple[str, ...]], tuple[int, ...]] = {}

    def groups(self, block: int, final: int) -> dict[str, int]:
        """For each option the number of its terminal set on a block; options that share one share a branch."""
        if (block, final) not in self._groups:
            keys = {name: self.model.terminal_key(name, self.blocks[block], final) for name in self.model.terminals}
            order = list(dict.fromkeys(keys.values()))
            self._groups[block, final] = {name: order.index(key) for name, key in keys.items()}
        return self._groups[block, final]

    def program(self, block: int, groups: tuple[int, ...], problem: PlanningProblem) -> tuple[TreeProgram, DaqpSolver | PiqpSolver]:
        """The program of one block for the given terminal sets, with its solver; built when it is not kept."""
        key = (block, groups, problem.consensus if len(groups) > 1 else 0, problem.horizon, problem.options if problem.recovering else None)
        if key not in self._kept:
            self.built += 1
            self._kept[key] = self._build(block, groups, problem)
            if len(self._kept) > self._most_kept:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

    def forget(self) -> None:
        """Keep the programs, but no warm start: what follows no longer depends on what was solved before."""
        for _, solver in self._kept.values():
            solver.forget()

    def group_set(self, block: int, problem: PlanningProblem) -> tuple[int, ...]:
        """The terminal sets that the options of a problem have on a block."""
        key = (block, problem.final, problem.options)
        if key not in self._group_sets:
            numbers = self.groups(block, problem.final)
            self._group_sets[key] = tuple(sorted({numbers[name] for name in problem.options}))
        return self._group_sets[key]

    def solve(self, block: int, groups: tuple[int, ...], problem: PlanningProblem) -> _Part | QpFailure:
        """Solve one block for the given terminal sets, warm if it was solved before."""
        program, solver = self.program(block, groups, problem)
        self.solves += 1
        answer = solver.solve(program.vectors(problem.state[list(self.blocks[block].states)]))
        if not isinstance(answer, QpSolution):
            return answer
        nodes = program.node_inputs(answer.z)
        cost = Cost(answer.cost, answer.cost - program.model.recovery_cost(nodes))
        return _Part(cost, program.model.paths(nodes))

    def _build(self, block: int, groups: tuple[int, ...], problem: PlanningProblem) -> tuple[TreeProgram, DaqpSolver | PiqpSolver]:
        numbers = self.groups(block, problem.final)
        if not problem.recovering:
            names = tuple(next(n for n, g in numbers.items() if g == group) for group in groups)
            problem = replace(problem, options=names)
        part = BlockModel.of(problem, self.blocks[block])
        if len(part.tree.nodes) * part.m <= self._dense_limit:
            dense = CondensedProgram(part)
            return dense, DaqpSolver(dense.program)
        kept = SparseProgram(part)
        return kept, PiqpSolver(kept.program)


class PriceBook:
    """The costs of subsets of the options at one state, for one (K, T); solved when first asked for."""

    def __init__(self, store: ProgramStore, consensus: int, horizon: int, state: Vector, *, recovering: bool = False) -> None:
        self._store, self._consensus, self._horizon = store, consensus, horizon
        self._state, self._recovering = state, recovering
        self._parts: dict[tuple[int, tuple[int, ...]], _Part | QpFailure] = {}
        self._prices: dict[tuple[str, ...], Price] = {}
        self._contradiction: dict[str, str | None] = {}
        self._problems: dict[tuple[str, ...], PlanningProblem] = {}

    @property
    def prices(self) -> dict[tuple[str, ...], Price]:
        """All prices asked for so far."""
        return dict(self._prices)

    @property
    def stage_cost(self) -> float:
        """(x - goal)' Q (x - goal) at the present state: what one step of delay costs."""
        e = self._state - self._store.model.cost.goal
        return float(e @ self._store.model.cost.Q @ e)

    def problem(self, options: tuple[str, ...]) -> PlanningProblem:
        """The instance of Eq. (3) for Y = options."""
        if options not in self._problems:
            self._problems[options] = PlanningProblem(
                self._store.model, options, self._consensus, self._horizon, self._state, self._recovering
            )
        return self._problems[options]

    def price(self, options: tuple[str, ...]) -> Price:
        """J(Y, K, T), or why there is none."""
        if options not in self._prices:
            self._prices[options] = self._priced(options)
        return self._prices[options]

    def _priced(self, options: tuple[str, ...]) -> Price:
        for name in options:
            if name not in self._contradiction:
                self._contradiction[name] = self.problem((name,)).contradiction
            why = self._contradiction[name]
            if why is not None:
                return NoPlan(SolveStatus.INFEASIBLE, why)
        problem = self.problem(options)
        total, nominal, failures = 0.0, 0.0, []
        for block in range(len(self._store.blocks)):
            part = self._part(block, problem)
            if isinstance(part, QpFailure):
                failures.append(part)
                if part.status is SolveStatus.INFEASIBLE:
                    break
            else:
                total += part.cost.total
                nominal += part.cost.nominal
        infeasible = [f for f in failures if f.status is SolveStatus.INFEASIBLE]
        if infeasible:
            return NoPlan(SolveStatus.INFEASIBLE, infeasible[0].reason)
        if failures:
            return NoPlan(weakest(*(f.status for f in failures)), "; ".join(f.reason for f in failures))
        return Cost(total, nominal)

    def _part(self, block: int, problem: PlanningProblem) -> _Part | QpFailure:
        groups = self._store.group_set(block, problem)
        if (block, groups) not in self._parts:
            self._parts[block, groups] = self._inherited(block, groups) or self._store.solve(block, groups, problem)
        return self._parts[block, groups]

    def _inherited(self, block: int, groups: tuple[int, ...]) -> QpFailure | None:
        """Infeasibility of a subset, which is this set's too."""
        for (other, smaller), part in self._parts.items():
            if other == block and set(smaller) < set(groups) and isinstance(part, QpFailure) and part.status is SolveStatus.INFEASIBLE:
                return part
        return None

    def solutions(self, ranking: Sequence[tuple[str, ...]]) -> list[Solved | NoPlan]:
        """The optimal inputs for each Y, rolled out and judged by our own residual."""
        priced = {options: price for options in ranking if not isinstance(price := self.price(options), NoPlan)}
        if not priced:
            return [price for options in ranking if isinstance(price := self.price(options), NoPlan)]
        problems = [self.problem(options) for options in priced]
        inputs = [self._assembled(problem) for problem in problems]
        answers: dict[tuple[str, ...], Solved | NoPlan] = {o: p for o, p in self._prices.items() if isinstance(p, NoPlan)}
        for problem, given, violation in zip(problems, inputs, violations(problems, inputs)):
            if violation <= ROLLED_OUT_TOLERANCE:
                answers[problem.options] = Solved(problem, priced[problem.options], given)
            else:
                why = f"the rolled-out plan violates a constraint of Eq. (3) by {violation:.2e}"
                answers[problem.options] = NoPlan(SolveStatus.INACCURATE, why)
        return [answers[options] for options in ranking]

    def _assembled(self, problem: PlanningProblem) -> dict[str, Matrix]:
        inputs = {name: np.empty((self._horizon + 1, self._store.model.m)) for name in problem.trajectories}
        for b, block in enumerate(self._store.blocks):
            part = self._part(b, problem)
            assert isinstance(part, _Part)
            groups, numbers = self._store.group_set(b, problem), self._store.groups(b, problem.final)
            offset = 0 if self._recovering else 1
            for name in problem.trajectories:
                path = 0 if name == NOMINAL else offset + groups.index(numbers[name])
                inputs[name][:, list(block.inputs)] = part.paths[path]
        return inputs
