"""Power saving: cloud nodes are powered up for jobs, and down when idle."""

from __future__ import annotations

from ....plan.model.plan import Plan
from .conf import Value

__all__ = ["PROGRAM_DIRECTORY", "build_power_settings"]

# Directory of the boot bundle on the controllers.
PROGRAM_DIRECTORY = "/opt/supercloud/boot"


def build_power_settings(plan: Plan) -> dict[str, Value]:
    """Build keys of slurm.conf. Every release has them; ``scheduler.options`` can override them."""
    return {
        "ResumeProgram": f"{PROGRAM_DIRECTORY}/resume.sh",
        "SuspendProgram": f"{PROGRAM_DIRECTORY}/suspend.sh",
        "ResumeFailProgram": f"{PROGRAM_DIRECTORY}/resume-fail.sh",
        # long enough for the next job of a series, short compared to the minutes that a start takes
        "SuspendTime": 600,
        "SuspendTimeout": 120,
        # the cloud's limits apply, not a separate rate
        "ResumeRate": 0,
        "SuspendRate": 0,
        "DebugFlags": "Power",
    }
