"""Sets, disturbances and costs of a system file."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.polytope import Polytope
from aesop_verified.system.fields import Field
from aesop_verified.system.parts import DEFAULT_RECOVERY_INPUT_WEIGHT, Box, Costs, DescribedSummand, Variable, positive_semidefinite

Variables = Sequence[Variable]


def read_box(field: Field, variables: Variables, what: str) -> Box:
    """A mapping from names to intervals; a name that is missing has no bound."""
    lower: list[fmpq | None] = [None] * len(variables)
    upper: list[fmpq | None] = [None] * len(variables)
    for index, entry in field.by_name(variables, what).items():
        interval = field.problems.attempt(entry.interval, variables[index].unit)
        if interval is not None:
            lower[index], upper[index] = interval
    return Box(tuple(lower), tuple(upper))


def read_polytope(parts: dict[str, Field], owner: Field, variables: Variables, what: str) -> Polytope:
    """The intersection of `box` and `rows`; facets in the order of the box, then of the rows (max before min)."""
    if "box" not in parts and "rows" not in parts:
        raise owner.error("found neither 'box' nor 'rows', expected at least one of them; an unbounded set is written 'rows: []'")
    n = len(variables)
    result = Polytope.whole_space(n)
    if "box" in parts:
        box = owner.problems.attempt(read_box, parts["box"], variables, what)
        result = result if box is None else box.polytope()
    if "rows" in parts:
        for item in parts["rows"].items("a list of rows such as {x: 1, y: -2, max: 3}"):
            row = owner.problems.attempt(read_row, item, variables, what)
            result = result if row is None else result.intersection(row)
    return result


def read_row(field: Field, variables: Variables, what: str) -> Polytope:
    """{x: 1, y: -2, max: 3, min: -3}: coefficients by name, and min <= sum <= max; one of the two may be missing."""
    names = [v.name for v in variables]
    entries = field.any_keys("a row such as {x: 1, y: -2, max: 3}")
    coefficients, bounds = [fmpq(0)] * len(names), dict[str, fmpq]()
    for key, entry in entries.items():
        if key not in names and key not in ("max", "min"):
            field.unknown(key, [*names, "max", "min"], f"{what} or bound")
            continue
        value = field.problems.attempt(entry.number)
        if value is not None and key in names:
            coefficients[names.index(key)] = value
        elif value is not None:
            bounds[key] = value
    if not any(key in names for key in entries):
        raise field.error(f"found a row without a {what}, expected coefficients by name, such as {{{names[0]}: 1, max: 3}}")
    if "max" not in entries and "min" not in entries:
        raise field.error("found neither 'max' nor 'min', expected at least one of them")
    G, h = list[fmpq](), list[fmpq]()
    for key, sign in (("max", 1), ("min", -1)):
        if key in bounds:
            G.extend(sign * c for c in coefficients)
            h.append(sign * bounds[key])
    return Polytope(fmpq_mat(len(h), len(names), G), fmpq_mat(len(h), 1, h))


def read_initial(field: Field, states: Variables) -> Box:
    """{point: ...} or {box: ...}; a state that is not named starts at 0."""
    parts = field.keys(("point", "box"))
    if len(parts) != 1:
        raise field.error("expected exactly one of 'point' and 'box'")
    if "point" in parts:
        point = tuple(parts["point"].vector(states, "state").entries())
        return Box(point, point)
    box = read_box(parts["box"], states, "state")
    for v, lo, hi in zip(states, box.lower, box.upper):
        if lo is not None and hi is not None and lo > hi:
            raise parts["box"].error(f"found the interval [{lo}, {hi}] for {v.name!r}, expected the lower bound first: nothing can start in an empty set")
    zero = fmpq(0)
    return Box(tuple(zero if v is None else v for v in box.lower), tuple(zero if v is None else v for v in box.upper))


def read_summands(field: Field, states: Variables, *, must_contain_zero: bool) -> tuple[DescribedSummand, ...]:
    """A list of named summands, each a box by state name or the image of a box under `map`."""
    result: list[DescribedSummand] = []
    for item in field.items("a list of summands such as {name: wind, box: {v: ±0.1}, evidence: declared}"):
        summand = field.problems.attempt(_summand, item, states, must_contain_zero)
        if summand is not None and summand.name in [s.name for s in result]:
            field.problems.add(f"{item.path}.name", item.position, f"found the summand name {summand.name!r} again, expected distinct names")
        elif summand is not None:
            result.append(summand)
    return tuple(result)


def _summand(field: Field, states: Variables, must_contain_zero: bool) -> DescribedSummand:
    parts = field.keys(("name", "box", "map", "evidence"), required=("name", "box"))
    if "name" not in parts or "box" not in parts:
        raise field.error("a summand needs a name and a box")
    name = parts["name"].name()
    evidence = parts["evidence"].text() if "evidence" in parts else ""
    if "map" in parts:
        intervals = [item.interval("") for item in parts["box"].items("a list of intervals, one for each column of 'map'")]
        matrix = _map(parts["map"], states, len(intervals))
        labels = [f"column {i}" for i in range(len(intervals))]
    else:
        box = read_box(parts["box"], states, "state")
        named = [(i, lo, hi) for i, (lo, hi) in enumerate(zip(box.lower, box.upper)) if lo is not None and hi is not None]
        intervals, labels = [(lo, hi) for _, lo, hi in named], [states[i].name for i, _, _ in named]
        matrix = fmpq_mat(len(states), len(named), [fmpq(i == row) for row in range(len(states)) for i, _, _ in named])
    for label, (lo, hi) in zip(labels, intervals):
        if lo > hi:
            raise parts["box"].error(f"found the interval [{lo}, {hi}] for {label}, expected the lower bound first")
        if must_contain_zero and not lo <= 0 <= hi:
            raise parts["box"].error(f"found the interval [{lo}, {hi}] for {label}, expected one that contains 0: an estimate may be exact")
    lower, upper = ([pair[side] for pair in intervals] for side in (0, 1))
    return DescribedSummand(name, matrix, fmpq_mat(len(lower), 1, lower), fmpq_mat(len(upper), 1, upper), evidence)


def _map(field: Field, states: Variables, columns: int) -> fmpq_mat:
    if field.is_list:
        return field.matrix(len(states), columns)
    result = fmpq_mat(len(states), columns)
    for i, row in field.by_name(states, "state").items():
        for j, value in enumerate(row.row(columns)):
            result[i, j] = value
    return result


def read_costs(field: Field, states: Variables, inputs: Variables) -> Costs | None:
    """Weights (by name for a diagonal, or rows), the goal, and the regularisation of recovery inputs."""
    parts = field.keys(("state", "input", "terminal", "goal", "recovery_input"), required=("state", "input"))
    attempt = field.problems.attempt
    state = attempt(_weights, parts["state"], states, "state") if "state" in parts else None
    input_ = attempt(_weights, parts["input"], inputs, "input") if "input" in parts else None
    terminal = attempt(_weights, parts["terminal"], states, "state") if "terminal" in parts else state
    goal = attempt(parts["goal"].vector, states, "state") if "goal" in parts else fmpq_mat(len(states), 1)
    weight = attempt(parts["recovery_input"].number) if "recovery_input" in parts else DEFAULT_RECOVERY_INPUT_WEIGHT
    if weight is not None and weight < 0:
        raise parts["recovery_input"].error(f"found the weight {weight}, expected at least 0")
    if state is None or input_ is None or terminal is None or goal is None or weight is None:
        return None
    return Costs(state, input_, terminal, goal, weight)


def _weights(field: Field, variables: Variables, what: str) -> fmpq_mat:
    n = len(variables)
    if field.is_list:
        matrix = field.matrix(n, n)
        if matrix != matrix.transpose():
            raise field.error("found a matrix that is not symmetric, expected a symmetric positive semidefinite one")
        if not positive_semidefinite(matrix):
            raise field.error("found a matrix with a negative eigenvalue, expected a positive semidefinite one: the cost must be convex")
        return matrix
    result = fmpq_mat(n, n)
    for i, entry in field.by_name(variables, what).items():
        value = field.problems.attempt(entry.number)
        if value is not None and value < 0:
            field.problems.add(entry.path, entry.position, f"found the weight {value}, expected at least 0")
        elif value is not None:
            result[i, i] = value
    return result
