"""The Coq development compiles from clean with nothing assumed, and its references to the kernel hold."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from aesop_verified.kernel.events import Row

ROOT = Path(__file__).parent.parent
PROOFS = ROOT / "proofs"
SOURCES = sorted(PROOFS.glob("*.v"))
ASSUMPTIONS = (PROOFS / "Assumptions.v").read_text()
HEADLINES = re.findall(r"@(\w+)", ASSUMPTIONS)
GROUPS = re.findall(r"^Definition (\w+) :=", ASSUMPTIONS, re.MULTILINE)
CLOSED = "Closed under the global context"

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed; on Debian: apt-get install coq")


def _code(source: Path) -> str:
    """The file without its comments (they nest)."""
    kept, depth = [], 0
    for part in re.split(r"(\(\*|\*\))", source.read_text()):
        if part == "(*":
            depth += 1
        elif part == "*)":
            depth -= 1
        elif depth == 0:
            kept.append(part)
    assert depth == 0, f"{source.name}: a comment is not closed"
    return "".join(kept)


@needs_coq
def test_every_headline_theorem_is_proved_from_nothing(tmp_path: Path) -> None:
    for source in [*SOURCES, PROOFS / "_CoqProject", PROOFS / "Makefile"]:
        shutil.copy(source, tmp_path)
    done = subprocess.run(["make", "-C", str(tmp_path)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"^Print Assumptions (\w+)\.$", ASSUMPTIONS, re.MULTILINE) == GROUPS
    assert done.stdout.count(CLOSED) == len(GROUPS) > 5 and len(HEADLINES) > 50
    assert not re.search(r"Axioms:|Section Variables:|relies on", done.stdout)


@needs_coq
def test_an_axiom_would_be_seen(tmp_path: Path) -> None:
    source = tmp_path / "Assumed.v"
    source.write_text("Axiom assumed : False.\nTheorem wrong : 0 = 1. Proof. destruct assumed. Qed.\nPrint Assumptions wrong.\n")
    done = subprocess.run(["coqc", source.name], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "Axioms:" in done.stdout and CLOSED not in done.stdout


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: s.name)
def test_nothing_is_admitted_or_assumed(source: Path) -> None:
    code = _code(source)
    found = re.findall(r"\b(?:Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|bypass_check|Unset Guard Checking)\b", code)
    assert not found, f"{source.name} contains {sorted(set(found))}"
    depth = 0
    for word in re.findall(r"^\s*(Section|End|Variables?|Hypothes[ie]s|Context)\b", code, re.MULTILINE):
        depth += {"Section": 1, "End": -1}.get(word, 0)
        assert depth > 0 or word == "End", f"{source.name}: {word} outside a section is an axiom"


def test_the_project_lists_every_file() -> None:
    listed = [line for line in (PROOFS / "_CoqProject").read_text().splitlines() if line.endswith(".v")]
    assert sorted(listed) == [s.name for s in SOURCES]


def _kernel_names() -> dict[str, set[str]]:
    """By module: what is defined in it, and the members of its classes."""
    names = {}
    for module in (ROOT / "aesop_verified" / "kernel").glob("*.py"):
        names[module.stem] = set(re.findall(r"^(?: {4})?(?:def|class) (\w+)|^(?: {4})?(\w+)\s*[:=]", module.read_text(), re.MULTILINE))
    return {module: {a or b for a, b in found} for module, found in names.items()}


def _references(text: str) -> list[str]:
    return re.findall(r"kernel: ((?:\w+\.)*\w+)", re.sub(r"\s+", " ", text))


@pytest.mark.parametrize("source", [*SOURCES, PROOFS / "README.md"], ids=lambda s: s.name)
def test_each_reference_to_the_kernel_exists(source: Path) -> None:
    names = _kernel_names()
    everything = set().union(*names.values())
    text = source.read_text()
    references = _references(text)
    if source.suffix == ".md":
        rows = [line.split("|") for line in text.splitlines() if line.startswith("|")]
        references += [r for row in rows for r in re.findall(r"`((?:\w+\.)+\w+)`", row[-2])]
    for reference in references:
        module, _, rest = reference.partition(".")
        if rest == "py" or not rest:
            assert module in names, f"{source.name}: kernel/{module}.py is gone"
            continue
        pool = names.get(module, everything)
        for name in rest.split("."):
            assert name in pool, f"{source.name} names kernel {reference}, which is gone: a statement has lost its counterpart"


def test_the_machine_has_the_rows_of_the_kernel() -> None:
    in_coq = set(re.findall(r"TR-[A-Z-]+[A-Z]", (PROOFS / "Machine.v").read_text()))
    outside = {Row.START_REFUSED.value, Row.RESTART.value}
    assert in_coq == {row.value for row in Row} - outside


def test_the_table_has_every_headline_theorem() -> None:
    table = (PROOFS / "README.md").read_text()
    defined = {name for s in SOURCES for name in re.findall(r"^\s*(?:Theorem|Lemma|Corollary) (\w+)", _code(s), re.MULTILINE)}
    for name in HEADLINES:
        assert name in defined
        prefix = re.sub(r"_claim_\w+$|_never_suspended$", "", name)
        assert f"`{name}`" in table or (prefix != name and f"`{prefix}_" in table), f"{name} is not in proofs/README.md"
