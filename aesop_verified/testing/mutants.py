"""Mutants of a package: every comparison, integer constant, sum, difference, loop bound and slice bound, changed by one.

A mutant is named by its place and its text, not by a line number, so that a list of survivors outlives edits:
`plan.py: check_plan: plan.horizon > system.horizon -> plan.horizon >= system.horizon`, with ` #2` for the second
of equal ones in a function.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_SWAPPED: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}


@dataclass(frozen=True)
class Mutant:
    """One change of one module: the expression with number `index` in walking order becomes `after`."""

    id: str
    module: str
    path: Path
    index: int
    after: ast.expr

    def tree(self) -> ast.Module:
        """The whole changed module."""
        module = ast.parse(self.path.read_text())
        target = next(node for i, node in enumerate(ast.walk(module)) if i == self.index)
        changed = _swapped(module, target, self.after)
        assert isinstance(changed, ast.Module)
        return ast.fix_missing_locations(changed)


def mutants(package: Path, name: str) -> list[Mutant]:
    """All mutants of the modules of a package, in the order of their files."""
    found: list[Mutant] = []
    for path in sorted(package.glob("*.py")):
        seen: Counter[str] = Counter()
        for function, index, before, changed, after in _changes(ast.parse(path.read_text())):
            label = f"{path.name}: {function}: {before} -> {changed}"
            seen[label] += 1
            number = f" #{seen[label]}" if seen[label] > 1 else ""
            found.append(Mutant(label + number, f"{name}.{path.stem}", path, index, after))
    return found


def _changes(module: ast.Module) -> Iterator[tuple[str, int, str, str, ast.expr]]:
    """(function, number of the node in walking order, text before, text after, changed node)."""
    owners, parents, skipped = _owners(module), _parents(module), _texts(module)
    for index, node in enumerate(ast.walk(module)):
        if isinstance(node, ast.expr) and id(node) not in skipped:
            around: ast.AST = node
            if isinstance(node, (ast.Constant, ast.Slice)):  # the text of a number alone would name no place
                around = parents[id(node)]
                while isinstance(around, (ast.keyword, ast.Slice, ast.UnaryOp, ast.Tuple)):
                    around = parents[id(around)]
            for after in _variants(node):
                whole = after if around is node else _swapped(around, node, after)
                yield owners[id(node)], index, _line(around), _line(whole), after


def _line(node: ast.AST) -> str:
    """The text of a node; of a statement its first line only."""
    return ast.unparse(node).split("\n")[0]


def _parents(module: ast.Module) -> dict[int, ast.AST]:
    return {id(child): node for node in ast.walk(module) for child in ast.iter_child_nodes(node)}


def _variants(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for i, op in enumerate(ops):
                yield ast.Compare(left, [*ops[:i], _COMPARISONS[type(op)](), *ops[i + 1 :]], comparators)
        case ast.Constant(value=value) if isinstance(value, int) and not isinstance(value, bool):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield ast.BinOp(left, _SWAPPED[type(op)](), right)
        case ast.Call(func=ast.Name(id="range"), args=args):
            for i, bound in enumerate(args):
                for changed in _off_by_one(bound):
                    yield ast.Call(node.func, [*args[:i], changed, *args[i + 1 :]], [])
        case ast.Slice(lower=lower, upper=upper, step=step):
            for changed in _off_by_one(lower):
                yield ast.Slice(changed, upper, step)
            for changed in _off_by_one(upper):
                yield ast.Slice(lower, changed, step)
        case _:
            return


def _off_by_one(bound: ast.expr | None) -> Iterator[ast.expr]:
    """bound + 1 and bound - 1; constants are mutated as such already."""
    if bound is not None and not isinstance(bound, ast.Constant):
        yield ast.BinOp(bound, ast.Add(), ast.Constant(1))
        yield ast.BinOp(bound, ast.Sub(), ast.Constant(1))


def _owners(module: ast.Module) -> dict[int, str]:
    """The qualified name of the function or class around every node."""
    owners: dict[int, str] = {}

    def visit(node: ast.AST, name: str) -> None:
        owners[id(node)] = name
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inner = child.name if name == "module" else f"{name}.{child.name}"
            visit(child, inner)

    visit(module, "module")
    return owners


def _texts(module: ast.Module) -> set[int]:
    """Nodes that only shape texts for people: what stands inside f-strings and annotations."""
    skipped: set[int] = set()
    for node in ast.walk(module):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.JoinedStr):
            parts = [node]
        elif isinstance(node, (ast.AnnAssign, ast.arg)):
            parts = [node.annotation]
        elif isinstance(node, ast.FunctionDef):
            parts = [node.returns]
        skipped |= {id(inner) for part in parts if part is not None for inner in ast.walk(part)}
    return skipped


def _swapped(root: ast.AST, target: ast.AST, after: ast.expr) -> ast.AST:
    """A copy of `root` with `after` in the place of `target`."""
    copied: dict[int, ast.AST] = {id(target): ast.copy_location(copy.deepcopy(after), target)}
    return copy.deepcopy(root, copied)
