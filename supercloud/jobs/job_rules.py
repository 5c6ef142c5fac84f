"""Rules for job specs: an invalid job is rejected with all findings at once; no field is silently ignored."""

from __future__ import annotations

from ..errors import Finding, SpecError
from ..spec import JobSpec
from .engines.secrets import NAME_PATTERN
from .engines.shebang import parse_shebang
from .runtime.remote_call import CALL_VARIABLE

__all__ = ["require_valid_job"]

_SHELLS = ("sh", "bash", "dash", "ksh", "zsh")


def require_valid_job(job: JobSpec) -> None:
    """Raise :class:`SpecError` with all fields of the job that are invalid."""
    findings: list[Finding] = []
    if not job.preemptible and job.priority != "high":
        findings.append(
            Finding(
                "job-support",
                "error",
                "preemptible",
                "preemptible: false requires priority: high",
                "set priority to high",
            )
        )
    for index, secret in enumerate(job.secrets):
        if not NAME_PATTERN.fullmatch(secret.name):
            findings.append(
                Finding(
                    "job-secret",
                    "error",
                    f"secrets[{index}].name",
                    f"{secret.name!r} is not a valid name",
                    "use a file name: letters, digits, dots and dashes",
                )
            )
    if job.retry_rules and not job.retries:
        findings.append(
            Finding(
                "job-retries",
                "error",
                "retry_rules",
                "has no effect: retries is 0",
                "set retries to the number of restarts allowed",
            )
        )
    if job.array == 0:
        findings.append(
            Finding("job-array", "error", "array", "an array must have at least 1 task", "set it to at least 1")
        )
    if job.image and any(sign in job.image for sign in ", \t\n"):
        findings.append(
            Finding(
                "job-image",
                "error",
                "image",
                f"{job.image!r} is not a valid image",
                "use registry/name:tag, or the path of a file",
            )
        )
    for name in job.env:
        if name.startswith(("SUPERCLOUD_", "SLURM_")) and name != CALL_VARIABLE:
            findings.append(Finding("job-env", "error", f"env.{name}", "is set by the engine", "use another name"))
    if job.command and (job.command[0].startswith("-") or not job.command[0]):
        findings.append(
            Finding(
                "job-command",
                "error",
                "command[0]",
                f"{job.command[0]!r} is not an executable",
                "set the first item to the program, followed by its options",
            )
        )
    if (
        job.script
        and job.script.startswith("#!")
        and (program := "".join(parse_shebang(job.script)[:1]).rpartition("/")[2]) not in _SHELLS
    ):
        findings.append(
            Finding(
                "job-script",
                "error",
                "script",
                f"{program!r} is not a shell",
                f"write the text to a file and set command: [{program}, FILE]",
            )
        )
    if job.script and "\x00" in job.script:
        findings.append(Finding("job-script", "error", "script", "contains a NUL character", "remove it"))
    if findings:
        raise SpecError(f"job {job.name!r} is not valid", findings)
