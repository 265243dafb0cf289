"""The choice of Y_t (theory 4): which of the feasible sets of options a plan keeps open.

The paper's rule, least cost, always ends with a smallest set, because adding an option only adds
constraints. The rule here is explicit: as many options as possible within a stated cost increase. Single
options are always candidates, since a plant without an equilibrium can have feasible singles and no
feasible pair, and what Theorem 1 promises is one option.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from aesop_verified.kernel.errors import UsageError
from aesop_verified.planning.pricing import Cost, NoPlan, PriceBook

EVERY_SUBSET_UP_TO = 5
"""Up to this many affordable options every subset is considered; beyond it options are added one by one."""


@dataclass(frozen=True)
class Choice:
    """The result of a policy.

    Attributes:
        ranking: sets of options, most preferred first; every feasible single option is among them.
        dropped: for each option that the first set does not keep, why.
    """

    ranking: tuple[tuple[str, ...], ...]
    dropped: Mapping[str, str]


class SelectionPolicy(Protocol):
    """How Y_t is chosen; must be picklable."""

    def choose(self, options: Sequence[str], book: PriceBook) -> Choice:
        """Rank sets of `options` (in the order of the system); an empty ranking means that nothing is feasible."""


@dataclass(frozen=True)
class AsManyAsAffordable:
    """As many options as possible, as long as the nominal plan costs at most

        limit = C_1 + step_share * (x - goal)' Q (x - goal) + relative * C_1 + absolute,

    C_1 being the least nominal cost C(x^0, u^0) among the plans that keep a single option. Only u_0 is shared
    with the recovery plans, so what an option costs now is less than what it costs if it is kept for ever:
    with a limit above one step of delay (step_share = 1) a robot can stop short of its goal to keep an
    option open and never arrive. With a share below 1 the cost to go falls step by step.

    Among sets of equal size the cheapest is taken, then the first in the system's order. All subsets are
    considered for up to `EVERY_SUBSET_UP_TO` options that are affordable alone; with more, options are added
    to the cheapest single one, cheapest first, each kept if the grown set is within the limit (one solve an
    option).

    Attributes:
        step_share, relative, absolute: the stated cost increase, each at least 0.
    """

    step_share: float = 0.5
    relative: float = 0.0
    absolute: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("step_share", self.step_share), ("relative", self.relative), ("absolute", self.absolute)):
            if not (np.isfinite(value) and value >= 0):
                raise UsageError(f"the cost increase {name} is {value}, expected a number of at least 0")

    def choose(self, options: Sequence[str], book: PriceBook) -> Choice:
        """See `SelectionPolicy`."""
        singles = _feasible_singles(options, book)
        if not singles:
            return _nothing(options, book)
        least = min(cost.nominal for cost in singles.values())
        limit = least + self.step_share * book.stage_cost + self.relative * abs(least) + self.absolute
        affordable = tuple(name for name in singles if singles[name].nominal <= limit)
        best = _largest(affordable, book, limit) if len(affordable) <= EVERY_SUBSET_UP_TO else _grown(affordable, singles, book, limit)
        return _ranked(best, options, singles, book, limit)


@dataclass(frozen=True)
class LeastCost:
    """The paper's rule (its section E1): the cheapest set of exactly `size` options; single options follow as
    candidates, so that a pair dead-end is not the end.

    Attributes:
        size: 2 in the paper.
    """

    size: int = 2

    def choose(self, options: Sequence[str], book: PriceBook) -> Choice:
        """See `SelectionPolicy`."""
        singles = _feasible_singles(options, book)
        if not singles:
            return _nothing(options, book)
        best = _cheapest(combinations(tuple(singles), self.size), book, np.inf) or (min(singles, key=lambda name: singles[name].total),)
        return _ranked(best, options, singles, book, np.inf)


def _feasible_singles(options: Sequence[str], book: PriceBook) -> dict[str, Cost]:
    prices = {name: book.price((name,)) for name in options}
    return {name: price for name, price in prices.items() if not isinstance(price, NoPlan)}


def _cheapest(subsets: Iterable[tuple[str, ...]], book: PriceBook, limit: float) -> tuple[str, ...] | None:
    """The subset of least total cost among those with a plan whose nominal cost is within the limit."""
    priced = [(price.total, subset) for subset in subsets if not isinstance(price := book.price(subset), NoPlan) and price.nominal <= limit]
    return min(priced, key=lambda item: item[0])[1] if priced else None


def _largest(affordable: tuple[str, ...], book: PriceBook, limit: float) -> tuple[str, ...]:
    for size in range(len(affordable), 0, -1):
        best = _cheapest(combinations(affordable, size), book, limit)
        if best is not None:
            return best
    raise AssertionError("the cheapest single option is within any limit")


def _grown(affordable: tuple[str, ...], singles: Mapping[str, Cost], book: PriceBook, limit: float) -> tuple[str, ...]:
    order = sorted(affordable, key=lambda name: singles[name].nominal)
    kept = {order[0]}
    for name in order[1:]:
        grown = tuple(n for n in affordable if n in kept or n == name)
        if _cheapest((grown,), book, limit) is not None:
            kept.add(name)
    return tuple(n for n in affordable if n in kept)


def _ranked(best: tuple[str, ...], options: Sequence[str], singles: Mapping[str, Cost], book: PriceBook, limit: float) -> Choice:
    rest = sorted(((name,) for name in singles if (name,) != best), key=lambda subset: singles[subset[0]].total)
    dropped = {name: _reason(name, best, options, book, limit) for name in options if name not in best}
    return Choice((best, *rest), dropped)


def _reason(name: str, best: tuple[str, ...], options: Sequence[str], book: PriceBook, limit: float) -> str:
    alone = book.price((name,))
    if isinstance(alone, NoPlan):
        return f"no plan reaches it from here ({_cause(alone)})"
    if alone.nominal > limit:
        return f"a plan that keeps it open, even alone, costs {alone.nominal:.6g}; the limit is {limit:.6g}"
    together = book.price(tuple(n for n in options if n in best or n == name))
    if isinstance(together, NoPlan):
        return f"no plan keeps it open together with {', '.join(best)} ({_cause(together)})"
    if together.nominal > limit:
        return f"a plan that keeps it open together with {', '.join(best)} costs {together.nominal:.6g}; the limit is {limit:.6g}"
    return f"a plan that keeps {', '.join(best)} costs less"


def _cause(failure: NoPlan) -> str:
    """Status and reason, without saying the same twice."""
    return failure.reason if failure.status.value in failure.reason else f"{failure.status.value}: {failure.reason}"


def _nothing(options: Sequence[str], book: PriceBook) -> Choice:
    reasons = {}
    for name in options:
        price = book.price((name,))
        assert isinstance(price, NoPlan)
        reasons[name] = f"no plan reaches it from here ({_cause(price)})"
    return Choice((), reasons)
