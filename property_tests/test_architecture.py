"""The rules of the architecture as tests: who imports whom, what the kernel may use, and what the README may claim."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from aesop_verified.commands.main import commands

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "aesop_verified"
KERNEL = sorted((PACKAGE / "kernel").glob("**/*.py"))
SOURCES = sorted(PACKAGE.glob("**/*.py"))
MAX_LINES = 400

# Parts of the standard library that bring in time, files, chance, the network or other code.
IMPURE = frozenset(
    "asyncio builtins ctypes datetime ftplib glob http importlib io logging marshal mmap multiprocessing os pathlib pickle "
    "random runpy secrets select selectors shelve shutil signal socket sqlite3 ssl subprocess tempfile threading time "
    "timeit urllib uuid warnings weakref zipfile".split()
)
FORBIDDEN_CALLS = frozenset({"float", "open", "eval", "exec", "compile", "__import__", "input", "print"})
TOLERANCE_NAME = re.compile(r"tol(erance)?s?|eps(ilon)?|atol|rtol|slack|fuzz|precision", re.IGNORECASE)


def imports_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def impurities(source: str) -> list[str]:
    """What a kernel module may not contain, each with its line."""
    tree, found = ast.parse(source), []
    for line, name in imports_of(tree):
        top = name.split(".")[0]
        ours = name.startswith("aesop_verified.kernel")
        if not ours and (top not in sys.stdlib_module_names | {"flint"} or top in IMPURE):
            found.append(f"{line}: imports {name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (float, complex)):
            found.append(f"{node.lineno}: float literal {node.value!r}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            found.append(f"{node.lineno}: calls {node.func.id}")
        elif isinstance(node, ast.arg) and any(TOLERANCE_NAME.fullmatch(part) for part in node.arg.split("_")):
            found.append(f"{node.lineno}: parameter {node.arg}")
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and TOLERANCE_NAME.fullmatch(node.target.id):
            found.append(f"{node.lineno}: field {node.target.id}")
    return found


@pytest.mark.parametrize("module", KERNEL, ids=lambda p: p.name)
def test_the_kernel_is_pure_and_exact(module: Path) -> None:
    """Standard library (no clock, file, chance) and flint; no float literal, no float(), no tolerance parameter."""
    assert impurities(module.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("import numpy as np", "imports numpy"),
        ("def f():\n    import time", "imports time"),
        ("from os import path", "imports os"),
        ("from random import Random", "imports random"),
        ("from aesop_verified.system import load", "imports aesop_verified.system"),
        ("from aesop_verified.planning import status", "imports aesop_verified.planning"),
        ("from . import rational", "imports ."),
        ("BOUND = 1e-9", "float literal 1e-09"),
        ("x = -0.5", "float literal 0.5"),
        ("z = 2j", "float literal 2j"),
        ("x = float('1')", "calls float"),
        ("open('f')", "calls open"),
        ("def check(x, tol): ...", "parameter tol"),
        ("def check(x, *, abs_tol=0): ...", "parameter abs_tol"),
        ("check = lambda x, eps: x", "parameter eps"),
        ("def check(x, tolerance): ...", "parameter tolerance"),
        ("class C:\n    epsilon: int = 0", "field epsilon"),
    ],
)
def test_the_purity_test_can_fail(fault: str, named: str) -> None:
    assert any(named in line for line in impurities(fault))


def test_the_purity_test_accepts_what_is_allowed() -> None:
    allowed = "import json\nfrom flint import fmpq\nfrom aesop_verified.kernel import rational\ndef epsilon_free(step): return isinstance(step, float)"
    assert impurities(allowed) == []


def test_there_is_a_kernel_to_look_at() -> None:
    assert {"polytope.py", "plan.py", "machine.py", "verdict.py"} <= {p.name for p in KERNEL}


def lint(folder: Path, config: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    command = [str(program), "--config", str(config), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_each_folder_imports_only_what_lies_below() -> None:
    """The contracts of pyproject.toml, by import-linter."""
    said = lint(ROOT, ROOT / "pyproject.toml")
    assert said.returncode == 0, said.stdout + said.stderr


def test_the_import_contracts_can_fail(tmp_path: Path) -> None:
    """The same contracts over a copy in which the kernel imports a system module and numpy, and a folder is unknown."""
    shutil.copytree(PACKAGE, tmp_path / "aesop_verified", ignore=shutil.ignore_patterns("__pycache__"))
    config = shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "aesop_verified/kernel/leak.py").write_text("import numpy\nfrom aesop_verified.system import units\n")
    (tmp_path / "aesop_verified/monitor/leak.py").write_text("from aesop_verified.kernel import verdict\n")
    (tmp_path / "aesop_verified/helpers.py").write_text("")
    said = lint(tmp_path, Path(config))
    assert said.returncode != 0
    for name in ("Each folder imports", "The kernel imports", "The monitor and the reasoner"):
        assert re.search(rf"{name}.*BROKEN", said.stdout), said.stdout
    assert "helpers" in said.stdout


def licence_of(distribution: str) -> str:
    """The licence that a package states for itself: its expression, its licence classifiers, or its one-line field."""
    data = metadata.metadata(distribution)
    classifiers = [c for c in data.get_all("Classifier") or [] if c.startswith("License")]
    return " ".join([data.get("License-Expression") or "", *classifiers, (data.get("License") or "").splitlines()[0] if data.get("License") else ""])


def test_no_gpl_package_is_imported() -> None:
    """Apache-2.0 code may import LGPL libraries, never GPL ones."""
    owners: dict[str, set[str]] = {}
    for distribution in metadata.distributions():
        for file in distribution.files or []:
            if len(file.parts) > 1 or file.suffix == ".py":
                owners.setdefault(file.parts[0].removesuffix(".py"), set()).add(distribution.metadata["Name"])
    names = {name.split(".")[0] for p in SOURCES for _, name in imports_of(ast.parse(p.read_text(encoding="utf-8")))}
    used = {owner for name in names - {"aesop_verified", "__future__"} for owner in owners.get(name, set())}
    assert {"numpy", "python-flint"} <= used
    licences = {owner: licence_of(owner) for owner in used}
    gpl = {o: text for o, text in licences.items() if re.search(r"(?<!L)(?<!Lesser )\bA?GPL|(?<!Lesser )General Public", text)}
    assert gpl == {}


def test_no_file_is_too_long_to_read_in_one_sitting() -> None:
    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in [*SOURCES, *ROOT.glob("hardware/**/*.py")]}
    assert {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > MAX_LINES} == {}


def test_packages_have_names_that_say_what_they_hold() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "core", "misc"}
    assert [str(p.relative_to(ROOT)) for p in SOURCES if vague & {p.stem, p.parent.name}] == []


def claimed_commands(text: str) -> set[tuple[str, str]]:
    """The sub-commands that a text shows: (`aesop`, name) and (`./run`, name)."""
    shown = "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))
    return {(m[1], m[2]) for m in re.finditer(r"(?<![\w-])(aesop|\./run) ([a-z][a-z-]*)", shown)}


def missing_commands(text: str) -> set[str]:
    tasks = set(re.findall(r"^ {4}([a-z]+(?: \| [a-z]+)*)\)", (ROOT / "run").read_text(encoding="utf-8"), re.MULTILINE))
    known = {"aesop": set(commands()), "./run": {name for task in tasks for name in task.split(" | ")}}
    return {f"{program} {name}" for program, name in claimed_commands(text) if name not in known[program]}


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))], ids=lambda p: p.name)
def test_the_documentation_shows_only_commands_that_exist(page: Path) -> None:
    assert missing_commands(page.read_text(encoding="utf-8")) == set()


def test_a_claim_of_a_missing_command_is_seen() -> None:
    assert missing_commands("run `aesop conjure x.yaml`, or\n```\n$ ./run levitate\n$ aesop show s.yaml\n```\n") == {
        "aesop conjure",
        "./run levitate",
    }
    assert missing_commands("the command aesop itself, `aesop-verified`, `aesop --help`") == set()


def test_continuous_integration_runs_the_command_of_the_readme() -> None:
    script = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert [line for line in script if line.startswith("./run")] == ["./run test"]
    assert ("./run", "test") in claimed_commands((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("lock", ["lock.txt", "llm.txt"])
def test_the_lock_has_hashes_and_no_address_and_no_torch(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    assert "://" not in text and "--index-url" not in text
    entries = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    assert entries
    assert [e for e in entries if not re.fullmatch(r"[a-z0-9-]+==[^ ]+( ;[^-]+)?( +--hash=sha256:[0-9a-f]{64})+ *", e)] == []
    assert not {entry.split("==")[0] for entry in entries} & {"torch", "sentence-transformers", "llama-cpp-python"}
