"""The picture of a flight, after Fig. 3 and 7 of the paper: path, tree of recovery plans with tubes, regions, events.

Everything is drawn to scale from what was flown and certified; floats are used for drawing only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, QhullError

from aesop_verified.kernel.disturbance import signed_units
from aesop_verified.kernel.model import System
from aesop_verified.kernel.plan import Plan
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import column

Array = NDArray[np.float64]

MODE_COLOURS = {"Nominal": "#1b4f8f", "Waiting": "#e07b00", "Recovering": "#1a7f37", "Suspended": "#b3261e"}
BRANCH_COLOURS = ("#7b3fa0", "#00838f", "#8d6e00", "#c2185b", "#4e6b1f", "#5d4037")


@dataclass(frozen=True, slots=True, eq=False)
class PlanTree:
    """A plan that was certified at a step, to be drawn with its tubes."""

    step: int
    state: fmpq_mat
    plan: Plan


@dataclass(frozen=True, slots=True)
class CallOut:
    """What happened at a step, in a few words; numbered in the picture and explained below it."""

    step: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A projection of the state: indices of the two states that are drawn, and their labels with units."""

    across: int
    up: int
    across_label: str
    up_label: str


@dataclass(frozen=True, slots=True, eq=False)
class FlownFlight:
    """What is drawn.

    Attributes:
        title: of the picture.
        dt: seconds a step.
        states: measured states, shape (steps, n).
        modes: name of the mode after each step, a key of MODE_COLOURS.
        trees: plans to draw.
        call_outs: in the order of their steps.
        goal: state the mission aims at, shape (n,), or None.
        scores: anomaly score at each step, NaN where there is none; empty without a detector.
        threshold: of the detector, or None.
    """

    title: str
    dt: float
    states: Array
    modes: tuple[str, ...]
    trees: tuple[PlanTree, ...] = ()
    call_outs: tuple[CallOut, ...] = ()
    goal: Array | None = None
    scores: tuple[float, ...] = ()
    threshold: float | None = None


def flight_figure(system: System, flight: FlownFlight, views: Sequence[View], speed_states: Sequence[int] = ()) -> Figure:
    """Draw a flight: one panel a view, then speed and anomaly score over time.

    Args:
        system: the exact system, for sets and tubes.
        flight: what was flown.
        views: projections, for example (x, y) and (x, z).
        speed_states: states whose norm is plotted as the speed; none leaves the curve out.
    """
    heights = [_height(flight, view) for view in views]
    figure = Figure(figsize=(12, sum(heights) + 3.4), layout="constrained")
    panels = figure.subplots(len(views) + 1, 1, height_ratios=[*heights, 2.4])
    colours = {name: BRANCH_COLOURS[i % len(BRANCH_COLOURS)] for i, name in enumerate(system.names)}
    tubes = _tube_half_widths(system)
    for panel, view in zip(panels[:-1], views):
        _draw_view(panel, system, flight, view, colours, tubes)
    _draw_legend(panels[0], flight)
    _draw_time(panels[-1], flight, speed_states)
    lines = [f"{i}  {c.step * flight.dt:.1f} s: {c.text}" for i, c in enumerate(flight.call_outs, 1)]
    figure.suptitle(flight.title, fontsize=13)
    if lines:
        panels[-1].set_xlabel("time in s\n\n" + "\n".join(lines), loc="left", fontsize=9)
    return figure


def _height(flight: FlownFlight, view: View) -> float:
    across, up = np.ptp(flight.states[:, view.across]), np.ptp(flight.states[:, view.up])
    return float(np.clip(11 * (up + 4) / (across + 4), 2.2, 5.5))


def _tube_half_widths(system: System) -> list[Array]:
    """h_{R_k}(+-e_i) for k = 0..T+1, shape (n, 2) each: upward and downward extent of the tube."""
    acl, power = system.closed_loop, None
    directions = fmpq_mat(2 * system.n, system.n, [v for e in signed_units(system.n) for v in e.entries()])
    extents = [np.zeros((system.n, 2))]
    power = directions
    for _ in range(system.horizon + 1):
        step = np.array([_float(v) for v in system.total_disturbance.supports(power)]).reshape(system.n, 2)
        extents.append(extents[-1] + step)
        power = power * acl
    return extents


def _draw_view(panel: Axes, system: System, flight: FlownFlight, view: View, colours: dict[str, str], tubes: list[Array]) -> None:
    xs, ys = flight.states[:, view.across], flight.states[:, view.up]
    frame = _frame(system, flight, view)
    panel.set_xlim(frame[0]), panel.set_ylim(frame[1])
    panel.set_aspect("equal", adjustable="box")
    labels: dict[tuple[float, ...], list[tuple[str, str]]] = {}
    for recovery in system.recovery_sets:
        corners = shadow(recovery.polytope, view.across, view.up, frame)
        if corners is None:
            continue
        colour = colours[recovery.name]
        panel.add_patch(Polygon(corners, facecolor=colour, alpha=0.14, edgecolor="none", zorder=1))
        panel.add_patch(Polygon(corners, fill=False, edgecolor=colour, linewidth=1.2, zorder=2))
        corner = tuple(np.round(corners.max(axis=0), 6))
        labels.setdefault(corner, []).append((recovery.name, colour))
    for (right, top), names in labels.items():
        for line, (name, colour) in enumerate(names):  # Regions one behind the other share a corner.
            panel.annotate(
                name, (right, top), xytext=(-4, -4 - 12 * line), textcoords="offset points", color=colour, fontsize=9,
                ha="right", va="top", zorder=8, bbox={"facecolor": "white", "alpha": 0.6, "linewidth": 0, "pad": 1},
            )  # fmt: skip
    for tree in flight.trees:
        _draw_tree(panel, system, tree, view, colours, tubes)
    for mode, colour in MODE_COLOURS.items():
        steps = np.flatnonzero(np.array(flight.modes) == mode)
        panel.scatter(xs[steps], ys[steps], s=9, color=colour, zorder=5, linewidths=0)
    panel.plot(xs, ys, color="#222222", linewidth=0.8, zorder=4)
    panel.plot(xs[0], ys[0], marker="o", markersize=7, markerfacecolor="white", markeredgecolor="#222222", zorder=7)
    if flight.goal is not None:
        panel.plot(flight.goal[view.across], flight.goal[view.up], marker="*", markersize=15, color="#1b4f8f", zorder=6)
    for number, call in enumerate(flight.call_outs, 1):
        _number(panel, xs[call.step], ys[call.step], number, offset=(0, 14 if number % 2 else -14))
    panel.set_xlabel(view.across_label)
    panel.set_ylabel(view.up_label)
    panel.grid(alpha=0.25, linewidth=0.5)


def _number(panel: Axes, x: float, y: float, number: int, offset: tuple[float, float]) -> None:
    panel.annotate(
        str(number), (x, y), xytext=offset, textcoords="offset points", ha="center", va="center", fontsize=8, zorder=9,
        bbox={"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": "#222222", "linewidth": 0.8},
        arrowprops={"arrowstyle": "-", "color": "#222222", "linewidth": 0.7, "shrinkB": 0},
    )  # fmt: skip


def _draw_tree(panel: Axes, system: System, tree: PlanTree, view: View, colours: dict[str, str], tubes: list[Array]) -> None:
    for name, inputs in zip(tree.plan.options, tree.plan.recovery):
        points = _roll_out(system, tree.state, inputs)
        across, up = points[:, view.across], points[:, view.up]
        boxes = [
            Rectangle((x - t[view.across, 1], y - t[view.up, 1]), t[view.across].sum(), t[view.up].sum())
            for x, y, t in zip(across, up, tubes)
        ]
        panel.add_collection(PatchCollection(boxes, facecolor=colours[name], alpha=0.06, edgecolor="none", zorder=3))
        panel.plot(across, up, color=colours[name], linewidth=1.3, zorder=4)
        panel.plot(across[-1], up[-1], marker="s", markersize=4, color=colours[name], zorder=6)
    shared = _roll_out(system, tree.state, tree.plan.recovery[0])[: tree.plan.consensus + 2]
    if len(tree.plan.options) > 1:
        panel.plot(shared[:, view.across], shared[:, view.up], color="#222222", linewidth=2.6, alpha=0.75, zorder=5)


def _draw_legend(panel: Axes, flight: FlownFlight) -> None:
    for mode, colour in MODE_COLOURS.items():
        if mode in flight.modes:
            panel.plot([], [], marker="o", markersize=5, linestyle="none", color=colour, label=mode.lower())
    if flight.trees:
        panel.plot([], [], color="#7b3fa0", linewidth=1.3, marker="s", markersize=4, label="certified recovery plan, with its tube")
        panel.plot([], [], color="#222222", linewidth=2.6, alpha=0.75, label="consensus: common to all options")
    if flight.goal is not None:
        panel.plot([], [], marker="*", markersize=11, linestyle="none", color="#1b4f8f", label="goal")
    panel.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=6, fontsize=8, frameon=False)


def _draw_time(panel: Axes, flight: FlownFlight, speed_states: Sequence[int]) -> None:
    times = np.arange(len(flight.states)) * flight.dt
    for start, end, mode in _runs(flight.modes):
        panel.axvspan(times[start], times[end - 1] + flight.dt, color=MODE_COLOURS[mode], alpha=0.13, linewidth=0)
    panel.set_xlim(0, times[-1] + flight.dt)
    panel.set_xlabel("time in s")
    if len(speed_states):
        speed = np.linalg.norm(flight.states[:, list(speed_states)], axis=1)
        panel.plot(times, speed, color="#222222", linewidth=1.3, label="speed")
        panel.set_ylabel("speed in m/s")
        panel.set_ylim(0, max(0.1, 1.35 * float(speed.max())))
    handles, labels = panel.get_legend_handles_labels()
    if flight.scores:
        other = panel.twinx()
        other.plot(times, flight.scores, ".", markersize=4, color="#b3261e", label="anomaly score")
        if flight.threshold is not None:
            other.axhline(flight.threshold, color="#b3261e", linewidth=1, linestyle="--", label="threshold")
        other.set_ylabel("anomaly score", color="#b3261e")
        more, names = other.get_legend_handles_labels()
        handles, labels = handles + more, labels + names
    if handles:
        panel.legend(handles, labels, loc="upper right", fontsize=8, ncols=len(labels), framealpha=0.9)
    top = panel.get_ylim()[1]
    for number, call in enumerate(flight.call_outs, 1):
        panel.axvline(call.step * flight.dt, color="#222222", linewidth=0.7, linestyle=":")
        _number(panel, call.step * flight.dt, top, number, offset=(0, 9))


def _runs(modes: Sequence[str]) -> list[tuple[int, int, str]]:
    """Maximal runs of one mode: start, end (exclusive), mode."""
    runs: list[tuple[int, int, str]] = []
    for i, mode in enumerate(modes):
        if runs and runs[-1][2] == mode:
            runs[-1] = (runs[-1][0], i + 1, mode)
        else:
            runs.append((i, i + 1, mode))
    return runs


def _roll_out(system: System, state: fmpq_mat, inputs: fmpq_mat) -> Array:
    """States x_0 .. x_{T+1} of a branch, shape (T + 2, n)."""
    states = [state]
    for k in range(inputs.ncols()):
        states.append(system.next_state(states[-1], column(inputs, k)))
    return np.array([[_float(v) for v in x.entries()] for x in states])


def _frame(system: System, flight: FlownFlight, view: View) -> tuple[tuple[float, float], tuple[float, float]]:
    """What the panel shows: the flight and the bounded recovery sets, with a border of a twentieth."""
    spans = []
    for i in (view.across, view.up):
        values = list(flight.states[:, i])
        if flight.goal is not None:
            values.append(flight.goal[i])
        for recovery in system.recovery_sets:
            values += [v for v in _extent(recovery.polytope, i) if v is not None]
        low, high = min(values), max(values)
        border = max(0.3, (high - low) / 20)
        spans.append((low - border, high + border))
    return spans[0], spans[1]


def _extent(polytope: Polytope, i: int) -> tuple[float | None, float | None]:
    c = np.zeros(polytope.dimension_of_space)
    c[i] = 1
    low, high = _extreme(polytope, c), _extreme(polytope, -c)
    return (None if low is None else float(low[i])), (None if high is None else float(high[i]))


def _extreme(polytope: Polytope, c: Array) -> Array | None:
    G, h = _arrays(polytope)
    result = linprog(c, A_ub=G, b_ub=h, bounds=(None, None), method="highs")
    return np.asarray(result.x) if result.status == 0 else None


def shadow(polytope: Polytope, i: int, j: int, frame: tuple[tuple[float, float], tuple[float, float]]) -> Array | None:
    """Corners of the projection of a polytope on states i and j inside a frame, for drawing; None when none shows."""
    n = polytope.dimension_of_space
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * n
    bounds[i], bounds[j] = frame
    G, h = _arrays(polytope)
    corners = []
    for angle in np.linspace(0, 2 * np.pi, 48, endpoint=False):
        c = np.zeros(n)
        c[i], c[j] = -np.cos(angle), -np.sin(angle)
        result = linprog(c, A_ub=G, b_ub=h, bounds=bounds, method="highs")
        if result.status != 0:
            return None
        corners.append((result.x[i], result.x[j]))
    points = np.array(corners)
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:
        return points


def _arrays(polytope: Polytope) -> tuple[Array, Array]:
    G = np.array([_float(v) for v in polytope.G.entries()]).reshape(polytope.rows, polytope.dimension_of_space)
    return G, np.array([_float(v) for v in polytope.h.entries()])


def _float(value: fmpq) -> float:
    return int(value.p) / int(value.q)
