"""Proofs of the table «Adding things» in CONTRIBUTING.md."""
