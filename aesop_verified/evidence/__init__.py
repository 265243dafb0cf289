"""Proof obligations of a system, certificate files, evidence records, and their re-check."""
