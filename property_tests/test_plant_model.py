"""The model as the plant: its disturbances lie in W, its measurements within E, its numbers stay short."""

from __future__ import annotations

from random import Random

import pytest
from flint import fmpq, fmpq_mat

from aesop_verified.kernel.disturbance import Disturbance, Summand
from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.laws import AffineLaw
from aesop_verified.kernel.model import RecoverySet, System
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import identity, matrix, vector
from aesop_verified.plants import ModelPlant


def integrator(w: str, e: str, *, slanted: bool = False) -> System:
    """x+ = x + u + w in the plane, |w_i| <= w, |e_i| <= e; slanted: W is the segment along (1, 1) instead."""
    n = 2
    W = Summand("w", matrix([[1], [1]], 1), vector([f"-{w}"]), vector([w])) if slanted else Summand("w", identity(n), vector([f"-{w}"] * n), vector([w] * n))
    E = Summand("e", identity(n), vector([f"-{e}"] * n), vector([e] * n))
    F = -identity(n)
    home = RecoverySet("home", Polytope.box([-1] * n, [1] * n), AffineLaw(F, vector([0] * n)))
    return System(
        identity(n), identity(n), vector([0] * n), Polytope.box([-9] * n, [9] * n), Polytope.box([-5] * n, [5] * n),
        Disturbance(n, (W,)), Disturbance(n, (E,)), F, (home,), 4, 1, fmpq(1, 2**10), ("home",),
    )  # fmt: skip


def test_every_disturbance_is_in_w_and_both_vertices_occur() -> None:
    system = integrator("0.1", "0.01")
    plant = ModelPlant(system, vector([0, 0]), Random(1))
    box = system.disturbance.bounding_box()
    seen = [plant.apply(vector([0, 0])) for _ in range(300)]
    assert all(box.contains(w) for w in seen)
    near = [w[0, 0] for w in seen if abs(w[0, 0]) > fmpq(1, 10) - fmpq(1, 2**39)]
    assert any(v > 0 for v in near) and any(v < 0 for v in near)
    assert any(abs(w[0, 0]) < fmpq(1, 20) for w in seen)


def test_the_state_moves_by_the_model_and_the_disturbance() -> None:
    plant = ModelPlant(integrator("0.1", "0.01"), vector([1, -2]), Random(2))
    w = plant.apply(vector(["1/2", 3]))
    assert plant.state == vector(["3/2", 1]) + w


def test_a_measurement_is_rounded_to_the_width_of_e() -> None:
    plant = ModelPlant(integrator("0", "0.01"), vector(["0.337", "-0.335"]), Random(3))
    assert plant.measure() == vector(["0.34", "-0.34"]) or plant.measure() == vector(["0.34", "-0.32"])
    assert all(abs(v) <= fmpq(1, 100) for v in (plant.measure() - plant.state).entries())


def test_without_estimate_error_the_measurement_is_the_state() -> None:
    plant = ModelPlant(integrator("0.1", "0"), vector(["1/3", 0]), Random(4))
    assert plant.measure() == plant.state


def test_numbers_stay_short_over_a_long_flight() -> None:
    plant = ModelPlant(integrator("0.1", "0.01"), vector(["1/3", 0]), Random(5))
    for _ in range(500):
        plant.apply(vector(["1/1024", 0]))
    assert all(int(v.q) <= 3 * 2**40 for v in plant.state.entries())


def test_a_slanted_w_is_left_exact() -> None:
    plant = ModelPlant(integrator("0.1", "0", slanted=True), vector([0, 0]), Random(6))
    for _ in range(50):
        w = plant.apply(vector([0, 0]))
        assert w[0, 0] == w[1, 0] and abs(w[0, 0]) <= fmpq(1, 10)


def test_without_a_disturbance_the_plant_is_the_model_exactly() -> None:
    plant = ModelPlant(integrator("0", "0"), vector(["1/3", "1/7"]), Random(7))
    assert plant.apply(vector([1, 1])) == fmpq_mat(2, 1)
    assert plant.state == vector(["4/3", "8/7"])


def test_the_same_seed_gives_the_same_flight() -> None:
    def flight(seed: int) -> list[fmpq]:
        plant = ModelPlant(integrator("0.1", "0.01"), vector([0, 0]), Random(seed))
        return [v for _ in range(20) for v in plant.apply(vector([0, 0])).entries()]

    assert flight(8) == flight(8) != flight(9)


def test_wrong_arguments_are_named() -> None:
    system = integrator("0.1", "0.01")
    with pytest.raises(UsageError, match="initial state of the plant"):
        ModelPlant(system, vector([0]), Random(0))
    with pytest.raises(UsageError, match="vertex_share is 2"):
        ModelPlant(system, vector([0, 0]), Random(0), vertex_share=2)
    with pytest.raises(UsageError, match="sent input"):
        ModelPlant(system, vector([0, 0]), Random(0)).apply(vector([0]))


