"""How long one decision of a Nominal step takes, and how true it is: ours against the paper's recipe.

    python -m benchmarks.decision [--steps 80] [--seed 0] [--out out/benchmarks]

Both see the states of one closed-loop flight of the shipped quadrotor (flown on our plans, with disturbances
drawn from W by the seed), the same tightened sets, scaling and regularisation; set-up is outside the clock
and every step times both, one after the other.

Ours: all 15 subsets of the four regions priced, Y_t chosen, the plan made exact and certified by the kernel.
The recipe: OSQP at 1e-3 on the six pairs, states as variables, warm-started; nothing is certified.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from flint import fmpq, fmpq_mat
from rich.console import Console
from rich.table import Table

from aesop_verified.kernel.events import Request
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import check_plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import column, from_double
from aesop_verified.kernel.verdict import Proved
from aesop_verified.planning.float_image import (
    Scaling,
    as_float,
    described_cost,
    floats,
    planning_model,
)
from aesop_verified.planning.planner import Planned, Planner, PlannerSpec
from aesop_verified.planning.pricing import NoPlan, PriceBook, ProgramStore
from aesop_verified.planning.problem import NOMINAL
from aesop_verified.planning.program import Matrix, Vector
from aesop_verified.planning.status import SolveStatus
from aesop_verified.recovery import synthesise
from aesop_verified.system import SystemDescription, load
from benchmarks.paper_recipe import PaperRecipe

EXAMPLE = Path(__file__).parents[1] / "examples" / "quadrotor-flat.yaml"
START = (10.0, 2.0, 2.0)
GRID = 2.0**-10
"""States are rounded to this before they are measured, in the units of the file."""


@dataclass
class Record:
    """What one planner did over the flight.

    Attributes:
        times: seconds of a whole decision on the wall clock, step by step.
        busy: seconds of processor time in it, which other load on the machine changes less.
        checks: seconds of the exact check inside it.
        wrong: verdicts that the second opinion contradicts.
        undecided: answers ("open" in the table) that are neither solved nor infeasible.
        no_plan: steps that ended without a plan.
        violation: worst violation of a tightened set by a chosen plan, exactly rolled out, in the file's units.
        consensus: worst difference between inputs that should be equal ("gap" in the table).
    """

    name: str
    times: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    checks: list[float] = field(default_factory=list)
    wrong: int = 0
    undecided: int = 0
    no_plan: int = 0
    violation: fmpq = field(default_factory=lambda: fmpq(0))
    consensus: fmpq = field(default_factory=lambda: fmpq(0))

    def row(self) -> dict[str, object]:
        """The record as plain numbers."""
        ms, busy = 1e3 * np.array(self.times), 1e3 * np.array(self.busy)
        check = 1e3 * np.array(self.checks) if self.checks else None
        return {
            "planner": self.name, "steps": len(self.times), "median_ms": round(float(np.median(ms)), 3),
            "p99_ms": round(float(np.percentile(ms, 99)), 3),
            "cpu_median_ms": round(float(np.median(busy)), 3), "cpu_p99_ms": round(float(np.percentile(busy, 99)), 3), "check_median_ms": None if check is None else round(float(np.median(check)), 3),
            "check_p99_ms": None if check is None else round(float(np.percentile(check, 99)), 3), "wrong_verdicts": self.wrong,
            "undecided": self.undecided, "steps_without_plan": self.no_plan, "worst_violation": as_float(self.violation),
            "worst_consensus_gap": as_float(self.consensus),
        }  # fmt: skip


def exact_vector(values: Vector) -> fmpq_mat:
    """The exact column of a vector of doubles."""
    return fmpq_mat(len(values), 1, [from_double(float(v)) for v in values])


def exact_violation(system: System, state: fmpq_mat, inputs: Mapping[str, fmpq_mat], consensus: int) -> tuple[fmpq, fmpq]:
    """(worst violation of a tightened set, worst consensus difference) of inputs that are rolled out exactly."""
    worst, gap = fmpq(0), fmpq(0)
    options = [name for name in inputs if name != NOMINAL]

    def note(set_: Polytope, point: fmpq_mat) -> None:
        nonlocal worst
        violation = set_.violation(point)
        if violation is not None:
            worst = max(worst, violation.amount)

    horizon = inputs[NOMINAL].ncols() - 1
    for name, sequence in inputs.items():
        x = state
        for k in range(horizon + 1):
            u = column(sequence, k)
            note(system.tightening.input_set(system, k), u)
            note(system.tightening.state_set(system, k), x)
            x = system.next_state(x, u)
        if name != NOMINAL:
            note(system.tightening.recovery_set(system, name, horizon + 1), x)
    for name in options:
        for i in range(system.m):
            gap = max(gap, abs(inputs[name][i, 0] - inputs[NOMINAL][i, 0]))
            for k in range(consensus + 1):
                gap = max(gap, abs(inputs[name][i, k] - inputs[options[0]][i, k]))
    return worst, gap


class Ours:
    """A planner and the kernel's certificate."""

    def __init__(self, name: str, system: System, spec: PlannerSpec, *, split: bool, every: bool) -> None:
        self.record = Record(name)
        self.planner = Planner(spec, split=split, price_every_subset=every)
        self._system, self._request = system, Request(system.names, False, system.consensus_horizon, system.horizon)
        # Another solver, no split, no warm start: the second opinion on every verdict.
        self._other = ProgramStore(spec.model, split=False, dense_limit=0)
        self._spec = spec

    def decide(self, x: Vector, *, timed: bool = True) -> Planned | None:
        """One whole decision: all prices, the choice, the exact plan, the kernel's check."""
        state = exact_vector(x)
        begin, busy = time.perf_counter(), time.process_time()
        outcome = self.planner.plan(self._request, x)
        certified, check = False, 0.0
        if isinstance(outcome, Planned):
            plan = outcome.candidates[0].plan(self._system)
            middle = time.perf_counter()
            certified = isinstance(check_plan(self._system, state, plan), Proved)
            check = time.perf_counter() - middle
        end, busy = time.perf_counter(), time.process_time() - busy
        if not timed:
            return outcome if isinstance(outcome, Planned) else None
        self.record.times.append(end - begin)
        self.record.busy.append(busy)
        if not isinstance(outcome, Planned):
            self.record.no_plan += 1
            return None
        self.record.checks.append(check)
        self.record.no_plan += not certified
        inputs = dict(zip((NOMINAL, *plan.options), (plan.nominal, *plan.recovery)))
        violation, gap = exact_violation(self._system, state, inputs, plan.consensus)
        self.record.violation, self.record.consensus = max(self.record.violation, violation), max(self.record.consensus, gap)
        return outcome

    def second_opinion(self, x: Vector, outcome: Planned) -> dict[tuple[str, ...], bool | None]:
        """Which sets of options are feasible (None: undecided), and count where ours says otherwise."""
        book = PriceBook(self._other, self._request.consensus, self._request.horizon, x / self._spec.scaling.state)
        truth: dict[tuple[str, ...], bool | None] = {}
        for options, price in outcome.prices.items():
            other = book.price(options)
            decided = not isinstance(other, NoPlan) or other.status is SolveStatus.INFEASIBLE
            truth[options] = not isinstance(other, NoPlan) if decided else None
            mine = not isinstance(price, NoPlan)
            self.record.undecided += isinstance(price, NoPlan) and price.status is not SolveStatus.INFEASIBLE
            self.record.wrong += truth[options] is not None and mine is not truth[options]
        return truth


class Recipe:
    """The paper's recipe in some units."""

    def __init__(self, name: str, description: SystemDescription, system: System, scaling: Scaling) -> None:
        self.record, self._system, self._scaling = Record(name), system, scaling
        self._recipe = PaperRecipe(planning_model(system, described_cost(description), scaling))

    def decide(self, x: Vector, truth: Mapping[tuple[str, ...], bool | None] | None) -> None:
        """One whole decision of the recipe; with `truth` it is timed and judged."""
        begin, busy = time.perf_counter(), time.process_time()
        best, answers = self._recipe.decide(x / self._scaling.state)
        elapsed, busy = time.perf_counter() - begin, time.process_time() - busy
        if truth is None:
            return
        self.record.times.append(elapsed)
        self.record.busy.append(busy)
        for answer in answers:
            says = {"solved": True, "primal infeasible": False}.get(answer.status)
            self.record.undecided += says is None
            self.record.wrong += says is not None and truth[answer.options] is not None and says is not truth[answer.options]
        if best is None or best.inputs is None:
            self.record.no_plan += 1
            return
        inputs = {name: self._exact(u) for name, u in best.inputs.items()}
        violation, gap = exact_violation(self._system, exact_vector(x), inputs, self._system.consensus_horizon)
        self.record.violation, self.record.consensus = max(self.record.violation, violation), max(self.record.consensus, gap)

    def _exact(self, u: Matrix) -> fmpq_mat:
        values = (u * self._scaling.input).T
        return fmpq_mat(values.shape[0], values.shape[1], [from_double(float(v)) for v in values.ravel()])


def disturbance(system: System, rng: np.random.Generator) -> Vector:
    """A draw from W: each coordinate of each summand's box uniform, or at an end with probability 1/2."""
    w = np.zeros(system.n)
    for s in system.disturbance.summands:
        lower, upper = floats(s.lower).ravel(), floats(s.upper).ravel()
        share = rng.uniform(size=len(lower))
        share = np.where(rng.uniform(size=len(lower)) < 0.5, np.round(share), share)
        w += floats(s.map) @ (lower + share * (upper - lower))
    return w


def fly(
    description: SystemDescription, system: System, steps: int, seed: int, *, split: bool, progress: Callable[[str], None]
) -> list[Record]:
    """One closed loop on our plans; every planner decides at every state of it."""
    spec = PlannerSpec.described(description, system)
    ours = [Ours("ours, all subsets", system, spec, split=split, every=True)]
    if not split:
        ours.insert(0, Ours("ours, as many as affordable", system, spec, split=split, every=False))
    recipes = [Recipe("paper's recipe", description, system, spec.scaling)]
    recipes.append(Recipe("paper's recipe, unscaled", description, system, Scaling.none(system.n, system.m)))
    A, B, b = floats(system.A), floats(system.B), floats(system.b).ravel()
    rng, x = np.random.default_rng(seed), np.zeros(system.n)
    x[[description.state_names.index(name) for name in ("x", "y", "z")]] = START
    for mine in ours:
        mine.decide(x, timed=False)
    for recipe in recipes:
        recipe.decide(x, None)
    for step in range(steps):
        progress(f"step {step + 1} of {steps}")
        outcomes = [mine.decide(x) for mine in ours]
        outcome = outcomes[-1]
        if outcome is None:
            raise SystemExit(f"step {step}: no plan at all; the flight ends here")
        truth = [mine.second_opinion(x, o) for mine, o in zip(ours, outcomes) if o is not None][-1]
        for recipe in recipes:
            recipe.decide(x, truth)
        u = floats(outcome.candidates[0].plan(system).first_input).ravel()
        x = np.round((A @ x + B @ u + b + disturbance(system, rng)) / GRID) * GRID
    return [mine.record for mine in ours] + [recipe.record for recipe in recipes]


def coupled(description: SystemDescription, system: System) -> System:
    """The same vehicle with a joint speed limit, |vx| + |vy| + |vz| <= 3.5, which ties the axes together."""
    speeds = [description.state_names.index(name) for name in ("vx", "vy", "vz")]
    rows = []
    for signs in range(8):
        row = [0] * system.n
        for bit, j in enumerate(speeds):
            row[j] = 1 if signs >> bit & 1 else -1
        rows.append(row)
    limit = Polytope.of(rows, [fmpq(7, 2)] * 8, n=system.n)
    return replace(system, X=system.X.intersection(limit))


def report(console: Console, title: str, rows: list[dict[str, object]]) -> None:
    """Print one table."""
    table = Table(title=f"{title}; times are median / p99")
    for heading in ("planner", "wall ms", "cpu ms", "check ms", "wrong", "open", "no plan", "violation", "gap", "speed-up"):
        table.add_column(heading, justify="left" if heading == "planner" else "right")
    for r in rows:
        times = [f"{r[f'{kind}median_ms']:.1f} / {r[f'{kind}p99_ms']:.1f}" for kind in ("", "cpu_")]
        check = "-" if r["check_median_ms"] is None else f"{r['check_median_ms']:.1f} / {r['check_p99_ms']:.1f}"
        counts = [str(r[key]) for key in ("wrong_verdicts", "undecided", "steps_without_plan")]
        sizes = [f"{r['worst_violation']:.1g}", f"{r['worst_consensus_gap']:.1g}", f"{r['speed_up']:.1f}"]
        table.add_row(str(r["planner"]), *times, check, *counts, *sizes)
    console.print(table)


def main() -> None:
    """Fly, print, and write the numbers."""
    parser = argparse.ArgumentParser(description="Time of one decision: ours against the paper's recipe.")
    parser.add_argument("--steps", type=int, default=80, help="steps of the flight (default 80)")
    parser.add_argument("--seed", type=int, default=0, help="of the disturbances (default 0)")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"), help="folder for decision.json")
    parser.add_argument("--case", choices=("both", "separable", "coupled"), default="both")
    arguments = parser.parse_args()
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    description = load(EXAMPLE)
    system = synthesise(description).system
    results: dict[str, object] = {"machine": platform.platform(), "steps": arguments.steps, "seed": arguments.seed, "example": EXAMPLE.name}
    for case in ("separable", "coupled"):
        if arguments.case not in (case, "both"):
            continue
        flown = system if case == "separable" else coupled(description, system)
        with console.status(case) as status:
            records = fly(description, flown, arguments.steps, arguments.seed, split=case == "separable", progress=status.update)
        rows = [record.row() for record in records]
        baseline = next(record for record in records if record.name == "paper's recipe")
        for r, record in zip(rows, records):
            r["speed_up"] = round(float(np.median(baseline.times) / np.median(record.times)), 2)
        results[case] = rows
        report(console, f"{case}: {arguments.steps} Nominal steps of {EXAMPLE.name}, seed {arguments.seed}", rows)
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "decision.json"
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    console.print(f"written to {path}")


if __name__ == "__main__":
    main()
