"""`aesop verify` and `aesop check`: every obligation proved, refuted with a witness, or unknown; every artefact re-checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aesop_verified.commands.main import main
from aesop_verified.evidence import obligations
from aesop_verified.evidence.canonical import encoded
from aesop_verified.evidence.obligations import Discharged, Verification
from aesop_verified.evidence.recheck import Checked, Outcome, check_bytes, check_file
from aesop_verified.evidence.verification import verify
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.verdict import Verdict
from aesop_verified.system import load, loads

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"

CART = """
schema_version: 1
name: cart
dt: 0.5 s
horizon: 8
consensus_horizon: 2
quantum: 2^-20
states: [{name: x, unit: m}, {name: v, unit: m/s}]
inputs: [{name: a, unit: m/s^2}]
dynamics:
  A: [[1, 1/2], [0, 1]]
  B: [[1/8], [1/2]]
state_set:
  box: {x: [-10, 10], v: ±3}
input_set:
  box: {a: ±2}
tube_gain:
  a: {x: -1, v: -1.5}
recovery_sets:
  left_pad:
    synthesise: {inside: {x: [-7, -3], v: ±1}, around: {x: -5}}
initial:
  point: {x: 0}
costs:
  state: {x: 1, v: 0.1}
  input: {a: 0.1}
disturbance:
  - {name: friction, box: {x: ±0.005, v: ±0.02}}
"""


def replaced(old: str, new: str) -> str:
    assert CART.count(old) == 1, old
    return CART.replace(old, new)


def given_pad(rows: str, offset: str = "[-5]") -> str:
    return replaced(
        "synthesise: {inside: {x: [-7, -3], v: ±1}, around: {x: -5}}", f"{rows}\n    law: {{offset: {offset}}}"
    )


def run(text: str, *, second_opinion: bool = False, reach: bool = False) -> Verification:
    return verify(loads(text), second_opinion=second_opinion, reach=reach)


def entry(found: Verification, key: str) -> Discharged:
    return next(o for o in found.obligations if o.key == key)


def confirmed(found: Verification) -> list[Checked]:
    """Re-check every certificate; each must show something."""
    checked = [check_bytes(o.certificate.data) for o in found.obligations if o.certificate is not None]
    assert all(c.outcome is not Outcome.REFUSED for c in checked)
    return checked


@pytest.fixture(scope="module")
def cart() -> Verification:
    return run(CART, second_opinion=True, reach=True)


def test_a_sound_system_is_proved_and_every_certificate_is_confirmed(cart: Verification) -> None:
    assert cart.verdict is Verdict.PROVED and cart.exit_code == 0
    assert all(o.certificate is not None for o in cart.obligations)
    assert all(c.outcome is Outcome.PROVED for c in confirmed(cart))
    assert {c.kind for c in confirmed(cart)} == {"dimension", "boundedness", "inclusion", "recovery_set", "tightened_sets", "plans_at_vertices"}
    asked_z3 = [o for o in cart.obligations if o.second_opinion]
    assert len(asked_z3) == 5 and all(o.second_opinion.startswith("Z3 agrees") for o in asked_z3)


def test_the_ids_are_those_of_the_specification(cart: Verification) -> None:
    text = (ROOT / "spec" / "obligations.toml").read_text(encoding="utf-8")
    ids = [line.split('"')[1] for line in text.splitlines() if line.startswith("id = ")]
    statements = [line.split('"')[1] for line in text.splitlines() if line.startswith("statement = ")]
    assert dict(zip(ids, statements)) == obligations.STATEMENTS
    assert set(ids) == {o.id for o in cart.obligations}


def test_the_asked_box_is_not_invariant_and_an_escaping_state_is_shown(cart: Verification) -> None:
    (asked,) = cart.asked
    assert asked.escape is not None and asked.certificate is not None
    assert {name: value for name, _, value in asked.escape.point} in ({"x": "-3", "v": "1"}, {"x": "-7", "v": "-1"})
    # x + v/2 + a/8 + w at a = -2 is -3 + 1/4 + 0.005 and more
    assert asked.escape.amount_shown.startswith("~0.255")
    assert check_bytes(asked.certificate.data).outcome is Outcome.PROVED
    assert "certified inside it: 8 facets" in asked.sentence


def test_an_asked_box_that_only_the_law_leaves_says_so() -> None:
    text = CART.replace("A: [[1, 1/2], [0, 1]]", "A: [[1/2, 0], [0, 1/2]]").replace("B: [[1/8], [1/2]]", "B: [[1], [0]]")
    text = text.replace("inside: {x: [-7, -3], v: ±1}, around: {x: -5}", "inside: {x: ±1, v: ±1}, around: {x: 0}")
    held = run(text.replace("a: {x: -1, v: -1.5}", "a: {x: 0}"))
    assert held.asked[0].escape is None and "robustly invariant under the law" in held.asked[0].sentence
    # x+ = x/2 + v + a: at a = 0 the corner x = v = 1 goes to 3/2, and a = -1/2 would hold it.
    loose = run(text.replace("a: {x: -1, v: -1.5}", "a: {x: 0}").replace("A: [[1/2, 0], [0, 1/2]]", "A: [[1/2, 1], [0, 1/2]]"))
    (asked,) = loose.asked
    assert asked.escape is not None and "not invariant under the law" in asked.sentence and asked.certificate is not None
    assert check_bytes(asked.certificate.data).outcome is Outcome.REFUTED


def test_reach_is_certified_at_its_ends(cart: Verification) -> None:
    (reach,) = cart.reach
    assert reach.vertices == (1, 1) and reach.intervals is not None
    x, v = reach.intervals
    assert (x.state, x.unit, v.state) == ("x", "m", "v")
    assert x.lower.startswith("-") and not x.upper.startswith("-")
    assert not x.whole


REFUTED = {
    "PO-X-NONEMPTY": replaced("box: {x: [-10, 10], v: ±3}", "box: {x: [-10, 10], v: ±3}\n  rows:\n    - {x: 1, max: -11}"),
    "PO-U-BOUNDED": replaced("box: {a: ±2}", "rows:\n    - {a: 1, max: 2}"),
    "PO-U-NONEMPTY": replaced("box: {a: ±2}", "rows:\n    - {a: 1, max: 1}\n    - {a: 1, min: 2}"),
    "PO-INITIAL-INSIDE": replaced("point: {x: 0}", "point: {x: 10.000001}"),
    "PO-RECOVERY-NONEMPTY[left_pad]": given_pad("rows: [{x: 1, max: -5}, {x: 1, min: -4}]"),
    "PO-RECOVERY-INSIDE[left_pad]": given_pad("box: {x: [-11, -3], v: ±1}"),
    "PO-RECOVERY-LAW[left_pad]": given_pad("box: {x: [-9, -1], v: ±1}"),
    "PO-RECOVERY-INVARIANT[left_pad]": given_pad("box: {x: [-6, -4], v: ±1/2}"),
    "PO-TIGHT-STATE": CART.replace("{x: ±0.005, v: ±0.02}", "{x: ±4, v: ±0.02}"),
    "PO-FIRST-PLAN": replaced("point: {x: 0}", "point: {x: 9.5, v: 2.9}"),
}


def some_refuted(key: str) -> Verification:
    text = REFUTED[key]
    if key == "PO-TIGHT-STATE":
        text = text.replace("synthesise: {inside: {x: [-7, -3], v: ±1}, around: {x: -5}}", "box: {x: [-7, -3], v: ±1}\n    law: {offset: [-5]}")
    return run(text)


@pytest.mark.parametrize("key", REFUTED)
def test_a_false_obligation_is_refuted_with_a_witness(key: str) -> None:
    found = some_refuted(key)
    o = entry(found, key)
    assert o.verdict is Verdict.REFUTED and found.exit_code == 1
    assert o.witness is not None and o.witness.sentence and o.certificate is not None
    confirmed(found)


@pytest.mark.parametrize("key", ["PO-INITIAL-INSIDE", "PO-RECOVERY-INSIDE[left_pad]", "PO-RECOVERY-LAW[left_pad]", "PO-RECOVERY-INVARIANT[left_pad]"])
def test_z3_agrees_with_refutations(key: str) -> None:
    found = verify(loads(REFUTED[key]), second_opinion=True, reach=False)
    assert entry(found, key).second_opinion == "Z3 agrees on 1 facets"


def test_I06_an_initial_state_outside_X_is_reported_with_its_amount() -> None:
    text = replaced("box: {x: [-10, 10], v: ±3}", "box: {x: [-10, 1], v: ±3}").replace("point: {x: 0}", "point: {x: 1.000001}")
    o = entry(run(text), "PO-INITIAL-INSIDE")
    assert o.verdict is Verdict.REFUTED and o.witness is not None
    assert o.witness.amount_shown == "0.000001 m" and "x <= 1 m fails" in o.witness.sentence
    assert o.witness.point[0] == ("x", "m", "1000001/1000000")


def test_the_estimate_s_error_counts_for_the_initial_state() -> None:
    text = replaced("point: {x: 0}", "point: {x: 9.99}") + "estimate_error:\n  - {name: rounding, box: {x: ±0.02}}\n"
    o = entry(run(text), "PO-INITIAL-INSIDE")
    assert o.verdict is Verdict.REFUTED and o.witness is not None and o.witness.amount == "3/100"


def test_a_given_set_that_is_not_invariant_gets_an_offer() -> None:
    found = some_refuted("PO-RECOVERY-INVARIANT[left_pad]")
    (offer,) = found.offers
    assert check_bytes(offer.certificate.data).outcome is Outcome.PROVED
    (asked,) = found.asked
    assert asked.escape is not None and "no law can hold it" in asked.sentence
    assert entry(found, "PO-FIRST-PLAN").reason.startswith("not attempted")


def test_no_room_is_unknown_and_never_refuted() -> None:
    found = run(CART.replace("{x: ±0.005, v: ±0.02}", "{x: ±0.005, v: ±1}"))
    assert found.verdict is Verdict.UNKNOWN and found.exit_code == 3
    o = entry(found, "PO-RECOVERY-INVARIANT[left_pad]")
    assert "recovery_sets.left_pad" in o.reason and o.certificate is None
    assert found.system_hash == ""


def test_refuted_beats_unknown() -> None:
    found = run(CART.replace("{x: ±0.005, v: ±0.02}", "{x: ±0.005, v: ±1}").replace("point: {x: 0}", "point: {x: 11}"))
    assert {o.verdict for o in found.obligations} == set(Verdict)
    assert found.exit_code == 1


def mutated(value: object, path: list[str | int], new: object) -> bytes:
    data = json.loads(json.dumps(value))
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return encoded(data)


TAMPERED: list[tuple[str, list[str | int], object]] = [
    ("PO-X-NONEMPTY", ["dimension"], 1),
    ("PO-X-NONEMPTY", ["points", "rows", 0, 0], "11"),
    ("PO-U-BOUNDED", ["bounds", 0], "1"),
    ("PO-INITIAL-INSIDE", ["multipliers", "rows", 0, 0], "-1"),
    ("PO-INITIAL-INSIDE", ["outer", "h", 0], "-1"),
    ("PO-RECOVERY-INVARIANT[left_pad]", ["invariance", "multipliers", "rows", 0, 0], "7"),
    ("PO-RECOVERY-INVARIANT[left_pad]", ["member", 0], "0"),
    ("PO-RECOVERY-INVARIANT[left_pad]", ["system", "A", 0, 0], "2"),
    ("PO-TIGHT-STATE", ["points", "3", 0], "10"),
    ("PO-TIGHT-RECOVERY[left_pad]", ["points", "9", 0], "-3"),
    ("PO-FIRST-PLAN", ["plans", 0, "plan", "nominal", "rows", 0, 0], "2"),
    ("PO-FIRST-PLAN", ["lower", 0], "-1"),
    ("PO-FIRST-PLAN", ["plans", 0, "plan", "consensus"], 1),
]


@pytest.mark.parametrize("key, path, new", TAMPERED)
def test_a_tampered_certificate_is_refused(cart: Verification, key: str, path: list[str | int], new: object) -> None:
    certificate = entry(cart, key).certificate
    assert certificate is not None
    checked = check_bytes(mutated(json.loads(certificate.data), path, new))
    assert checked.outcome is Outcome.REFUSED and checked.detail


def test_a_tampered_system_file_is_refused(cart: Verification) -> None:
    assert cart.system_certificate is not None
    data = json.loads(cart.system_certificate.data)
    assert check_bytes(encoded(data)).outcome is Outcome.PROVED
    data["system"]["quantum"] = "1/2"
    assert check_bytes(encoded(data)).outcome is Outcome.REFUSED


def test_no_plan_multipliers_that_show_nothing_are_refused() -> None:
    certificate = entry(some_refuted("PO-FIRST-PLAN"), "PO-FIRST-PLAN").certificate
    assert certificate is not None
    data = json.loads(certificate.data)
    assert data["kind"] == "no_plan" and check_bytes(certificate.data).outcome is Outcome.PROVED
    data["state"] = ["0", "0"]
    assert check_bytes(encoded(data)).outcome is Outcome.REFUSED


JUNK = [
    b"", b"{}", b"[]", b"\xff\xfe", b'{"schema_version": 2, "kind": "plan"}', b'{"schema_version": 1, "kind": "unheard_of", "statement": ""}',
    b'{"schema_version": 1, "kind": "inclusion", "statement": ""}', b'{"schema_version": 1, "schema_version": 1}', b'{"schema_version": 1.0}', b"[" * 100000,
    b'{"schema_version": true, "kind": "plan", "statement": ""}',
    b'{"schema_version": 1, "kind": "emptiness", "statement": "", "polytope": {"G": [[0.5]], "h": ["1"], "n": 1}, "point": ["0"]}',
    b'{"schema_version": 1, "kind": "emptiness", "statement": "", "polytope": {"G": [["1"]], "h": ["1/0"], "n": 1}, "point": ["0"]}',
    b'{"schema_version": 1, "kind": "emptiness", "statement": "", "polytope": {"G": [["1", "2"]], "h": ["1"], "n": 1}, "point": ["0"]}',
]  # fmt: skip


@pytest.mark.parametrize("data", JUNK)
def test_a_file_that_is_no_certificate_is_bad_input(data: bytes) -> None:
    with pytest.raises(UsageError):
        check_bytes(data)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_certificate_is_never_an_accident(cart: Verification, data: st.DataObject) -> None:
    keys = ["PO-X-NONEMPTY", "PO-U-BOUNDED", "PO-INITIAL-INSIDE", "PO-RECOVERY-INVARIANT[left_pad]"]
    certificate = entry(cart, data.draw(st.sampled_from(keys))).certificate
    assert certificate is not None
    damaged = bytearray(certificate.data)
    place = data.draw(st.integers(0, len(damaged) - 1))
    damaged[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        assert isinstance(check_bytes(bytes(damaged)), Checked)
    except UsageError:
        pass


def test_the_command_writes_certificates_that_check_with_the_kernel_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, folder = tmp_path / "cart.yaml", tmp_path / "certificates"
    file.write_text(CART, encoding="utf-8")
    assert main(["verify", str(file), "--certificates", str(folder), "--no-second-opinion", "--no-reach"]) == 0
    out = capsys.readouterr().out
    assert "PO-FIRST-PLAN" in out and "proved" in out and "refuted" not in out
    written = sorted(str(p) for p in folder.glob("*.json"))
    assert len(written) == 15
    alone = (
        "import sys\n"
        "for name in ('numpy', 'scipy', 'z3', 'yaml', 'daqp', 'piqp'): sys.modules[name] = None\n"
        "from aesop_verified.evidence.recheck import Outcome, check_file\n"
        "assert all(check_file(p).outcome is Outcome.PROVED for p in sys.argv[1:])\n"
        "ours = {m.split('.')[1] for m in sys.modules if m.startswith('aesop_verified.')}\n"
        "assert ours == {'kernel', 'evidence'}, ours\n"
    )
    subprocess.run([sys.executable, "-c", alone, *written], check=True, cwd=ROOT)
    assert main(["check", *written]) == 0
    assert capsys.readouterr().out.count("proved") == 15


def test_a_system_without_a_disturbance_is_proved_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cart.yaml"
    for text, said in ((CART, False), (replaced("{x: ±0.005, v: ±0.02}", "{x: ±0, v: ±0}"), True), (CART[: CART.index("disturbance:")], True)):
        file.write_text(text, encoding="utf-8")
        assert main(["verify", str(file), "--no-second-opinion", "--no-reach"]) == 0
        assert ("no disturbance is declared" in capsys.readouterr().out) is said


def test_exit_codes_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = {
        "refuted": (REFUTED["PO-INITIAL-INSIDE"], 1), "unreadable": (replaced("horizon: 8\n", "horizon: eight\n"), 2),
        "unknown": (CART.replace("{x: ±0.005, v: ±0.02}", "{x: ±0.005, v: ±1}"), 3),
    }  # fmt: skip
    for name, (text, expected) in cases.items():
        file = tmp_path / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
        assert main(["verify", str(file), "--no-second-opinion", "--no-reach"]) == expected, name
        captured = capsys.readouterr()
        if expected == 1:
            assert "refuted: PO-INITIAL-INSIDE" in captured.out and "by 0.000001 m" in captured.out and "x = 10.000001 m" in captured.out
        if expected == 2:
            assert "horizon" in captured.err
        if expected == 3:
            assert "unknown: PO-RECOVERY-INVARIANT[left_pad]" in captured.out


def test_check_tells_refuted_refused_and_unreadable_apart(tmp_path: Path, cart: Verification, capsys: pytest.CaptureFixture[str]) -> None:
    good, refuted = entry(cart, "PO-INITIAL-INSIDE").certificate, entry(some_refuted("PO-INITIAL-INSIDE"), "PO-INITIAL-INSIDE").certificate
    assert good is not None and refuted is not None
    contents = {
        "good": good.data, "refuted": refuted.data, "junk": b"{}",
        "refused": mutated(json.loads(good.data), ["multipliers", "rows", 0, 0], "-1"),
    }  # fmt: skip
    for name, data in contents.items():
        (tmp_path / f"{name}.json").write_bytes(data)
    paths = {name: str(tmp_path / f"{name}.json") for name in contents}
    assert main(["check", paths["good"]]) == 0
    assert main(["check", paths["refuted"]]) == 1
    assert main(["check", paths["refused"]]) == 1
    assert main(["check", paths["junk"]]) == 2
    assert main(["check", paths["good"], paths["junk"], paths["refused"]]) == 1
    assert main(["check", str(tmp_path / "missing.json")]) == 2
    out = capsys.readouterr().out
    assert "refused" in out and "bad input" in out
    assert check_file(paths["refuted"]).outcome is Outcome.REFUTED


def test_json_records_have_the_fields_of_an_evidence_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cart.yaml"
    file.write_text(REFUTED["PO-INITIAL-INSIDE"], encoding="utf-8")
    assert main(["verify", str(file), "--json", "--no-second-opinion", "--no-reach"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "refuted" and document["system"]["name"] == "cart"
    by_id = {r["evidence_id"]: r for r in document["records"]}
    bad = by_id["cart/PO-INITIAL-INSIDE"]
    assert bad["verdict"] == "fail" and bad["witness"]["amount"] == "1/1000000"
    assert bad["recheck"]["exit_code"] == bad["recheck"]["expect_exit"] == 1
    for r in document["records"]:
        assert r["verdict"] in {"pass", "fail", "inconclusive", "not_run"}
        assert r["residual_assumptions"] and r["subject"] and r["claim_id"] == "THEOREM-1"
        assert "times" in r and len(r["record_sha256"]) == 64
        if r["verdict"] == "pass":
            assert r["recheck"]["exit_code"] == 0 and len(r["artifacts"][0]["sha256"]) == 64


def test_records_of_two_runs_differ_in_their_times_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cart.yaml"
    file.write_text(CART, encoding="utf-8")
    hashes = []
    for _ in range(2):
        main(["verify", str(file), "--json", "--no-second-opinion", "--no-reach"])
        hashes.append([r["record_sha256"] for r in json.loads(capsys.readouterr().out)["records"]])
    assert hashes[0] == hashes[1]


def test_the_double_integrator_example_is_proved() -> None:
    found = verify(load(EXAMPLES / "double-integrator.yaml"), second_opinion=False, reach=False)
    assert found.verdict is Verdict.PROVED


def test_check_sends_flight_logs_to_their_own_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junk, empty = tmp_path / "junk.jsonl", tmp_path / "empty.jsonl"
    junk.write_bytes(b'{"kind": "nothing"}\n')
    empty.write_bytes(b"")
    assert main(["check", str(junk)]) == 1
    assert main(["check", str(empty)]) == 2
    assert main(["check", str(tmp_path / "missing.jsonl")]) == 2
    out = capsys.readouterr().out
    assert "refused" in out and "line 1" in out and "flight log" in out
