"""The process in which Z3 runs: one JSON query a line in, one JSON answer a line out.

It is a process so that the caller can end it when Z3 does not honour its own limit (it does not always: a
nonlinear query has been seen to run on for minutes). A query holds an inclusion (inner, outer, M, c, margin as
rationals in text) and the facets to ask about, each time whether some x of the inner set violates that facet;
or a text in SMT-LIB.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import z3

from aesop_verified.kernel.rational import exact, text
from aesop_verified.recovery.z3_answers import (
    Isolated,
    Satisfiable,
    Undecided,
    ask,
    model_value,
    number,
)


def linear(coefficients: list[str], variables: list[Any]) -> Any:
    """sum_j coefficients_j variables_j, zero terms left out."""
    terms = [number(exact(c)) * v for c, v in zip(coefficients, variables) if exact(c) != 0]
    return z3.Sum(terms) if terms else z3.RealVal(0)


def judge(query: dict[str, Any]) -> list[dict[str, object]]:
    """One answer a facet: "unsat", "sat" with a point, or "unknown" with a reason; for a text, one answer."""
    script = query.get("text")
    if script is not None:
        text_solver = z3.Solver()
        text_solver.from_string(script)
        return [_answer(text_solver, [], query)]
    solver = z3.SolverFor("QF_LRA")
    x = [z3.Real(f"x{j}") for j in range(query["n"])]
    image = [linear(row, x) + number(exact(c)) for row, c in zip(query["M"], query["c"])]
    for row, side in zip(query["inner_G"], query["inner_h"]):
        solver.add(linear(row, x) <= number(exact(side)))
    answers: list[dict[str, object]] = []
    for facet in query["facets"]:
        solver.push()
        value = linear(query["outer_G"][facet], image) + number(exact(query["margin"][facet]))
        solver.add(value > number(exact(query["outer_h"][facet])))
        answers.append({"facet": facet} | _answer(solver, x, query))
        solver.pop()
    return answers


def _answer(solver: Any, x: list[Any], query: dict[str, Any]) -> dict[str, object]:
    answer = ask(solver, resource_limit=query["resource_limit"], milliseconds=query["milliseconds"])
    if isinstance(answer, Undecided):
        return {"answer": "unknown", "reason": answer.reason}
    if isinstance(answer, Satisfiable):
        point = []
        for v in x:
            value = model_value(answer.model.eval(v, model_completion=True))
            if isinstance(value, Isolated):
                return {"answer": "unknown", "reason": "an irrational value in a linear query"}
            point.append(text(value))
        return {"answer": "sat", "point": point}
    return {"answer": "unsat"}


def main() -> None:
    """Answer queries until the input ends."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(judge(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
