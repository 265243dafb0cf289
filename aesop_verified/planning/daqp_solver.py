"""DAQP as the solver of small dense programs: a dual active-set method, warm-started between steps.

It is untrusted like every solver: its exit flag is read, its point is judged by `program.judged`, and after
any answer that is not a success the next solve starts cold from a fresh workspace (a working set left by a
stopped run can make the next, feasible program look infeasible for ever).
"""

from __future__ import annotations

import daqp
import numpy as np
from scipy import sparse

from aesop_verified.kernel.errors import UsageError
from aesop_verified.planning.program import ProgramVectors, QpFailure, QpResult, QpSolution, QuadraticProgram, judged
from aesop_verified.planning.status import SolveStatus

_INFINITY = 1e30
_STATUS = {
    1: SolveStatus.SOLVED,
    -1: SolveStatus.INFEASIBLE,
    -2: SolveStatus.FAILED,
    -3: SolveStatus.UNBOUNDED,
    -4: SolveStatus.LIMIT,
    -5: SolveStatus.INVALID,
    -6: SolveStatus.INVALID,
    -7: SolveStatus.LIMIT,
}
_NAMES = {
    1: "optimal", 2: "soft optimal", -1: "infeasible", -2: "cycling", -3: "unbounded", -4: "iteration limit",
    -5: "non-convex", -6: "overdetermined initial set", -7: "time limit",
}  # fmt: skip


class DaqpSolver:
    """One program, many vectors.

    Attributes:
        cold_starts: how often a fresh workspace was set up.

    Args:
        program: dense matrices; rows that bound a single variable are recognised as simple bounds.
        iteration_limit: of one solve.
    """

    def __init__(self, program: QuadraticProgram, *, iteration_limit: int = 10_000) -> None:
        if sparse.issparse(program.P) or sparse.issparse(program.G):
            raise UsageError("DAQP needs dense matrices, found sparse ones; use PiqpSolver for a sparse program")
        self.program = program
        self.iteration_limit = iteration_limit
        self.cold_starts = 0
        self._warm = False
        self._model: daqp.Model | None = None
        self._order, self._bounded = _simple_bounds_first(program.G)
        self._P = np.array(program.P, order="C")  # a copy: DAQP wants a matrix that can be written to
        self._rows = np.ascontiguousarray(program.G[self._order[program.variables if self._bounded else 0 :]])

    def solve(self, vectors: ProgramVectors) -> QpResult:
        """Solve with these vectors, warm when the previous solve succeeded."""
        row = vectors.contradiction
        if row is not None:
            return QpFailure(SolveStatus.INFEASIBLE, f"row {row} has bounds {vectors.lower[row]} and {vectors.upper[row]}, which no point meets")
        upper = np.minimum(vectors.upper[self._order], _INFINITY)
        lower = np.maximum(vectors.lower[self._order], -_INFINITY)
        result = self._run(vectors, upper, lower)
        if not isinstance(result, QpSolution) and self._warm:
            # A verdict that hangs on a warm start is no verdict: ask once more from cold.
            self._model = None
            result = self._run(vectors, upper, lower)
        if not isinstance(result, QpSolution):
            self._model = None
        return result

    def forget(self) -> None:
        """Start the next solve cold, whatever was solved before."""
        self._model = None

    def _run(self, vectors: ProgramVectors, upper: np.ndarray, lower: np.ndarray) -> QpResult:
        if self._model is None:
            self._warm = False
            self.cold_starts += 1
            model = daqp.Model()
            flag, _ = model.setup(self._P, vectors.q, self._rows, upper, lower, np.zeros(len(upper), dtype=np.int32))
            model.settings = {"primal_tol": 1e-12, "iter_limit": self.iteration_limit}
            self._model = model
        else:
            self._warm = True
            flag = self._model.update(f=vectors.q, bupper=upper, blower=lower)
        if flag < 0:
            return QpFailure(_STATUS.get(flag, SolveStatus.FAILED), f"the solver's set-up says {_NAMES.get(flag, flag)}")
        z, _, flag, info = self._model.solve()
        return judged(self.program, vectors, _STATUS.get(flag, SolveStatus.FAILED), _NAMES.get(flag, str(flag)), np.array(z), int(info["iterations"]))


def _simple_bounds_first(G: np.ndarray) -> tuple[np.ndarray, bool]:
    """An order of the rows in which row j of the first n is the unit row e_j, if there is such an order."""
    n = G.shape[1]
    single = np.flatnonzero((np.count_nonzero(G, axis=1) == 1) & (G.max(axis=1, initial=0.0) == 1.0))
    first: dict[int, int] = {}
    for row in single:
        first.setdefault(int(np.argmax(G[row])), int(row))
    if len(first) < n:
        return np.arange(len(G)), False
    head = [first[j] for j in range(n)]
    taken = set(head)
    return np.array(head + [i for i in range(len(G)) if i not in taken], dtype=np.intp), True
