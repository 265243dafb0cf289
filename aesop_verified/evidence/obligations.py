"""Proof obligations: what they are, and what discharging one yields. The ids are listed in `spec/obligations.toml`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from aesop_verified.evidence.certificates import Certificate
from aesop_verified.evidence.wording import Witness
from aesop_verified.kernel.verdict import Verdict

STATEMENTS = {
    "PO-X-NONEMPTY": "the state set X is not empty",
    "PO-U-NONEMPTY": "the inputs of U that survive rounding to the quantum are not empty",
    "PO-U-BOUNDED": "the input set U is bounded",
    "PO-E-ZERO": "the estimate's error set E contains 0",
    "PO-RECOVERY-NONEMPTY": "the recovery set is not empty",
    "PO-RECOVERY-INVARIANT": "the recovery set is robustly invariant under its law",
    "PO-RECOVERY-INSIDE": "the recovery set is inside X",
    "PO-RECOVERY-LAW": "the law maps the recovery set into U",
    "PO-TIGHT-STATE": "X - R_k is not empty for k = 0..T",
    "PO-TIGHT-INPUT": "U - F R_k is not empty for k = 0..T",
    "PO-TIGHT-RECOVERY": "the recovery set - R_k is not empty for k = 0..T+1",
    "PO-INITIAL-INSIDE": "every initial state, and every first estimate of it, is inside X",
    "PO-FIRST-PLAN": "a first plan is certified for every initial state",
}


@dataclass(frozen=True, slots=True)
class Discharged:
    """An obligation with its verdict.

    Attributes:
        id: as in `spec/obligations.toml`.
        subject: the recovery set it is about, "" for the system.
        verdict: proved, refuted or unknown.
        method: who decided, on what evidence.
        seconds: wall clock, finding and checking.
        certificate: the file that shows it, or None when the verdict is unknown.
        witness: for a refuted one.
        reason: for an unknown one.
        second_opinion: Z3's, in words; "" when none was asked for.
    """

    id: str
    subject: str
    verdict: Verdict
    method: str
    seconds: float
    certificate: Certificate | None = None
    witness: Witness | None = None
    reason: str = ""
    second_opinion: str = ""

    @property
    def key(self) -> str:
        """Id and subject, unique within a run."""
        return f"{self.id}[{self.subject}]" if self.subject else self.id

    @property
    def statement(self) -> str:
        """The obligation in words."""
        return STATEMENTS[self.id]

    @property
    def file_name(self) -> str:
        """The name of its certificate file."""
        return f"{self.id.lower()}{'.' + self.subject if self.subject else ''}.json"


@dataclass(frozen=True, slots=True)
class Interval:
    """Values of one state, exact text, with its name and unit; `whole` when X allows no others."""

    state: str
    unit: str
    lower: str
    upper: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Reach:
    """From where a recovery set can be reached: what was certified, no more.

    Attributes:
        name: the recovery set.
        vertices: how many vertices of the initial estimates have a certified plan to it, of how many.
        intervals: for each state, with the others at the centre of the initial set: a certified plan exists at
            both ends, hence for all values between; None when the centre has none.
    """

    name: str
    vertices: tuple[int, int]
    intervals: tuple[Interval, ...] | None


@dataclass(frozen=True, slots=True)
class AskedBox:
    """The box in which a recovery set was asked for, as it stands, against what was certified.

    Attributes:
        name: the recovery set.
        escape: a state of the box from which every input leads out, or None when no such state was found.
        sentence: the finding in words.
        certificate: "every input exceeds the facet by at least the amount", when there is an escape.
    """

    name: str
    escape: Witness | None
    sentence: str
    certificate: Certificate | None


@dataclass(frozen=True, slots=True)
class Offer:
    """A certified subset that is offered in place of a set that is not invariant."""

    name: str
    sentence: str
    certificate: Certificate


@dataclass(frozen=True, slots=True)
class Verification:
    """Everything that `aesop verify` found.

    Attributes:
        name: of the system.
        description_hash: of the description.
        system_hash: of the complete system, "" when it could not be completed.
        obligations: in the order of discharge.
        system_certificate: the exact system as a file, when complete.
    """

    name: str
    description_hash: str
    system_hash: str
    obligations: tuple[Discharged, ...]
    reach: tuple[Reach, ...] = ()
    asked: tuple[AskedBox, ...] = ()
    offers: tuple[Offer, ...] = ()
    system_certificate: Certificate | None = None

    @property
    def verdict(self) -> Verdict:
        """Refuted beats unknown beats proved."""
        return overall(o.verdict for o in self.obligations)

    @property
    def exit_code(self) -> int:
        """0 proved, 1 refuted, 3 unknown."""
        return EXIT_CODES[self.verdict]


EXIT_CODES = {Verdict.PROVED: 0, Verdict.REFUTED: 1, Verdict.UNKNOWN: 3}


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Refuted if one is refuted, else unknown if one is unknown, else proved."""
    found = set(verdicts)
    for verdict in (Verdict.REFUTED, Verdict.UNKNOWN):
        if verdict in found:
            return verdict
    return Verdict.PROVED


@dataclass(slots=True)
class Ledger:
    """Collects discharged obligations, with their times."""

    progress: Callable[[str], None]
    entries: list[Discharged] = field(default_factory=list)
    _started: float = field(default_factory=time.perf_counter)

    def start(self, id: str, subject: str = "") -> None:
        """Begin to time an obligation."""
        self.progress(f"{id}[{subject}]" if subject else id)
        self._started = time.perf_counter()

    def add(
        self, id: str, subject: str, verdict: Verdict, method: str, *, certificate: Certificate | None = None,
        witness: Witness | None = None, reason: str = "", second_opinion: str = "",
    ) -> None:  # fmt: skip
        """End an obligation with its verdict."""
        seconds = time.perf_counter() - self._started
        self.entries.append(Discharged(id, subject, verdict, method, seconds, certificate, witness, reason, second_opinion))

    def unknown(self, id: str, subject: str, reason: str) -> None:
        """An obligation that was not decided."""
        self.add(id, subject, Verdict.UNKNOWN, "not decided", reason=reason)

    def verdicts(self, *ids: str) -> Verdict:
        """The overall verdict of the entries with these ids."""
        return overall(e.verdict for e in self.entries if e.id in ids)
