"""The choice of Y_t (theory 4): which of the feasible sets of options a plan keeps open.

The paper's rule, least cost, always ends with a smallest set, because adding an option only adds
constraints. The rule here is explicit: as many options as possible within a stated cost increase. Single
options are always candidates, since a plant without an equilibrium can have feasible singles and no
feasible pair, and what Theorem 1 promises is one option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np

from aesop_verified.kernel.errors import UsageError
from aesop_verified.planning.pricing import NoPlan, Price, PriceBook

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
    """As many options as possible whose plan costs at most the limit

        limit = (1 + relative) * J_1 + absolute,   J_1 = the least cost of a single option;

    among sets of equal size the cheapest, then the first in the system's order. All subsets are considered
    for up to `EVERY_SUBSET_UP_TO` options that are affordable alone; with more, options are added to the
    cheapest single one, cheapest first, each kept if the grown set is within the limit (one solve an option).

    Attributes:
        relative, absolute: the stated cost increase, both at least 0.
    """

    relative: float = 0.1
    absolute: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("relative", self.relative), ("absolute", self.absolute)):
            if not (np.isfinite(value) and value >= 0):
                raise UsageError(f"the {name} cost increase is {value}, expected a number of at least 0")

    def choose(self, options: Sequence[str], book: PriceBook) -> Choice:
        """See `SelectionPolicy`."""
        singles = _feasible_singles(options, book)
        if not singles:
            return _nothing(options, book)
        least = min(singles.values())
        limit = least + self.relative * abs(least) + self.absolute
        affordable = tuple(name for name in options if singles.get(name, np.inf) <= limit)
        best = self._largest(affordable, book, limit) if len(affordable) <= EVERY_SUBSET_UP_TO else _grown(affordable, singles, book, limit)
        return _ranked(best, options, singles, book, limit)

    @staticmethod
    def _largest(affordable: tuple[str, ...], book: PriceBook, limit: float) -> tuple[str, ...]:
        for size in range(len(affordable), 1, -1):
            priced = [(book.price(subset), subset) for subset in combinations(affordable, size)]
            within = [(price, subset) for price, subset in priced if not isinstance(price, NoPlan) and price <= limit]
            if within:
                return min(within, key=lambda item: item[0])[1]
        singles = [(price, (name,)) for name in affordable if not isinstance(price := book.price((name,)), NoPlan)]
        return min(singles, key=lambda item: item[0])[1]


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
        priced = [(book.price(subset), subset) for subset in combinations(tuple(singles), self.size)]
        within = [(price, subset) for price, subset in priced if not isinstance(price, NoPlan)]
        best = min(within, key=lambda item: item[0])[1] if within else (min(singles, key=lambda name: singles[name]),)
        return _ranked(best, options, singles, book, np.inf)


def _feasible_singles(options: Sequence[str], book: PriceBook) -> dict[str, float]:
    prices = {name: book.price((name,)) for name in options}
    return {name: price for name, price in prices.items() if not isinstance(price, NoPlan)}


def _grown(affordable: tuple[str, ...], singles: Mapping[str, float], book: PriceBook, limit: float) -> tuple[str, ...]:
    order = sorted(affordable, key=lambda name: singles[name])
    kept = {order[0]}
    for name in order[1:]:
        grown = tuple(n for n in affordable if n in kept or n == name)
        price = book.price(grown)
        if not isinstance(price, NoPlan) and price <= limit:
            kept.add(name)
    return tuple(n for n in affordable if n in kept)


def _ranked(best: tuple[str, ...], options: Sequence[str], singles: Mapping[str, float], book: PriceBook, limit: float) -> Choice:
    rest = sorted(((name,) for name in singles if (name,) != best), key=lambda subset: singles[subset[0]])
    dropped = {name: _reason(name, best, options, singles, book, limit) for name in options if name not in best}
    return Choice((best, *rest), dropped)


def _reason(name: str, best: tuple[str, ...], options: Sequence[str], singles: Mapping[str, float], book: PriceBook, limit: float) -> str:
    alone = book.price((name,))
    if isinstance(alone, NoPlan):
        return f"no plan reaches it from here ({alone.status.value}: {alone.reason})"
    if alone > limit:
        return f"keeping it open, even alone, costs {alone:.6g}; the limit is {limit:.6g}"
    together = tuple(n for n in options if n in best or n == name)
    price: Price = book.price(together)
    if isinstance(price, NoPlan):
        return f"no plan keeps it open together with {', '.join(best)} ({price.status.value})"
    if price > limit:
        return f"keeping it open together with {', '.join(best)} costs {price:.6g}; the limit is {limit:.6g}"
    return f"the chosen {', '.join(best)} cost less"


def _nothing(options: Sequence[str], book: PriceBook) -> Choice:
    reasons = {}
    for name in options:
        price = book.price((name,))
        assert isinstance(price, NoPlan)
        reasons[name] = f"no plan reaches it from here ({price.status.value}: {price.reason})"
    return Choice((), reasons)
