"""The tables of a campaign: rates with exact intervals, what each method cost, and what AESOP's logs say.

Nothing here depends on the machine, the backend or the order in which the flights were flown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from scipy.stats import binomtest

from aesop_verified.campaign.flying import Key, Record
from aesop_verified.campaign.running import Prepared
from aesop_verified.kernel.verdict import Verdict
from aesop_verified.runtime.check import LogOutcome
from aesop_verified.runtime.exact_text import Json

CONFIDENCE = 0.95
TITLES = {"naive": "naive MPC", "fs_mpc": "FS-MPC", "aesop": "AESOP"}


@dataclass(frozen=True, slots=True)
class Rate:
    """k of n, with the Clopper-Pearson interval of 95 % confidence."""

    successes: int
    flights: int
    low: float
    high: float

    @classmethod
    def of(cls, successes: int, flights: int) -> Rate:
        """The interval that holds whatever the true rate is (Clopper and Pearson 1934)."""
        if flights == 0:
            return cls(0, 0, 0.0, 1.0)
        interval = binomtest(successes, flights).proportion_ci(CONFIDENCE, method="exact")
        return cls(successes, flights, float(interval.low), float(interval.high))

    def __str__(self) -> str:
        if self.flights == 0:
            return "none"
        return f"{100 * self.successes / self.flights:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One method with one weighting; times in seconds, medians over the flights that have a value.

    Attributes:
        recovered: in the region T + 1 steps after the alarm and from then on, without a violation on the way.
        recovered_late: the same T + 1 steps after the answer.
        violating: flights in which the true state left X or an input left U.
        arrival, slowest: from the alarm until in the region to stay, of the flights that get there.
        progress: cost of states and inputs up to the alarm, divided by that of the unmonitored flight (the naive one's).
        to_goal: until the goal, in flights that get there: without an anomaly, or on a way that passes it.
        slack: flights with a plan that used slack variables.
    """

    method: str
    weighting: str
    recovered: Rate
    recovered_late: Rate
    violating: int
    arrival: float | None
    slowest: float | None
    progress: float | None
    to_goal: float | None
    slack: int


@dataclass(frozen=True, slots=True)
class AssuranceRow:
    """What AESOP's logs say, over all flights of a variant.

    Attributes:
        verified, refused: logs that the kernel, run again, agrees with, and does not.
        fallbacks: flights in which the fallback policy chose.
        shifted, uncertified: steps flown with the shifted plan, and without a certified plan.
        left_w: flights in which the true w left W; logged: in which the log says that an assumption broke.
        first_left_w, first_logged: the median step at which they first did.
        share: the largest observed disturbance, as a share of its bound in W.
        recovered_in_w, flights_in_w: recovered, of the flights in which w stayed in W.
    """

    flights: int
    verified: int
    refused: int
    fallbacks: int
    shifted: int
    uncertified: int
    left_w: int
    logged: int
    first_left_w: float | None
    first_logged: float | None
    share: float
    recovered_in_w: int
    violating_in_w: int
    flights_in_w: int


@dataclass(frozen=True, slots=True)
class VariantTable:
    """The tables of one variant.

    Attributes:
        rows: one a method, each with its best weighting.
        all_rows: one a method and weighting.
        assurance: of AESOP; None where it was not flown.
        verdict: whether AESOP did what it promises in every flight in which the plant kept to its assumptions.
    """

    name: str
    text: str
    scenarios: int
    done: int
    anomalies: bool
    rows: tuple[MethodRow, ...]
    all_rows: tuple[MethodRow, ...]
    assurance: AssuranceRow | None
    verdict: Verdict


def tables(prepared: Prepared, records: dict[Key, list[Record]]) -> list[VariantTable]:
    """The tables of a campaign, as far as it was flown."""
    return [_variant(prepared, i, records) for i in range(len(prepared.campaign.variants))]


def _variant(prepared: Prepared, number: int, records: dict[Key, list[Record]]) -> VariantTable:
    variant = prepared.campaign.variants[number]
    dt = int(variant.system.dt.p) / int(variant.system.dt.q)
    flown = {m: [records[variant.name, m, i] for i in range(variant.scenarios) if (variant.name, m, i) in records] for m in variant.methods}
    unmonitored = {group[0].index: group[0].cost for group in flown.get("naive", [])}
    all_rows, best = [], []
    for groups in flown.values():
        rows = [_row(list(of_one), dt, unmonitored) for of_one in zip(*groups)]
        all_rows += rows
        best += [max(rows, key=lambda r: (r.recovered.successes, r.recovered_late.successes, -r.violating))] if rows else []
    ours = [group[0] for group in flown.get("aesop", [])]
    anomalies = any(not a.harmless for a in variant.conditions.anomalies)
    assurance = _assurance(ours) if ours else None
    return VariantTable(
        variant.name, variant.text, variant.scenarios, min((len(g) for g in flown.values()), default=0), anomalies, tuple(best), tuple(all_rows),
        assurance, _verdict(assurance, anomalies, len(ours) == variant.scenarios or "aesop" not in variant.methods),
    )  # fmt: skip


def _row(records: Sequence[Record], dt: float, unmonitored: dict[int, float]) -> MethodRow:
    n = len(records)
    ratios = [r.cost / unmonitored[r.index] for r in records if unmonitored.get(r.index)]
    return MethodRow(
        records[0].method, records[0].weighting, Rate.of(sum(r.recovered for r in records), n), Rate.of(sum(r.recovered_late for r in records), n),
        sum(r.violations > 0 for r in records), _median(records, lambda r: r.arrival, dt),
        max((dt * r.arrival for r in records if r.arrival is not None), default=None),
        round(median(ratios), 6) if ratios else None, _median(records, lambda r: r.to_goal, dt), sum(r.slack > 0 for r in records),
    )  # fmt: skip


def _median(records: Sequence[Record], value: Callable[[Record], int | None], dt: float = 1.0) -> float | None:
    found = [v for r in records if (v := value(r)) is not None]
    return round(dt * median(found), 6) if found else None


def _assurance(records: Sequence[Record]) -> AssuranceRow:
    inside = [r for r in records if r.left_w == 0]
    verified = sum(r.log == LogOutcome.VERIFIED.value for r in records)
    return AssuranceRow(
        len(records), verified, len(records) - verified, sum(r.by == "fallback" for r in records), sum(r.shifted for r in records),
        sum(r.uncertified for r in records), len(records) - len(inside), sum(r.logged > 0 for r in records),
        _median(records, lambda r: r.first_left_w), _median(records, lambda r: r.first_logged), max((r.share for r in records), default=0.0),
        sum(r.recovered for r in inside), sum(r.violations > 0 for r in inside), len(inside),
    )  # fmt: skip


def _verdict(found: AssuranceRow | None, anomalies: bool, whole: bool) -> Verdict:
    if found is None:
        return Verdict.PROVED if whole else Verdict.UNKNOWN
    kept = not anomalies or found.recovered_in_w == found.flights_in_w
    if found.refused or found.violating_in_w or not kept:
        return Verdict.REFUTED
    return Verdict.PROVED if whole else Verdict.UNKNOWN


def table_json(prepared: Prepared, found: Sequence[VariantTable]) -> Json:
    """The tables as plain values: the same bytes for the same seed, on any backend."""
    return {
        "schema_version": 1, "campaign": prepared.campaign.name,
        "variants": [asdict(t) | {"verdict": t.verdict.value, "settings": prepared.settings[t.name]} for t in found],
    }  # fmt: skip


def markdown(prepared: Prepared, found: Sequence[VariantTable]) -> str:
    """The tables for people."""
    campaign = prepared.campaign
    parts = [f"# {campaign.name}: {campaign.text}\n\nseed {campaign.seed}; rates with the Clopper-Pearson interval of 95 % confidence\n"]
    for table in found:
        parts.append(f"\n## {table.name}\n\n{table.text}; {table.done} of {table.scenarios} scenarios\n\n")
        parts.append(_recoveries(table) if table.anomalies else _deliveries(table))
        if len(table.all_rows) > len(table.rows) and table.anomalies:
            parts.append("\nAll weightings of the baselines' slack variables:\n\n" + _weightings(table))
        if table.assurance is not None:
            parts.append("\n" + _logs(table.assurance) + "\n")
    return "".join(parts)


def _recoveries(table: VariantTable) -> str:
    head = ("method", "in the region T + 1 steps after the alarm", "after the answer", "flights with a violation", "arrival median / slowest", "cost up to the alarm")
    rows = [
        (_title(r), str(r.recovered), str(r.recovered_late), f"{r.violating} of {r.recovered.flights}", f"{_seconds(r.arrival)} / {_seconds(r.slowest)}", _times(r.progress))
        for r in table.rows
    ]  # fmt: skip
    return _table(head, rows)


def _deliveries(table: VariantTable) -> str:
    head = ("method", "time to the goal, median", "cost of the flight", "flights with a violation")
    return _table(head, [(_title(r), _seconds(r.to_goal), _times(r.progress), f"{r.violating} of {r.recovered.flights}") for r in table.rows])


def _weightings(table: VariantTable) -> str:
    head = ("method", "weighting", "after the alarm", "after the answer", "flights with a violation", "flights that used slack")
    rows = [(TITLES[r.method], r.weighting, str(r.recovered), str(r.recovered_late), str(r.violating), str(r.slack)) for r in table.all_rows if r.weighting]
    return _table(head, rows)


def _logs(a: AssuranceRow) -> str:
    said = [f"AESOP's logs: {a.verified} of {a.flights} verified, {a.refused} refused; the fallback policy chose in {a.fallbacks} flights; {a.shifted} steps with the shifted plan, {a.uncertified} without a certified one; largest w {a.share:.2f} of its bound."]
    if a.left_w:
        said.append(
            f"w left W in {a.left_w} flights (median first step {a.first_left_w:g}), the log says so in {a.logged}"
            + ("" if a.first_logged is None else f" (median first step {a.first_logged:g})")
            + f"; of the {a.flights_in_w} flights in which it did not, {a.recovered_in_w} recovered."
        )
    return " ".join(said)


def _title(row: MethodRow) -> str:
    return TITLES[row.method] + (f" ({row.weighting})" if row.weighting else "")


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
