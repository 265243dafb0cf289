"""Systems whose recovery sets are invariant by construction, built around a plan that they certify.

In coordinates z the closed loop Acl has absolute row sums below 1, so r = (I - |Acl|)^-1 w + s is a box radius
with |Acl| r + w <= r for every s >= 0, where w bounds W component by component: the box of radius r around
the law's equilibrium is robustly invariant, tightly so for s = 0. X and U are then put around what the plan,
the laws and the tightening need, with a slack that may be 0. A change of coordinates x = M z couples the
states. A travel coordinate, s+ = s + speed + ..., has no bounds and no equilibrium: sets are lanes along it.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.invariance import (
    AssuredSystem,
    RecoveryEvidence,
    RecoveryStatements,
    assure,
)
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.plan import CertifiedPlan, Plan, check_plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import entries, from_columns, identity
from aesop_verified.kernel.verdict import Proved
from aesop_verified.testing.parallelotopes import Parallelotope


@dataclass(frozen=True, eq=False)
class Instance:
    """An assured system with a first plan certified at its first state estimate; `tags` say what kind it is."""

    assured: AssuredSystem
    first_plan: CertifiedPlan
    tags: frozenset[str]

    @property
    def system(self) -> System:
        """The exact system."""
        return self.assured.system


@dataclass(frozen=True, eq=False)
class Ingredients:
    """What an instance is made of, in coordinates z (n of them; the travel coordinate, if any, is the first).

    Attributes:
        Acl: closed loop on the n - travel bounded coordinates, absolute row sums below 1.
        B, F, b: of the bounded coordinates.
        travel: row of the travel coordinate's dependence on the others, or None.
        M: x = M z, shape (n, n).
        summands, estimate: W and E in z.
        quantum, K, T: as in System.
        names, offsets, extra: one entry a recovery set: its name, the law's g, and how much larger than needed
            its radius is.
        options: Y of the first plan.
        state: z_0.
        common: u_0..u_K, shape (m, K + 1).
        rest: u_{K+1}..u_T of each option, shape (m, T - K).
        nominal: u_1..u_T of the nominal branch, shape (m, T).
        directions, input_directions: further facets of X and of U, as rows in z and u.
        slack, input_slack: one entry a facet, cyclically; 0 makes a facet touch.
        other_gain: a tube gain that differs from the laws', allowed where there is no disturbance at all.
    """

    Acl: fmpq_mat
    B: fmpq_mat
    F: fmpq_mat
    b: fmpq_mat
    travel: tuple[fmpq, ...] | None
    M: fmpq_mat
    summands: tuple[Summand, ...]
    estimate: tuple[Summand, ...]
    quantum: fmpq
    K: int
    T: int
    names: tuple[str, ...]
    offsets: tuple[fmpq_mat, ...]
    extra: tuple[fmpq, ...]
    options: tuple[str, ...]
    state: fmpq_mat
    common: fmpq_mat
    rest: tuple[fmpq_mat, ...]
    nominal: fmpq_mat
    directions: tuple[tuple[fmpq, ...], ...]
    input_directions: tuple[tuple[fmpq, ...], ...]
    slack: tuple[fmpq, ...]
    input_slack: tuple[fmpq, ...]
    other_gain: fmpq_mat | None


def absolute(m: fmpq_mat) -> fmpq_mat:
    """The matrix of absolute values."""
    return fmpq_mat(m.nrows(), m.ncols(), [abs(v) for v in m.entries()])


def block(corner: fmpq, row: tuple[fmpq, ...], m: fmpq_mat) -> fmpq_mat:
    """[[corner, row], [0, m]]."""
    flat = [corner, *row]
    for i in range(m.nrows()):
        flat += [fmpq(0), *(m[i, j] for j in range(m.ncols()))]
    return fmpq_mat(m.nrows() + 1, m.ncols() + 1, flat)


def below(row: list[fmpq], m: fmpq_mat) -> fmpq_mat:
    """`row` on top of m."""
    return fmpq_mat(m.nrows() + 1, m.ncols(), row + m.entries())


def beside(m: fmpq_mat) -> fmpq_mat:
    """A column of zeros to the left of m."""
    return fmpq_mat(m.nrows(), m.ncols() + 1, [v for i in range(m.nrows()) for v in [fmpq(0), *(m[i, j] for j in range(m.ncols()))]])


class _Builder:
    """Computes in z; every public result is in x."""

    def __init__(self, g: Ingredients) -> None:
        self.g, t = g, g.travel
        core = g.Acl - g.B * g.F
        self.first = 0 if t is None else 1
        self.n, self.m = core.nrows() + self.first, g.B.ncols()
        self.A = core if t is None else block(fmpq(1), t, core)
        self.Acl = g.Acl if t is None else block(fmpq(1), t, g.Acl)
        self.B = g.B if t is None else below([fmpq(0)] * self.m, g.B)
        self.b = g.b if t is None else below([fmpq(1)], g.b)
        self.F = g.F if t is None else beside(g.F)
        half = fmpq_mat(self.m, 1, [g.quantum / 2] * self.m)
        total = [*g.summands, Summand("rounding", self.B, -half, half)]
        for e in g.estimate:
            total += [e, Summand(f"{e.name} now", -self.A * e.map, e.lower, e.upper)]
        self.W = Disturbance(self.n, tuple(total))
        self.powers = [identity(self.n)]
        for _ in range(g.T + 1):
            self.powers.append(self.powers[-1] * self.Acl)
        self.states = [self._roll(u) for u in self.branches()]
        self.sets = [self._recovery_set(i) for i in range(len(g.names))]

    def branches(self) -> list[fmpq_mat]:
        """Inputs of the nominal branch and of each option."""
        g = self.g
        first = [[g.common[i, 0], *(g.nominal[i, k] for k in range(g.T))] for i in range(self.m)]
        options = [
            [[*(g.common[i, k] for k in range(g.K + 1)), *(rest[i, k] for k in range(g.T - g.K))] for i in range(self.m)]
            for rest in g.rest
        ]
        return [fmpq_mat(rows) for rows in [first, *options]]

    def _roll(self, u: fmpq_mat) -> list[fmpq_mat]:
        states = [self.g.state]
        for k in range(u.ncols()):
            now = fmpq_mat(self.m, 1, [u[i, k] for i in range(self.m)])
            states.append(self.A * states[-1] + self.B * now + self.b)
        return states

    def reach(self, t: fmpq_mat, k: int) -> fmpq:
        """h_{R_k}(t) for a row t."""
        return sum((self.W.support((t * p).transpose()) for p in self.powers[:k]), fmpq(0))

    def unit(self, i: int, sign: int) -> fmpq_mat:
        """The row +-e_i."""
        return fmpq_mat(1, self.n, [fmpq(sign * (i == j)) for j in range(self.n)])

    def _recovery_set(self, index: int) -> Parallelotope:
        """The box of radius r_min + s around the law's equilibrium that holds the end of the option's branch."""
        g, size = self.g, self.n - self.first
        eye = identity(size)
        centre = entries((eye - g.Acl).inv() * (g.B * g.offsets[index] + g.b))
        bound = [max(self.W.support(self.unit(self.first + i, sign).transpose()) for sign in (1, -1)) for i in range(size)]
        radius = entries((eye - absolute(g.Acl)).inv() * fmpq_mat(size, 1, bound))
        s = fmpq(0)
        if g.names[index] in g.options:
            end = self.states[1 + g.options.index(g.names[index])][g.T + 1]
            for i in range(size):
                for sign in (1, -1):
                    need = sign * (end[self.first + i, 0] - centre[i]) + self.reach(self.unit(self.first + i, sign), g.T + 1)
                    s = max(s, need - radius[i])
        s += g.extra[index]
        lower = tuple(c - r - s for c, r in zip(centre, radius))
        upper = tuple(c + r + s for c, r in zip(centre, radius))
        return Parallelotope(g.M, tuple(range(self.first, self.n)), lower, upper)

    def state_side(self, t: fmpq_mat) -> fmpq:
        """The least h for which {t z <= h} admits the plan, the recovery sets and every first true state."""
        needs = [(t * z)[0, 0] + self.reach(t, k) for states in self.states for k, z in enumerate(states[:-1])]
        needs += [s.support(t * self.g.M.inv()) for s in self.sets]
        first = (t * self.g.state)[0, 0] + sum((e.support(-t.transpose()) for e in self.g.estimate), fmpq(0))
        return max([*needs, first])

    def input_side(self, t: fmpq_mat) -> fmpq:
        """The least h for which {t u <= h}, put on the quantum grid, admits the plan and the laws."""
        g, pulled = self.g, t * self.F
        needs = [
            sum((t[0, i] * u[i, k] for i in range(self.m)), fmpq(0)) + self.reach(pulled, k)
            for u in self.branches()
            for k in range(g.T + 1)
        ]
        needs += [(t * offset)[0, 0] + s.support(pulled * g.M.inv()) for offset, s in zip(g.offsets, self.sets)]
        need = max(needs)
        if g.quantum == 0:
            return need
        scale = sum((abs(v) for v in t.entries()), fmpq(0))
        if sum(v != 0 for v in t.entries()) == 1:
            return scale * g.quantum * (need / scale / g.quantum).ceil()
        return need + g.quantum / 2 * scale


def build(g: Ingredients) -> Instance:
    """The instance made of these ingredients.

    Raises:
        AssertionError: when the kernel does not prove what holds by construction.
    """
    w = _Builder(g)
    back = g.M.inv()
    state_rows = [w.unit(i, sign) for i in range(w.first, w.n) for sign in (1, -1)]
    state_rows += [fmpq_mat(1, w.n, [fmpq(0)] * w.first + list(d)) for d in g.directions]
    input_rows = [fmpq_mat(1, w.m, [fmpq(sign * (i == j)) for j in range(w.m)]) for i in range(w.m) for sign in (1, -1)]
    input_rows += [fmpq_mat(1, w.m, list(d)) for d in g.input_directions]
    state_sides = [w.state_side(t) + g.slack[i % len(g.slack)] for i, t in enumerate(state_rows)]
    input_sides = [w.input_side(t) + g.input_slack[i % len(g.input_slack)] for i, t in enumerate(input_rows)]

    def moved(s: Summand) -> Summand:
        return Summand(s.name, g.M * s.map, s.lower, s.upper)

    gain = w.F * back
    system = System(
        A=g.M * w.A * back,
        B=g.M * w.B,
        b=g.M * w.b,
        X=Polytope(from_columns([(t * back).transpose() for t in state_rows], w.n).transpose(), fmpq_mat(len(state_sides), 1, state_sides)),
        U=Polytope(from_columns([t.transpose() for t in input_rows], w.m).transpose(), fmpq_mat(len(input_sides), 1, input_sides)),
        disturbance=Disturbance(w.n, tuple(moved(s) for s in g.summands)),
        estimate_error=Disturbance(w.n, tuple(moved(s) for s in g.estimate)),
        gain=gain if g.other_gain is None else g.other_gain,
        recovery_sets=tuple(RecoverySet(name, s.polytope, AffineLaw(gain, offset)) for name, s, offset in zip(g.names, w.sets, g.offsets)),
        horizon=g.T,
        consensus_horizon=g.K,
        quantum=g.quantum,
        fallback_order=tuple(reversed(g.names)),
    )
    evidence = {}
    for recovery, shape in zip(system.recovery_sets, w.sets):
        s = RecoveryStatements.of(system, recovery)
        evidence[recovery.name] = RecoveryEvidence(shape.centre, shape.farkas(s.invariance), shape.farkas(s.inside), shape.farkas(s.law))
    assured = assure(system, evidence)
    assert isinstance(assured, Proved), assured
    branches = w.branches()
    plan = check_plan(system, g.M * g.state, Plan(g.options, g.K, g.T, branches[0], tuple(branches[1:])))
    assert isinstance(plan, Proved), plan
    return Instance(assured.certificate, plan.certificate, _tags(g, system))


def _tags(g: Ingredients, system: System) -> frozenset[str]:
    n = system.n
    coupled = any(g.Acl[i, j] != 0 or g.M[i, j] != 0 for i in range(g.Acl.nrows()) for j in range(g.Acl.nrows()) if i != j)
    tags = {
        f"n={n}",
        f"m={system.m}",
        "coupled" if coupled else "decoupled",
        "no equilibrium" if g.travel is not None else "equilibrium",
        "W={0}" if system.disturbance.is_zero else "W",
        "quantum" if g.quantum else "quantum 0",
        "exact state" if system.estimate_error.is_zero else "estimate error",
    }
    return frozenset(tags)
