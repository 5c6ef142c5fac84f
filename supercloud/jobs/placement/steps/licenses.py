"""The licenses that a job holds."""

from __future__ import annotations

import re

from ....errors import suggest_nearest
from ....spec import JobSpec
from ....spec.scheduler import SlurmScheduler
from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["check_licenses", "format_licenses"]

_LICENSE_PATTERN = re.compile(r"([^,;:=\s]+)(?:[:=](\d+))?")


def check_licenses(context: PlacementContext) -> StepRefusal | None:
    """Check that the cluster has the licenses: those in ``Licenses`` of its slurm.conf.

    Those of a license server (``solver@server``) are in Slurm's database, which is not part of the plan: they are
    requested unchecked.
    """
    wanted, scheduler = context.job.licenses, context.plan.spec.scheduler
    if not wanted:
        return None
    if not isinstance(scheduler, SlurmScheduler):
        return StepRefusal(
            f"its scheduler, {scheduler.kind}, does not support licenses",
            "omit licenses, or use a Slurm cluster",
            {"licenses": None},
        )
    known = dict(_LICENSE_PATTERN.findall(scheduler.options.get("Licenses", "")))
    for name, count in wanted.items():
        if "@" in name:
            continue
        if name not in known:
            declare = f"declare it with scheduler.options: {{Licenses: {name}:{count}}}"
            return StepRefusal(
                f"unknown license {name!r}", "; ".join(filter(None, (suggest_nearest(name, known), declare)))
            )
        if count > (most := int(known[name] or 1)):
            return StepRefusal(
                f"the job needs {count} of license {name}, the cluster has {most}",
                f"request at most {most}",
                {"licenses": {**wanted, name: most}},
            )
    return None


def format_licenses(job: JobSpec) -> str:
    """The licenses of a job in Slurm's notation; empty if it has none."""
    return ",".join(f"{name}:{count}" for name, count in sorted(job.licenses.items()))
