"""The command that speaks AMPL's protocol for Ipopt: headers, answers, options, and which Ipopt is found."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aesop_verified.planning import ipopt_command
from aesop_verified.planning.ampl_files import Answer, NlHeader, ProblemFileError, Sense, answer_text, read_header
from aesop_verified.planning.ipopt_bridge import IpoptFound, IpoptMissing, IpoptOrigin, find_ipopt
from aesop_verified.planning.ipopt_options import OptionError, read_options
from aesop_verified.planning.pyomo_solve import PyomoFailure, solve_pyomo
from aesop_verified.planning.status import SolveStatus


def failure(outcome: object) -> PyomoFailure:
    assert isinstance(outcome, PyomoFailure), outcome
    return outcome


@settings(max_examples=50)
@given(
    options=st.lists(st.integers(0, 9), min_size=3, max_size=6),
    primal=st.lists(st.floats(allow_nan=False), max_size=4),
    dual=st.lists(st.floats(allow_nan=False), max_size=3),
    code=st.integers(0, 599),
)
def test_pyomo_reads_back_every_answer(tmp_path_factory: Any, options: list[int], primal: list[float], dual: list[float], code: int) -> None:
    from pyomo.opt.plugins.sol import ResultsReader_sol

    options[1] = 1  # 3 would announce a tolerance
    while len(options) > 4:
        options.pop()  # Pyomo's reader takes more than four for a sign of a tolerance
    header = NlHeader(tuple(options), None, 4, 3, Sense.MINIMIZE, None)
    file = tmp_path_factory.mktemp("sol") / "answer.sol"
    file.write_text(answer_text(header, Answer("Ipopt: said\n\nthis", code, primal, dual, {"ipopt_zL_out": [0.5]})))
    results = ResultsReader_sol()(str(file), suffixes=["dual", "ipopt_zL_out"])
    assert results.solver.id == code
    if code < 300 and primal:
        values = results.solution(0).variable
        assert [values[f"v{i}"]["Value"] for i in range(len(primal))] == primal
        assert values["v0"]["ipopt_zL_out"] == 0.5
        assert [results.solution(0).constraint[f"c{i}"]["Dual"] for i in range(len(dual))] == dual


HEADER = """g{first}
 2 1 {objectives} 0 1
 0 {nonlinear} {complementarity} 0
 0 {network}
 0 1 0
 0 {functions} 0 1
 {binary} 0 0 0 0
 2 1
 0 0
 0 0 0 0 0
C0
n0
{objective}
"""
PLAIN = {
    "first": "3 1 1 0",
    "objectives": 1,
    "nonlinear": 1,
    "complementarity": 0,
    "network": 0,
    "functions": 0,
    "binary": 0,
    "objective": "O0 0",
}


def header_of(folder: Path, **changes: object) -> NlHeader:
    file = folder / "problem.nl"
    file.write_text(HEADER.format(**{**PLAIN, **changes}))
    return read_header(file)


def test_headers_are_read(tmp_path: Path) -> None:
    assert header_of(tmp_path) == NlHeader((1, 1, 0), None, 2, 1, Sense.MINIMIZE, None)
    assert header_of(tmp_path, objective="O0 1\t# maximise").sense is Sense.MAXIMIZE
    tolerant = header_of(tmp_path, first="3 1 3 0 1e-9")
    assert tolerant.variable_bound_tolerance == "1e-9"
    text = answer_text(tolerant, Answer("said", 0)).split()
    assert text[text.index("Options") + 1] == "5"
    assert text[-4:] == ["1e-9", "objno", "0", "0"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"binary": 2}, "2 discrete variables"),
        ({"complementarity": 1}, "1 complementarity"),
        ({"network": 3}, "3 network"),
        ({"functions": 1}, "1 imported functions"),
        ({"objectives": 2}, "1 objectives beyond the first"),
    ],
)
def test_what_ipopt_cannot_do_is_refused_with_an_answer(tmp_path: Path, change: dict[str, int], words: str) -> None:
    header = header_of(tmp_path, **change)
    answer = ipopt_command.solve(tmp_path / "problem.nl", header, {})
    assert answer.code == 500 and not answer.primal
    assert words in answer.message


@pytest.mark.parametrize("text", ["", "b3 1 1 0\n", "g3 1 1 0\n", "g3 1 1\n" + " 1 1 1 0 0\n" * 9, "g3 1 1 0\n" + "x\n" * 9])
def test_a_file_that_is_no_problem_is_refused_and_leaves_no_answer(tmp_path: Path, text: str, capfd: Any) -> None:
    (tmp_path / "problem.nl").write_text(text)
    (tmp_path / "problem.sol").write_text("an old answer")
    with pytest.raises(ProblemFileError, match="problem.nl"):
        read_header(tmp_path / "problem.nl")
    assert ipopt_command.main([str(tmp_path / "problem"), "-AMPL"]) == 2
    assert "problem.nl" in capfd.readouterr().err
    assert not (tmp_path / "problem.sol").exists()


def test_the_command_says_how_it_is_called(capfd: Any) -> None:
    assert ipopt_command.main(["-AMPL"]) == 2
    assert "usage" in capfd.readouterr().err
    assert ipopt_command.main(["--version"]) == 0
    assert capfd.readouterr().out.startswith("Ipopt 3.")


# Options


def test_options_come_from_three_places_in_order(tmp_path: Path) -> None:
    (tmp_path / "ipopt.opt").write_text("# a comment\ntol 1e-3\nmax_iter 7   # seven\nmu_strategy adaptive\n")
    environment = {"ipopt_options": "tol=1e-4 print_level 0 linear_solver='mumps'"}
    assert read_options(["tol=1e-5", "outlev=2", "wantsol=8"], environment, tmp_path) == {
        "tol": 1e-5,
        "max_iter": 7,
        "mu_strategy": "adaptive",
        "print_level": 2,
        "linear_solver": "mumps",
    }
    (tmp_path / "mine.opt").write_text("tol 0.5\n")
    assert read_options(["option_file_name=mine.opt"], {}, tmp_path) == {"tol": 0.5}
    assert read_options([], {}, tmp_path / "nowhere") == {}


@pytest.mark.parametrize(
    ("words", "environment", "file", "expected"),
    [
        (["tol"], "", "", "the command line: found 'tol' without a value"),
        ([], "tol", "", "ipopt_options: found 'tol' without a value"),
        ([], "tol='1", "", "close the quotation"),
        ([], "", "tol\n", "ipopt.opt, line 1: found 'tol' without a value"),
        (["9x=1"], "", "", "found '9x', expected the name"),
        (["option_file_name=absent.opt"], "", "", "absent.opt'?: no such file"),
    ],
)
def test_unreadable_options_are_refused_with_their_place(
    tmp_path: Path, words: list[str], environment: str, file: str, expected: str
) -> None:
    (tmp_path / "ipopt.opt").write_text(file)
    with pytest.raises(OptionError, match=expected):
        read_options(words, {"ipopt_options": environment}, tmp_path)


def test_pyomo_passes_an_options_file_on(solver: Any) -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(initialize=-1.2), pyo.Var(initialize=1)
    m.cost = pyo.Objective(expr=100 * (m.y - m.x**2) ** 2 + (1 - m.x) ** 2)
    solver.options["OF_max_iter"] = 1
    assert failure(solve_pyomo(solver, m)).status is SolveStatus.LIMIT


# Which Ipopt


def executable(folder: Path, name: str, says: str) -> Path:
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{says}'\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def test_a_users_own_ipopt_comes_first(tmp_path: Path) -> None:
    own = executable(tmp_path, "ipopt", "Ipopt 3.14.16 (x86_64-pc-linux-gnu), ASL(20230101)")
    found = find_ipopt(str(tmp_path))
    assert (found.origin, found.version, found.executable) == (IpoptOrigin.EXECUTABLE, "3.14.16", own)
    assert "3.14.16" in str(found) and str(own) in str(found)


@pytest.mark.parametrize("says", ["", "hello", "Ipopt 3.14.16", "cyipopt 1.5 ASL"])
def test_an_executable_that_only_has_the_name_is_passed_over(tmp_path: Path, says: str) -> None:
    executable(tmp_path, "ipopt", says)
    assert find_ipopt(str(tmp_path)).origin is IpoptOrigin.BRIDGE


def test_without_any_ipopt_the_message_says_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """cyipopt, which Pyomo calls available, is named as what it is."""
    (tmp_path / "cyipopt.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    with pytest.raises(IpoptMissing, match=r"aesop-ipopt is not installed; cyipopt is installed, but Pyomo cannot use it"):
        find_ipopt(str(tmp_path))


def test_cyipopt_alone_does_not_mislead(bridge: IpoptFound, tmp_path: Path) -> None:
    """Pyomo believes a module named cyipopt; our choice is the bridge all the same, and it solves."""
    (tmp_path / "cyipopt.py").write_text("class Problem: pass\n")
    program = (
        "import pyomo.environ as pyo\n"
        "from aesop_verified.planning.ipopt_bridge import find_ipopt, ipopt_solver\n"
        f"found = find_ipopt({str(bridge.executable.parent)!r})\n"
        "m = pyo.ConcreteModel(); m.x = pyo.Var(bounds=(1, 2)); m.cost = pyo.Objective(expr=m.x)\n"
        "ipopt_solver(found).solve(m)\n"
        "print(found.origin.name, round(m.x.value, 6))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True).stdout
    assert said.split() == ["BRIDGE", "1.0"]
