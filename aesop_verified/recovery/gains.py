"""The tube gain F: a linear-quadratic gain with short decimals whose error tube is small (theory 5).

Everything here is a proposal in floating point. That the rounded gain is good enough is decided later, by
exact checks of the tightened sets and of the recovery sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpq_mat
from scipy.linalg import LinAlgError, solve_discrete_are

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.rational import exact, rows_of
from aesop_verified.kernel.verdict import NotProved, Verdict

_Array = npt.NDArray[np.float64]
_STEPS = 60  # of the tube; a stable loop has settled by then
_SLOWEST = 0.97  # spectral radius above which a gain is not preferred
_ROUNDS = 6  # of the search over weights
_SMALL_TUBE = 0.02  # share of a half-width below which no search is worth while


class NotStabilisable(NotProved):
    """No stabilising gain was found for an axis."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Verdict.UNKNOWN)


def doubles(M: fmpq_mat) -> _Array:
    """The nearest doubles, shape kept."""
    return np.array([[int(v.p) / int(v.q) for v in row] for row in rows_of(M)], dtype=float).reshape(M.nrows(), M.ncols())


def spectral_radius(M: fmpq_mat) -> float:
    """The largest modulus of an eigenvalue, in floating point; 0 for an empty matrix."""
    return float(max(abs(np.linalg.eigvals(doubles(M))), default=0.0)) if M.nrows() else 0.0


def lqr(A: _Array, B: _Array, state_weights: _Array, input_weights: _Array) -> _Array:
    """F of u = F x that minimises sum x' Q x + u' R u for diagonal Q and R."""
    Q, R = np.diag(state_weights), np.diag(input_weights)
    P = solve_discrete_are(A, B, Q, R)
    return np.asarray(-np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A))


def tube_share(A: _Array, B: _Array, F: _Array, generators: _Array, widths: _Array, input_widths: _Array) -> float:
    """The largest share of a half-width that the tube takes up, over states and inputs."""
    closed, power = A + B @ F, np.eye(len(A))
    radius, effort = np.zeros(len(A)), np.zeros(B.shape[1])
    for _ in range(_STEPS):
        step = power @ generators
        radius += np.abs(step).sum(axis=1)
        effort += np.abs(F @ step).sum(axis=1)
        power = closed @ power
    shares = np.concatenate([radius / widths, effort / input_widths])
    slow = max(0.0, float(max(abs(np.linalg.eigvals(closed)))) - _SLOWEST)
    return float(shares.max() + 0.05 * shares.mean() + 10 * slow)


def tube_gain(A: fmpq_mat, B: fmpq_mat, W: Disturbance, widths: Sequence[fmpq], input_widths: Sequence[fmpq]) -> fmpq_mat:
    """F for one axis, shape (m, n), rounded to four significant digits; its closed loop is stable.

    The weights of a linear-quadratic problem, at first 1 / width^2, are varied one at a time by factors of
    about three, as long as the share of the sets that the tube takes falls.

    Args:
        widths, input_widths: half-widths of what the states and inputs may use, > 0.

    Raises:
        NotStabilisable: when the Riccati equation has no stabilising solution.
    """
    n, m = B.nrows(), B.ncols()
    if m == 0:
        return fmpq_mat(0, n)
    a, b = doubles(A), doubles(B)
    w = np.array([int(v.p) / int(v.q) for v in widths])
    v = np.array([int(x.p) / int(x.q) for x in input_widths])
    parts = [doubles(s.map) * ((doubles(s.upper) - doubles(s.lower)) / 2).T for s in W.summands]
    generators = np.hstack(parts) if parts else np.zeros((n, 1))

    def propose(exponents: _Array) -> tuple[float, _Array | None]:
        try:
            F = lqr(a, b, 10.0 ** exponents[:n] / w**2, 10.0 ** exponents[n:] / v**2)
        except (LinAlgError, ValueError):
            return float("inf"), None
        return tube_share(a, b, F, generators, w, v), F

    exponents = np.concatenate([np.zeros(n), -np.ones(m)])
    share, F = propose(exponents)
    for _ in range(_ROUNDS if share > _SMALL_TUBE else 0):
        improved = False
        for i in range(n + m):
            for change in (0.5, -0.5):
                trial = exponents.copy()
                trial[i] += change
                candidate, gain = propose(trial)
                if gain is not None and candidate < share * 0.999:
                    share, F, exponents, improved = candidate, gain, trial, True
        if not improved:
            break
    if F is None:
        raise NotStabilisable("the Riccati equation of an axis has no stabilising solution; is every unstable mode reached by an input?")
    rounded = fmpq_mat(m, n, [exact(f"{Decimal(f'{float(x):.3e}'):f}") for row in F for x in row])
    radius = spectral_radius(A + B * rounded)
    if not radius < 1:
        raise NotStabilisable(f"the gain found for an axis leaves a spectral radius of {radius:.6f}, expected less than 1")
    return rounded
