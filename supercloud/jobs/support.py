"""What a job may say that no engine carries out yet. It is refused, never silently left out.

A row goes when the ability comes.
"""

from __future__ import annotations

from ..errors import Finding, SpecError
from ..spec import JobSpec

__all__ = ["check"]

# place of the field -> what to do instead
_NOT_YET = {
    "accelerators.fraction": "ask for whole accelerators",
    "accelerators.profile": "ask for whole accelerators",
    "after": "submit it when the others have completed: supercloud wait",
    "array": "submit the job once per index, with the index in env",
    "deadline": "set time_limit",
    "image": "start the container in command, or leave out image",
    "place.max_price": "name the pools in place.pools",
    "retry_rules": "use retries, which starts work again that its machine lost",
    "secrets": "let the program read them from a file only its user can read",
}
_SHELLS = ("sh", "bash", "dash", "ksh", "zsh")


def check(job: JobSpec) -> None:
    """Raise :class:`SpecError` with everything in the job that cannot be carried out."""
    said = [path for path in _NOT_YET if _is_set(job, path)]
    findings = [
        Finding("job-support", "error", path, "is not carried out by this version", _NOT_YET[path]) for path in said
    ]
    if not job.preemptible:
        findings.append(Finding("job-support", "error", "preemptible",
                                "work that may not be interrupted is a matter of its priority",
                                "set priority to high and leave out preemptible"))  # fmt: skip
    for name in job.env:
        if name.startswith(("SUPERCLOUD_", "SLURM_")):
            findings.append(Finding("job-env", "error", f"env.{name}", "is set by the engine", "take another name"))
    if job.command and (job.command[0].startswith("-") or not job.command[0]):
        findings.append(Finding("job-command", "error", "command[0]", f"{job.command[0]!r} is no program",
                                "the first item is the program, options follow"))  # fmt: skip
    if job.script and job.script.startswith("#!") and (program := _interpreter(job.script)) not in _SHELLS:
        findings.append(Finding("job-script", "error", "script", f"{program!r} is no shell",
                                f"put the text in a file and write command: [{program}, FILE]"))  # fmt: skip
    if job.script and "\x00" in job.script:
        findings.append(Finding("job-script", "error", "script", "holds a NUL character", "remove it"))
    if findings:
        raise SpecError(f"job {job.name!r} cannot be submitted as it stands", findings)


def _is_set(job: JobSpec, path: str) -> bool:
    value: object = job
    for part in path.split("."):
        value = getattr(value, part)
    return value not in (None, ())


def _interpreter(script: str) -> str:
    words = script.split("\n", 1)[0][2:].split()
    program = words[1] if len(words) > 1 and words[0].endswith("/env") else words[0] if words else ""
    return program.rsplit("/", 1)[-1]
