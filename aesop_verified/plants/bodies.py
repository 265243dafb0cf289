"""Quadrotor bodies by name, for scenario files and campaigns: a name travels to a worker process, a simulator does not."""

from __future__ import annotations

from aesop_verified.kernel.errors import UsageError
from aesop_verified.plants.drake_body import DrakeBody
from aesop_verified.plants.mujoco_body import MujocoBody
from aesop_verified.plants.quadrotor import CALM, QuadrotorBody, QuadrotorParameters, Wind
from aesop_verified.plants.rigid_body import RigidBody
from aesop_verified.plants.rotorpy_body import RotorPyBody

BODIES = ("rigid_body", "drake", "rotorpy", "mujoco")


def quadrotor_body(name: str, *, parameters: QuadrotorParameters | None = None, wind: Wind = CALM) -> QuadrotorBody:
    """A body at rest at the origin.

    Args:
        name: one of `BODIES`.
        parameters: of the rigid body; the others bring their own.
        wind: over time; Drake's quadrotor has no aerodynamics.

    Raises:
        UsageError: for another name, or for parameters or wind that the body cannot take.
        SimulatorMissing: when its simulator is not installed.
    """
    if name not in BODIES:
        raise UsageError(f"the body is {name!r}, expected one of {', '.join(BODIES)}")
    if parameters is not None and name != "rigid_body":
        raise UsageError(f"the body {name!r} brings its own parameters; leave `parameters` out, or take 'rigid_body'")
    if name == "rigid_body":
        return RigidBody(parameters, wind=wind)
    if name == "rotorpy":
        return RotorPyBody(wind=wind)
    if name == "mujoco":
        return MujocoBody(wind=wind)
    if wind != CALM:
        raise UsageError("the body 'drake' has no aerodynamics, so no wind; take 'rigid_body' with drag, 'rotorpy' or 'mujoco'")
    return DrakeBody()
