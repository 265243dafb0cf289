"""Reading Z3 without being misled: answers, limits and model values.

An answer of Z3 has no useful truth value (`bool(z3.unsat)` is true), a limit may show as "unknown", as a
reason text or as an exception, and a model value may be irrational. Each is turned into a value here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import z3
from flint import fmpq

from aesop_verified.kernel.errors import ExactnessError
from aesop_verified.kernel.rational import exact


class _NoTruthValue:
    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError(f"the answer {type(self).__name__} has no truth value; write isinstance(answer, Unsatisfiable) and handle the other two")


@dataclass(frozen=True, slots=True)
class Unsatisfiable(_NoTruthValue):
    """No assignment satisfies the query."""


@dataclass(frozen=True, slots=True, eq=False)
class Satisfiable(_NoTruthValue):
    """Z3 has a model; it counts only once its exact values are substituted back."""

    model: Any


@dataclass(frozen=True, slots=True)
class Undecided(_NoTruthValue):
    """Z3 gave no answer; `reason` is its own word for it."""

    reason: str


Answer: TypeAlias = "Unsatisfiable | Satisfiable | Undecided"


@dataclass(frozen=True, slots=True)
class Isolated:
    """An irrational algebraic number between two rationals."""

    lower: fmpq
    upper: fmpq


def ask(solver: Any, *, resource_limit: int = 0, milliseconds: int = 0) -> Answer:
    """Run `solver.check()` under limits; 0 is no limit. A time-out in any spelling is `Undecided`."""
    if resource_limit:
        solver.set("rlimit", resource_limit)
    if milliseconds:
        solver.set("timeout", milliseconds)
    try:
        answer = solver.check()
    except z3.Z3Exception as error:
        return Undecided(str(error))
    # The three answers are told apart by their code: z3 builds a new object for each, and all are truthy.
    if answer.r == z3.Z3_L_FALSE:
        return Unsatisfiable()
    if answer.r == z3.Z3_L_TRUE:
        return Satisfiable(solver.model())
    return Undecided(str(solver.reason_unknown()) or "no reason given")


def model_value(value: Any, digits: int = 20) -> fmpq | Isolated:
    """The exact value of a numeral of a model, or an isolating interval of an irrational one.

    Raises:
        ExactnessError: when `value` is no numeral.
    """
    if z3.is_int_value(value) or z3.is_rational_value(value):
        return exact(str(value))
    if z3.is_algebraic_value(value):
        middle = exact(str(value.approx(digits)))
        width = fmpq(1, 10**digits)
        return Isolated(middle - width, middle + width)
    raise ExactnessError(f"found the model value {value}, expected a numeral")


def number(value: fmpq) -> Any:
    """The Z3 constant of sort Real with exactly this value."""
    return z3.RealVal(f"{value.p}/{value.q}")
