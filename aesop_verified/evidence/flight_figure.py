"""The figure of a flight, after the paper's Fig. 3 and Fig. 7: what was flown, what could have been, and why.

Left: the views from above and from the side, with the tree of recovery plans at each question (blue the nominal
plan, orange what all plans share until step K, red the branches, each with its tube R_k to scale). Right: what
happened, the detector's score against its threshold, and the speed.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon, Rectangle

from aesop_verified.evidence.flight_geometry import Array, PlanPaths, array, plan_paths, shadow, tube
from aesop_verified.kernel.events import Recovering, Row, Suspended, Waiting
from aesop_verified.kernel.invariance import AssuredSystem
from aesop_verified.runtime.check import LogVerdict
from aesop_verified.runtime.flying import Flight
from aesop_verified.runtime.scenario import FigureAxes
from aesop_verified.runtime.story import Moment

_BLUE, _ORANGE, _RED, _GREEN, _GREY = "#1f5fa8", "#e08a1e", "#c8372d", "#3f8f4f", "#7a7a7a"
_PALE = {_BLUE: "#dfe9f5", _ORANGE: "#fbe6c8", _RED: "#f7d9d5", _GREY: "#ececec"}
_SHOWN = {
    Row.ALARM.value: _BLUE, Row.ALARM_AGAIN.value: _BLUE, Row.ALARM_KEPT.value: _BLUE, Row.ALARM_LOGGED.value: _BLUE,
    Row.ANSWER_CLEAR.value: _RED, Row.ANSWER_CHOICE.value: _RED,
    Row.ANSWER_REJECTED.value: _RED, Row.DEADLINE.value: _ORANGE, Row.RECOVERED.value: _GREEN, Row.SUSPENDED.value: _GREY,
    Row.HOLD.value: _GREY, Row.OVERRIDE.value: _GREY, Row.RESUME.value: _GREY, Row.MISSING_MEASUREMENT.value: _GREY,
}  # fmt: skip
_MOST_CALLOUTS = 8


@dataclass(frozen=True, eq=False)
class _Tree:
    paths: PlanPaths
    step: int


def draw_flight(flight: Flight, assured: AssuredSystem, log: LogVerdict, moments: list[Moment], subtitle: str, folder: Path) -> list[Path]:
    """Write flight.png and flight.svg; returns their paths."""
    axes = flight.scenario.figure
    callouts = [m for m in moments if m.row in _SHOWN][:_MOST_CALLOUTS]
    with matplotlib.rc_context({"font.size": 8.5, "svg.hashsalt": "aesop", "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(12.6, 9.0), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(f"{flight.scenario.name}: {flight.scenario.text}\n{subtitle}", fontsize=10, x=0.01, ha="left")
        if axes is None:
            texts, score, speed = figure.subplots(3, 1, height_ratios=[1.6, 1, 1])
        else:
            grid = figure.add_gridspec(1, 2, width_ratios=[1.15, 1])
            left, right = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
            _views(left, flight, assured, log, callouts, axes)
            texts, score, speed = right.subplots(3, 1, height_ratios=[1.9, 1, 0.9])
        _callouts(texts, flight, callouts)
        _scores(score, flight, callouts)
        _speeds(speed, flight, axes)
        files = [folder / "flight.png", folder / "flight.svg"]
        figure.savefig(files[0], dpi=150, metadata={"Software": None})
        figure.savefig(files[1], metadata={"Date": None})
    return files


def _views(left: Any, flight: Flight, assured: AssuredSystem, log: LogVerdict, callouts: list[Moment], axes: FigureAxes) -> None:
    trees = [_Tree(plan_paths(assured.system, s.result.state.held), s.result.state.step) for s in log.steps if s.result.question is not None]
    views = [axes.top] if axes.side is None else [axes.top, axes.side]
    spans = [_limits(flight, assured, trees, _indices(flight, view)) for view in views]
    heights = [float(span[1, 1] - span[1, 0]) for span in spans]
    panels = left.subplots(len(views), 1, squeeze=False, height_ratios=heights)[:, 0]
    for panel, view, span, title in zip(panels, views, spans, ("from above", "from the side")):
        _view(panel, flight, assured, trees, callouts, _indices(flight, view), span)
        first, second = (flight.scenario.system.states[i] for i in _indices(flight, view))
        panel.set_title(title if first.unit == second.unit else f"{first.name} and {second.name}", loc="left", fontsize=9, color=_GREY)
    left.legend(handles=_legend(), loc="outside lower left", fontsize=7.5, frameon=False, ncols=3)


def _indices(flight: Flight, view: tuple[str, str]) -> tuple[int, int]:
    names = flight.scenario.system.state_names
    return names.index(view[0]), names.index(view[1])


def _limits(flight: Flight, assured: AssuredSystem, trees: list[_Tree], states: tuple[int, int]) -> Array:
    points = [array(s.true_state)[list(states), 0] for s in flight.samples]
    points += [p for t in trees for path in (t.paths.nominal, *t.paths.recovery.values()) for p in path[:, states]]
    points += [p for r in assured.system.recovery_sets for p in shadow(r.polytope, states)]
    goal = array(flight.scenario.system.costs.goal)[list(states), 0]
    stacked = np.array([*points, goal])
    low, high = stacked.min(axis=0), stacked.max(axis=0)
    room = 0.05 * (high - low).max()
    return np.stack([low - room, high + room], axis=1)


def _view(
    panel: Any, flight: Flight, assured: AssuredSystem, trees: list[_Tree], callouts: list[Moment], states: tuple[int, int], span: Array
) -> None:
    system, variables = assured.system, flight.scenario.system.states
    labels: dict[tuple[float, float], list[str]] = {}
    for r in system.recovery_sets:
        corners = shadow(r.polytope, states)
        panel.add_patch(Polygon(corners, closed=True, facecolor="#dcefdc", edgecolor=_GREEN, linewidth=0.9, zorder=1))
        place = (round(float(corners[:, 0].min()), 2), round(float(corners[:, 1].max()), 2))
        labels.setdefault(place, []).append(r.name)
    for place, sharing in labels.items():
        panel.annotate(", ".join(sharing), place, (4, -4), textcoords="offset points", ha="left", va="top", color=_GREEN, fontsize=8, zorder=7)
    bounds = tube(system, states, system.horizon + 1)
    for tree in trees:
        _draw_tree(panel, tree.paths, states, bounds)
    flown = np.array([array(s.true_state)[list(states), 0] for s in flight.samples])
    panel.plot(flown[:, 0], flown[:, 1], color="black", linewidth=1.6, zorder=6)
    panel.plot(*flown[0], marker="o", color="black", markersize=4, zorder=6)
    goal = array(flight.scenario.system.costs.goal)[list(states), 0]
    panel.plot(*goal, marker="*", color=_BLUE, markersize=11, zorder=5)
    _markers(panel, flown, callouts)
    panel.set_xlim(*span[0])
    panel.set_ylim(*span[1])
    if variables[states[0]].unit == variables[states[1]].unit:
        panel.set_aspect("equal")
    panel.set_xlabel(_labelled(variables[states[0]]))
    panel.set_ylabel(_labelled(variables[states[1]]))


def _draw_tree(panel: Any, paths: PlanPaths, states: tuple[int, int], bounds: Array) -> None:
    shared = paths.consensus + 2  # inputs 0..K are common, hence states 0..K + 1
    for path in paths.recovery.values():
        _draw_tube(panel, path[:, states], bounds, shared)
    for path in paths.recovery.values():
        panel.plot(*path[shared - 1 :, states].T, color=_RED, linewidth=0.9, zorder=4)
    first = next(iter(paths.recovery.values()))
    panel.plot(*first[:shared, states].T, color=_ORANGE, linewidth=1.8, zorder=5)
    panel.plot(*paths.nominal[:, states].T, color=_BLUE, linewidth=0.9, linestyle=(0, (4, 2)), zorder=4)
    panel.plot(*first[1, list(states)], marker="o", color=_BLUE, markersize=2.5, zorder=5)


def _draw_tube(panel: Any, points: Array, bounds: Array, shared: int) -> None:
    for k, point in enumerate(points):
        low, high = bounds[min(k, len(bounds) - 1), :, 0], bounds[min(k, len(bounds) - 1), :, 1]
        colour = _PALE[_ORANGE] if k < shared else _PALE[_RED]
        panel.add_patch(Rectangle(point + low, *(high - low), facecolor=colour, edgecolor="none", zorder=2.5 if k < shared else 2.2))


def _markers(panel: Any, flown: Array, callouts: list[Moment]) -> None:
    span = np.ptp(flown, axis=0).max() or 1.0
    placed: list[Array] = []
    for number, m in enumerate(callouts, start=1):
        point = flown[min(m.step, len(flown) - 1)]
        lift = sum(bool(np.abs(point - other).max() < 0.05 * span) for other in placed)
        placed.append(point)
        panel.annotate(
            str(number), point, (10 + 15 * lift, 16), textcoords="offset points", fontsize=7.5, color="white", ha="center", va="center", zorder=8,
            bbox={"boxstyle": "circle,pad=0.22", "facecolor": _SHOWN[m.row], "edgecolor": "none"},
            arrowprops={"arrowstyle": "-", "color": _SHOWN[m.row], "linewidth": 0.8},
        )  # fmt: skip
        panel.plot(*point, marker="o", color=_SHOWN[m.row], markersize=3.5, zorder=7)


def _callouts(panel: Any, flight: Flight, callouts: list[Moment]) -> None:
    panel.set_axis_off()
    panel.set_title("what happened, and why", loc="left", fontsize=9, color=_GREY)
    dt = _dt(flight)
    y = 0.98
    for number, m in enumerate(callouts, start=1):
        if y < 0.06:
            panel.text(0.045, y, f"and {len(callouts) - number + 1} more: see result.json", transform=panel.transAxes, va="top", fontsize=7.6)
            break
        colour = _SHOWN[m.row]
        lines = textwrap.wrap(f"t = {m.step * dt:.1f} s: {m.what}", 74) + textwrap.wrap(m.why, 80)
        text = panel.text(
            0.045, y, "\n".join(lines), transform=panel.transAxes, va="top", fontsize=7.6, linespacing=1.25,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": _PALE.get(colour, "#e3f1e3"), "edgecolor": colour, "linewidth": 0.7},
        )  # fmt: skip
        panel.text(
            0.005, y, str(number), transform=panel.transAxes, va="top", ha="center", fontsize=7.5, color="white",
            bbox={"boxstyle": "circle,pad=0.22", "facecolor": colour, "edgecolor": "none"},
        )  # fmt: skip
        text.set_in_layout(False)
        y -= 0.047 * len(lines) + 0.042
    if not callouts:
        panel.text(0.02, 0.9, "nothing unusual: every step was nominal", transform=panel.transAxes, va="top")


def _dt(flight: Flight) -> float:
    return int(flight.scenario.system.dt.p) / int(flight.scenario.system.dt.q)


def _bands(panel: Any, flight: Flight) -> None:
    """The modes as a background."""
    dt = _dt(flight)
    for s in flight.samples:
        mode = s.report.mode
        colour = _ORANGE if isinstance(mode, Waiting) else _RED if isinstance(mode, Recovering) else _GREY if isinstance(mode, Suspended) else None
        if colour is not None:
            panel.axvspan(s.step * dt, (s.step + 1) * dt, color=_PALE[colour], linewidth=0, zorder=0)
    panel.set_xlim(0, len(flight.samples) * dt)


def _scores(panel: Any, flight: Flight, callouts: list[Moment]) -> None:
    dt = _dt(flight)
    notes = [(s.step * dt, s.report.sighting.note) for s in flight.samples]
    scored = [(t, n["score"], n["threshold"], n.get("cause")) for t, n in notes if isinstance(n.get("score"), float) and isinstance(n.get("threshold"), float)]
    _bands(panel, flight)
    panel.set_title("detector: score against threshold", loc="left", fontsize=9, color=_GREY)
    if scored:
        t, score, threshold, cause = zip(*scored)
        panel.step(t, score, where="post", color="black", linewidth=1.0)
        panel.plot(t, threshold, color=_BLUE, linewidth=1.0, linestyle="--")
        panel.annotate("threshold", (t[-1], threshold[-1]), (0, 3), textcoords="offset points", color=_BLUE, ha="right", va="bottom", fontsize=7.5)
        fired = [(a, b) for a, b, c in zip(t, score, cause) if c == "above_threshold"]
        quiet = [(a, b) for a, b, c in zip(t, score, cause) if c == "dismissed"]
        if fired:
            panel.plot(*zip(*fired), linestyle="none", marker="o", markersize=3, color=_BLUE, label="alarm")
        if quiet:
            panel.plot(*zip(*quiet), linestyle="none", marker="o", markersize=3, markerfacecolor="white", color=_BLUE, label="already asked, or called harmless")
    unscored = [t for t, n in notes if not isinstance(n.get("score"), float) and n]
    if unscored:
        panel.plot(unscored, [panel.get_ylim()[1]] * len(unscored), linestyle="none", marker="x", markersize=4, color=_RED, label="no judgement: an alarm")
    if panel.get_legend_handles_labels()[0]:
        panel.legend(loc="lower right", fontsize=7, framealpha=0.9)
    panel.margins(y=0.14)
    for number, m in enumerate(callouts, start=1):
        panel.axvline(m.step * dt, color=_SHOWN[m.row], linewidth=0.8, zorder=1)
        panel.annotate(str(number), (m.step * dt, 1.0), (4, -8), xycoords=("data", "axes fraction"), textcoords="offset points", ha="center", fontsize=7, color=_SHOWN[m.row])
    panel.set_ylabel("score")


def _speeds(panel: Any, flight: Flight, axes: FigureAxes | None) -> None:
    dt, variables = _dt(flight), flight.scenario.system.states
    names = flight.scenario.system.state_names
    chosen = [names.index(n) for n in axes.speed] if axes is not None else list(range(min(3, len(names))))
    _bands(panel, flight)
    states = np.array([array(s.true_state)[chosen, 0] for s in flight.samples])
    times = np.arange(len(states)) * dt
    if axes is not None:
        panel.plot(times, np.linalg.norm(states, axis=1), color="black", linewidth=1.2, label="speed")
    for column, index in enumerate(chosen):
        panel.plot(times, states[:, column], linewidth=0.8, alpha=0.85, label=variables[index].name if axes is not None else _labelled(variables[index]))
    panel.legend(loc="lower right", fontsize=7, ncols=4, framealpha=0.9)
    shown = "speed and its components" if axes is not None else "the first states; views to draw are named under 'figure' in the scenario"
    panel.set_title(f"{shown} (orange: waiting for the answer, red: recovering)", loc="left", fontsize=9, color=_GREY)
    panel.set_xlabel("time, s")
    panel.set_ylabel((variables[chosen[0]].unit if axes is not None else "") or "states")


def _labelled(variable: Any) -> str:
    return f"{variable.name}, {variable.unit}" if variable.unit else str(variable.name)


def _legend() -> list[Any]:
    return [
        Line2D([], [], color="black", linewidth=1.6, marker="o", markersize=4, markevery=[0], label="flown, from the dot"),
        Line2D([], [], color=_BLUE, linestyle="none", marker="*", markersize=9, label="goal"),
        Line2D([], [], color=_BLUE, linewidth=0.9, linestyle=(0, (4, 2)), label="nominal plan"),
        Line2D([], [], color=_ORANGE, linewidth=1.8, label="common to all plans, to step K"),
        Line2D([], [], color=_RED, linewidth=0.9, label="recovery plans at an alarm"),
        Patch(facecolor=_PALE[_RED], label="tube R_k of the disturbance"),
        Patch(facecolor="#dcefdc", edgecolor=_GREEN, label="recovery set"),
    ]
