"""Simulated plants: what the loop's inputs act on, and what its measurements come from.

`Plant` is what a flight needs. `ModelPlant` is the exact model with a drawn disturbance; `FlatQuadrotorPlant` is a
quadrotor behind its inner loop, with a body that is `RigidBody` or one that this project did not write: `DrakeBody`,
`RotorPyBody`, `MujocoBody` (each imports its simulator when it is made).
"""

from aesop_verified.plants.bodies import BODIES, quadrotor_body
from aesop_verified.plants.drake_body import DrakeBody
from aesop_verified.plants.flat_quadrotor import FlatQuadrotorPlant
from aesop_verified.plants.inner_loop import FlatReference, InnerLoop, InnerLoopSettings
from aesop_verified.plants.model import ModelPlant
from aesop_verified.plants.mujoco_body import MujocoBody
from aesop_verified.plants.observed import LeftW, ObservedDisturbance, ObservedShare
from aesop_verified.plants.optional import SimulatorMissing
from aesop_verified.plants.protocol import Plant
from aesop_verified.plants.quadrotor import CALM, Motion, QuadrotorBody, QuadrotorParameters, Wind, Wrench
from aesop_verified.plants.rigid_body import RigidBody
from aesop_verified.plants.rotorpy_body import RotorPyBody

__all__ = [
    "Plant", "ModelPlant", "FlatQuadrotorPlant",
    "RigidBody", "DrakeBody", "RotorPyBody", "MujocoBody", "SimulatorMissing", "BODIES", "quadrotor_body",
    "QuadrotorBody", "QuadrotorParameters", "Motion", "Wrench", "Wind", "CALM",
    "InnerLoop", "InnerLoopSettings", "FlatReference",
    "ObservedDisturbance", "ObservedShare", "LeftW",
]  # fmt: skip
