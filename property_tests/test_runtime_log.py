"""The flight log: a kill at any byte and a full disk lose nothing acknowledged, and nothing can be changed unseen."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq

from aesop_verified.kernel.errors import UsageError
from aesop_verified.kernel.events import Choice, Clear, Hold, Override, Recovering, Resume
from aesop_verified.kernel.rational import vector
from aesop_verified.runtime import About, Durability, FlightLog, LogOutcome, check_log, check_log_bytes
from aesop_verified.runtime.log_file import FIRST_HASH, LogFile, line_of
from aesop_verified.testing.textbook import fork_plan, integrator_fork
from property_tests.runtime_flights import DT, AlarmOn, AnswersAfter, FirstPlanOnly, fly, logged_loop


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A whole log: nominal, an alarm that is cleared, one that is not, a recovery."""
    assured = integrator_fork()
    path = tmp_path_factory.mktemp("log") / "flight.jsonl"
    answers = iter([Clear, lambda trigger: Choice(trigger, "right")])
    loop = logged_loop(assured, path, detector=AlarmOn(), reasoner=AnswersAfter(lambda q: next(answers)(q.trigger), steps=2))
    x = fly(loop, 2)
    x = fly(loop, 4, observation="a fire", state=x)
    x = fly(loop, 3, observation="another fire", state=x)
    fly(loop, 6, state=x)
    assert isinstance(loop.state and loop.state.mode, Recovering)
    assert loop.end()
    return path.read_bytes()


def contents(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line)["content"] for line in data.splitlines()]


def chained(lines: list[dict[str, Any]]) -> bytes:
    """A log with these contents and a chain that fits."""
    data, digest = b"", FIRST_HASH
    for content in lines:
        line, digest = line_of(digest, content)
        data += line
    return data


def test_a_whole_log_is_verified(flight: bytes) -> None:
    verdict = check_log_bytes(flight)
    assert verdict.outcome is LogOutcome.VERIFIED and verdict.reason == ""
    assert len(verdict.steps) == verdict.certified_steps == 15
    assert chained(contents(flight)) == flight


def test_cut_at_every_byte_it_is_truncated_and_keeps_every_whole_line(tmp_path: Path) -> None:
    loop = logged_loop(integrator_fork(), tmp_path / "f.jsonl")
    fly(loop, 2)
    assert loop.end()
    data = (tmp_path / "f.jsonl").read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
    for cut in range(ends[0], len(data)):
        verdict = check_log_bytes(data[:cut])
        whole_lines = sum(end <= cut for end in ends)
        assert verdict.outcome is LogOutcome.TRUNCATED, (cut, verdict.reason)
        assert len(verdict.steps) == whole_lines - 1 and verdict.size == ends[whole_lines - 1]
        assert verdict.line == (None if cut in ends else whole_lines + 1)
    for cut in range(1, ends[0]):
        assert check_log_bytes(data[:cut]).outcome is LogOutcome.TRUNCATED


_FLYING = """
import sys
from pathlib import Path
from aesop_verified.testing.textbook import integrator_fork
from property_tests.runtime_flights import logged_loop
loop = logged_loop(integrator_fork(), Path(sys.argv[1]))
x = 0
for t in range(10_000):
    report = loop.step([x], "")
    print(t if report.acknowledged else "lost", flush=True)
    x += report.input[0, 0]
"""


def test_a_kill_loses_no_step_that_was_acknowledged(tmp_path: Path) -> None:
    root = str(Path(__file__).parent.parent)
    for number, lines in enumerate((1, 7, 40)):
        path = tmp_path / f"{number}.jsonl"
        child = subprocess.Popen([sys.executable, "-c", _FLYING, str(path)], stdout=subprocess.PIPE, cwd=root, env=os.environ | {"PYTHONPATH": root})
        with child:
            assert child.stdout is not None
            heard = [child.stdout.readline() for _ in range(lines)]
            child.kill()
        verdict = check_log(path)
        assert heard == [f"{t}\n".encode() for t in range(lines)]
        assert verdict.outcome is LogOutcome.TRUNCATED and len(verdict.steps) >= lines


def test_a_byte_that_is_changed_is_refused_at_its_line(flight: bytes) -> None:
    for position in range(0, len(flight) - 1, 211):
        if flight[position] == ord("\n"):
            continue
        changed = bytearray(flight)
        changed[position] ^= 1
        if changed[position] == ord("\n"):
            continue
        verdict = check_log_bytes(bytes(changed))
        line = flight[:position].count(b"\n") + 1
        assert verdict.outcome is LogOutcome.REFUSED and verdict.line == line and f"line {line}" in verdict.reason
        assert len(verdict.steps) == max(0, line - 2)


def test_lines_left_out_swapped_or_repeated_are_refused(flight: bytes) -> None:
    lines = flight.splitlines(keepends=True)
    for broken in (lines[:3] + lines[4:], [*lines[:3], lines[4], lines[3], *lines[5:]], [*lines[:4], *lines[3:]], lines[1:]):
        assert check_log_bytes(b"".join(broken)).outcome is LogOutcome.REFUSED
    after_the_end = check_log_bytes(flight + lines[1])
    assert after_the_end.outcome is LogOutcome.REFUSED
    assert check_log_bytes(flight + b'{"content"').outcome is LogOutcome.REFUSED


def forgeries() -> Iterator[tuple[str, str]]:
    yield "step", "step"
    for key in ("mode", "input", "certified", "events", "question"):
        yield "gave", key
    for key in ("measurement", "answer", "candidates", "alarm"):
        yield "read", key
    yield "assumption", "assumption"


@pytest.mark.parametrize(("part", "key"), list(forgeries()))
def test_a_forged_step_with_a_chain_that_fits_is_refused_by_the_re_run(flight: bytes, part: str, key: str) -> None:
    lines = contents(flight)
    number = 5 if key in ("alarm", "question", "events", "mode") else 1 if key == "candidates" else 6 if key == "answer" else 3
    number = next(i for i, c in enumerate(lines) if c["kind"] == "step" and c["step"] >= number - 1 and _forgeable(c, part, key))
    _forge(lines[number], part, key)
    verdict = check_log_bytes(chained(lines))
    assert verdict.outcome is LogOutcome.REFUSED and verdict.line is not None and number + 1 <= verdict.line <= number + 2, verdict.reason


def _forgeable(content: dict[str, Any], part: str, key: str) -> bool:
    return key in ("step", "assumption", "certified", "mode", "input", "events", "measurement") or bool(content[part][key])


def _forge(content: dict[str, Any], part: str, key: str) -> None:
    forged: dict[str, object] = {
        "step": 99, "mode": {"kind": "suspended", "name": "left", "k": 0}, "input": ["1/2"], "certified": False, "events": [], "question": None,
        "measurement": ["1/16"], "answer": None, "candidates": [], "alarm": None, "assumption": {"state": 0, "amount": "1"},
    }  # fmt: skip
    if part in ("step", "assumption"):
        content[key] = forged[key]
    else:
        content[part][key] = forged[key]


def test_a_forged_header_is_refused(flight: bytes) -> None:
    for change in ("system", "evidence", "schema_version"):
        lines = contents(flight)
        if change == "system":
            lines[0]["system"]["U"]["h"] = ["2", "2"]
        elif change == "evidence":
            lines[0]["evidence"]["left"]["invariance"]["rows"] = [["1", "1"], ["1", "1"]]
        else:
            lines[0]["schema_version"] = 2
        verdict = check_log_bytes(chained(lines))
        assert verdict.outcome is LogOutcome.REFUSED and verdict.line == 1, change


def test_the_text_of_a_line_is_the_canonical_one(flight: bytes) -> None:
    first = flight[: flight.index(b"\n") + 1]
    body = b'{"kind": "end","lost_lines":0,"reason":"","steps":0}'
    import hashlib

    digest = hashlib.sha256(json.loads(first)["sha256"].encode() + body).hexdigest().encode()
    verdict = check_log_bytes(first + b'{"content":' + body + b',"sha256":"' + digest + b'"}\n')
    assert verdict.outcome is LogOutcome.REFUSED and "canonical" in verdict.reason


def test_every_kind_of_input_comes_back_from_the_log(tmp_path: Path) -> None:
    """Missing measurements, commands, uncertified steps, observations that are no valid Unicode, and refused plans."""
    assured = integrator_fork(estimate="1/100")
    unusable = fork_plan(assured, options=("left",)).plan
    loop = logged_loop(assured, tmp_path / "f.jsonl", planner=FirstPlanOnly(assured, extra=(unusable,)), detector=AlarmOn())
    x = fly(loop, 2)
    loop.step([x], "a lone surrogate \ud800 and a fire")
    loop.step([float("nan")], None)
    loop.step([x], "")
    loop.step(["1/3"], "", operator=Override("Ada", vector([5])))
    loop.step([100], "", operator=Hold("Ada"))
    loop.step([x], "", operator=Resume("Ada"))
    assert loop.end("the test is over")
    verdict = check_log(tmp_path / "f.jsonl")
    assert verdict.outcome is LogOutcome.VERIFIED, verdict.reason
    assert verdict.certified_steps < len(verdict.steps) == 8
    assert verdict.violated_assumptions


def test_a_start_that_is_refused_is_logged_and_re_run(tmp_path: Path) -> None:
    from aesop_verified.runtime import StartRefusedError

    loop = logged_loop(integrator_fork(), tmp_path / "f.jsonl")
    with pytest.raises(StartRefusedError):
        loop.step([9], "")
    verdict = check_log(tmp_path / "f.jsonl")
    assert verdict.outcome is LogOutcome.VERIFIED and verdict.start_refused and verdict.steps == ()


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("durability", list(Durability))
def test_a_full_disk_loses_nothing_acknowledged_and_the_flight_goes_on(tmp_path: Path, durability: Durability) -> None:
    assured = integrator_fork()
    path = tmp_path / "f.jsonl"
    loop = logged_loop(assured, path, durability=durability, detector=AlarmOn())
    x, acknowledged = fmpq(0), []
    for t in range(12):
        with file_limit(path.stat().st_size + 40 if 4 <= t < 8 else resource.RLIM_INFINITY):
            report = loop.step([x], "a wall")
        acknowledged.append(report.acknowledged)
        assert report.certified
        x += report.input[0, 0]
    assert acknowledged == [not 4 <= t < 8 for t in range(12)]
    assert not loop.end(), "the log is not whole"
    verdict = check_log(path)
    assert verdict.outcome is LogOutcome.INCOMPLETE and verdict.gaps == ((4, 4, os.strerror(errno.EFBIG)),)
    assert [s.result.state.step for s in verdict.steps] == [0, 1, 2, 3, 8, 9, 10, 11]


def test_w_outside_w_is_seen_across_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    loop = logged_loop(integrator_fork(), path)
    x = fly(loop, 2)
    with file_limit(path.stat().st_size + 1):
        x = fly(loop, 2, state=x)
    report = loop.step([x + 1], "")
    assert report.assumption is not None and report.acknowledged
    loop.end()
    verdict = check_log(path)
    assert verdict.outcome is LogOutcome.INCOMPLETE and verdict.violated_assumptions == (4,), verdict.reason


def test_a_disk_that_stays_full_leaves_a_truncated_log(tmp_path: Path) -> None:
    assured = integrator_fork()
    path = tmp_path / "f.jsonl"
    loop = logged_loop(assured, path)
    x = fly(loop, 3)
    with file_limit(path.stat().st_size + 1):
        fly(loop, 3, state=x)
        assert not loop.end()
    verdict = check_log(path)
    assert verdict.outcome is LogOutcome.TRUNCATED and len(verdict.steps) == 3


def test_a_file_system_that_is_really_full(tmp_path: Path) -> None:
    """ENOSPC on a tmpfs of 64 kB, where mounting one is allowed."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mounted)], capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a tmpfs; the limit on file sizes is tested above")
    try:
        assured = integrator_fork()
        loop = logged_loop(assured, mounted / "f.jsonl")
        x = fly(loop, 2)
        with open(mounted / "ballast", "wb", buffering=0) as ballast, pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            while True:
                ballast.write(b"\0" * 512)
        x = fly(loop, 20, state=x)
        full = check_log(mounted / "f.jsonl")
        assert full.outcome is LogOutcome.TRUNCATED and full.logged_steps < 22
        (mounted / "ballast").unlink()
        fly(loop, 2, state=x)
        assert not loop.end()
        verdict = check_log(mounted / "f.jsonl")
        assert verdict.outcome is LogOutcome.INCOMPLETE and verdict.gaps[0][2] == os.strerror(errno.ENOSPC)
        assert len(verdict.steps) + sum(lines for _, lines, _ in verdict.gaps) == 24
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def test_a_log_is_never_overwritten_and_has_one_writer(tmp_path: Path) -> None:
    assured = integrator_fork()
    log = FlightLog.create(tmp_path / "f.jsonl", assured, About("x", DT))
    with pytest.raises(UsageError, match="never overwritten"):
        FlightLog.create(tmp_path / "f.jsonl", assured, About("x", DT))
    with pytest.raises(UsageError, match="another process writes"):
        LogFile(tmp_path / "f.jsonl", size=0)
    log.close()
    with pytest.raises(UsageError, match="cannot be opened"):
        FlightLog.create(tmp_path / "none" / "f.jsonl", assured, About("x", DT))
    with pytest.raises(UsageError, match="cannot be read"):
        check_log(tmp_path / "none")
    (tmp_path / "empty").touch()
    with pytest.raises(UsageError, match="is empty"):
        check_log(tmp_path / "empty")


def test_no_flight_starts_when_the_header_cannot_be_written(tmp_path: Path) -> None:
    with file_limit(10), pytest.raises(UsageError, match="header of the flight log cannot be written"):
        FlightLog.create(tmp_path / "f.jsonl", integrator_fork(), About("x", DT))
