"""The exact system: model, sets, recovery sets with their laws, and the tightened sets of theory 5.

x+ = A x + B u + b + w, with w in W. Plans are made for w = 0 and every set is tightened by the reachable
set R_k of the error under the tube gain F: R_0 = {0}, R_{k+1} = Acl R_k + W with Acl = A + B F
(Chisci, Rossiter, Zappa 2001).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import (
    identity,
    own,
    require_shape,
    rows_of,
    text,
    zeros,
)
from aesop_verified.kernel.rollout import IntegerModel, Sides


@dataclass(frozen=True, slots=True, eq=False)
class RecoverySet:
    """X_R with its law kappa.

    Attributes:
        name: the set's key, such as "grass_north".
        polytope: X_R, in dimension n.
        law: kappa.
    """

    name: str
    polytope: Polytope
    law: AffineLaw


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """Everything that Theorem 1 speaks about, as exact numbers.

    Attributes:
        A, B, b: the model x+ = A x + B u + b + w; shapes (n, n), (n, m), (n, 1).
        X, U: state and input constraint sets.
        disturbance: the declared W, w_t = x_{t+1} - (A x_t + B u_t + b) for the true state and the sent input.
        estimate_error: E in xhat = x + e, as a disturbance set; {0} when the state is measured exactly.
        gain: the tube gain F, shape (m, n); feedback is u = F x.
        recovery_sets: in the order of the file; names are distinct.
        horizon: T.
        consensus_horizon: K, with 0 <= K < T.
        quantum: every applied input is a multiple of it; 0 sends inputs unrounded.
        fallback_order: all names, most preferred first (the fallback policy).

    Raises:
        UsageError: for shapes that do not fit, unknown or repeated names, K >= T, a negative quantum, an
            estimate error that excludes 0, or a recovery law with another gain than F although there is a
            disturbance (theory 5).

    Computed from these: `input_set` (inputs that stay in U when rounded), `first_state_set` (estimates whose true
    state is in X whatever the error), `total_disturbance`, `tightening` and `integer_model`.
    """

    A: fmpq_mat
    B: fmpq_mat
    b: fmpq_mat
    X: Polytope
    U: Polytope
    disturbance: Disturbance
    estimate_error: Disturbance
    gain: fmpq_mat
    recovery_sets: tuple[RecoverySet, ...]
    horizon: int
    consensus_horizon: int
    quantum: fmpq
    fallback_order: tuple[str, ...]
    input_set: Polytope = field(init=False)
    first_state_set: Polytope = field(init=False)
    total_disturbance: Disturbance = field(init=False)
    integer_model: IntegerModel = field(init=False)
    tightening: Tightening = field(init=False)

    def __post_init__(self) -> None:
        n, m = self.B.nrows(), self.B.ncols()
        require_shape("A", self.A, n, n)
        require_shape("b", self.b, n, 1)
        require_shape("the facet matrix of X", self.X.G, self.X.rows, n)
        require_shape("the facet matrix of U", self.U.G, self.U.rows, m)
        require_shape("the tube gain F", self.gain, m, n)
        own(self, "A", "B", "b", "gain")
        if self.disturbance.n != n or self.estimate_error.n != n:
            raise UsageError(f"the disturbance and the estimate error have dimensions {self.disturbance.n} and {self.estimate_error.n}, expected {n}")
        names = [r.name for r in self.recovery_sets]
        if not names or len(set(names)) != len(names):
            raise UsageError(f"the recovery sets are named {names}, expected at least one and distinct names")
        if sorted(self.fallback_order) != sorted(names):
            raise UsageError(f"the fallback order is {list(self.fallback_order)}, expected each of {names} once")
        if not 0 <= self.consensus_horizon < self.horizon:
            raise UsageError(f"the consensus horizon K is {self.consensus_horizon} and the horizon T is {self.horizon}, expected 0 <= K < T")
        for s in self.estimate_error.summands:
            if any(lo > 0 or hi < 0 for lo, hi in zip(s.lower.entries(), s.upper.entries())):
                raise UsageError(f"the estimate error {s.name!r} does not allow 0, expected lower <= 0 <= upper; move a known bias into the measurement")
        if self.quantum < 0:
            raise UsageError(f"the quantum is {self.quantum}, expected a positive number, or 0 to send inputs unrounded")
        object.__setattr__(self, "input_set", grid_shrunk(self.U, self.quantum))
        # SOUNDNESS: x = xhat - e, so g x <= h for every e in E is g xhat <= h - h_E(-g); 0 in E carries it on (theory 5).
        object.__setattr__(self, "first_state_set", self.X.shrunk(self.estimate_error.supports(-self.X.G)))
        object.__setattr__(self, "total_disturbance", self.disturbance.plus(self._estimate_summands() + self._rounding_summands()))
        robust = not self.total_disturbance.is_zero
        for r in self.recovery_sets:
            require_shape(f"the facet matrix of the recovery set {r.name!r}", r.polytope.G, r.polytope.rows, n)
            r.law.require_shapes(n, m, f"the recovery set {r.name!r}")
            # SOUNDNESS: the lengthened plan stays in the tightened sets only when the law has the tube's gain.
            if robust and r.law.gain != self.gain:
                raise UsageError(f"the law of the recovery set {r.name!r} has another gain than the tube gain F; with a disturbance (input rounding included) they must be equal")
        object.__setattr__(self, "integer_model", IntegerModel.of(self.A, self.B, self.b))
        object.__setattr__(self, "tightening", Tightening.of(self))

    def _rounding_summands(self) -> list[Summand]:
        half = fmpq_mat(self.m, 1, [self.quantum / 2] * self.m)
        return [Summand("input_rounding", self.B, -half, half)] if self.quantum > 0 else []

    def _estimate_summands(self) -> list[Summand]:
        extra = []
        for s in self.estimate_error.summands:
            extra.append(Summand(f"estimate_error_next.{s.name}", s.map, s.lower, s.upper))
            extra.append(Summand(f"estimate_error_now.{s.name}", -self.A * s.map, s.lower, s.upper))
        return extra

    @property
    def n(self) -> int:
        """Dimension of the state."""
        return self.B.nrows()

    @property
    def m(self) -> int:
        """Dimension of the input."""
        return self.B.ncols()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the recovery sets, in file order."""
        return tuple(r.name for r in self.recovery_sets)

    @property
    def closed_loop(self) -> fmpq_mat:
        """Acl = A + B F."""
        return self.A + self.B * self.gain

    @property
    def measured_disturbance(self) -> Disturbance:
        """The set in which xhat_{t+1} - (A xhat_t + B u_t + b) lies for the sent input u_t: W + E + (-A E)."""
        return self.disturbance.plus(self._estimate_summands())

    def recovery(self, name: str) -> RecoverySet:
        """The recovery set of that name; raises UsageError when there is none."""
        for r in self.recovery_sets:
            if r.name == name:
                return r
        raise UsageError(f"no recovery set is named {name!r}, expected one of {list(self.names)}")

    def next_state(self, x: fmpq_mat, u: fmpq_mat) -> fmpq_mat:
        """A x + B u + b, the next nominal state."""
        return self.A * x + self.B * u + self.b

    def fallback(self, options: Sequence[str]) -> str:
        """The fallback policy: the first of the fallback order that is in `options` (total on non-empty sets)."""
        return next(name for name in self.fallback_order if name in options)

    def canonical(self) -> dict[str, object]:
        """All data as text, for hashing and for files; rationals are "p/q"."""

        def mat(m: fmpq_mat) -> list[list[str]]:
            return [[text(v) for v in row] for row in rows_of(m)]

        def poly(p: Polytope) -> dict[str, object]:
            return {"G": mat(p.G), "h": [text(v) for v in p.h.entries()], "n": p.dimension_of_space}

        def dist(d: Disturbance) -> list[dict[str, object]]:
            return [{"name": s.name, "map": mat(s.map), "lower": mat(s.lower), "upper": mat(s.upper)} for s in d.summands]

        return {
            "A": mat(self.A), "B": mat(self.B), "b": mat(self.b), "X": poly(self.X), "U": poly(self.U),
            "disturbance": dist(self.disturbance), "estimate_error": dist(self.estimate_error), "gain": mat(self.gain),
            "recovery_sets": [
                {"name": r.name, "polytope": poly(r.polytope), "gain": mat(r.law.gain), "offset": mat(r.law.offset)} for r in self.recovery_sets
            ],
            "horizon": self.horizon, "consensus_horizon": self.consensus_horizon, "quantum": text(self.quantum),
            "fallback_order": list(self.fallback_order),
        }  # fmt: skip

    def hash(self) -> str:
        """SHA-256 of the canonical JSON of `canonical()`."""
        return hashlib.sha256(json.dumps(self.canonical(), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def grid_shrunk(U: Polytope, quantum: fmpq) -> Polytope:
    """The inputs whose rounding to the nearest multiple of the quantum, component by component, stays in U.

    A row with one non-zero entry becomes a bound on the grid, which rounding to nearest cannot cross; any
    other row g u <= h is shrunk by the largest change that rounding can make, (quantum / 2) sum |g_i|.
    """
    if quantum == 0:
        return U
    rows, offsets = [], []
    for g, h in zip(rows_of(U.G), U.h.entries()):
        scale = sum((abs(v) for v in g), fmpq(0))
        if sum(v != 0 for v in g) == 1:
            g = [v / scale for v in g]
            h = quantum * (h / scale / quantum).floor()
        else:
            h = h - quantum / 2 * scale
        rows.extend(g)
        offsets.append(h)
    return Polytope(fmpq_mat(U.rows, U.dimension_of_space, rows), fmpq_mat(U.rows, 1, offsets))


def quantised(u: fmpq_mat, quantum: fmpq) -> fmpq_mat:
    """The nearest multiples of the quantum, halves up; u unchanged when the quantum is 0."""
    if quantum == 0:
        return u
    half = fmpq(1, 2)
    return fmpq_mat(u.nrows(), u.ncols(), [quantum * (v / quantum + half).floor() for v in u.entries()])


@dataclass(frozen=True, slots=True, eq=False)
class Tightening:
    """Pontryagin offsets, facet by facet: h_{R_k}(g) = sum over j < k of h_W((Acl^j)^T g) (theory 5).

    Attributes:
        states[k], inputs[k]: the right-hand sides h_X - h_{R_k} and h_U - h_{F R_k} for k = 0..T+1.
        terminals[name][k]: likewise for a recovery set.
        corrections[k]: F Acl^k for k = 0..T, which carries a measured w into the shifted inputs.
        state_sides, input_sides, terminal_sides: the same right-hand sides with their rows, for the plan check.
    """

    states: tuple[tuple[fmpq, ...], ...]
    inputs: tuple[tuple[fmpq, ...], ...]
    terminals: dict[str, tuple[tuple[fmpq, ...], ...]]
    corrections: tuple[fmpq_mat, ...]
    state_sides: Sides
    input_sides: Sides
    terminal_sides: dict[str, Sides]

    @classmethod
    def of(cls, system: System) -> Tightening:
        """Compute all offsets of a system once."""
        steps, acl, W = system.horizon + 1, system.closed_loop, system.total_disturbance
        powers = [identity(system.n)]
        for _ in range(steps - 1):
            powers.append(powers[-1] * acl)

        def right_hand_sides(normals: fmpq_mat, h: fmpq_mat) -> tuple[tuple[fmpq, ...], ...]:
            sides = [tuple(h.entries())]
            for power in powers:
                sides.append(tuple(a - s for a, s in zip(sides[-1], W.supports(normals * power))))
            return tuple(sides)

        states = right_hand_sides(system.X.G, system.X.h)
        inputs = right_hand_sides(system.input_set.G * system.gain, system.input_set.h)
        terminals = {r.name: right_hand_sides(r.polytope.G, r.polytope.h) for r in system.recovery_sets}
        return cls(
            states,
            inputs,
            terminals,
            tuple(system.gain * power for power in powers),
            Sides.of(system.X.G, states),
            Sides.of(system.input_set.G, inputs),
            {r.name: Sides.of(r.polytope.G, terminals[r.name]) for r in system.recovery_sets},
        )

    def state_set(self, system: System, k: int) -> Polytope:
        """X - R_k."""
        return Polytope(system.X.G, _vector(self.states[k]))

    def input_set(self, system: System, k: int) -> Polytope:
        """U - F R_k, U being the quantum grid's."""
        return Polytope(system.input_set.G, _vector(self.inputs[k]))

    def recovery_set(self, system: System, name: str, k: int) -> Polytope:
        """X_R - R_k."""
        return Polytope(system.recovery(name).polytope.G, _vector(self.terminals[name][k]))


def _vector(values: Sequence[fmpq]) -> fmpq_mat:
    return fmpq_mat(len(values), 1, list(values)) if values else zeros(0, 1)
