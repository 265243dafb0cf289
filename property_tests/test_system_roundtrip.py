"""A description written as a file reads back as the same exact description, whatever it holds."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from aesop_verified.kernel.polytope import Polytope
from aesop_verified.system import (
    Box,
    Costs,
    DescribedSummand,
    GivenSet,
    RecoveryRegion,
    SynthesisRequest,
    SystemDescription,
    Variable,
    load,
    loads,
    to_yaml,
)
from aesop_verified.system.numbers import decimal
from aesop_verified.system.parts import MISREAD_NAMES, RESERVED_NAMES

ROOT = Path(__file__).parent.parent
EXAMPLES = [ROOT / "examples" / f"{name}.yaml" for name in ("double-integrator", "quadrotor-flat")]
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "spec" / "system.schema.json").read_text(encoding="utf-8")))

numbers = st.one_of(st.integers(-3, 3), st.decimals(-100, 100, places=3), st.fractions()).map(lambda v: fmpq(*v.as_integer_ratio()))
sizes = numbers.map(abs)
names = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True).filter(lambda n: n not in MISREAD_NAMES + RESERVED_NAMES)
texts = st.text(st.characters(codec=None), max_size=12)
units = st.sampled_from(["", "m", "m/s", "rad/s^2", "kg*m", "%"])


def matrices(rows: int, columns: int) -> st.SearchStrategy[fmpq_mat]:
    return st.lists(numbers, min_size=rows * columns, max_size=rows * columns).map(lambda v: fmpq_mat(rows, columns, v))


def polytopes(n: int) -> st.SearchStrategy[Polytope]:
    return st.integers(0, 4).flatmap(lambda r: st.builds(Polytope, matrices(r, n), matrices(r, 1)))


@st.composite
def boxes(draw: st.DrawFn, n: int, *, bounded: bool) -> Box:
    sides = []
    for _ in range(n):
        a, b = draw(numbers), draw(numbers)
        sides.append((None, None) if not bounded and draw(st.booleans()) else (min(a, b), max(a, b)))
    return Box(tuple(lo for lo, _ in sides), tuple(hi for _, hi in sides))


@st.composite
def gram(draw: st.DrawFn, n: int) -> fmpq_mat:
    root = draw(matrices(n, n))
    return root * root.transpose()


@st.composite
def summands(draw: st.DrawFn, n: int, *, around_zero: bool) -> tuple[DescribedSummand, ...]:
    result = []
    for name in draw(st.lists(names, unique=True, max_size=2)):
        p = draw(st.integers(0, 2))
        ends = [(-draw(sizes), draw(sizes)) if around_zero else sorted((draw(numbers), draw(numbers))) for _ in range(p)]
        lower, upper = (fmpq_mat(p, 1, [e[side] for e in ends]) for side in (0, 1))
        result.append(DescribedSummand(name, draw(matrices(n, p)), lower, upper, draw(texts)))
    return tuple(result)


@st.composite
def regions(draw: st.DrawFn, name: str, n: int, m: int) -> RecoveryRegion:
    if draw(st.booleans()):
        return RecoveryRegion(name, SynthesisRequest(draw(boxes(n, bounded=False)), draw(matrices(n, 1))), draw(texts))
    return RecoveryRegion(name, GivenSet(draw(polytopes(n)), draw(st.none() | matrices(m, n)), draw(matrices(m, 1))), draw(texts))


@st.composite
def descriptions(draw: st.DrawFn) -> SystemDescription:
    n, m = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    variables = [Variable(name, draw(units)) for name in draw(st.lists(names, min_size=n + m, max_size=n + m, unique=True))]
    region_names = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    horizon = draw(st.integers(1, 100))
    positive = sizes.map(lambda v: v + 1)
    return SystemDescription(
        name=draw(names), dt=draw(positive), states=tuple(variables[:n]), inputs=tuple(variables[n:]),
        A=draw(matrices(n, n)), B=draw(matrices(n, m)), b=draw(matrices(n, 1)),
        state_set=draw(polytopes(n)), input_set=draw(polytopes(m)), tube_gain=draw(st.none() | matrices(m, n)),
        recovery_regions=tuple(draw(regions(name, n, m)) for name in region_names), initial=draw(boxes(n, bounded=True)),
        costs=Costs(draw(gram(n)), draw(gram(m)), draw(gram(n)), draw(matrices(n, 1)), draw(sizes)),
        horizon=horizon, consensus_horizon=draw(st.integers(0, horizon - 1)),
        disturbance=draw(summands(n, around_zero=False)), estimate_error=draw(summands(n, around_zero=True)), quantum=draw(sizes),
        fallback_order=tuple(draw(st.permutations(region_names))),
        state_scale=tuple(draw(positive) for _ in range(n)), input_scale=tuple(draw(positive) for _ in range(m)),
        description=draw(texts),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(descriptions())
def test_a_description_survives_its_file(d: SystemDescription) -> None:
    again = loads(to_yaml(d))
    assert again.canonical_json() == d.canonical_json()
    assert again == d and again.hash() == d.hash()
    assert to_yaml(again) == to_yaml(d)
    SCHEMA.validate(yaml.load(to_yaml(d), Loader=yaml.BaseLoader))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_the_examples_survive(path: Path) -> None:
    d = load(path)
    assert loads(to_yaml(d)) == d


@settings(max_examples=40, deadline=None)
@given(descriptions(), st.data())
def test_any_change_of_a_number_changes_the_hash(d: SystemDescription, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, d.n - 1))
    text = to_yaml(d)
    changed = fmpq_mat(d.b)
    changed[i, 0] += fmpq(1, 10**40)
    old, new = (f"  b: [{', '.join(map(decimal, b.entries()))}]" for b in (d.b, changed))
    assert text.count(f"{old}\n") == 1
    assert loads(text.replace(old, new)).hash() != d.hash()
