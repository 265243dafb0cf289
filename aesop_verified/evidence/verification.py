"""`verify`: discharge every proof obligation of a described system, in order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from aesop_verified.evidence import certificates as files
from aesop_verified.evidence.asked import asked_box, escape_of, offer
from aesop_verified.evidence.discharge import Sets
from aesop_verified.evidence.first_plan import FirstPlans
from aesop_verified.evidence.obligations import AskedBox, Ledger, Offer, Reach, Verification
from aesop_verified.kernel.model import System
from aesop_verified.kernel.verdict import Verdict
from aesop_verified.recovery.gains import NotStabilisable
from aesop_verified.recovery.second_opinion import SecondOpinion
from aesop_verified.recovery.synthesis import SynthesisFailed, synthesise
from aesop_verified.system.description import SystemDescription
from aesop_verified.system.parts import GivenSet

_PER_SET = ("PO-RECOVERY-NONEMPTY", "PO-RECOVERY-INVARIANT", "PO-RECOVERY-INSIDE", "PO-RECOVERY-LAW")


def verify(
    description: SystemDescription, *, second_opinion: bool = True, reach: bool = True, progress: Callable[[str], None] = lambda _: None
) -> Verification:
    """Prove or refute every obligation of a system.

    Args:
        description: the system as its file says it.
        second_opinion: whether Z3 is asked about every inclusion.
        reach: whether it is worked out from where each recovery set can be reached.
        progress: called with a word before each piece of work.

    Returns:
        All obligations with their verdicts and certificates; nothing is left out when one fails.

    Raises:
        Disagreement: when Z3 and the kernel differ.
        UsageError: when the description cannot be made into a system (a recovery law that needs the tube's gain).
    """
    ledger = Ledger(progress)
    with ExitStack() as stack:
        opinion = stack.enter_context(SecondOpinion()) if second_opinion else None
        sets = Sets(description, ledger, opinion)
        sets.well_formed()
        sets.initial_inside()
        system = _complete(description, sets, ledger, progress)
        if system is None:
            return _result(description, None, ledger)
        for name in system.names:
            sets.recovery(system, name)
        sets.tightened(system)
        progress("asked boxes")
        asked = [found for name in system.names if (found := asked_box(description, system, name, opinion)) is not None]
        asked += _escapes_of_given(description, system, ledger)
        offers = [made for name in _refuted_sets(ledger) if (made := offer(description, system, name, opinion)) is not None]
    ready = ledger.verdicts("PO-X-NONEMPTY", "PO-U-NONEMPTY", *_PER_SET, "PO-TIGHT-STATE", "PO-TIGHT-INPUT", "PO-TIGHT-RECOVERY")
    reached: tuple[Reach, ...] = ()
    if ready is Verdict.PROVED:
        reached = FirstPlans(description, system, ledger).discharge(reach=reach)
    else:
        ledger.start("PO-FIRST-PLAN")
        ledger.unknown("PO-FIRST-PLAN", "", "not attempted: an obligation that plans rest on is not proved")
    return _result(description, system, ledger, reached, tuple(asked), tuple(offers))


def _complete(description: SystemDescription, sets: Sets, ledger: Ledger, progress: Callable[[str], None]) -> System | None:
    """The complete system, or None with an unknown obligation that says why there is none."""
    ledger.start("PO-RECOVERY-INVARIANT")
    try:
        return synthesise(description, progress).system
    except SynthesisFailed as error:
        if error.empty is not None:
            sets.nothing_asked(error.name, error.empty)
        ledger.unknown("PO-RECOVERY-INVARIANT", error.name, str(error))
    except NotStabilisable as error:
        ledger.unknown("PO-RECOVERY-INVARIANT", "", f"tube_gain: {error}")
    for id in ("PO-TIGHT-STATE", "PO-TIGHT-INPUT", "PO-FIRST-PLAN"):
        ledger.start(id)
        ledger.unknown(id, "", "not attempted: the recovery sets are not complete")
    return None


def _refuted_sets(ledger: Ledger) -> list[str]:
    """Recovery sets with a refuted obligation, each once."""
    return list(dict.fromkeys(e.subject for e in ledger.entries if e.id in _PER_SET[1:] and e.verdict is Verdict.REFUTED))


def _escapes_of_given(description: SystemDescription, system: System, ledger: Ledger) -> list[AskedBox]:
    """For given sets that are not invariant: whether any other law could have held them."""
    found = []
    for entry in ledger.entries:
        if entry.id != "PO-RECOVERY-INVARIANT" or entry.verdict is not Verdict.REFUTED:
            continue
        if not isinstance(description.region(entry.subject).content, GivenSet):
            continue
        escape = escape_of(description, system, system.recovery(entry.subject).polytope, entry.subject)
        if escape is None:
            found.append(AskedBox(entry.subject, None, "the set is not invariant under its law; no state was found from which every input leaves it, so another law may do", None))
        else:
            found.append(AskedBox(entry.subject, escape[0], "the set is not control invariant: no law can hold it", escape[1]))
    return found


def _result(
    description: SystemDescription, system: System | None, ledger: Ledger, reach: tuple[Reach, ...] = (),
    asked: tuple[AskedBox, ...] = (), offers: tuple[Offer, ...] = (),
) -> Verification:  # fmt: skip
    return Verification(
        description.name, description.hash(), system.hash() if system is not None else "", tuple(ledger.entries), reach, asked, offers,
        files.system(f"the system {description.name}", system) if system is not None else None,
    )  # fmt: skip
