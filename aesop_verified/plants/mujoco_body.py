"""MuJoCo with the Crazyflie of `drone-models` (`pip install mujoco drone-models`) as a body.

Mass, inertia, gravity and rotor positions are those of the compiled MJCF; thrust limits, the torque of a newton of
thrust, its sign for each rotor and the linear drag (N s/m) are those of the package's parameter file. The MJCF has no motor
dynamics, so thrusts act at once; its body gets a free joint, and the drag acts as an external force.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from aesop_verified.kernel.errors import UsageError
from aesop_verified.plants.optional import SimulatorMissing, simulator
from aesop_verified.plants.quadrotor import AT_REST, CALM, Motion, QuadrotorParameters, Wind, Wrench
from aesop_verified.plants.rotors import Rotors
from aesop_verified.plants.vectors import Vec, add, apply, apply_transposed, scale, sub, times


class MujocoBody:
    """A Crazyflie in MuJoCo behind rotor thrusts.

    Args:
        drone: a drone of the package's parameter file.
        wind: over time.

    Raises:
        SimulatorMissing: without mujoco or drone-models.
        UsageError: for a drone that the parameter file does not have.
    """

    def __init__(self, drone: str = "cf2x_L250", *, wind: Wind = CALM) -> None:
        self._mujoco: Any = simulator("mujoco", "mujoco", "MujocoBody")
        folder = _data_folder()
        data = _parameter_file(folder, drone)
        spec = self._mujoco.MjSpec.from_file(str(folder / f"{drone}.xml"))
        spec.body("drone").add_freejoint()
        self._model: Any = spec.compile()
        self._model.opt.integrator = self._mujoco.mjtIntegrator.mjINT_RK4
        self._largest_step = float(self._model.opt.timestep)
        self._data: Any = self._mujoco.MjData(self._model)
        self._body = int(self._model.body("drone").id)
        self._wind = wind
        self._parameters, self.rotors, self._yaw = _read(self._model, self._body, data)
        self.place(AT_REST, 0.0)

    @property
    def parameters(self) -> QuadrotorParameters:
        """As read from the MJCF and the parameter file."""
        return self._parameters

    @property
    def motion(self) -> Motion:
        """The present motion; MuJoCo's free joint has its velocity in the world and its rates in the body frame."""
        x, y, z, qw, qx, qy, qz = (float(v) for v in self._data.qpos)
        vx, vy, vz, p, q, r = (float(v) for v in self._data.qvel)
        return Motion((x, y, z), (vx, vy, vz), (qw, qx, qy, qz), (p, q, r))

    def place(self, motion: Motion, thrust: float) -> None:
        """Put it at a motion; its rotors have no lag, so the thrust does not matter."""
        self._data.qpos[:] = (*motion.position, *motion.attitude)
        self._data.qvel[:] = (*motion.velocity, *motion.rates)

    def advance(self, command: Wrench, seconds: float) -> None:
        """Move on with a held wrench, as rotor thrusts; the drag is held for each step of MuJoCo."""
        thrusts = self.rotors.thrusts(command)
        self._data.ctrl[:] = np.concatenate((thrusts, self._yaw * thrusts))
        count = max(1, -int(-seconds / self._largest_step * (1 - 1e-9) // 1))
        self._model.opt.timestep = seconds / count
        for _ in range(count):
            self._data.xfrc_applied[self._body, :3] = self._drag()
            self._mujoco.mj_step(self._model, self._data)

    def _drag(self) -> Vec:
        """-R D R^T v for the velocity in the middle of the coming step, as far as the last acceleration tells it."""
        motion = self.motion
        ahead = scale(self._model.opt.timestep / 2, _vec(self._data.qacc[:3]))
        airspeed = sub(add(motion.velocity, ahead), self._wind.velocity(float(self._data.time)))
        R = motion.rotation
        return scale(-1.0, apply(R, times(self._parameters.drag, apply_transposed(R, airspeed))))


def _data_folder() -> Path:
    """Where drone-models keeps its files. It is found, not imported: it refuses to be imported after scipy."""
    found = importlib.util.find_spec("drone_models")
    if found is None or found.origin is None:
        raise SimulatorMissing("MujocoBody needs the files of the package drone_models, which is not installed; pip install drone-models")
    return Path(found.origin).parent / "data"


def _parameter_file(folder: Path, drone: str) -> dict[str, Any]:
    toml: Any = simulator("tomllib", "drone-models (it needs Python 3.11)", "MujocoBody")
    known: dict[str, dict[str, Any]] = toml.loads((folder / "params.toml").read_text())
    if drone not in known:
        raise UsageError(f"drone is {drone!r}, expected one of {', '.join(known)}")
    return known[drone]


def _read(model: Any, body: int, data: Any) -> tuple[QuadrotorParameters, Rotors, np.ndarray[Any, np.dtype[np.float64]]]:
    positions = np.array([model.site(f"motor{i}").pos for i in range(4)])
    yaw: np.ndarray[Any, np.dtype[np.float64]] = np.sign(np.array(data["mixing_matrix"])[2]) * float(data["thrust2torque"])
    allocation = np.vstack((np.ones(4), positions[:, 1], -positions[:, 0], yaw))
    rotors = Rotors(allocation, (float(data["thrust_min"]), float(data["thrust_max"])))
    drag = _vec(-np.diag(np.array(data["drag_matrix"])))
    gravity = -float(model.opt.gravity[2])
    parameters = QuadrotorParameters(
        float(model.body_subtreemass[body]), _vec(model.body_inertia[body]), gravity, rotors.thrust_limits, rotors.torque_limits, drag=drag
    )
    return parameters, rotors, yaw


def _vec(values: Any) -> Vec:
    x, y, z = (float(v) for v in values)
    return (x, y, z)
