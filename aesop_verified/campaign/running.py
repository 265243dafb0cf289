"""A campaign through joblib: processes on this machine by default, or the workers of a Dask or Ray cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module

import joblib

from aesop_verified.campaign.campaign_file import Campaign
from aesop_verified.campaign.flying import Task, fly, kit
from aesop_verified.campaign.results import ResultsFile
from aesop_verified.kernel.errors import AesopError
from aesop_verified.kernel.invariance import AssuredSystem

BACKENDS = ("loky", "dask", "ray")
_INSTALL = {"dask": "dask[distributed]", "ray": "ray"}


class BackendMissing(AesopError):
    """A backend is not installed; the message names the command that installs it."""


def tasks(campaign: Campaign, assured: AssuredSystem) -> list[Task]:
    """Everything to be flown, scenario by scenario, so that a campaign that is cut short has all methods of the first ones."""
    data = kit(campaign, assured)
    return [
        Task(data, variant.name, method, index)
        for variant in campaign.variants
        for index in range(variant.scenarios)
        for method in variant.methods
    ]  # fmt: skip


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
    missing = [task for task in wanted if (task.variant, task.method, task.index) not in results.records]
    by_key = {(task.variant, task.method, task.index): task for task in missing}
    if not missing:
        return
    with _backend(backend, jobs, address):
        flown = joblib.Parallel(return_as="generator_unordered", batch_size=1)(joblib.delayed(_keyed)(task) for task in missing)
        for key, records, seconds in flown:
            results.add(by_key[key], records, seconds)
            done(by_key[key])


def _keyed(task: Task) -> tuple[tuple[str, str, int], list, float]:  # type: ignore[type-arg]
    records, seconds = fly(task)
    return (task.variant, task.method, task.index), records, seconds


@contextlib.contextmanager
def _backend(name: str, jobs: int, address: str | None) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if name == "dask":
            distributed = _module("distributed", name)
            cluster: AbstractContextManager[object] | None = None
            if address is None:
                workers = joblib.cpu_count() if jobs < 1 else jobs
                cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
                stack.enter_context(cluster)
            stack.enter_context(distributed.Client(address if cluster is None else cluster))
        elif name == "ray":
            ray = _module("ray", name)
            if not ray.is_initialized():
                ray.init(address=address, num_cpus=None if address or jobs < 1 else jobs, include_dashboard=False, log_to_driver=False)
                stack.callback(ray.shutdown)
            _module("ray.util.joblib", name).register_ray()
        stack.enter_context(joblib.parallel_config(backend=name, n_jobs=-1 if name == "dask" else jobs))
        yield


def _module(module: str, backend: str):  # type: ignore[no-untyped-def]
    try:
        return import_module(module)
    except ImportError as error:
        raise BackendMissing(f"the backend {backend} needs the module {module}, which cannot be imported ({error}); pip install '{_INSTALL[backend]}'") from error
