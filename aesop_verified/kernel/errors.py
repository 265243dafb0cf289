"""The two kinds of error that the kernel raises.

A `UsageError` says that an argument cannot be understood (a shape, a float, an unknown name): it is the
caller's to mend. An `UnsoundStep` says that code outside the kernel asked for something that would make a
claim untrue, such as building a `Proved` by hand: it is a fault of a program, never of a user's file.
"""

from __future__ import annotations


class AesopError(Exception):
    """Base of every error that this library raises on purpose."""


class UsageError(AesopError, ValueError):
    """An argument that cannot be accepted; the message names what was found and what was expected."""


class ExactnessError(UsageError):
    """A number that is not exact (a float, NaN, an infinity) was given where exact rationals are required."""


class UnsoundStep(AesopError):
    """Code outside the kernel tried to make a claim that only the kernel may make."""
