"""A small honest planner for tests: Eq. (3) with shared variables, solved by DAQP in floating point.

Nothing here is trusted. The polytope of all plans is condensed to the inputs, shrunk by a margin, and the
solver looks for its point nearest to a wished one; the kernel decides whether what comes out is a plan.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace

import daqp
import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from aesop_verified.kernel.errors import ExactnessError
from aesop_verified.kernel.events import Request
from aesop_verified.kernel.machine import start_request
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import CertifiedPlan, Plan, check_plan
from aesop_verified.kernel.rational import from_double, text
from aesop_verified.kernel.verdict import Proved

Array = NDArray[np.float64]
MARGIN = 1e-7


def floats(m: fmpq_mat) -> Array:
    """The nearest doubles of an exact matrix."""
    return np.array([int(v.p) / int(v.q) for v in m.entries()]).reshape(m.nrows(), m.ncols())


def _column(values: tuple[fmpq, ...]) -> Array:
    return np.array([int(v.p) / int(v.q) for v in values])


def first_plan(system: System, state: fmpq_mat) -> CertifiedPlan:
    """A certified plan from `state` for as many recovery sets at once as one can be found for.

    Raises:
        ValueError: when no plan for any recovery set certifies; `aesop verify` says from where there is one.
    """
    planner, request = HonestPlanner(system), start_request(system)
    for size in range(len(request.options), 0, -1):
        for options in itertools.combinations(request.options, size):
            plan = planner.propose(state, replace(request, options=options))
            checked = None if plan is None else check_plan(system, state, plan)
            if isinstance(checked, Proved):
                return checked.certificate
    raise ValueError(f"no plan to a recovery set is certified from ({', '.join(text(v) for v in state.entries())}); try another state")


class HonestPlanner:
    """Proposes plans for one system; keeps the float matrices and the programs that were built."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._A, self._B, self._b = floats(system.A), floats(system.B), floats(system.b)[:, 0]
        self._program = functools.lru_cache(maxsize=64)(self._build)

    def propose(self, state: fmpq_mat, request: Request, wish: float = 0.0) -> Plan | None:
        """A plan for exactly the request's options, or None; `wish` is the input that all branches stay close to."""
        G, offsets, dependence, blocks, size = self._program(request.options, request.consensus, request.horizon)
        upper = offsets - dependence @ floats(state)[:, 0] - MARGIN
        H, f = np.eye(size), np.full(size, -wish)
        sense = np.zeros(len(upper), dtype=np.int32)
        point, _, status, _ = daqp.solve(H, f, np.ascontiguousarray(G), upper, np.full(len(upper), -1e30), sense)
        if status != 1:
            return None
        try:
            exact = [from_double(float(v)) for v in point]
        except ExactnessError:
            return None
        m = self.system.m
        branches = [fmpq_mat(m, len(b), [exact[start + i] for i in range(m) for start in b]) for b in blocks]
        return Plan(request.options, request.consensus, request.horizon, branches[0], tuple(branches[1:]))

    def _build(self, options: tuple[str, ...], K: int, T: int) -> tuple[Array, Array, Array, list[list[int]], int]:
        """Rows G u <= offsets - dependence x over all inputs; block j lists the first variable of u_0..u_T of branch j."""
        s, m, n = self.system, self.system.m, self.system.n
        fresh = iter(range(0, 10**9, m))
        common = [next(fresh) for _ in range(K + 1)]
        nominal = [common[0]] + [next(fresh) for _ in range(T)]
        blocks = [nominal] + [common + [next(fresh) for _ in range(T - K)] for _ in options]
        size = next(fresh)
        rows: list[Array] = []
        offsets: list[Array] = []
        dependence: list[Array] = []

        def require(G: Array, phi: Array, drift: Array, gamma: Array, side: Array) -> None:
            rows.append(G @ gamma)
            offsets.append(side - G @ drift)
            dependence.append(G @ phi)

        G_x, G_u, tight = floats(s.X.G), floats(s.input_set.G), s.tightening
        for index, block in enumerate(blocks):
            phi, drift, gamma = np.eye(n), np.zeros(n), np.zeros((n, size))
            for k in range(T + 1):
                pick = np.zeros((m, size))
                pick[:, block[k] : block[k] + m] = np.eye(m)
                require(G_u, np.zeros((m, n)), np.zeros(m), pick, _column(tight.inputs[k]))
                require(G_x, phi, drift, gamma, _column(tight.states[k]))
                phi, drift, gamma = self._A @ phi, self._A @ drift + self._b, self._A @ gamma + self._B @ pick
            if index > 0:
                name = options[index - 1]
                require(floats(s.recovery(name).polytope.G), phi, drift, gamma, _column(tight.terminals[name][T + 1]))
        return np.vstack(rows), np.concatenate(offsets), np.vstack(dependence), blocks, size
