"""Convex quadratic programs, checked at the door, and their answers: the layer below Eq. (3).

    minimise 1/2 z' P z + q' z + constant   subject to   lower <= G z <= upper

A program's matrices never change after it is built; only its vectors do (an update that changes a sparsity
pattern keeps the old matrix in some solvers). Rows are scaled to unit largest entry, so that a residual has
one meaning. An answer is either a `QpSolution`, which passed our own residual, or a `QpFailure`, which has
no point in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from aesop_verified.kernel.errors import UsageError
from aesop_verified.planning.status import SolveStatus

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]

RESIDUAL_TOLERANCE = 1e-10
"""Largest violation of a scaled row that a solution may have; far below the planner's margin (1e-7)."""


class NonConvexError(UsageError):
    """The cost matrix of a program is not positive semidefinite."""


@dataclass(frozen=True, eq=False)
class ProgramVectors:
    """The vectors of a program, which change from step to step.

    Attributes:
        q: linear cost, shape (n,), finite.
        lower, upper: row bounds, shape (r,); -inf and +inf mean "no bound", NaN is refused. A lower bound of
            +inf or an upper bound of -inf is a bound that no point meets: such a program is infeasible.
        constant: added to the cost.
    """

    q: Vector
    lower: Vector
    upper: Vector
    constant: float = 0.0

    def __post_init__(self) -> None:
        # A sum is finite, or not NaN, only if every term is: the exact search runs only when it is not.
        if not np.isfinite(self.q.sum() + self.constant):
            require_finite("q", self.q)
            require_finite("constant", np.array([self.constant]))
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if np.isnan(bound.sum()):
                refuse_nan(name, bound)

    @property
    def contradiction(self) -> int | None:
        """The first row whose bounds exclude every number, or None."""
        if not self.lower.size or ((self.lower <= self.upper).all() and self.lower.max() < math.inf and self.upper.min() > -math.inf):
            return None
        bad = np.flatnonzero((self.lower == math.inf) | (self.upper == -math.inf) | (self.lower > self.upper))
        return int(bad[0]) if bad.size else None


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """The matrices of a convex program, validated once.

    Attributes:
        P: cost matrix, shape (n, n), symmetric positive semidefinite; dense or `scipy.sparse`. Like G it is copied
            and cannot be written to.
        G: rows, shape (r, n); dense or sparse.
        row_scale: the factors by which the rows of G were multiplied, shape (r,); set on construction.

    Raises:
        UsageError: for NaN or infinite entries (the message names field and index) or shapes that do not fit.
        NonConvexError: when P is not symmetric positive semidefinite.
    """

    P: Matrix | sparse.csc_matrix
    G: Matrix | sparse.csc_matrix
    row_scale: Vector = field(init=False)

    def __post_init__(self) -> None:
        n = self.P.shape[0]
        if self.P.shape != (n, n) or self.G.shape[1:] != (n,):
            raise UsageError(f"the cost matrix P has shape {self.P.shape} and the rows G have shape {self.G.shape}, expected (n, n) and (r, n)")
        require_finite("P", self.P)
        require_finite("G", self.G)
        require_convex("P", self.P)
        peaks = np.asarray(abs(self.G).max(axis=1).todense()).ravel() if sparse.issparse(self.G) else np.abs(self.G).max(axis=1, initial=0.0)
        scale = np.where(peaks > 0, 1.0 / np.where(peaks > 0, peaks, 1.0), 1.0)
        object.__setattr__(self, "row_scale", scale)
        scaled = sparse.csc_matrix(sparse.diags(scale) @ self.G) if sparse.issparse(self.G) else scale[:, None] * self.G
        object.__setattr__(self, "G", _unwritable(scaled))
        object.__setattr__(self, "P", _unwritable(self.P.copy()))

    @property
    def variables(self) -> int:
        """n."""
        return int(self.P.shape[0])

    @property
    def rows(self) -> int:
        """r."""
        return int(self.G.shape[0])

    def vectors(self, q: Vector, lower: Vector, upper: Vector, constant: float = 0.0) -> ProgramVectors:
        """Vectors for this program from bounds on the rows *as they were given*; checked."""
        for name, value, length in (("q", q, self.variables), ("lower", lower, self.rows), ("upper", upper, self.rows)):
            if value.shape != (length,):
                raise UsageError(f"{name} has shape {value.shape}, expected ({length},)")
        return ProgramVectors(q, lower * self.row_scale, upper * self.row_scale, constant)

    def cost(self, vectors: ProgramVectors, z: Vector) -> float:
        """1/2 z' P z + q' z + constant."""
        return float(0.5 * z @ (self.P @ z) + vectors.q @ z + vectors.constant)

    def residual(self, vectors: ProgramVectors, z: Vector) -> float:
        """The largest violation of a scaled row at z, relative to max(1, |bound|); NaN counts as infinite.

        Where the absolute violation is within the tolerance already, it is returned.
        """
        values = self.G @ z
        absolute = max(float((values - vectors.upper).max(initial=0.0)), float((vectors.lower - values).max(initial=0.0)))
        if absolute <= RESIDUAL_TOLERANCE and np.isfinite(values.sum()):
            return absolute
        worst = 0.0
        for excess, bound in ((values - vectors.upper, vectors.upper), (vectors.lower - values, vectors.lower)):
            keep = np.isfinite(bound)
            scaled = excess[keep] / np.maximum(1.0, np.abs(bound[keep]))
            worst = max(worst, float(scaled.max(initial=0.0)) if not np.isnan(scaled).any() else math.inf)
        return worst if np.isfinite(values).all() else math.inf


@dataclass(frozen=True, eq=False)
class QpSolution:
    """A point whose status, finiteness and residual were all checked.

    Attributes:
        z: shape (n,).
        cost: of the program at z, computed by us.
        residual: largest relative violation of a scaled row, computed by us.
        iterations: the solver's count.
    """

    z: Vector
    cost: float
    residual: float
    iterations: int


@dataclass(frozen=True)
class QpFailure:
    """No usable point: `status` is never SOLVED, and there is nothing to read an input from."""

    status: SolveStatus
    reason: str
    iterations: int = 0


QpResult: TypeAlias = "QpSolution | QpFailure"


def judged(
    program: QuadraticProgram, vectors: ProgramVectors, status: SolveStatus, detail: str, z: Vector, iterations: int
) -> QpResult:
    """The weakest of what the solver says and what its point shows (theory 7).

    Args:
        status: the solver's own word, already mapped.
        detail: the solver's text for it.
        z: the solver's point; read only when the status is SOLVED.
    """
    if status is not SolveStatus.SOLVED:
        return QpFailure(status, f"the solver says {detail}", iterations)
    if z.shape != (program.variables,) or not np.isfinite(z).all():
        return QpFailure(SolveStatus.FAILED, f"the solver says {detail} but its point is not finite", iterations)
    residual = program.residual(vectors, z)
    if not residual <= RESIDUAL_TOLERANCE:
        return QpFailure(
            SolveStatus.INACCURATE,
            f"the solver says {detail} but a scaled row is violated by {residual:.2e}, allowed is {RESIDUAL_TOLERANCE:.0e}",
            iterations,
        )
    return QpSolution(z, program.cost(vectors, z), residual, iterations)


def require_finite(name: str, values: Matrix | Vector | sparse.csc_matrix) -> None:
    """Refuse NaN and infinities, naming field and index."""
    if sparse.issparse(values):
        coordinates = sparse.coo_matrix(values)
        bad = np.flatnonzero(~np.isfinite(coordinates.data))
        if not bad.size:
            return
        index, value = [int(coordinates.row[bad[0]]), int(coordinates.col[bad[0]])], coordinates.data[bad[0]]
    else:
        dense = np.asarray(values)
        if np.isfinite(dense).all():
            return
        index = [int(i) for i in np.argwhere(~np.isfinite(dense))[0]]
        value = dense[tuple(index)]
    raise UsageError(f"{name}{index} is {value}, expected a finite number; correct the data before planning")


def _unwritable(values: Matrix | sparse.csc_matrix) -> Matrix | sparse.csc_matrix:
    """The same matrix, whose entries can no longer be replaced in place."""
    if isinstance(values, np.ndarray):
        values.setflags(write=False)
    else:
        for array in (values.data, values.indices, values.indptr):
            array.setflags(write=False)
    return values


def refuse_nan(name: str, values: Vector) -> None:
    """Refuse NaN in a bound (infinities mean "no bound"), naming field and index."""
    if np.isnan(values).any():
        raise UsageError(f"{name}[{int(np.flatnonzero(np.isnan(values))[0])}] is NaN, expected a number or an infinity (no bound)")


def require_convex(name: str, P: Matrix | sparse.csc_matrix) -> None:
    """Refuse a matrix that is not symmetric positive semidefinite, up to rounding of its own size.

    A sparse matrix is checked component by component of its graph: the cost of Eq. (3) has one small
    component a node of the tree.
    """
    if sparse.issparse(P):
        count, labels = sparse.csgraph.connected_components(P, directed=False)
        order = np.argsort(labels, kind="stable")
        rows = sparse.csr_matrix(P)
        seen: set[bytes] = set()
        for part in np.split(order, np.cumsum(np.bincount(labels, minlength=count))[:-1]):
            block = rows[part][:, part].toarray() if part.size > 1 else np.array([[rows[part[0], part[0]]]])
            if block.tobytes() not in seen:
                seen.add(block.tobytes())
                require_convex(name, block)
        return
    dense = np.asarray(P)
    size = float(np.abs(dense).max(initial=0.0))
    if not np.allclose(dense, dense.T, rtol=0.0, atol=1e-12 * size):
        raise NonConvexError(f"{name} is not symmetric, expected {name} = {name}' (use the symmetric part of the cost)")
    smallest = float(np.linalg.eigvalsh(dense)[0]) if dense.size else 0.0
    if smallest < -1e-11 * max(size, 1e-300):
        raise NonConvexError(f"{name} has the eigenvalue {smallest:.6g}, expected none below 0: the cost is not convex; only convex costs are planned")
