"""`aesop-ipopt STUB -AMPL [name=value ...]`: Ipopt behind the AMPL protocol, from the CasADi package alone.

Pyomo's `SolverFactory("ipopt")` wants an executable; no package ships one. This one reads the `.nl` file,
solves it with the Ipopt that CasADi's wheel holds, and writes the `.sol` file. It returns a point only when Ipopt
says solved and the point's own residual agrees, so no caller can load the last iterate of a failed run.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aesop_verified.kernel.errors import UsageError
from aesop_verified.planning.ampl_files import Answer, NlHeader, ProblemFileError, answer_text, read_header
from aesop_verified.planning.ipopt_options import OptionValue, read_options

USAGE = "usage: aesop-ipopt STUB -AMPL [name=value ...]   (or: aesop-ipopt --version)"

# Ipopt's return status -> (AMPL's solve_result_num, what Ipopt's own AMPL driver says). Source: Ipopt, AmplTNLP.cpp.
OUTCOMES = {
    "Solve_Succeeded": (0, "Optimal Solution Found"),
    "Feasible_Point_Found": (2, "Found feasible point for square problem"),
    # Ipopt's driver says 1, which readers take for optimal; 100 is "solved?".
    "Solved_To_Acceptable_Level": (100, "Solved To Acceptable Level."),
    "Infeasible_Problem_Detected": (200, "Converged to a locally infeasible point. Problem may be infeasible."),
    "Diverging_Iterates": (300, "Iterates diverging; problem might be unbounded."),
    "Maximum_Iterations_Exceeded": (400, "Maximum Number of Iterations Exceeded."),
    "Maximum_CpuTime_Exceeded": (401, "Maximum CPU Time Exceeded."),
    "Maximum_WallTime_Exceeded": (402, "Maximum Wallclock Time Exceeded."),
    "Search_Direction_Becomes_Too_Small": (500, "Search Direction becomes Too Small."),
    "Restoration_Failed": (501, "Restoration Phase Failed."),
    "Invalid_Number_Detected": (502, "Invalid number in NLP function or derivative detected."),
    "Not_Enough_Degrees_Of_Freedom": (503, "Not attempted: more equality constraints than variables (too few degrees of freedom)."),
    "Error_In_Step_Computation": (504, "Error in step computation."),
}
_RESIDUAL_BOUND = 1e-4
"""Ipopt's own default for constr_viol_tol: the largest unscaled violation of a point that it may call solved."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0 when an answer was written, 2 for an input that cannot be read."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if any(word in ("-v", "--version") for word in words):
        print(version_text())
        return 0
    stubs = [word for word in words if not word.startswith("-") and "=" not in word]
    if len(stubs) != 1:
        print(f"aesop-ipopt: found {len(stubs)} file names, expected one\n{USAGE}", file=sys.stderr)
        return 2
    stub = Path(stubs[0].removesuffix(".nl"))
    problem, solution = Path(f"{stub}.nl"), Path(f"{stub}.sol")
    solution.unlink(missing_ok=True)  # an old answer must never be taken for ours
    try:
        options = read_options([word for word in words if "=" in word], os.environ, Path.cwd())
        header = read_header(problem)
        answer = solve(problem, header, options)
    except UsageError as error:
        print(f"aesop-ipopt: {error}", file=sys.stderr)
        return 2
    print(answer.message)
    partial = solution.with_name(solution.name + ".part")
    partial.write_text(answer_text(header, answer), encoding="utf-8")
    partial.replace(solution)
    return 0


def solve(problem: Path, header: NlHeader, options: dict[str, OptionValue]) -> Answer:
    """Solve a `.nl` file.

    Raises:
        UsageError: if CasADi cannot read the file or refuses an option; the message is CasADi's.
    """
    if header.refusal is not None:
        return _answer("Invalid_Problem_Definition", header.refusal)
    import casadi  # it takes longer than the rest of the command's start

    builder = casadi.NlpBuilder()
    try:
        builder.import_nl(str(problem), {})
    except RuntimeError as error:
        raise ProblemFileError(f"{problem}: CasADi cannot read it: {_last_line(error)}") from error
    # CasADi has negated the objective of a maximisation, as Ipopt's own driver does.
    empty = casadi.MX(0, 1)
    nlp = {"x": casadi.vertcat(empty, *builder.x), "f": builder.f, "g": casadi.vertcat(empty, *builder.g)}
    bounds = {"lbx": builder.x_lb, "ubx": builder.x_ub, "lbg": builder.g_lb, "ubg": builder.g_ub}
    start = np.clip(np.array(builder.x_init, dtype=float), bounds["lbx"], bounds["ubx"])
    functions = casadi.Function("model", [nlp["x"]], [nlp["f"], nlp["g"]]).expand()
    settings = {"print_time": False, "error_on_fail": False, "expand": True, "show_eval_warnings": False}
    try:
        solver = casadi.nlpsol("ipopt", "ipopt", nlp, {**settings, **{f"ipopt.{k}": v for k, v in options.items()}})
    except RuntimeError as error:
        raise UsageError(f"Ipopt refuses an option: {_last_line(error)}") from error
    try:
        found = solver(x0=start, lam_g0=0, **bounds)
    except RuntimeError as error:
        return _answer("Unrecoverable_Exception", _last_line(error))
    status = str(solver.stats()["return_status"])
    if status == "Invalid_Number_Detected":
        return _answer(status, _start_fault(functions, start))
    if OUTCOMES.get(status, (999, ""))[0] >= 200:
        return _answer(status, "")
    x = np.array(found["x"], dtype=float).ravel()
    violation = _violation(functions, x, bounds)
    allowed = float(options.get("constr_viol_tol", _RESIDUAL_BOUND))
    if not violation <= allowed:
        return _answer("Residual", f"Ipopt says {status}, but its point misses a constraint by {violation:.3e}.")
    sign = header.sense.value
    lam_x = np.array(found["lam_x"], dtype=float).ravel()
    code, message = OUTCOMES[status]
    return Answer(
        f"{_title()}: {message}",
        code,
        primal=x.tolist(),
        dual=(-sign * np.array(found["lam_g"], dtype=float).ravel()).tolist(),
        bound_multipliers={
            "ipopt_zL_out": (sign * np.maximum(-lam_x, 0.0)).tolist(),
            "ipopt_zU_out": (-sign * np.maximum(lam_x, 0.0)).tolist(),
        },
    )


def version_text() -> str:
    """One line in the form that Pyomo reads a version from."""
    return f"{_title()} ({platform.system()} {platform.machine()}), AMPL files read by CasADi: aesop-ipopt"


def _title() -> str:
    import casadi

    # The library's file name is the only place where the wheel tells Ipopt's version: libipopt.so.3.14.19.
    names = [p.name.partition(".so.")[2] for p in Path(casadi.__file__).parent.glob("libipopt.so.*.*.*")]
    return f"Ipopt {names[0] if names else '3.14.0'}"


def _answer(status: str, detail: str) -> Answer:
    code, message = OUTCOMES.get(status, (500, ""))
    return Answer(f"{_title()}: {' '.join(part for part in (message, detail) if part) or status}", code)


def _start_fault(functions: Any, start: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """Say which part of the model has no finite value at the start; Ipopt itself says only that one exists."""
    f, g = functions(start)
    rows = np.flatnonzero(~np.isfinite(np.array(g, dtype=float).ravel()))
    if rows.size:
        return f"Model not finite at x0 (constraint {rows[0]})."
    return "Model not finite at x0 (objective)." if not np.isfinite(float(f)) else ""


def _violation(functions: Any, x: np.ndarray[Any, np.dtype[np.float64]], bounds: dict[str, Any]) -> float:
    """The largest violation of a constraint or bound; NaN when a value is not a number."""
    f, g = functions(x)
    values = np.concatenate([x, np.array(g, dtype=float).ravel()])
    lower = np.concatenate([bounds["lbx"], bounds["lbg"]])
    upper = np.concatenate([bounds["ubx"], bounds["ubg"]])
    if not (np.all(np.isfinite(values)) and np.isfinite(float(f))):
        return float("nan")
    return float(np.max(np.maximum(lower - values, values - upper), initial=0.0))


def _last_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[-1].strip()


if __name__ == "__main__":
    sys.exit(main())
