"""Checks of what a Slurm release can do."""

CHECKS = ()
