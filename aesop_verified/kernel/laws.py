"""Laws that keep a recovery set: kappa(x) for every x, exactly (theory 6)."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq_mat

from aesop_verified.kernel.rational import own, require_shape


@dataclass(frozen=True, slots=True, eq=False)
class AffineLaw:
    """kappa(x) = gain x + offset (theory 6, kind 1); gain has shape (m, n), offset (m, 1)."""

    gain: fmpq_mat
    offset: fmpq_mat

    def __post_init__(self) -> None:
        own(self, "gain", "offset")

    def __call__(self, x: fmpq_mat) -> fmpq_mat:
        """kappa(x), shape (m, 1)."""
        return self.gain * x + self.offset

    def require_shapes(self, n: int, m: int, where: str) -> None:
        """Refuse a law of other dimensions; `where` is for the message."""
        require_shape(f"the law's gain of {where}", self.gain, m, n)
        require_shape(f"the law's offset of {where}", self.offset, m, 1)
