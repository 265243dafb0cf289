"""System files: the right exact values, and an error that names place, found, expected and advice for each fault."""

from __future__ import annotations

from pathlib import Path

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.rational import rows_of, vector
from aesop_verified.system import SynthesisRequest, SystemFileError, facet_text, load, loads, point_text, set_lines, summary, to_yaml
from aesop_verified.system.parts import GivenSet

EXAMPLES = Path(__file__).parent.parent / "examples"

TANKS = (Path(__file__).parent / "system_files" / "tanks.yaml").read_text(encoding="utf-8")


def test_every_value_is_what_the_text_says() -> None:
    d = loads(TANKS)
    assert rows_of(d.A) == [[1, fmpq(1, 10)], [0, fmpq(1, 3)]]
    assert d.B.entries() == [fmpq(1, 10), 0] and d.b.entries() == [0, 2]
    assert (d.dt, d.horizon, d.consensus_horizon, d.horizon_text) == (fmpq(1, 2), 8, 3, "9 inputs, 4.5 s")
    assert rows_of(d.state_set.G) == [[1, 0], [-1, 0], [1, -2], [-1, 2]]
    assert d.state_set.h.entries() == [fmpq(5, 2), 0, 3, 4]
    assert d.input_set.h.entries() == [fmpq(1, 2), fmpq(1, 2)]
    assert d.tube_gain is not None and rows_of(d.tube_gain) == [[-1, 0]]
    low, high = (r.content for r in d.recovery_regions)
    assert isinstance(low, GivenSet) and low.gain is None and low.offset == vector(["1/4"])
    assert isinstance(high, SynthesisRequest) and high.around == vector(["3/2", 0])
    assert list(high.inside.lower) == [1, None] and list(high.inside.upper) == [2, None]
    assert d.recovery_names == d.fallback_order == ("low", "high") and [r.name for r in d.to_synthesise] == ["high"]
    assert list(d.initial.lower) == list(d.initial.upper) == [1, 0]
    assert d.quantum == fmpq(1, 1024) and d.costs.recovery_input == fmpq(1, 10_000)
    w = d.disturbance_set()
    assert [w.support(vector(c)) for c in ([1, 0], [-1, 0])] == [0, fmpq(1, 1000)]
    assert [w.support(vector(c)) for c in ([0, 1], [0, -1])] == [2, 1]
    assert d.disturbance[0].evidence == "measured" and d.estimate_error_set().is_zero
    assert d.given_recovery_sets()[0].law(vector([1, 9])) == vector(["-3/4"])


def test_the_text_for_people_has_names_and_units() -> None:
    d = loads(TANKS)
    assert set_lines(d.state_set, d.states) == ["a <= 2.5 m", "a >= 0 m", "a - 2 b <= 3", "- a + 2 b <= 4"]
    assert facet_text(d.input_set, 1, d.inputs) == "p >= -0.5 m/s"
    assert point_text(vector(["1/3", "0.25"]), d.states) == "a = 1/3 m, b = 0.25"
    page = summary(d)
    for line in ("T = 8: 9 inputs, 4.5 s", "a+ = a + 0.1 b + 0.1 p", "b+ = 1/3 b + 2", "leak: a in [-0.001, 0] m (measured)", "2^-10", d.hash()):
        assert line in page


def test_the_hash_is_of_the_meaning_not_of_the_text() -> None:
    d = loads(TANKS)
    same = TANKS.replace("250 cm", "2.5").replace("4 s", "8 steps").replace("0.1]", '"1/10"]').replace("{p: ±0.5}", "{p: [-5e-1, +-0.5]}".replace("+-0.5", "1/2"))
    assert loads("# a comment\n" + same).hash() == d.hash()
    assert loads(TANKS.replace("min: -4", "min: -4.0000000000000001")).hash() != d.hash()
    assert loads(TANKS) == d and len({d, loads(TANKS)}) == 1 and d != loads(TANKS.replace("measured", "guessed"))


@pytest.mark.parametrize("prefix", ["\ufeff", "---\n", "%YAML 1.1\n---\n", "\n\n# hello\n"])
def test_harmless_yaml_is_read(prefix: str) -> None:
    assert loads(prefix + TANKS) == loads(TANKS)


def test_windows_line_ends_are_read() -> None:
    assert loads(TANKS.replace("\n", "\r\n")) == loads(TANKS)


FAULTS = [
    # (text, replaced by, path, message)
    ("schema_version: 1", "schema_version: 2", "schema_version", "found '2', expected 1"),
    ("schema_version: 1\n", "", "", "the key 'schema_version' is missing"),
    ("name: tanks", "name: Tanks", "name", "found the name 'Tanks'"),
    ("name: tanks", "name: [a]", "name", "found a list, expected a name"),
    ("dt: 0.5 s", "dt: 0 s", "dt", "expected a positive time"),
    ("dt: 0.5 s", "dt: 0.5 m", "dt", "found the unit 'm', expected 's'"),
    ("dt: 0.5 s", "dt: .5 s", "dt", "write a digit before the point"),
    ("dt: 0.5 s", "dt:", "dt", "found nothing"),
    ("horizon: 4 s", "horizon: 4.2 s", "horizon", "8.4 steps of 0.5 s: write 4 s (8 steps) or 4.5 s (9 steps)"),
    ("horizon: 4 s", "horizon: 010", "horizon", "leading zero"),
    ("horizon: 4 s", "horizon: 1:30", "horizon", "base 60"),
    ("horizon: 4 s", "horizon: 1e9", "horizon", "expected at most 10000"),
    ("horizon: 4 s", "horzion: 4 s", "horzion", "found the unknown key 'horzion'", "did you mean 'horizon'?"),
    ("horizon: 3\n", "horizon: 8\n", "consensus_horizon", "found K = 8 steps with a horizon of T = 8 steps, expected K < T"),
    ("unit: m}", "unit: m//s}", "states[0].unit", "found the unit 'm//s'"),
    ("unit: m}", "unti: m}", "states[0].unti", "did you mean 'unit'?"),
    ("  - b\n", "  - a\n", "states[1]", "found the name 'a' again"),
    ("  - b\n", "  - no\n", "states[1]", "take for a truth value"),
    ("  - b\n", "  - max\n", "states[1]", "meaning of its own"),
    ("{name: p, ", "{name: a, ", "inputs[0]", "which a state has already"),
    ("[0, 1/3]]", "[0]]", "dynamics.A[1]", "found 1 numbers, expected 2"),
    ("[0, 1/3]]", "[0, 1/3], [1, 1]]", "dynamics.A", "found 3 rows, expected 2 rows of 2 numbers"),
    ("[0, 1/3]]", "[0, .nan]]", "dynamics.A[1][1]", "NaN is not a number"),
    ("[0, 1/3]]", "[0, yes]]", "dynamics.A[1][1]", "truth value"),
    ("[0, 1/3]]", "[0, {c: 1}]]", "dynamics.A[1][1]", "found a mapping"),
    ("B: [[1e-1], [0]]", "C: [[1]]", "dynamics.C", "found the unknown key 'C'"),
    ("b: {b: 2}", "b: {bb: 2}", "dynamics.b.bb", "found the unknown state 'bb'"),
    ("250 cm", ".inf", "state_set.box.a[1]", "an infinite bound is written by leaving it out"),
    ("250 cm", "250 s", "state_set.box.a[1]", "found the unit 's', expected 'm'"),
    ("250 cm", "1_000", "state_set.box.a[1]", "without underscores"),
    ("[0, 250 cm]", "3", "state_set.box.a", "found '3', expected an interval [low, high] or '±r'"),
    ("[0, 250 cm]", "[0, 1, 2]", "state_set.box.a", "found a list of 3"),
    ("[0, 250 cm]", "±-1", "state_set.box.a", "radius of at least 0"),
    ("max: 3, min: -4", "mxa: 3, min: -4", "state_set.rows[0].mxa", "found the unknown state or bound"),
    (", max: 3, min: -4", "", "state_set.rows[0]", "found neither 'max' nor 'min'"),
    ("{a: 1, b: -2, max: 3, min: -4}", "{max: 3}", "state_set.rows[0]", "found a row without a state"),
    ("input_set: {box: {p: ±0.5}}", "input_set: {}", "input_set", "found neither 'box' nor 'rows'"),
    ("tube_gain: {p: {a: -1}}", "tube_gain: synthesize", "tube_gain", "found 'synthesize', expected a gain"),
    ("tube_gain: {p: {a: -1}}", "tube_gain: {a: {a: -1}}", "tube_gain.a", "found the unknown input 'a'"),
    ("tube_gain: {p: {a: -1}}", "tube_gain: [[1]]", "tube_gain[0]", "found 1 numbers, expected 2"),
    ("  low:", "  nominal:", "recovery_sets.nominal", "meaning of its own"),
    ("    law: {offset: {p: 0.25}}\n", "", "recovery_sets.low", "found neither 'law' nor 'synthesise'"),
    ("    law: {offset: {p: 0.25}}\n", "    law: {offset: {p: 0.25}}\n    synthesise: {}\n", "recovery_sets.low", "beside a given set"),
    ("inside: {a: [1, 2]}, ", "", "recovery_sets.high.synthesise", "the key 'inside' is missing"),
    ("initial: {point: {a: 1}}", "initial: {a: 1}", "initial.a", "found the unknown key 'a', expected one of point, box"),
    ("initial: {point: {a: 1}}", "initial: {box: {a: [2, 1]}}", "initial.box", "nothing can start in an empty set"),
    ("costs: {state: {a: 1}", "costs: {state: {a: -1}", "costs.state.a", "expected at least 0"),
    ("costs: {state: {a: 1}", "costs: {state: [[1, 0], [1, 1]]", "costs.state", "not symmetric"),
    ("costs: {state: {a: 1}", "costs: {state: [[1, 2], [2, 1]]", "costs.state", "negative eigenvalue"),
    ("quantum: 2^-10", "quantum: -1", "quantum", "expected a positive number such as 2^-30"),
    ("{name: leak, ", "{", "disturbance[0]", "the key 'name' is missing"),
    ("name: draught", "name: leak", "disturbance[1].name", "found the summand name 'leak' again"),
    ("[-1 mm, 0]", "[0, -1 mm]", "disturbance[0].box", "expected the lower bound first"),
    ("map: {b: [1, 2]}", "map: {b: [1]}", "disturbance[1].map.b", "found 1 numbers, expected 2"),
    ("disturbance:", "estimate_error: [{name: e, box: {a: [1, 2]}}]\ndisturbance:", "estimate_error[0].box", "contains 0"),
    ("quantum: 2^-10", "fallback_order: [low]", "fallback_order", "expected each of low, high once"),
    ("quantum: 2^-10", "fallback_order: [low, hihg]", "fallback_order[1]", "did you mean 'high'?"),
    ("quantum: 2^-10", "scale: {p: 0}", "scale.p", "expected a positive size"),
    # YAML itself
    ("name: tanks", "name: tanks\nname: tanks", "name", "found the key 'name' again (first at line 2)"),
    ("a: -1}}", "a: -1, a: -2}}", "tube_gain.p.a", "found the key 'a' again"),
    ("name: tanks", "name: &n tanks", "name", "anchors are not supported"),
    ("name: tanks", "name: *n", "name", "aliases are not supported"),
    ("name: tanks", "name: !!str tanks", "name", "tags are not supported"),
    ("dt: 0.5 s", "dt: !!python/object/apply:os.getcwd []", "dt", "tags are not supported"),
    ("costs: {", "costs: {<<: {goal: {a: 2}}, ", "costs", "merge keys are not supported"),
    ("costs: {", "costs: {[1]: 2, ", "costs", "as a key, expected a name"),
    ("quantum: 2^-10", "quantum: 2^-10\n---\nname: second", "", "found a second document"),
    ("name: tanks", "name: [tanks", "", "not YAML"),
    ("name: tanks", "\tname: tanks", "", "indent with spaces, not with tabs"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f[2] or 'file'}-{f[3][:30]}")
def test_each_fault_names_its_place(fault: tuple[str, ...]) -> None:
    old, new, path, *messages = fault
    assert TANKS.count(old) >= 1
    with pytest.raises(SystemFileError) as caught:
        loads(TANKS.replace(old, new, 1), "tanks.yaml")
    matching = [p for p in caught.value.problems if p.path == path and all(m in p.message for m in messages)]
    assert matching, str(caught.value)
    assert matching[0].position is not None
    assert isinstance(caught.value, UsageError)


def test_a_message_has_file_line_column_path_found_expected_and_advice() -> None:
    with pytest.raises(SystemFileError) as caught:
        loads(TANKS.replace("a: [0, 1], b", "a: [0, 010], b"), "tanks.yaml")
    assert str(caught.value) == (
        "tanks.yaml:23:18: recovery_sets.low.box.a[1]: found '010', expected a number such as 1.5, -2, 1/3, 2.5e-3 or 2^-30; "
        "some YAML readers take a leading zero as octal; write it without the leading zero"
    )


def test_all_faults_of_a_file_are_reported_at_once_in_its_order() -> None:
    text = TANKS.replace("1/3]", "x]").replace("-2, max", "two, max").replace("quantum: 2^-10", "quantums: 1").replace("name: tanks", "name: Tanks")
    with pytest.raises(SystemFileError) as caught:
        loads(text, "tanks.yaml")
    assert [p.path for p in caught.value.problems] == ["name", "dynamics.A[1][1]", "state_set.rows[0].b", "quantums"]
    assert len(str(caught.value).splitlines()) == 4


def test_what_the_obligations_refute_is_no_fault_of_the_file() -> None:
    """An empty X, and a recovery set outside X, are read; proving them wrong is another's job."""
    empty = loads(TANKS.replace("[0, 250 cm]", "[3, 1]"))
    assert not any(empty.state_set.contains(vector([x, 0])) for x in (0, 1, 2, 3))
    outside = loads(TANKS.replace("box: {a: [0, 1], b: [2, 4]}", "box: {a: [70, 71]}"))
    assert outside.given_recovery_sets()[0].polytope.contains(vector([70, 0]))
    assert loads(TANKS.replace("input_set: {box: {p: ±0.5}}", "input_set: {rows: []}")).input_set.rows == 0


@pytest.mark.parametrize(("data", "message"), [(b"", "empty file"), (b"# only a comment\n", "empty file"), (b"[1, 2]", "expected a mapping"), (b"name: \xff", "UTF-8"), (b"\x00", "not YAML"), (b"a: " + b"[" * 50 + b"]" * 50, "nesting")])  # fmt: skip
def test_what_is_no_mapping_at_all_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(SystemFileError, match=message):
        loads(data)


@given(st.binary(max_size=200) | st.text(alphabet="{}[]:,-?&*!|>'\"%@ \n#a1", max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused_with_this_error_only(data: bytes) -> None:
    with pytest.raises(SystemFileError):
        loads(data)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(TANKS) - 1), st.integers(0, 12), st.text(alphabet="{}[]:,-?&*!'\"# \n\t0123.e^±abp~<", max_size=4))
def test_a_damaged_file_is_read_or_refused_and_never_anything_else(start: int, length: int, inserted: str) -> None:
    try:
        d = loads(TANKS[:start] + inserted + TANKS[start + length :])
    except SystemFileError as error:
        assert error.problems and all(p.message for p in error.problems)
    else:
        assert loads(to_yaml(d)) == d


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SystemFileError, match=r"nothing\.yaml: cannot be read: No such file"):
        load(tmp_path / "nothing.yaml")


def test_the_shipped_quadrotor() -> None:
    d = load(EXAMPLES / "quadrotor-flat.yaml")
    assert (d.n, d.m, d.horizon, d.consensus_horizon, d.horizon_text) == (12, 3, 40, 15, "41 inputs, 4.1 s")
    row = [1, fmpq(1, 10), fmpq(1, 200), fmpq(1, 6000)]
    assert rows_of(d.A)[0] == row + [0] * 8 and rows_of(d.A)[9] == [0] * 9 + [1, fmpq(1, 10), fmpq(1, 200)]
    assert [d.B[i, 1] for i in range(4, 8)] == [fmpq(1, 240_000), fmpq(1, 6000), fmpq(1, 200), fmpq(1, 10)]
    assert d.quantum == fmpq(1, 2**30)
    assert [r.name for r in d.to_synthesise] == ["grass_north", "grass_south", "rooftop", "parking"]
    w = d.disturbance_set().bounding_box().h.entries()
    assert w[0] == fmpq(3, 10) / 200 and w[2] == fmpq(3, 100) and w[4] == w[6] == 0
    assert len(list(d.initial.vertices())) == 8


def test_a_step_of_an_integrator_chain_is_the_exact_motion() -> None:
    """With snap s held for t: x = x0 + v0 t + a0 t^2/2 + j0 t^3/6 + s t^4/24."""
    d = load(EXAMPLES / "quadrotor-flat.yaml")
    t, start, s = fmpq(1, 10), [fmpq(v) for v in (1, 2, 3, 4)], fmpq(5)
    state = d.A * vector([*start, *[0] * 8]) + d.B * vector([5, 0, 0])
    x0, v0, a0, j0 = start
    assert state.entries()[:4] == [
        x0 + v0 * t + a0 * t**2 / 2 + j0 * t**3 / 6 + s * t**4 / 24,
        v0 + a0 * t + j0 * t**2 / 2 + s * t**3 / 6,
        a0 + j0 * t + s * t**2 / 2,
        j0 + s * t,
    ]


@pytest.mark.parametrize(
    ("chains", "message"),
    [
        ("[{states: [a], input: p}]", "every state and every input exactly once"),
        ("[{states: [a, b], input: q}]", "unknown input 'q'"),
        ("[{states: [a, a], input: p}]", "every state and every input exactly once"),
        ("[{states: [a, b]}]", "the key 'input' is missing"),
    ],
)
def test_a_model_that_leaves_something_out_is_refused(chains: str, message: str) -> None:
    model = TANKS.replace("  A: [[1, 0.1], [0, 1/3]]\n  B: [[1e-1], [0]]\n", f"  model: {{kind: integrator_chains, chains: {chains}}}\n")
    assert model != TANKS
    with pytest.raises(SystemFileError, match=message):
        loads(model)
