"""What a solve amounts to: one status for every solver, and how Pyomo's answers are read.

A solver says several things at once: how its process ended, what it claims about the problem, and (through the
point that it returns) whether the claim is true. "Solved" is the weakest of the three. No status is a proof:
the kernel decides what a plan is worth, and INFEASIBLE is a solver's claim.
"""

from __future__ import annotations

import enum
from typing import Any


class SolveStatus(enum.Enum):
    """The outcome of a solve, from the strongest to the weakest; only SOLVED carries a point."""

    SOLVED = "solved"
    """The solver says optimal, its process ended well and our own residual agrees."""
    INFEASIBLE = "infeasible"
    """The solver claims that no point exists; a local solver's word counts only where the problem is convex."""
    UNBOUNDED = "unbounded"
    """The solver claims that the cost has no lower bound."""
    INACCURATE = "inaccurate"
    """A point that misses the solver's own tolerance or our residual bound."""
    FAILED = "failed"
    """No claim: a numerical failure, a local infeasibility of a problem that may not be convex, a crash."""
    LIMIT = "limit"
    """Iterations or time ran out."""
    INVALID = "invalid"
    """The problem or the answer makes no sense: NaN, a model undefined at its start, an answer we cannot read."""


class Convexity(enum.Enum):
    """What the caller knows of the problem; it decides what a local solver's "infeasible" is worth."""

    CONVEX = "convex"
    UNKNOWN = "unknown"


def weakest(*statuses: SolveStatus) -> SolveStatus:
    """The weakest of several statuses: SOLVED only when all are, and INVALID when there is none."""
    order = list(SolveStatus)
    return max(statuses, key=order.index, default=SolveStatus.INVALID)


# Pyomo's termination conditions by name. What is absent (and "unknown", "other", ...) is no claim: FAILED.
_TERMINATION = {
    "optimal": SolveStatus.SOLVED,
    "globallyOptimal": SolveStatus.SOLVED,
    "locallyOptimal": SolveStatus.SOLVED,
    "feasible": SolveStatus.INACCURATE,
    "infeasible": SolveStatus.INFEASIBLE,
    "unbounded": SolveStatus.UNBOUNDED,
    "maxTimeLimit": SolveStatus.LIMIT,
    "maxIterations": SolveStatus.LIMIT,
    "maxEvaluations": SolveStatus.LIMIT,
    "userLimit": SolveStatus.LIMIT,
    "resourceInterrupt": SolveStatus.LIMIT,
    "invalidProblem": SolveStatus.INVALID,
}

# Ipopt calls a point of its looser, "acceptable" tolerance a success (AMPL code 1, which Pyomo reads as optimal).
_INACCURATE_MESSAGES = ("acceptable level",)
# Ipopt stops where the violation has a local minimum, which proves nothing (AMPL code 200, Pyomo: infeasible).
_LOCAL_MESSAGES = ("locally infeasible", "local infeasibility", "may be infeasible")


def status_of(results: Any, convexity: Convexity = Convexity.UNKNOWN) -> SolveStatus:
    """Read a Pyomo `SolverResults`: the weaker of how the process ended and what the solver claims.

    `results.solver.status` describes the process only (Pyomo/pyomo#3217): it can take "solved" away, and is never
    a reason to believe it. A message of local infeasibility gives INFEASIBLE for CONVEX problems, else FAILED.

    Args:
        results: what `solver.solve(model, load_solutions=False)` returns.
        convexity: CONVEX if the caller's problem is convex for certain.
    """
    claim = _TERMINATION.get(str(results.solver.termination_condition), SolveStatus.FAILED)
    message = _text(results.solver, "message").lower()
    if claim is SolveStatus.SOLVED:
        process = SolveStatus.SOLVED if str(results.solver.status) == "ok" else SolveStatus.FAILED
        accuracy = SolveStatus.INACCURATE if any(m in message for m in _INACCURATE_MESSAGES) else SolveStatus.SOLVED
        return weakest(claim, process, accuracy)
    if claim is SolveStatus.INFEASIBLE and convexity is Convexity.UNKNOWN and any(m in message for m in _LOCAL_MESSAGES):
        return SolveStatus.FAILED
    return claim


def message_of(results: Any) -> str:
    """What the solver says, in one line: its message, or its two statuses when it gives none."""
    message = _text(results.solver, "message").replace(r"\x3a", ":").replace("\n", " ").strip()
    return message or f"{results.solver.status}, {results.solver.termination_condition}"


def _text(solver: Any, name: str) -> str:
    value = getattr(solver, name, None)
    value = getattr(value, "value", value)  # Pyomo wraps what a solver's file says
    return value if isinstance(value, str) else ""
