"""Chains of integrators under a zero-order hold: exact, because the hold of an integrator chain is rational."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial

from flint import fmpq, fmpq_mat

from aesop_verified.kernel.errors import UsageError


def integrator_chains(dt: fmpq, n: int, m: int, chains: Sequence[tuple[Sequence[int], int]]) -> tuple[fmpq_mat, fmpq_mat]:
    """A and B of independent chains s_1' = s_2, ..., s_q' = u, sampled every dt with u held.

    A[s_i, s_j] = dt^(j-i) / (j-i)! for j >= i and B[s_i, u] = dt^(q-i+1) / (q-i+1)! (the exponential of a
    nilpotent matrix is a finite sum).

    Args:
        dt: the time step.
        n, m: numbers of states and inputs.
        chains: for each chain the indices of its states, lowest derivative first, and of its input. Every
            state and every input is in exactly one chain.

    Returns:
        A of shape (n, n) and B of shape (n, m).

    Raises:
        UsageError: when a state or an input is in no chain or in two.
    """
    used_states = sorted(i for states, _ in chains for i in states)
    used_inputs = sorted(i for _, i in chains)
    if used_states != list(range(n)) or used_inputs != list(range(m)):
        raise UsageError(f"the chains use the states {used_states} and the inputs {used_inputs}, expected each of {n} states and {m} inputs once")
    A, B = fmpq_mat(n, n), fmpq_mat(n, m)
    for states, u in chains:
        q = len(states)
        for i, row in enumerate(states):
            for j in range(i, q):
                A[row, states[j]] = dt ** (j - i) / fmpq(factorial(j - i))
            B[row, u] = dt ** (q - i) / fmpq(factorial(q - i))
    return A, B
