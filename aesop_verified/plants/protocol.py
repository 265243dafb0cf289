"""What a flight needs of a plant: the true state, a measurement of it, and one step under a sent input."""

from __future__ import annotations

from typing import Protocol

from flint import fmpq_mat


class Plant(Protocol):
    """A plant behind the loop; vectors are exact, in the order and the units of the system's states and inputs.

    The claims of Theorem 1 hold for `state` while `measure() - state` lies in E and what `apply` returns lies in W.
    """

    @property
    def state(self) -> fmpq_mat:
        """The true state x_t, shape (n, 1)."""

    def measure(self) -> fmpq_mat:
        """The measurement xhat_t, shape (n, 1)."""

    def apply(self, sent: fmpq_mat) -> fmpq_mat:
        """Move on one step under the sent input, shape (m, 1); returns w_t = x_{t+1} - (A x_t + B u_t + b), exactly."""
