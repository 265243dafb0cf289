"""Mistakes that a newcomer makes in a system file, and what is said about them: the place, the numbers, a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from aesop_verified.evidence.verification import verify
from aesop_verified.kernel.errors import AesopError
from aesop_verified.kernel.verdict import Verdict
from aesop_verified.recovery import assured
from aesop_verified.system import loads

EXAMPLES = Path(__file__).parents[1] / "examples"
CART = (EXAMPLES / "double-integrator.yaml").read_text(encoding="utf-8")
LEFT = """    synthesise:
      inside: {x: [-7, -3], v: ±1}
      around: {x: -5}
"""
MISTAKES = {
    "a box with its bounds reversed": ("[-7, -3]", "[-3, -7]", ["the asked box is empty", "between -3 m and -7 m", "lower bound first"]),
    "a zone outside X": ("[-7, -3]", "[-17, -13]", ["outside X", "x <= -13 m contradicts x >= -10 m"]),
    "a point outside its zone": ("around: {x: -5}", "around: {x: 5}", ["built around x = 5 m", "breaks x <= -3 m"]),
    "a zone too small": ("[-7, -3]", "[-5.01, -4.99]", ["the disturbance alone", "moves x by 0.042 m where 0.01 m are left"]),
    "a disturbance too large": ("v: ±0.02", "v: ±2", ["the disturbance alone", "where 1 m/s are left", "the input by"]),
    "a gain of the wrong sign": ("{x: -1, v: -1.5}", "{x: 1, v: 1.5}", ["unstable", "mind the sign"]),
    "no gain at all": ("{x: -1, v: -1.5}", "{x: 0, v: 0}", ["not contracting", "axis of x, v"]),
    "an input that acts on nothing": ("B: [[1/8], [1/2]]", "B: [[0], [0]]", ["no input acts on this axis"]),
    "a landing box given as it stands": (LEFT, "    box: {x: [-7, -3], v: ±1}\n    law: {offset: {a: -5}}\n", [
        "not robustly invariant", "from x = -7 m, v = 1 m/s the next state can break v <= 1 m/s", "synthesise"]),
    "an empty set": (LEFT, "    rows: [{x: 1, max: -8}, {x: 1, min: -7}]\n    law: {offset: {a: -5}}\n", ["the set is empty", "x <= -8 m and x >= -7 m"]),
    "a law with a gain of its own": (LEFT, "    box: {x: [-7, -3], v: ±1}\n    law: {gain: {a: {x: -2, v: -2}}, offset: {a: -10}}\n", [
        "law.gain", "leave the law's gain out, or change tube_gain"]),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_newcomers_mistake_is_named_with_its_place_its_numbers_and_a_way_out(mistake: str) -> None:
    old, new, words = MISTAKES[mistake]
    assert CART.count(old) >= 1
    with pytest.raises(AesopError) as caught:
        assured(loads(CART.replace(old, new, 1)))
    message = str(caught.value)
    missing = [word for word in [*words, "recovery_sets.left_pad"] if word not in message]
    assert not missing, f"{message!r} lacks {missing}"


@pytest.mark.parametrize("mistake", ["a box with its bounds reversed", "a zone outside X"])
def test_a_zone_with_no_room_is_a_refuted_obligation(mistake: str) -> None:
    old, new, _ = MISTAKES[mistake]
    report = verify(loads(CART.replace(old, new, 1)), second_opinion=False)
    (entry,) = [e for e in report.obligations if e.id == "PO-RECOVERY-NONEMPTY"]
    assert (entry.subject, entry.verdict) == ("left_pad", Verdict.REFUTED)
    assert report.verdict is Verdict.REFUTED
