"""Wrenches from rotors: (T, tau) = M f for rotor thrusts f along body z, and back within the rotors' limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aesop_verified.kernel.errors import UsageError
from aesop_verified.plants.quadrotor import Wrench
from aesop_verified.plants.vectors import Vec


class Rotors:
    """Four or more rotors.

    Args:
        allocation: M, shape (4, N): rows thrust (1), torque about body x, y (m) and z (m), a newton of each rotor.
        limits: smallest and largest thrust of a rotor, N.

    Raises:
        UsageError: when M has another shape or its rows are dependent.
    """

    def __init__(self, allocation: ArrayLike, limits: tuple[float, float]) -> None:
        self._allocation: NDArray[np.float64] = np.asarray(allocation, dtype=float)
        if self._allocation.ndim != 2 or self._allocation.shape[0] != 4 or np.linalg.matrix_rank(self._allocation) < 4:
            raise UsageError(f"the allocation has shape {self._allocation.shape}, expected (4, N) with independent rows")
        self._inverse = np.linalg.pinv(self._allocation)
        self._low, self._high = limits
        self.saturated = 0

    def thrusts(self, wrench: Wrench) -> NDArray[np.float64]:
        """Rotor thrusts in N, shape (N,), cut to the limits; a cut command is counted in `saturated`."""
        wanted = self._inverse @ np.array((wrench.thrust, *wrench.torque))
        cut: NDArray[np.float64] = np.clip(wanted, self._low, self._high)
        self.saturated += bool(np.any(cut != wanted))
        return cut

    def wrench(self, thrusts: Sequence[float]) -> Wrench:
        """The wrench of rotor thrusts in N, one a rotor."""
        total, x, y, z = (float(v) for v in self._allocation @ np.asarray(thrusts, dtype=float))
        return Wrench(total, (x, y, z))

    @property
    def thrust_limits(self) -> tuple[float, float]:
        """Of the sum, N."""
        count = self._allocation.shape[1]
        return (count * self._low, count * self._high)

    @property
    def torque_limits(self) -> Vec:
        """The largest torque about each axis from the middle of the thrust range, N m."""
        x, y, z = (float(np.abs(row).sum()) * (self._high - self._low) / 2 for row in self._allocation[1:])
        return (x, y, z)
