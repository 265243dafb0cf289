"""What a user does with a system file of their own: test it against the adversary, embed the loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aesop_verified.kernel.rational import vector
from aesop_verified.recovery import assured
from aesop_verified.system import load
from aesop_verified.testing import Powers, adversarial_flight, first_plan

CART = Path(__file__).parents[1] / "examples" / "double-integrator.yaml"


def test_the_adversary_flies_a_system_file() -> None:
    robot = assured(load(CART))
    plan = first_plan(robot.system, vector([0, 0]))
    assert plan.plan.options == ("left_pad", "right_pad")
    assert (plan.plan.consensus, plan.plan.horizon) == (4, 10)
    powers = Powers(steps=robot.system.horizon + robot.system.consensus_horizon + 5)

    @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def fly(data: st.DataObject) -> None:
        adversarial_flight(robot, plan, data, powers=powers).check_claims()

    fly()


def test_a_first_plan_keeps_as_many_options_as_it_can() -> None:
    system = assured(load(CART)).system
    assert first_plan(system, vector([9, 1])).plan.options == ("right_pad",)
    with pytest.raises(ValueError, match=r"certified from \(10, 3\); try another state"):
        first_plan(system, vector([10, 3]))
