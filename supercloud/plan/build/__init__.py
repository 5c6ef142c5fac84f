"""The decisions of the plan: one folder per subject."""
