"""One field of a system file: a node, the path that leads to it, and readers that either succeed or say why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError
from aesop_verified.system.document import ListNode, MapNode, Node, ScalarNode
from aesop_verified.system.errors import MOST_SHOWN, FieldError, Position, Problem, Problems, suggestion
from aesop_verified.system.numbers import NumberRefused, read_number, split_quantity
from aesop_verified.system.parts import Variable, require_name
from aesop_verified.system.units import UnitRefused, conversion, read_unit

_LIST_OR_SCALAR = {ScalarNode: "the text", ListNode: "a list", MapNode: "a mapping"}


@dataclass(frozen=True, slots=True)
class Field:
    """A value in the file, with its place."""

    node: Node
    path: str
    problems: Problems

    @property
    def position(self) -> Position:
        """Where the value starts."""
        return self.node.position

    def error(self, message: str) -> FieldError:
        """The error of this field."""
        return FieldError(Problem(self.path, self.position, message))

    def found(self) -> str:
        """What stands here, for messages."""
        if isinstance(self.node, ScalarNode):
            return f"found {self.node.text[:60]!r}" if self.node.text else "found nothing"
        return f"found {_LIST_OR_SCALAR[type(self.node)]}"

    def child(self, key: str, node: Node) -> Field:
        """The value under a key of this mapping."""
        return Field(node, f"{self.path}.{key}" if self.path else key, self.problems)

    @property
    def is_list(self) -> bool:
        """Whether this is a YAML sequence."""
        return isinstance(self.node, ListNode)

    def keys(self, known: Sequence[str], required: Sequence[str] = ()) -> dict[str, Field]:
        """The values under known keys; unknown and missing keys are recorded as problems."""
        children = self.any_keys(f"a mapping with the keys {', '.join(known)}")
        for key in children:
            if key not in known:
                self.unknown(key, known, "key")
        for key in required:
            if key not in children:
                self.problems.add(self.path, self.position, f"the key {key!r} is missing; expected it here")
        return {key: value for key, value in children.items() if key in known}

    def unknown(self, key: str, known: Sequence[str], what: str) -> None:
        """Record that a key is none of the known ones."""
        assert isinstance(self.node, MapNode)
        path = f"{self.path}.{key}" if self.path else key
        meant = suggestion(key, known) if len(self.problems.found) < MOST_SHOWN else ""
        self.problems.add(path, self.node.key_positions[key], f"found the unknown {what} {key!r:.80}, expected one of {', '.join(known)}{meant}")

    def any_keys(self, expected: str) -> dict[str, Field]:
        """All values of a mapping, by key."""
        if not isinstance(self.node, MapNode):
            raise self.error(f"{self.found()}, expected {expected}")
        return {key: self.child(key, node) for key, node in self.node.entries.items()}

    def by_name(self, variables: Sequence[Variable], what: str) -> dict[int, Field]:
        """The values of a mapping whose keys are names of states or inputs, by index."""
        names = [v.name for v in variables]
        result = {}
        for key, value in self.any_keys(f"a mapping from names of {what}s, such as {names[0]}, to values").items():
            if key in names:
                result[names.index(key)] = value
            else:
                self.unknown(key, names, what)
        return result

    def items(self, expected: str) -> list[Field]:
        """The items of a list."""
        if not isinstance(self.node, ListNode):
            raise self.error(f"{self.found()}, expected {expected}")
        return [Field(node, f"{self.path}[{i}]", self.problems) for i, node in enumerate(self.node.items)]

    def text(self, expected: str = "text") -> str:
        """A scalar's text."""
        if not isinstance(self.node, ScalarNode):
            raise self.error(f"{self.found()}, expected {expected}")
        return self.node.text

    def name(self) -> str:
        """A name `[a-z][a-z0-9_]*`."""
        return self.checked_name(self.text("a name such as x or landing_pad"))

    def checked_name(self, name: str) -> str:
        """`name`, when it is one."""
        try:
            return require_name(name)
        except UsageError as error:
            raise self.error(str(error)) from None

    def number(self) -> fmpq:
        """A number without a unit."""
        try:
            return read_number(self.text("a number"))
        except NumberRefused as refused:
            raise self.error(str(refused)) from None

    def quantity(self, unit: str) -> fmpq:
        """A number, with or without a unit that converts to `unit`, in `unit`."""
        return self._quantity(self.text(f"a number{f' in {unit}' if unit else ''}"), unit)

    def _quantity(self, text: str, unit: str) -> fmpq:
        try:
            value, found = split_quantity(text)
            return value * conversion(found, unit) if found else value
        except (NumberRefused, UnitRefused) as refused:
            raise self.error(str(refused)) from None

    def unit(self) -> str:
        """The text of a unit."""
        text = self.text("a unit such as m/s^2")
        try:
            read_unit(text)
        except UnitRefused as refused:
            raise self.error(str(refused)) from None
        return text

    def interval(self, unit: str) -> tuple[fmpq, fmpq]:
        """[low, high], or "±r" (also "+-r") for [-r, r]; low may exceed high, which describes an empty set."""
        if isinstance(self.node, ScalarNode):
            text = self.node.text
            for sign in ("±", "+-"):
                if text.startswith(sign):
                    radius = self._quantity(text[len(sign) :].strip(), unit)
                    if radius < 0:
                        raise self.error(f"{self.found()}, expected a radius of at least 0 after '{sign}'")
                    return -radius, radius
            raise self.error(f"{self.found()}, expected an interval [low, high] or '±r'")
        ends = self.items("an interval [low, high] or '±r'")
        if len(ends) != 2:
            raise self.error(f"found a list of {len(ends)}, expected an interval [low, high] of two numbers")
        low, high = (self.problems.attempt(end.quantity, unit) for end in ends)
        return (low, high) if low is not None and high is not None else (fmpq(0), fmpq(0))

    def row(self, length: int, unit: str = "") -> list[fmpq]:
        """A list of exactly `length` numbers."""
        items = self.items(f"a list of {length} numbers")
        if len(items) != length:
            raise self.error(f"found {len(items)} numbers, expected {length}")
        values = [self.problems.attempt(item.quantity, unit) for item in items]
        return [fmpq(0) if v is None else v for v in values]

    def matrix(self, rows: int, columns: int) -> fmpq_mat:
        """A list of `rows` lists of `columns` numbers."""
        items = self.items(f"a list of {rows} rows of {columns} numbers")
        if len(items) != rows:
            raise self.error(f"found {len(items)} rows, expected {rows} rows of {columns} numbers")
        values = [self.problems.attempt(item.row, columns) for item in items]
        return fmpq_mat(rows, columns, [v for row in values for v in (row or [fmpq(0)] * columns)])

    def vector(self, variables: Sequence[Variable], what: str) -> fmpq_mat:
        """A list of numbers, or a mapping by name in which a missing name is 0; shape (n, 1)."""
        if self.is_list:
            return fmpq_mat(len(variables), 1, self.row(len(variables)))
        values = [fmpq(0)] * len(variables)
        for index, field in self.by_name(variables, what).items():
            value = self.problems.attempt(field.quantity, variables[index].unit)
            values[index] = fmpq(0) if value is None else value
        return fmpq_mat(len(variables), 1, values)

    def gain(self, inputs: Sequence[Variable], states: Sequence[Variable]) -> fmpq_mat:
        """A gain of shape (m, n): rows, or a mapping from input names to mappings from state names to numbers."""
        if self.is_list:
            return self.matrix(len(inputs), len(states))
        result = fmpq_mat(len(inputs), len(states))
        for i, row in self.by_name(inputs, "input").items():
            for j, entry in (self.problems.attempt(row.by_name, states, "state") or {}).items():
                value = self.problems.attempt(entry.number)
                result[i, j] = fmpq(0) if value is None else value
        return result
