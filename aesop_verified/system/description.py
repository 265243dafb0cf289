"""A system as its user describes it: exact, with names and units, before anything is synthesised or proved.

`SystemDescription` is what a file holds. It may leave the tube gain and recovery sets to be synthesised; once
they are known, `build` gives the kernel's `System`. A description may well be one that the proof obligations
refute (an empty X, a recovery set outside X): that is not an error here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import require_shape
from aesop_verified.system.arrays import SystemArrays, to_arrays
from aesop_verified.system.canonical import canonical
from aesop_verified.system.numbers import decimal
from aesop_verified.system.parts import (
    Box,
    Costs,
    DescribedSummand,
    GivenSet,
    RecoveryRegion,
    SynthesisRequest,
    Variable,
    positive_semidefinite,
    require_name,
)

DEFAULT_QUANTUM = fmpq(1, 2**30)
MAX_HORIZON = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class SystemDescription:
    """Everything that a system file says, exactly.

    Attributes:
        name: `[a-z][a-z0-9_]*`.
        dt: the time step in seconds, > 0.
        states, inputs: names and units; they fix the order of every vector.
        A, B, b: x+ = A x + B u + b + w; shapes (n, n), (n, m), (n, 1).
        state_set, input_set: X and U.
        tube_gain: F, shape (m, n), u = F x; None asks for synthesis.
        recovery_regions: in file order.
        initial: a bounded box, flat for a point.
        costs: the objective.
        horizon, consensus_horizon: T and K in steps, 0 <= K < T; a plan has T + 1 inputs.
        disturbance: the summands of the declared W.
        estimate_error: the summands of E in xhat = x + e; each contains 0.
        quantum: every applied input is a multiple of it; 0 sends inputs unrounded.
        fallback_order: names of recovery regions, most preferred first.
        state_scale, input_scale: typical sizes, for the conditioning of solvers only.
        description: free text.

    Raises:
        UsageError: for shapes, names or horizons that do not fit.

    Two descriptions are equal when their canonical JSON is.
    """

    name: str
    dt: fmpq
    states: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    A: fmpq_mat
    B: fmpq_mat
    b: fmpq_mat
    state_set: Polytope
    input_set: Polytope
    tube_gain: fmpq_mat | None
    recovery_regions: tuple[RecoveryRegion, ...]
    initial: Box
    costs: Costs
    horizon: int
    consensus_horizon: int
    disturbance: tuple[DescribedSummand, ...] = ()
    estimate_error: tuple[DescribedSummand, ...] = ()
    quantum: fmpq = DEFAULT_QUANTUM
    fallback_order: tuple[str, ...] = ()
    state_scale: tuple[fmpq, ...] = ()
    input_scale: tuple[fmpq, ...] = ()
    description: str = field(default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "fallback_order", self.fallback_order or tuple(r.name for r in self.recovery_regions))
        object.__setattr__(self, "state_scale", self.state_scale or (fmpq(1),) * self.n)
        object.__setattr__(self, "input_scale", self.input_scale or (fmpq(1),) * self.m)
        check(self)

    @property
    def n(self) -> int:
        """Dimension of the state."""
        return len(self.states)

    @property
    def m(self) -> int:
        """Dimension of the input."""
        return len(self.inputs)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states, in order."""
        return tuple(v.name for v in self.states)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in order."""
        return tuple(v.name for v in self.inputs)

    @property
    def recovery_names(self) -> tuple[str, ...]:
        """Names of the recovery regions, in file order."""
        return tuple(r.name for r in self.recovery_regions)

    @property
    def to_synthesise(self) -> tuple[RecoveryRegion, ...]:
        """The recovery regions that have to be synthesised before `build`."""
        return tuple(r for r in self.recovery_regions if isinstance(r.content, SynthesisRequest))

    @property
    def horizon_text(self) -> str:
        """What T means: "41 inputs, 4.1 s" (a plan has T + 1 inputs and ends at time (T + 1) dt)."""
        return f"{self.horizon + 1} inputs, {decimal((self.horizon + 1) * self.dt)} s"

    def region(self, name: str) -> RecoveryRegion:
        """The recovery region of that name; raises UsageError when there is none."""
        for r in self.recovery_regions:
            if r.name == name:
                return r
        raise UsageError(f"no recovery set is named {name!r}, expected one of {list(self.recovery_names)}")

    def disturbance_set(self) -> Disturbance:
        """The declared W, as the kernel has it."""
        return Disturbance(self.n, tuple(s.summand() for s in self.disturbance))

    def estimate_error_set(self) -> Disturbance:
        """E in xhat = x + e."""
        return Disturbance(self.n, tuple(s.summand() for s in self.estimate_error))

    def given_recovery_sets(self, tube_gain: fmpq_mat | None = None) -> tuple[RecoverySet, ...]:
        """The recovery sets that the description gives with their law; `tube_gain` is F where it is not given."""
        given = []
        for r in self.recovery_regions:
            if isinstance(r.content, GivenSet):
                gain = r.content.gain if r.content.gain is not None else self._gain(tube_gain)
                given.append(RecoverySet(r.name, r.content.polytope, AffineLaw(gain, r.content.offset)))
        return tuple(given)

    def build(self, tube_gain: fmpq_mat | None = None, recovery_sets: Iterable[RecoverySet] = ()) -> System:
        """The kernel's system, from this description and what was synthesised for it.

        Args:
            tube_gain: F, shape (m, n), where the description leaves it to synthesis.
            recovery_sets: the synthesised ones; every region without a law needs one.

        Raises:
            UsageError: when something is still missing, or is given twice, or the kernel refuses the whole.
        """
        gain = self._gain(tube_gain)
        found = {r.name: r for r in self.given_recovery_sets(gain)}
        for r in recovery_sets:
            if r.name in found or r.name not in self.recovery_names:
                raise UsageError(f"a synthesised recovery set is named {r.name!r}, expected one of {[s.name for s in self.to_synthesise]}")
            found[r.name] = r
        if missing := [name for name in self.recovery_names if name not in found]:
            raise UsageError(f"the recovery sets {missing} are to be synthesised; synthesise them first and pass them as recovery_sets")
        sets = tuple(found[name] for name in self.recovery_names)
        try:
            return System(
                A=self.A, B=self.B, b=self.b, X=self.state_set, U=self.input_set,
                disturbance=self.disturbance_set(), estimate_error=self.estimate_error_set(), gain=gain,
                recovery_sets=sets, horizon=self.horizon, consensus_horizon=self.consensus_horizon,
                quantum=self.quantum, fallback_order=self.fallback_order,
            )  # fmt: skip
        except UsageError as error:
            other = [r.name for r in sets if r.law.gain != gain]
            if not other:
                raise
            advice = "give that gain as tube_gain" if self.tube_gain is None else "leave the law's gain out, or change tube_gain"
            raise UsageError(f"recovery_sets.{other[0]}.law.gain: {error}; {advice}") from None

    def completed(self, tube_gain: fmpq_mat | None = None, recovery_sets: Iterable[RecoverySet] = ()) -> SystemDescription:
        """This description with everything synthesised filled in; arguments and errors as in `build`."""
        system = self.build(tube_gain, recovery_sets)
        regions = []
        for region, built in zip(self.recovery_regions, system.recovery_sets):
            given = GivenSet(built.polytope, built.law.gain, built.law.offset)
            regions.append(region if isinstance(region.content, GivenSet) else replace(region, content=given))
        return replace(self, tube_gain=system.gain, recovery_regions=tuple(regions))

    def _gain(self, synthesised: fmpq_mat | None) -> fmpq_mat:
        if self.tube_gain is None:
            if synthesised is None:
                raise UsageError("the tube gain is to be synthesised; synthesise it first and pass it as tube_gain")
            return synthesised
        if synthesised is not None and synthesised != self.tube_gain:
            raise UsageError("a tube gain was passed, but the description gives another one; leave one of the two out")
        return self.tube_gain

    def to_numpy(self) -> SystemArrays:
        """All matrices as float arrays, for solvers and plots (nearest doubles, never used by a proof)."""
        return to_arrays(self)

    def canonical(self) -> dict[str, object]:
        """Everything as text, for `canonical_json`; rationals are "p/q"."""
        return canonical(self)

    def canonical_json(self) -> str:
        """The one exact text of this description: sorted keys, rationals as text, no spaces."""
        return json.dumps(self.canonical(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    def hash(self) -> str:
        """SHA-256 of `canonical_json()`, in hexadecimal."""
        return hashlib.sha256(self.canonical_json().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SystemDescription) and self.canonical_json() == other.canonical_json()

    def __hash__(self) -> int:
        return hash(self.canonical_json())


def check(d: SystemDescription) -> None:
    """Shapes, names and horizons; raises UsageError."""
    n, m = d.n, d.m
    if n < 1 or m < 1:
        raise UsageError(f"the system has {n} states and {m} inputs, expected at least one of each")
    names = d.state_names + d.input_names
    for name in (d.name, *names, *d.recovery_names, *(s.name for s in d.disturbance + d.estimate_error)):
        require_name(name)
    if len(set(names)) != len(names):
        raise UsageError(f"the states and inputs are named {list(names)}, expected distinct names")
    require_shape("A", d.A, n, n)
    require_shape("B", d.B, n, m)
    require_shape("b", d.b, n, 1)
    require_shape("the facet matrix of the state set", d.state_set.G, d.state_set.rows, n)
    require_shape("the facet matrix of the input set", d.input_set.G, d.input_set.rows, m)
    if d.tube_gain is not None:
        require_shape("the tube gain", d.tube_gain, m, n)
    for name, matrix, size in (("state", d.costs.state, n), ("input", d.costs.input, m), ("terminal", d.costs.terminal, n)):
        require_shape(f"the {name} cost", matrix, size, size)
        if matrix != matrix.transpose() or not positive_semidefinite(matrix):
            raise UsageError(f"the {name} cost is not symmetric and positive semidefinite: the cost must be convex")
    require_shape("the goal", d.costs.goal, n, 1)
    if d.costs.recovery_input < 0 or d.quantum < 0:
        raise UsageError(f"the weight of recovery inputs is {d.costs.recovery_input} and the quantum {d.quantum}, expected at least 0")
    if d.initial.n != n:
        raise UsageError(f"the initial box has dimension {d.initial.n}, expected {n}")
    d.initial.vertices()
    if d.dt <= 0:
        raise UsageError(f"dt is {d.dt}, expected a positive number of seconds")
    if not 0 <= d.consensus_horizon < d.horizon <= MAX_HORIZON:
        raise UsageError(f"the consensus horizon is {d.consensus_horizon} and the horizon {d.horizon}, expected 0 <= K < T <= {MAX_HORIZON}")
    if not d.recovery_regions or len(set(d.recovery_names)) != len(d.recovery_names):
        raise UsageError(f"the recovery sets are named {list(d.recovery_names)}, expected at least one and distinct names")
    if sorted(d.fallback_order) != sorted(d.recovery_names):
        raise UsageError(f"the fallback order is {list(d.fallback_order)}, expected each of {list(d.recovery_names)} once")
    if len(d.state_scale) != n or len(d.input_scale) != m or min(d.state_scale + d.input_scale) <= 0:
        raise UsageError("the scales are expected to be positive, one for each state and input")
    for r in d.recovery_regions:
        _check_region(r, n, m)
    for what, summands, known in (("disturbance", d.disturbance, d.disturbance_set()), ("estimate error", d.estimate_error, d.estimate_error_set())):
        if len({s.name for s in summands}) != len(known.summands):
            raise UsageError(f"the summands of the {what} are named {[s.name for s in summands]}, expected distinct names")
    for s in d.estimate_error:
        if any(not lo <= 0 <= hi for lo, hi in zip(s.lower.entries(), s.upper.entries())):
            raise UsageError(f"the summand {s.name!r} of the estimate error does not contain 0: an estimate may be exact")


def _check_region(r: RecoveryRegion, n: int, m: int) -> None:
    if isinstance(r.content, GivenSet):
        require_shape(f"the facet matrix of the recovery set {r.name!r}", r.content.polytope.G, r.content.polytope.rows, n)
        require_shape(f"the law's offset of the recovery set {r.name!r}", r.content.offset, m, 1)
        if r.content.gain is not None:
            require_shape(f"the law's gain of the recovery set {r.name!r}", r.content.gain, m, n)
        return
    require_shape(f"the point of the recovery set {r.name!r}", r.content.around, n, 1)
    if r.content.inside.n != n:
        raise UsageError(f"the box of the recovery set {r.name!r} has dimension {r.content.inside.n}, expected {n}")
