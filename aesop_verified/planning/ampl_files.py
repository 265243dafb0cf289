"""The two files of the AMPL solver protocol: the problem (`.nl`, its header only) and the answer (`.sol`).

Format: D. M. Gay, "Writing .nl Files", Sandia report SAND2005-7907P (2005), and "Hooking Your Solver to AMPL"
(1997). A solver's answer must repeat the options of the problem's first line, or the reader misplaces every number.
"""

from __future__ import annotations

import enum
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aesop_verified.kernel.errors import UsageError


class ProblemFileError(UsageError):
    """A `.nl` file that cannot be read, or that asks for what Ipopt cannot do; the message names the file."""


class Sense(enum.Enum):
    """The sense of the objective; the sign is the one that AMPL puts before Ipopt's multipliers."""

    MINIMIZE = 1
    MAXIMIZE = -1


@dataclass(frozen=True, slots=True)
class NlHeader:
    """What the answer needs of a problem file."""

    options: tuple[int, ...]
    """AMPL's options, to be repeated in the answer."""
    variable_bound_tolerance: str | None
    """Present when the second option is 3."""
    variables: int
    constraints: int
    sense: Sense
    refusal: str | None
    """Why Ipopt cannot solve this kind of problem; None when it can."""


def read_header(path: Path) -> NlHeader:
    """Read the ten header lines of a `.nl` file in text form, and the sense of its objective.

    Raises:
        ProblemFileError: if the file is missing, binary, or its header is not one.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ProblemFileError(f"{path}: cannot be read ({error.strerror}); give the stub of a .nl file") from error
    lines = text.splitlines()
    if not text.startswith("g") or len(lines) < 10:
        raise ProblemFileError(
            f"{path}: found {text[:12]!r} at the start, expected the ten header lines of a .nl file in text form "
            f"('g3 1 1 0'); write the model in text form"
        )
    rows = [line.split("#")[0].split() for line in lines[:10]]
    try:
        count = int(rows[0][0][1:])
        options = tuple(int(word) for word in rows[0][1 : 1 + count])
        tolerance = rows[0][1 + count] if len(options) > 1 and options[1] == 3 else None
        variables, constraints, objectives = (int(word) for word in rows[1][:3])
        complementarity = sum(int(word) for word in rows[2][2:4])
        network = sum(int(word) for word in rows[3])
        functions = int(rows[5][1])
        discrete = sum(int(word) for word in rows[6])
    except (ValueError, IndexError) as error:
        raise ProblemFileError(f"{path}: the header of this .nl file cannot be read ({error})") from error
    if len(options) != count:
        raise ProblemFileError(f"{path}, line 1: found {len(options)} options, expected {count}")
    asked = {
        "discrete variables (relax them, or take a mixed-integer solver)": discrete,
        "complementarity conditions": complementarity,
        "network constraints": network,
        "imported functions": functions,
        "objectives beyond the first (deactivate them)": max(0, objectives - 1),
    }
    refusal = next((f"the model has {n} {what}; Ipopt takes none" for what, n in asked.items() if n), None)
    sense = Sense.MAXIMIZE if any(line.split("#")[0].split() == ["O0", "1"] for line in lines[10:]) else Sense.MINIMIZE
    return NlHeader(options, tolerance, variables, constraints, sense, refusal)


@dataclass(frozen=True, slots=True)
class Answer:
    """A solver's answer; without a point it has neither primal nor dual values."""

    message: str
    code: int
    """AMPL's solve_result_num: 0-99 solved, 100-199 solved?, 200 infeasible, 300 unbounded, 400 limit, 500 failure."""
    primal: Sequence[float] = ()
    dual: Sequence[float] = ()
    bound_multipliers: Mapping[str, Sequence[float]] | None = None
    """Suffixes over the variables, as Ipopt calls them: ipopt_zL_out, ipopt_zU_out."""


def answer_text(header: NlHeader, answer: Answer) -> str:
    """The `.sol` file: message, options and counts, dual values, primal values, result code, suffixes."""
    out = io.StringIO()
    out.write(answer.message.strip().replace("\n\n", "\n") + "\n\nOptions\n")
    extra = 0 if header.variable_bound_tolerance is None else 2
    counts = (len(header.options) + extra, *header.options)
    sizes = (header.constraints, len(answer.dual), header.variables, len(answer.primal))
    out.writelines(f"{n}\n" for n in (*counts, *sizes))
    if header.variable_bound_tolerance is not None:
        out.write(f"{header.variable_bound_tolerance}\n")
    out.writelines(f"{float(value)!r}\n" for value in (*answer.dual, *answer.primal))
    out.write(f"objno 0 {answer.code}\n")
    for name, values in (answer.bound_multipliers or {}).items():
        # Kind 4: real values over the variables; the length of a name counts its closing zero.
        out.write(f"suffix 4 {len(values)} {len(name) + 1} 0 0\n{name}\n")
        out.writelines(f"{i} {float(value)!r}\n" for i, value in enumerate(values))
    return out.getvalue()
