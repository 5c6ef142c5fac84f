"""Power saving: how nodes of a cloud are switched on for jobs, and off when nobody needs them."""

from __future__ import annotations

from ....plan.model.plan import Plan
from .conf import Value

__all__ = ["PROGRAM_DIRECTORY", "build_power_settings"]

# Where the boot bundle is on the controllers.
PROGRAM_DIRECTORY = "/opt/supercloud/boot"


def build_power_settings(plan: Plan) -> dict[str, Value]:
    """Keys of slurm.conf. Every release has them; ``scheduler.options`` replaces any of them."""
    return {
        "ResumeProgram": f"{PROGRAM_DIRECTORY}/resume.sh",
        "SuspendProgram": f"{PROGRAM_DIRECTORY}/suspend.sh",
        "ResumeFailProgram": f"{PROGRAM_DIRECTORY}/resume-fail.sh",
        # long enough for the next job of a series, short against the minutes that a start takes
        "SuspendTime": 600,
        "SuspendTimeout": 120,
        # the cloud's own limits hold, not a rate of ours
        "ResumeRate": 0,
        "SuspendRate": 0,
        "DebugFlags": "Power",
    }
