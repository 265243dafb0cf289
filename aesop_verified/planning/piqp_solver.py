"""PIQP as the solver of sparse programs: a proximal interior-point method, for problems that do not split.

It is untrusted like every solver: its status is read and its point is judged by `program.judged`. An
interior-point method has no working set to carry over, so every solve is a cold one on a kept pattern.
"""

from __future__ import annotations

import numpy as np
import piqp
from scipy import sparse

from aesop_verified.planning.program import ProgramVectors, QpFailure, QpResult, QpSolution, QuadraticProgram, judged
from aesop_verified.planning.status import SolveStatus

_STATUS = {
    piqp.PIQP_SOLVED: SolveStatus.SOLVED,
    piqp.PIQP_PRIMAL_INFEASIBLE: SolveStatus.INFEASIBLE,
    piqp.PIQP_DUAL_INFEASIBLE: SolveStatus.UNBOUNDED,
    piqp.PIQP_MAX_ITER_REACHED: SolveStatus.LIMIT,
    piqp.PIQP_NUMERICS: SolveStatus.FAILED,
    piqp.PIQP_INVALID_SETTINGS: SolveStatus.INVALID,
    piqp.PIQP_UNSOLVED: SolveStatus.FAILED,
}


class PiqpSolver:
    """One program, many vectors.

    Args:
        program: sparse matrices (dense ones are converted). Rows whose bounds coincide are equalities and rows
            without a finite bound are left out; when that changes between vectors, the solver is set up anew.
        iteration_limit: of one solve.
    """

    def __init__(self, program: QuadraticProgram, *, iteration_limit: int = 250) -> None:
        self.program = program
        self.iteration_limit = iteration_limit
        self._P = sparse.csc_matrix(program.P, copy=True)  # PIQP wants a matrix that can be written to
        self._G = sparse.csr_matrix(program.G)
        self._kinds: np.ndarray | None = None
        self._solver: piqp.SparseSolver | None = None

    def solve(self, vectors: ProgramVectors) -> QpResult:
        """Solve with these vectors."""
        row = vectors.contradiction
        if row is not None:
            return QpFailure(SolveStatus.INFEASIBLE, f"row {row} has bounds {vectors.lower[row]} and {vectors.upper[row]}, which no point meets")
        equal = vectors.lower == vectors.upper
        bounded = ~equal & (np.isfinite(vectors.lower) | np.isfinite(vectors.upper))
        kinds = equal + 2 * bounded
        if self._solver is None or self._kinds is None or not np.array_equal(kinds, self._kinds):
            self._set_up(vectors, equal, bounded)
            self._kinds = kinds
        else:
            self._solver.update(c=vectors.q, b=vectors.upper[equal], h_l=vectors.lower[bounded], h_u=vectors.upper[bounded])
        assert self._solver is not None
        status = self._solver.solve()
        result = self._solver.result
        answer = judged(
            self.program, vectors, _STATUS.get(status, SolveStatus.FAILED), piqp.Status(status).name, np.array(result.x), int(result.info.iter)
        )
        if not isinstance(answer, QpSolution):
            self._solver = None
        return answer

    def forget(self) -> None:
        """Start the next solve with a fresh solver, whatever was solved before."""
        self._solver = None

    def _set_up(self, vectors: ProgramVectors, equal: np.ndarray, bounded: np.ndarray) -> None:
        """A fresh solver for equality rows, rows with a finite bound, and none of the others."""
        solver = piqp.SparseSolver()
        solver.settings.kkt_solver = piqp.sparse_ldlt
        solver.settings.max_iter = self.iteration_limit
        solver.settings.eps_abs, solver.settings.eps_rel = 1e-10, 0.0
        solver.settings.eps_duality_gap_abs, solver.settings.eps_duality_gap_rel = 1e-10, 1e-9
        solver.setup(
            self._P, vectors.q, sparse.csc_matrix(self._G[equal]), vectors.upper[equal],
            sparse.csc_matrix(self._G[bounded]), vectors.lower[bounded], vectors.upper[bounded],
        )  # fmt: skip
        self._solver = solver
