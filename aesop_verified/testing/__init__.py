"""Hypothesis strategies and an adversary, for the tests of this library and of systems built with it.

A test of a system of your own is in the docstring of `aesop_verified.testing.adversary`.
"""

from __future__ import annotations

from aesop_verified.testing.adversary import Powers, adversarial_flight
from aesop_verified.testing.construction import Ingredients, Instance, build
from aesop_verified.testing.flight import Flight, FlightStep, Tally, has_active_constraint
from aesop_verified.testing.misbehaviour import Solver
from aesop_verified.testing.parallelotopes import Parallelotope
from aesop_verified.testing.planner import HonestPlanner, first_plan
from aesop_verified.testing.systems import instances

__all__ = [
    "Flight",
    "FlightStep",
    "HonestPlanner",
    "Ingredients",
    "Instance",
    "Parallelotope",
    "Powers",
    "Solver",
    "Tally",
    "adversarial_flight",
    "build",
    "first_plan",
    "has_active_constraint",
    "instances",
]
