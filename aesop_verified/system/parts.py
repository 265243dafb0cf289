"""The parts of a system description: exact values, with no file and no solver in sight."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Summand
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of

DEFAULT_RECOVERY_INPUT_WEIGHT = fmpq(1, 10_000)
"""The regularisation of recovery inputs that theory 7 measured."""

NAME_PATTERN = r"[a-z][a-z0-9_]*"
MISREAD_NAMES = ("yes", "no", "on", "off", "true", "false", "null")
"""Words that other YAML readers do not take as text."""
RESERVED_NAMES = ("inputs", "max", "min", "nominal", "states", "synthesise")


def require_name(name: str) -> str:
    """`name`, when it can be the name of a state, an input, a set or a system; raises UsageError otherwise."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(f"found the name {name[:60]!r}, expected lower-case letters, digits and underscores after a letter, such as x or landing_pad")
    if name in MISREAD_NAMES:
        raise UsageError(f"found the name {name!r}, which other YAML readers take for a truth value or for nothing; choose another name")
    if name in RESERVED_NAMES:
        raise UsageError(f"found the name {name!r}, which has a meaning of its own; choose another name (reserved are {', '.join(RESERVED_NAMES)})")
    return name


@dataclass(frozen=True, slots=True)
class Variable:
    """A state or an input: its name, and its unit ("" when none is declared)."""

    name: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """{x : lower <= x <= upper}; a component has two bounds, or None twice when it has none."""

    lower: tuple[fmpq | None, ...]
    upper: tuple[fmpq | None, ...]

    def __post_init__(self) -> None:
        if len(self.lower) != len(self.upper):
            raise UsageError(f"a box has {len(self.lower)} lower and {len(self.upper)} upper bounds, expected as many")
        for i, (lo, hi) in enumerate(zip(self.lower, self.upper)):
            if (lo is None) != (hi is None):
                raise UsageError(f"component {i} of a box has a bound on one side only, expected both or none; give one-sided bounds as rows of a polytope")

    @property
    def n(self) -> int:
        """Dimension of the space."""
        return len(self.lower)

    def polytope(self) -> Polytope:
        """The same set by inequalities: for each component x_i <= upper_i, then -x_i <= -lower_i, where bounded."""
        rows: list[fmpq] = []
        sides: list[fmpq] = []
        for i, (lo, hi) in enumerate(zip(self.lower, self.upper)):
            for sign, bound in ((1, hi), (-1, lo)):
                if bound is not None:
                    rows.extend(fmpq(sign * (i == j)) for j in range(self.n))
                    sides.append(sign * bound)
        return Polytope(fmpq_mat(len(sides), self.n, rows), fmpq_mat(len(sides), 1, sides))

    def vertices(self) -> Iterator[fmpq_mat]:
        """The distinct vertices of a bounded box, as columns of shape (n, 1).

        Raises:
            UsageError: when a component is unbounded.
        """
        sides = []
        for i, (lo, hi) in enumerate(zip(self.lower, self.upper)):
            if lo is None or hi is None:
                raise UsageError(f"the box has no bounds on component {i}; only a bounded box has vertices")
            sides.append([lo] if lo == hi else [lo, hi])
        return (fmpq_mat(self.n, 1, list(corner)) for corner in product(*sides))

    def centre(self) -> fmpq_mat:
        """The mid-point of a bounded box, shape (n, 1); raises UsageError when a component is unbounded."""
        middle = []
        for i, (lo, hi) in enumerate(zip(self.lower, self.upper)):
            if lo is None or hi is None:
                raise UsageError(f"the box has no bounds on component {i}; only a bounded box has a centre")
            middle.append((lo + hi) / 2)
        return fmpq_mat(self.n, 1, middle)


@dataclass(frozen=True, slots=True, eq=False)
class DescribedSummand:
    """One summand {map v : lower <= v <= upper} of W or of the estimate error, with where it comes from."""

    name: str
    map: fmpq_mat
    lower: fmpq_mat
    upper: fmpq_mat
    evidence: str = ""

    def summand(self) -> Summand:
        """The kernel's form."""
        return Summand(self.name, self.map, self.lower, self.upper)


@dataclass(frozen=True, slots=True, eq=False)
class GivenSet:
    """A recovery set that is given with its law u = gain x + offset; a gain of None is the tube gain."""

    polytope: Polytope
    gain: fmpq_mat | None
    offset: fmpq_mat


@dataclass(frozen=True, slots=True, eq=False)
class SynthesisRequest:
    """ "Find a robustly invariant set inside this box (and inside X), around this point" (point of shape (n, 1))."""

    inside: Box
    around: fmpq_mat


@dataclass(frozen=True, slots=True, eq=False)
class RecoveryRegion:
    """A recovery set by name: given, or to be synthesised."""

    name: str
    content: GivenSet | SynthesisRequest
    description: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """The objective of Eq. (3): sum_k (x_k - goal)' Q (x_k - goal) + u_k' R u_k, P on the last state.

    Attributes:
        state, input, terminal: Q (n, n), R (m, m), P (n, n); symmetric, positive semidefinite.
        goal: shape (n, 1).
        recovery_input: weight of the sum of squares of every recovery branch's inputs (theory 7).
    """

    state: fmpq_mat
    input: fmpq_mat
    terminal: fmpq_mat
    goal: fmpq_mat
    recovery_input: fmpq = DEFAULT_RECOVERY_INPUT_WEIGHT


def positive_semidefinite(matrix: fmpq_mat) -> bool:
    """Whether a symmetric matrix is positive semidefinite, exactly, by elimination (a zero pivot needs a zero row)."""
    rows = rows_of(matrix)
    for k in range(len(rows)):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(v != 0 for v in rows[k][k:])):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / pivot
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    return True
