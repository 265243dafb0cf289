"""A small pytest plugin: the counts of a run of flights, in the terminal summary.

Take it in a `conftest.py`:

    from aesop_verified.testing.pytest_plugin import pytest_terminal_summary, report_tally

and in a test: `report_tally(tally)`. The counts travel with the report, so they also arrive from other processes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from aesop_verified.testing.flight import Tally

PROPERTY = "aesop flights"


@pytest.fixture
def report_tally(request: pytest.FixtureRequest) -> Callable[[Tally], None]:
    """Puts the counts of a tally into the report of the test."""

    def report(tally: Tally) -> None:
        request.node.user_properties.append((PROPERTY, "\n".join(tally.lines())))

    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print every reported tally once."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in getattr(report, "user_properties", []):
                if name == PROPERTY and report.when == "call":
                    terminalreporter.write_sep("-", f"flights of {report.nodeid}")
                    terminalreporter.write_line(value)
