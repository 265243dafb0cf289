"""Text for people: rows, states and whole descriptions with names and units."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import rows_of
from aesop_verified.system.description import SystemDescription
from aesop_verified.system.numbers import decimal
from aesop_verified.system.parts import GivenSet, Variable


def with_unit(value: fmpq, unit: str) -> str:
    """ "1.5 m/s"."""
    return f"{decimal(value)} {unit}".rstrip()


def point_text(point: fmpq_mat, variables: Sequence[Variable]) -> str:
    """ "x = 1.5 m, v = 0 m/s", exactly; the point has shape (n, 1)."""
    return ", ".join(f"{v.name} = {with_unit(value, v.unit)}" for v, value in zip(variables, point.entries()))


def facet_text(polytope: Polytope, facet: int, variables: Sequence[Variable]) -> str:
    """One inequality, such as "x - 2 v <= 3" or "x >= -2 m"."""
    row, side = rows_of(polytope.G)[facet], polytope.h[facet, 0]
    terms = [(c, v) for c, v in zip(row, variables) if c != 0]
    if len(terms) == 1:
        coefficient, variable = terms[0]
        return f"{variable.name} {'<=' if coefficient > 0 else '>='} {with_unit(side / coefficient, variable.unit)}"
    text = " ".join(f"{'-' if c < 0 else '+'} {'' if abs(c) == 1 else decimal(abs(c)) + ' '}{v.name}" for c, v in terms) or "0"
    return f"{text.removeprefix('+ ')} <= {decimal(side)}"


def set_lines(polytope: Polytope, variables: Sequence[Variable]) -> list[str]:
    """Every inequality of a set, a line each; "no constraint" when there is none."""
    return [facet_text(polytope, i, variables) for i in range(polytope.rows)] or ["no constraint"]


def summary(d: SystemDescription) -> str:
    """The exact system as a page of text, with its hash."""
    lines = [d.name + (f": {d.description}" if d.description else "")]
    lines.append(f"time step          {decimal(d.dt)} s")
    lines.append(f"horizon            T = {d.horizon}: {d.horizon_text}")
    lines.append(f"consensus horizon  K = {d.consensus_horizon}: {d.consensus_horizon + 1} shared inputs, {decimal((d.consensus_horizon + 1) * d.dt)} s")
    lines.append(f"input quantum      {_quantum_text(d.quantum)}")
    for title, variables in (("states", d.states), ("inputs", d.inputs)):
        lines.append(f"{title:18} " + ", ".join(f"{v.name} [{v.unit}]" if v.unit else v.name for v in variables))
    lines.append("dynamics")
    for i, v in enumerate(d.states):
        lines.append(f"  {v.name}+ = {_sum_text(d, i)}")
    for title, polytope, variables in (("state set X", d.state_set, d.states), ("input set U", d.input_set, d.inputs)):
        lines += [title, *(f"  {line}" for line in set_lines(polytope, variables))]
    lines.append("tube gain F        " + ("to be synthesised" if d.tube_gain is None else ""))
    if d.tube_gain is not None:
        for v, row in zip(d.inputs, rows_of(d.tube_gain)):
            lines.append(f"  {v.name} = {_terms(list(zip(row, d.state_names)))}")
    lines += [*_summand_lines(d), "recovery sets"]
    for region in d.recovery_regions:
        kind = f"given, {region.content.polytope.rows} rows" if isinstance(region.content, GivenSet) else f"to be synthesised around {_near(d, region.content.around)}"
        lines.append(f"  {region.name}: {kind}" + (f" ({region.description})" if region.description else ""))
    lines.append(f"fallback order     {', '.join(d.fallback_order)}")
    lines.append(f"sha256             {d.hash()}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _summand_lines(d: SystemDescription) -> list[str]:
    lines = []
    for title, summands in (("disturbance W", d.disturbance), ("estimate error E", d.estimate_error)):
        lines.append(f"{title:18} " + ("" if summands else "{0}"))
        for s in summands:
            extent = []
            support = s.summand().support
            for i, v in enumerate(d.states):
                unit = fmpq_mat(d.n, 1, [fmpq(i == j) for j in range(d.n)])
                low, high = -support(-unit), support(unit)
                if low != 0 or high != 0:
                    size = f"±{decimal(high)}" if low == -high else f"in [{decimal(low)}, {decimal(high)}]"
                    extent.append(f"{v.name} {size} {v.unit}".rstrip())
            lines.append(f"  {s.name}: {', '.join(extent) or '0'}" + (f" ({s.evidence})" if s.evidence else ""))
    return lines


def _near(d: SystemDescription, point: fmpq_mat) -> str:
    named = [f"{v.name} = {with_unit(value, v.unit)}" for v, value in zip(d.states, point.entries()) if value != 0]
    return ", ".join(named) or "0"


def _quantum_text(quantum: fmpq) -> str:
    exponent = int(quantum.q).bit_length() - 1
    if quantum == 0:
        return "none: inputs are sent unrounded"
    return f"2^-{exponent}" if quantum == fmpq(1, 2**exponent) and exponent > 3 else decimal(quantum)


def _terms(pairs: Sequence[tuple[fmpq, str]]) -> str:
    text = " ".join(f"{'-' if c < 0 else '+'} {'' if abs(c) == 1 else decimal(abs(c)) + ' '}{name}".strip() for c, name in pairs if c != 0)
    return text.removeprefix("+ ") or "0"


def _sum_text(d: SystemDescription, i: int) -> str:
    pairs = [(d.A[i, j], name) for j, name in enumerate(d.state_names)] + [(d.B[i, j], name) for j, name in enumerate(d.input_names)]
    text, constant = _terms(pairs), d.b[i, 0]
    return text if constant == 0 else f"{text} {'-' if constant < 0 else '+'} {decimal(abs(constant))}"
