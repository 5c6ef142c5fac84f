"""Exit codes that are retried."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...spec import JobSpec

__all__ = ["list_retried_exit_codes"]


def list_retried_exit_codes(job: JobSpec) -> tuple[int, ...]:
    """Exit codes after which a job is restarted if it has retries left; of several rules the first counts.

    0 is not a failure, and exit codes without a rule end the job.
    """
    decided: dict[int, str] = {}
    for rule in job.retry_rules:
        for code in rule.exit_codes:
            decided.setdefault(code, rule.action)
    return tuple(sorted(code for code, action in decided.items() if action == "retry" and code))
