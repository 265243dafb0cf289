"""YAML text as a tree of positions and texts: no scalar is ever interpreted here.

Only the events of the YAML parser are used, never its resolver, so `0.1`, `1e3`, `yes` and `010` all arrive as
the text that the user wrote. What YAML readers treat differently is refused: duplicate keys, anchors, aliases,
merge keys, tags and several documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import yaml

from aesop_verified.system.errors import Position, Problem, Problems, SystemFileError

_MAX_DEPTH = 40
MAX_BYTES = 4_000_000


class _Mark(Protocol):
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar with its text; `quoted` is false for plain text and true for quoted or block text."""

    text: str
    quoted: bool
    position: Position


@dataclass(frozen=True, slots=True)
class ListNode:
    """A YAML sequence."""

    items: tuple[Node, ...]
    position: Position


@dataclass(frozen=True, slots=True)
class MapNode:
    """A YAML mapping; keys are texts, in file order, each with the position of the key."""

    entries: dict[str, Node]
    key_positions: dict[str, Position]
    position: Position


Node: TypeAlias = "ScalarNode | ListNode | MapNode"


def read_document(data: bytes, source: str) -> Node:
    """The tree of the one document in `data`.

    Raises:
        SystemFileError: for text that is not UTF-8 or not YAML, and for the constructs refused above.
    """
    if len(data) > MAX_BYTES:
        raise SystemFileError(source, [Problem("", None, f"found more bytes than a system file has, expected at most {MAX_BYTES}")])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise SystemFileError(source, [Problem("", Position(line, column), "found bytes that are not UTF-8; save the file as UTF-8")]) from None
    problems = Problems(source)
    try:
        root = _Composer(yaml.parse(text, Loader=yaml.SafeLoader), problems).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        position = None if mark is None else _position(mark)
        what = error.problem or error.context or ""
        hint = "indent with spaces, not with tabs" if "'\\t'" in what else "check the indentation, brackets and colons here"
        raise SystemFileError(source, [Problem("", position, f"not YAML: {what}; {hint}")]) from None
    except yaml.YAMLError as error:
        raise SystemFileError(source, [Problem("", None, f"not YAML: {str(error).splitlines()[0]}")]) from None
    problems.raise_if_any()
    return root


def _position(mark: _Mark | None) -> Position:
    return Position(1, 1) if mark is None else Position(mark.line + 1, mark.column + 1)


class _Composer:
    def __init__(self, events: Iterator[yaml.Event], problems: Problems) -> None:
        self.events = events
        self.problems = problems

    def document(self) -> Node:
        start = next(self.events)
        while not isinstance(start, (yaml.DocumentStartEvent, yaml.StreamEndEvent)):
            start = next(self.events)
        if isinstance(start, yaml.StreamEndEvent):
            raise SystemFileError(self.problems.source, [Problem("", Position(1, 1), "found an empty file, expected a mapping that starts with 'schema_version: 1'")])
        root = self.node(next(self.events), "", 0)
        next(self.events)
        after = next(self.events)
        if not isinstance(after, yaml.StreamEndEvent):
            self.problems.add("", _position(after.start_mark), "found a second document, expected one; remove the '---' and what follows it")
        return root

    def node(self, event: yaml.Event, path: str, depth: int) -> Node:
        position = _position(event.start_mark)
        if depth > _MAX_DEPTH:
            raise SystemFileError(self.problems.source, [Problem("", position, f"found more than {_MAX_DEPTH} levels of nesting")])
        if isinstance(event, yaml.AliasEvent):
            self.problems.add(path, position, f"found the alias *{event.anchor}; aliases are not supported: write the value out")
            return ScalarNode("", False, position)
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            self.problems.add(path, position, f"found the anchor &{event.anchor}; anchors are not supported: write the value out where it is used")
        tag = getattr(event, "tag", None)
        if tag is not None:
            self.problems.add(path, position, f"found the YAML tag {tag!r}; tags are not supported: remove it, every value is read by its field")
        if isinstance(event, yaml.ScalarEvent):
            return ScalarNode(event.value, event.style is not None, position)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.list_node(path, depth, position)
        return self.map_node(path, depth, position)

    def list_node(self, path: str, depth: int, position: Position) -> ListNode:
        items: list[Node] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.node(event, f"{path}[{len(items)}]", depth + 1))
        return ListNode(tuple(items), position)

    def map_node(self, path: str, depth: int, position: Position) -> MapNode:
        entries: dict[str, Node] = {}
        positions: dict[str, Position] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.node(event, path, depth + 1)
            name = key.text if isinstance(key, ScalarNode) else "?"
            inner = f"{path}.{name}" if path else name
            value = self.node(next(self.events), inner, depth + 1)
            if not isinstance(key, ScalarNode):
                self.problems.add(path, key.position, "found a list or a mapping as a key, expected a name")
            elif name == "<<" and not key.quoted:
                self.problems.add(path, key.position, "found the merge key '<<'; merge keys are not supported: write the entries out")
            elif name in entries:
                first = positions[name]
                self.problems.add(inner, key.position, f"found the key {name!r} again (first at line {first.line}); expected each key once: remove one of the two")
            else:
                entries[name], positions[name] = value, key.position
        return MapNode(entries, positions, position)
