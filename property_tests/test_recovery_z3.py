"""Z3's second opinion, and the public reports about using Z3 (Z..)."""

from __future__ import annotations

import ast
import sys
import textwrap
import time
from pathlib import Path

import pytest
import z3
from flint import fmpq

from aesop_verified.kernel.errors import ExactnessError
from aesop_verified.kernel.inclusion import InclusionStatement
from aesop_verified.kernel.polytope import Polytope
from aesop_verified.kernel.rational import exact, matrix, text, vector
from aesop_verified.kernel.verdict import Proved, Refuted, Unknown, Verdict
from aesop_verified.recovery import second_opinion as module
from aesop_verified.recovery.find import find_inclusion, find_subset
from aesop_verified.recovery.second_opinion import Agrees, Disagreement, NoOpinion, SecondOpinion
from aesop_verified.recovery.z3_answers import (
    Isolated,
    Satisfiable,
    Undecided,
    Unsatisfiable,
    ask,
    model_value,
    number,
)

RECOVERY = Path(module.__file__).parent


def test_Z01_the_truth_value_of_an_answer_is_never_used() -> None:
    x = z3.Real("x")
    solver = z3.Solver()
    solver.add(x < 0, x > 0)
    assert bool(z3.unsat)  # why it is forbidden
    answer = ask(solver)
    assert isinstance(answer, Unsatisfiable)
    for value in (answer, Undecided("timeout"), Satisfiable(None), *Verdict):  # ours have no truth value at all
        with pytest.raises(TypeError, match="no truth value"):
            assert value
    for path in RECOVERY.glob("*.py"):
        assert not truth_uses(ast.parse(path.read_text(encoding="utf-8"))), path


def truth_uses(tree: ast.AST) -> list[ast.AST]:
    """Places where the value of a call of `check` is used as a truth value, or Z3 terms are compared by `in`."""

    def is_check(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "check"

    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp)) and is_check(node.test):
            found.append(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and is_check(node.operand):
            found.append(node)
        if isinstance(node, ast.BoolOp) and any(is_check(v) for v in node.values):
            found.append(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool" and any(is_check(a) for a in node.args):
            found.append(node)
    return found


@pytest.mark.parametrize("line", ["assert s.check()", "if s.check(): pass", "x = not s.check()", "y = bool(s.check())", "z = a and s.check()"])
def test_Z01_the_scan_finds_what_it_looks_for(line: str) -> None:
    assert truth_uses(ast.parse(line))


CUBES = "(declare-const x Int) (declare-const y Int) (declare-const z Int) (assert (= (+ (* x x x) (* y y y) (* z z z)) 42))"


def test_Z03_a_time_out_is_undecided() -> None:
    with SecondOpinion(milliseconds=1, seconds=5) as opinion:
        assert opinion.decide(CUBES) is Verdict.UNKNOWN


def test_Z03_twin_an_exception_is_undecided() -> None:
    class Canceled:
        def check(self) -> None:
            raise z3.Z3Exception("canceled")

    assert ask(Canceled()) == Undecided("canceled")


@pytest.mark.parametrize("spelling", ["timeout", "canceled", "max. resource limit exceeded", ""])
def test_Z03_twin_every_spelling_of_a_limit_is_undecided(spelling: str) -> None:
    class Limited:
        def check(self) -> z3.CheckSatResult:
            return z3.CheckSatResult(z3.Z3_L_UNDEF)

        def reason_unknown(self) -> str:
            return spelling

    assert ask(Limited()) == Undecided(spelling or "no reason given")


def test_Z04_a_worker_that_ignores_its_limit_is_ended() -> None:
    hang = "import sys, time\nsys.stdin.readline()\ntime.sleep(60)"
    unit = Polytope.box([0], [1])
    result = find_subset(unit, unit)
    with SecondOpinion(seconds=0.5, command=[sys.executable, "-c", hang]) as opinion:
        answer = opinion.on(result, InclusionStatement.of(unit, unit))
    assert isinstance(answer, NoOpinion) and "watchdog" in answer.reason


def test_Z04_the_second_check_is_limited_too() -> None:
    with SecondOpinion(milliseconds=600, seconds=3) as opinion:
        started = time.monotonic()
        assert [opinion.decide(CUBES) for _ in range(2)] == [Verdict.UNKNOWN] * 2
        assert time.monotonic() - started < 30
        assert opinion.decide("(declare-const x Real) (assert (< x 0)) (assert (> x 0))") is Verdict.PROVED
        assert opinion.decide("(declare-const x Real) (assert (< x 0))") is Verdict.REFUTED


def test_Z06_a_forced_definition_is_unsatisfiable() -> None:
    a, b = z3.Reals("a b")
    solver = z3.Solver()
    solver.add(a >= b, b >= 1, a == z3.If(a == 1, z3.RealVal(0), z3.If(b > 0, z3.RealVal(1), z3.RealVal(0))), a != 1)
    assert isinstance(ask(solver), Unsatisfiable)


def test_Z06_the_worker_says_so_too() -> None:
    facts = "(declare-const a Real) (declare-const b Real) (assert (>= a b)) (assert (>= b 1))"
    definition = "(assert (= a (ite (= a 1) {then} (ite (> b 0) 1.0 0.0))))"
    with SecondOpinion() as opinion:
        assert opinion.decide(facts + definition.format(then="0.0") + "(assert (not (= a 1)))") is Verdict.PROVED
        assert opinion.decide(facts + definition.format(then="1.0")) is Verdict.REFUTED


def test_Z06_every_model_is_substituted_back() -> None:
    unit, half = Polytope.box([0], [1]), Polytope.box([0], ["1/2"])
    lie = worker('[{"facet": 0, "answer": "sat", "point": ["1/4"]}]')
    result = find_subset(unit, half)
    assert isinstance(result, Refuted)
    with SecondOpinion(command=lie) as opinion, pytest.raises(Disagreement, match="does not satisfy"):
        opinion.on(result, InclusionStatement.of(unit, half))


def test_Z07_equality_of_terms_is_never_a_truth_value() -> None:
    a, b = z3.Reals("a b")
    assert not bool(a == b)  # why it is forbidden: False although undetermined
    assert not a.eq(b) and a.eq(z3.Real("a"))
    for name in ("z3_worker.py", "z3_answers.py"):
        tree = ast.parse((RECOVERY / name).read_text(encoding="utf-8"))
        compared = [n for n in ast.walk(tree) if isinstance(n, ast.Compare)]
        assert not [n for n in compared if isinstance(n.ops[0], (ast.In, ast.NotIn))]
        # what is compared by == and != are answer codes, rationals and our own values; never a term
        assert {ast.unparse(n.left) for n in compared if isinstance(n.ops[0], (ast.Eq, ast.NotEq))} <= {"answer.r", "exact(c)", "__name__"}


def test_Z09_a_fraction_stays_a_fraction() -> None:
    x = z3.Real("x")
    solver = z3.Solver()
    solver.add(x == number(exact("2/7")))
    answer = ask(solver)
    assert isinstance(answer, Satisfiable)
    assert model_value(answer.model[x]) == fmpq(2, 7)
    assert text(exact("2/7")) == "2/7"
    with pytest.raises(ExactnessError):
        exact(2 / 7)  # type: ignore[arg-type]


def test_Z10_for_all_exists_is_not_exists_for_all() -> None:
    S = Polytope.box([-1], [1])
    # (a) the affine law u = -x answers each x: the next state is x.
    law = find_inclusion(InclusionStatement.of(S, S, M=matrix([[2 - 1]], 1)))
    assert isinstance(law, Proved)
    # (b) one u for all x: x = 1 needs u <= -1, x = -1 needs u >= 1.
    for u in ("-1", "-1/2", "0", "1/2", "1"):
        assert isinstance(find_inclusion(InclusionStatement.of(S, S, M=matrix([[2]], 1), c=vector([u]))), Refuted)
    common = Polytope.of([[1], [-1]], [-1, -1], n=1)
    assert isinstance(find_subset(common, Polytope.of([[0]], [-1], n=1)), Proved)


def test_Z12_no_obligation_divides() -> None:
    y = z3.Real("y")
    solver = z3.Solver()
    solver.add(1 / y == 5, y == 0)
    assert isinstance(ask(solver), Satisfiable)  # why: division by zero is total
    for name in ("z3_worker.py", "z3_answers.py"):
        tree = ast.parse((RECOVERY / name).read_text(encoding="utf-8"))
        assert not [n for n in ast.walk(tree) if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Div, ast.FloorDiv, ast.Mod))]


def test_Z13_an_irrational_value_is_an_interval() -> None:
    x = z3.Real("x")
    solver = z3.Solver()
    solver.add(x * x == 2, x > 0)
    answer = ask(solver)
    assert isinstance(answer, Satisfiable)
    value = model_value(answer.model[x])
    assert isinstance(value, Isolated)
    assert value.lower**2 < 2 < value.upper**2
    assert value.upper - value.lower < fmpq(1, 10**15)


def worker(answers: str) -> list[str]:
    """A worker that gives one fixed line of answers to every query."""
    return [sys.executable, "-c", textwrap.dedent(f"""
        import sys
        for line in sys.stdin:
            print({answers!r}, flush=True)
        """)]


def test_agreement_on_both_verdicts() -> None:
    small, big = Polytope.box([-1, -1], [1, 1]), Polytope.box([-2, -2], ["1.5", 2])
    with SecondOpinion() as opinion:
        proved, refuted = find_subset(small, big), find_subset(big, small)
        assert opinion.on(proved, InclusionStatement.of(small, big)) == Agrees(4)
        assert opinion.on(refuted, InclusionStatement.of(big, small)) == Agrees(1)
        assert isinstance(opinion.on(Unknown("x"), InclusionStatement.of(small, big)), NoOpinion)


@pytest.mark.parametrize("gap", ["1e-9", "1/1152921504606846976"])
def test_z3_sees_gaps_below_any_tolerance(gap: str) -> None:
    inner, outer = Polytope.box([0], [1 + exact(gap)]), Polytope.box([0], [1])
    with SecondOpinion() as opinion:
        result = find_subset(inner, outer)
        assert isinstance(result, Refuted)
        assert isinstance(opinion.on(result, InclusionStatement.of(inner, outer)), Agrees)


def test_a_disagreement_is_an_error() -> None:
    unit, half = Polytope.box([0], [1]), Polytope.box([0], ["1/2"])
    with SecondOpinion(command=worker('[{"facet": 0, "answer": "unsat"}]')) as opinion, pytest.raises(Disagreement):
        opinion.on(find_subset(unit, half), InclusionStatement.of(unit, half))


def test_missing_facets_are_an_error_and_a_dead_worker_is_no_opinion() -> None:
    unit = Polytope.box([0], [1])
    result = find_subset(unit, unit)
    with SecondOpinion(command=worker('[{"facet": 0, "answer": "unsat"}]')) as opinion, pytest.raises(Disagreement, match="facets"):
        opinion.on(result, InclusionStatement.of(unit, unit))
    with SecondOpinion(command=[sys.executable, "-c", "pass"]) as opinion:
        assert isinstance(opinion.on(result, InclusionStatement.of(unit, unit)), NoOpinion)
    undecided = '[{"facet": 0, "answer": "unknown", "reason": "timeout"}, {"facet": 1, "answer": "unsat"}]'
    with SecondOpinion(command=worker(undecided)) as opinion:
        assert isinstance(opinion.on(result, InclusionStatement.of(unit, unit)), NoOpinion)
