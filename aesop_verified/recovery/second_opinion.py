"""Z3's second opinion on every inclusion that the kernel decided (theory 6).

One query of QF_LRA a facet: "x in the inner set and facet violated" must be unsatisfiable. Z3 and the kernel
share no code, so a fault of one shows as a disagreement; that is an error, and never settled by a choice.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from flint import fmpq_mat

from aesop_verified.kernel.errors import UnsoundStep
from aesop_verified.kernel.inclusion import (
    Escape,
    InclusionCertificate,
    InclusionStatement,
    WitnessPoint,
    check_inclusion,
)
from aesop_verified.kernel.rational import rows_of, text, vector
from aesop_verified.kernel.verdict import Proved, Refuted, Result, Unknown, Verdict

RESOURCE_LIMIT = 20_000_000
"""Z3's own deterministic unit of work, per facet; the queries of a quadrotor's sets need some 10^4."""


class Disagreement(UnsoundStep):
    """The kernel and Z3 answered the same question differently: one of them is wrong, and nothing may rest on either.

    It is a fault of a program, never of a user's file.
    """


@dataclass(frozen=True, slots=True)
class Agrees:
    """Z3 gave the kernel's answer on every facet asked."""

    facets: int


@dataclass(frozen=True, slots=True)
class NoOpinion:
    """Z3 did not decide, or there was nothing to compare with."""

    reason: str


class SecondOpinion:
    """Z3 in a process of its own, started when first needed and ended with the `with` block.

    Args:
        seconds: watchdog; a query that takes longer ends the process and counts as no opinion.
        resource_limit, milliseconds: Z3's own limits, per facet.
        command: the worker's command line (tests put a worker there that hangs or lies).
    """

    def __init__(
        self, *, seconds: float = 60.0, resource_limit: int = RESOURCE_LIMIT, milliseconds: int = 20_000, command: Sequence[str] | None = None
    ) -> None:
        self._seconds, self._resource_limit, self._milliseconds = seconds, resource_limit, milliseconds
        self._command = list(command) if command is not None else [sys.executable, "-m", "aesop_verified.recovery.z3_worker"]
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> SecondOpinion:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def on(self, result: Result[InclusionCertificate, Escape], statement: InclusionStatement) -> Agrees | NoOpinion:
        """Compare the kernel's result on an inclusion with Z3's.

        Raises:
            Disagreement: when the two differ, or a model of Z3 does not satisfy its query exactly.
        """
        if isinstance(result, Unknown):
            return NoOpinion(f"the kernel gave no answer to compare with: {result.reason}")
        facets = list(range(statement.outer.rows)) if isinstance(result, Proved) else [result.witness.facet]
        answers = self._ask(statement, facets)
        if isinstance(answers, NoOpinion):
            return answers
        if [a.get("facet") for a in answers] != facets:
            raise Disagreement(f"Z3's worker answered about facets {[a.get('facet') for a in answers]}, asked were {facets}")
        for a in answers:
            self._compare(result, statement, a)
        undecided = [a for a in answers if a["answer"] == "unknown"]
        if undecided:
            return NoOpinion(f"{len(undecided)} of {len(facets)} facets undecided: {undecided[0].get('reason')}")
        return Agrees(len(facets))

    def decide(self, script: str) -> Verdict:
        """Whether the assertions of an SMT-LIB text contradict each other: PROVED if so, REFUTED if they have a model.

        A limit that is reached, Z3's own or the watchdog's, is UNKNOWN.
        """
        answers = self._send({"text": script})
        word = "unknown" if isinstance(answers, NoOpinion) else answers[0]["answer"]
        return {"unsat": Verdict.PROVED, "sat": Verdict.REFUTED}.get(word, Verdict.UNKNOWN)

    def _compare(self, result: Result[InclusionCertificate, Escape], statement: InclusionStatement, a: dict[str, Any]) -> None:
        if a["answer"] == "sat":
            replayed = check_inclusion(statement, WitnessPoint(vector(a["point"])))
            if not isinstance(replayed, Refuted):
                raise Disagreement(f"Z3's model for facet {a['facet']} does not satisfy its query exactly: {a['point']}")
            if isinstance(result, Proved):
                raise Disagreement(f"the kernel proved an inclusion that Z3 refutes on facet {a['facet']} at {a['point']}")
        elif a["answer"] == "unsat" and isinstance(result, Refuted):
            raise Disagreement(f"the kernel refuted an inclusion on facet {a['facet']} that Z3 finds satisfied by all states")

    def _ask(self, statement: InclusionStatement, facets: list[int]) -> list[dict[str, Any]] | NoOpinion:
        return self._send(
            {
                "n": statement.inner.dimension_of_space,
                "inner_G": texts(statement.inner.G), "inner_h": flat(statement.inner.h),
                "outer_G": texts(statement.outer.G), "outer_h": flat(statement.outer.h),
                "M": texts(statement.M), "c": flat(statement.c), "margin": flat(statement.margin),
                "facets": facets,
            }
        )  # fmt: skip

    def _send(self, question: dict[str, Any]) -> list[dict[str, Any]] | NoOpinion:
        query = json.dumps(question | {"resource_limit": self._resource_limit, "milliseconds": self._milliseconds})
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(query + "\n")
            process.stdin.flush()
            line = self._lines.get(timeout=self._seconds)
        except queue.Empty:
            self.close()
            return NoOpinion(f"Z3 was ended by the watchdog after {self._seconds:g} s")
        except OSError as error:
            self.close()
            return NoOpinion(f"Z3's process ended: {error}")
        if line is None:
            self.close()
            return NoOpinion("Z3's process ended without an answer")
        answers: list[dict[str, Any]] = json.loads(line)
        return answers

    def _start(self) -> subprocess.Popen[str]:
        self._lines = queue.Queue()
        here = str(Path(__file__).resolve().parents[2])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))}
        process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
        )
        threading.Thread(target=_pump, args=(process, self._lines), daemon=True).start()
        self._process = process
        return process


def _pump(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def texts(M: fmpq_mat) -> list[list[str]]:
    """Rows as text."""
    return [[text(v) for v in row] for row in rows_of(M)]


def flat(M: fmpq_mat) -> list[str]:
    """Entries as text."""
    return [text(v) for v in M.entries()]
