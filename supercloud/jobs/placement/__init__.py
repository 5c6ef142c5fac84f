"""Placement: the decision where a job runs, the steps that can refuse a pool, and the suggestions after a refusal."""
