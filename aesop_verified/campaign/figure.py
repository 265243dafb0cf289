"""The figure of a campaign: paths of each method from above, and the rates of all variants with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon

from aesop_verified.campaign.flying import Key, Record, shown
from aesop_verified.campaign.running import Prepared
from aesop_verified.campaign.table import TITLES, VariantTable
from aesop_verified.evidence.flight_geometry import shadow
from aesop_verified.planning.float_image import described_cost

_COLOURS = {"naive": "#7a7a7a", "fs_mpc": "#e08a1e", "aesop": "#1f5fa8"}
_GOOD, _BAD, _PALE = "#3f8f4f", "#c8372d", "#dfeee2"


def draw_campaign(prepared: Prepared, found: Sequence[VariantTable], records: dict[Key, list[Record]], folder: Path) -> list[Path]:
    """Write campaign.png and campaign.svg; returns their paths."""
    with_rates = [t for t in found if t.anomalies and t.rows]
    methods = [r.method for r in found[0].rows]
    with matplotlib.rc_context({"font.size": 8.5, "svg.hashsalt": "aesop", "axes.spines.top": False, "axes.spines.right": False}):
        lines = sum(len(t.rows) + 1 for t in with_rates)
        figure = Figure(figsize=(12.6, 4.2 + 0.22 * lines), layout="constrained")
        FigureCanvasAgg(figure)
        campaign = prepared.campaign
        figure.suptitle(f"{campaign.name}: {campaign.text}", fontsize=10, x=0.01, ha="left")
        grid = figure.add_gridspec(2 if with_rates else 1, max(1, len(methods)), height_ratios=[3.6, 0.4 + 0.22 * lines] if with_rates else [1])
        first = None
        for column, method in enumerate(methods):
            panel = figure.add_subplot(grid[0, column], sharex=first, sharey=first)
            first = first or panel
            _paths(panel, prepared, found[0], method, records)
        if with_rates:
            _rates(figure.add_subplot(grid[1, :]), with_rates)
        files = [folder / "campaign.png", folder / "campaign.svg"]
        figure.savefig(files[0], dpi=150, metadata={"Software": None})
        figure.savefig(files[1], metadata={"Date": None})
    return files


def _paths(panel: Any, prepared: Prepared, table: VariantTable, method: str, records: dict[Key, list[Record]]) -> None:
    variant = next(v for v in prepared.campaign.variants if v.name == table.name)
    row = next(r for r in table.rows if r.method == method)
    axes = shown(described_cost(variant.system))
    for recovery in prepared.systems[table.name].system.recovery_sets:
        corners = shadow(recovery.polytope, axes)
        panel.add_patch(Polygon(corners, facecolor=_PALE, edgecolor=_GOOD, linewidth=0.8))
        panel.annotate(recovery.name.replace("_", " "), corners.mean(axis=0), ha="center", va="center", fontsize=7, color=_GOOD)
    flown = [r for i in range(variant.scenarios) for r in records.get((table.name, method, i), []) if r.path and r.weighting == row.weighting]
    for record in flown:
        path = np.array(record.path)
        judged = _GOOD if record.recovered else _BAD
        panel.plot(path[:, 0], path[:, 1], color=judged if table.anomalies else _COLOURS[method], linewidth=0.6, alpha=0.7)
        if record.alarm is not None and record.alarm < len(path):
            panel.plot(*path[record.alarm], ".", color="black", markersize=2.5)
        panel.plot(*path[-1], "o", color=judged if table.anomalies else _COLOURS[method], markersize=2.5)
    goal = described_cost(variant.system).goal
    panel.plot(*goal[list(axes)], "*", color="black", markersize=9)
    names = [variant.system.states[i] for i in axes]
    panel.set_xlabel(f"{names[0].name}, {names[0].unit}")
    panel.set_ylabel(f"{names[1].name}, {names[1].unit}")
    panel.set_aspect("equal", adjustable="box")
    panel.set_title(f"{TITLES[method]}: the first {len(flown)} flights of {table.name}", loc="left", fontsize=9)
    if table.anomalies:
        handles = [Line2D([], [], color=_GOOD, label="recovered in time"), Line2D([], [], color=_BAD, label="not"), Line2D([], [], color="black", marker=".", linestyle="", label="alarm")]
        panel.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.13), fontsize=7.5, frameon=False, ncols=3)


def _rates(panel: Any, found: Sequence[VariantTable]) -> None:
    height, places, labels = 0.0, [], []
    for table in found:
        panel.text(-1, height, table.name.replace("_", " "), ha="right", va="center", fontsize=8.5, fontweight="bold")
        for row in table.rows:
            height -= 1
            for rate, filled in ((row.recovered_late, False), (row.recovered, True)):
                colour, line = _COLOURS[row.method], height + (0.17 if filled else -0.17)
                value = 100 * rate.successes / max(1, rate.flights)
                panel.plot([100 * rate.low, 100 * rate.high], [line, line], color=colour, linewidth=1.6, alpha=1.0 if filled else 0.45)
                panel.plot(value, line, "o", markersize=5, color=colour, markerfacecolor=colour if filled else "white")
            places.append(height)
            labels.append(TITLES[row.method])
        height -= 1.2
    panel.set_yticks(places, labels)
    panel.tick_params(axis="y", length=0)
    panel.set_xlim(0, 101)
    panel.set_ylim(height + 0.6, 0.7)
    panel.set_xlabel("flights that recover to the region named, without a violation, % (lines: 95 % Clopper-Pearson interval)")
    panel.grid(axis="x", linewidth=0.4, alpha=0.6)
    panel.legend(
        handles=[
            Line2D([], [], marker="o", linestyle="", color="black", label="T + 1 steps after the alarm"),
            Line2D([], [], marker="o", linestyle="", color="black", markerfacecolor="white", label="T + 1 steps after the answer"),
        ],
        loc="upper left", fontsize=7.5, frameon=False,
    )  # fmt: skip
