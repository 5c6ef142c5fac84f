"""Where a job runs: the decision, the steps that can refuse a pool, and the suggestions after a refusal."""
