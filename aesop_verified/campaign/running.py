"""A campaign through joblib: processes on this machine by default, or the workers of a Dask or Ray cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import joblib

from aesop_verified.campaign.campaign_file import Campaign
from aesop_verified.campaign.flying import Key, Record, Task, fly, kit, try_plant
from aesop_verified.campaign.results import ResultsFile
from aesop_verified.kernel.errors import AesopError
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.recovery import assured
from aesop_verified.runtime.exact_text import Json

BACKENDS = ("loky", "dask", "ray")
_IDLE_SECONDS = 20
"""After this long without work a process of a campaign that was killed ends by itself."""
_TOGETHER = 64
"""Flights whose results are written together where they cannot be had one by one."""
_INSTALL = {"dask": "dask[distributed]", "ray": "ray"}


class BackendMissing(AesopError):
    """A backend is not installed; the message names the command that installs it."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A campaign whose systems are proved.

    Attributes:
        systems: of each variant, by its name.
        tasks: everything to be flown, scenario by scenario: a campaign that is cut short has all methods of the first ones.
        settings: of each variant, by its name: what decides its results.
    """

    campaign: Campaign
    systems: dict[str, AssuredSystem]
    tasks: list[Task]
    settings: dict[str, Json]


def prepare(campaign: Campaign, say: Callable[[str], None] = lambda _: None) -> Prepared:
    """Prove the recovery sets of every variant invariant, and make a plant of each kind once.

    Raises:
        AesopError: when a system is not proved, or a simulator is not installed.
    """
    proved: dict[int, AssuredSystem] = {}
    systems, wanted, settings = {}, [], {}
    weightings = [[w.name, w.terminal, w.state] for w in campaign.weightings]
    for variant in campaign.variants:
        if id(variant.system) not in proved:
            say(f"proving the recovery sets of {variant.name} invariant")
            proved[id(variant.system)] = assured(variant.system)
        systems[variant.name] = proved[id(variant.system)]
        data = kit(campaign, variant, systems[variant.name])
        try_plant(data)
        wanted += [Task(data, variant.name, method, index) for index in range(variant.scenarios) for method in variant.methods]
        settings[variant.name] = {
            "seed": campaign.seed, "weightings": weightings, "system_sha256": systems[variant.name].system.hash(), **variant.conditions.to_json(),
        }  # fmt: skip
    return Prepared(campaign, systems, wanted, settings)


def run(
    wanted: list[Task], results: ResultsFile, *, backend: str = "loky", jobs: int = -1, address: str | None = None, done: Callable[[Task], None] = lambda _: None
) -> None:
    """Fly the tasks that the results do not have yet; each is on the disk before the next is counted as done.

    Args:
        backend: one of `BACKENDS`.
        jobs: how many processes; -1 for as many as there are processors, 1 for this one alone.
        address: of a Dask or Ray cluster; without one a local cluster is started.
        done: called after each task.

    Raises:
        BackendMissing: when the backend is not installed.
    """
    missing = [task for task in wanted if task.key not in results.records]
    by_key = {task.key: task for task in missing}
    if not missing:
        return
    with _backend(backend, jobs, address):
        # Ray's joblib backend hands results over only when all of a call are there.
        size = _TOGETHER if backend == "ray" else len(missing)
        parallel = joblib.Parallel(return_as="list" if backend == "ray" else "generator_unordered", batch_size=1)
        for first in range(0, len(missing), size):
            for key, records, seconds in parallel(joblib.delayed(_keyed)(task) for task in missing[first : first + size]):
                results.add(by_key[key], records, seconds)
                done(by_key[key])


def _keyed(task: Task) -> tuple[Key, list[Record], float]:
    records, seconds = fly(task)
    return task.key, records, seconds


@contextlib.contextmanager
def _backend(name: str, jobs: int, address: str | None) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if name == "dask":
            distributed = _module("distributed", name)
            where: Any = address
            if address is None:
                workers = joblib.cpu_count() if jobs < 1 else jobs
                where = stack.enter_context(distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None))
            stack.enter_context(distributed.Client(where))
        elif name == "ray":
            ray = _module("ray", name)
            if not ray.is_initialized():
                ray.init(address=address, num_cpus=None if address or jobs < 1 else jobs, include_dashboard=False, log_to_driver=False)
                stack.callback(ray.shutdown)
            _module("ray.util.joblib", name).register_ray()
        options = {"inner_max_num_threads": 1, "idle_worker_timeout": _IDLE_SECONDS} if name == "loky" else {}
        stack.enter_context(joblib.parallel_config(backend=name, n_jobs=-1 if name == "dask" else jobs, **options))
        yield


def _module(module: str, backend: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise BackendMissing(f"the backend {backend} needs the module {module}, which cannot be imported ({error}); pip install '{_INSTALL[backend]}'") from error
