"""Embed the loop in your own program: a cart that may stop on one of two pads, without a language model.

    python examples/embed.py
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from aesop_verified.planning.planner import PlannerSpec
from aesop_verified.plants import ModelPlant
from aesop_verified.recovery import assured
from aesop_verified.runtime import Loop, PlannerTask, PlannerWorker, Worker, doubles, warm_up_requests
from aesop_verified.system import load

EXAMPLES = Path(__file__).parent


def main(steps: int = 20) -> None:
    """Fly the cart for some steps and print what the loop says of each."""
    description = load(EXAMPLES / "double-integrator.yaml")
    proved = assured(description)  # raises, with a state and a reason, unless every recovery set is proved
    system = proved.system
    here = next(iter(description.initial.vertices()))  # where the cart stands, in exact numbers
    plant = ModelPlant(system, here, Random(1))
    task = PlannerTask(PlannerSpec.described(description, system), warm_up_requests(system), tuple(doubles(here)))
    worker = Worker("planner", task)
    try:
        worker.wait_ready(60)
        loop = Loop(proved, dt=description.dt, planner=PlannerWorker(worker, system))
        for step in range(steps):
            report = loop.step(plant.measure())  # with a detector: loop.step(measurement, "what the camera sees")
            options = "+".join(report.result.state.held.plan.options)
            print(f"{step:2d}  {type(report.mode).__name__}  u = {report.input_doubles[0]:+.4f}  certified: {report.certified}  can reach: {options}")
            plant.apply(report.input)
    finally:
        worker.close()


if __name__ == "__main__":
    main()
