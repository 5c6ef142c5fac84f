"""Rules for job specs: an invalid job is rejected with all findings at once; no field is silently ignored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from ..errors import Finding, SpecError
from ..spec import JobSpec
from .engines.secrets import NAME_PATTERN
from .engines.shebang import parse_shebang
from .runtime.remote_call import CALL_VARIABLE

__all__ = ["require_valid_job"]

_SHELLS = ("sh", "bash", "dash", "ksh", "zsh")


def require_valid_job(job: JobSpec) -> None:
    """Raise :class:`SpecError` with all fields of the job that are invalid; log what may be wrong as warnings."""
    findings = [finding for rule in _RULES for finding in rule(job)]
    if errors := [finding for finding in findings if finding.level == "error"]:
        raise SpecError(f"job {job.name!r} is not valid", errors)
    for finding in findings:
        logging.getLogger("supercloud").warning("%s: %s", finding.level, finding)


def _check_preemption(job: JobSpec) -> Iterator[Finding]:
    if not job.preemptible and job.priority != "high":
        yield Finding(
            "job-support",
            "error",
            "preemptible",
            "preemptible: false requires priority: high",
            "set priority to high",
        )


def _check_secrets(job: JobSpec) -> Iterator[Finding]:
    for index, secret in enumerate(job.secrets):
        if not NAME_PATTERN.fullmatch(secret.name):
            yield Finding(
                "job-secret",
                "error",
                f"secrets[{index}].name",
                f"{secret.name!r} is not a valid name",
                "use a file name: letters, digits, dots and dashes",
            )


def _check_retries(job: JobSpec) -> Iterator[Finding]:
    if job.retry_rules and not job.retries:
        yield Finding(
            "job-retries",
            "error",
            "retry_rules",
            "has no effect: retries is 0",
            "set retries to the number of restarts allowed",
        )


def _check_array(job: JobSpec) -> Iterator[Finding]:
    if job.array == 0:
        yield Finding("job-array", "error", "array", "an array must have at least 1 task", "set it to at least 1")


def _check_image(job: JobSpec) -> Iterator[Finding]:
    if job.image and any(sign in job.image for sign in ", \t\n"):
        yield Finding(
            "job-image",
            "error",
            "image",
            f"{job.image!r} is not a valid image",
            "use registry/name:tag, or the path of a file",
        )


def _check_environment(job: JobSpec) -> Iterator[Finding]:
    for name in job.env:
        if name.startswith(("SUPERCLOUD_", "SLURM_")) and name != CALL_VARIABLE:
            yield Finding("job-env", "error", f"env.{name}", "is set by the engine", "use another name")


def _check_command(job: JobSpec) -> Iterator[Finding]:
    if job.command and (job.command[0].startswith("-") or not job.command[0]):
        yield Finding(
            "job-command",
            "error",
            "command[0]",
            f"{job.command[0]!r} is not an executable",
            "set the first item to the program, followed by its options",
        )


def _check_script(job: JobSpec) -> Iterator[Finding]:
    script = job.script or ""
    if script.startswith("#!"):
        program = "".join(parse_shebang(script)[:1]).rpartition("/")[2]
        if program not in _SHELLS:
            yield Finding(
                "job-script",
                "error",
                "script",
                f"{program!r} is not a shell",
                f"write the text to a file and set command: [{program}, FILE]",
            )
    if "\x00" in script:
        yield Finding("job-script", "error", "script", "contains a NUL character", "remove it")


def _check_stages(job: JobSpec) -> Iterator[Finding]:
    """Warn of stages with different numbers of layers, which frameworks support in some ways only: Megatron-LM requires
    that the stages (times the virtual ones) divide the layers, unless those of the first and last stage are set, as
    for the 126 layers on 16 stages of Llama 3 (arXiv 2407.21783, section 3.3.2).
    """
    layers, stages = job.model.layers if job.model else None, job.parallelism.pipeline if job.parallelism else 1
    if not layers or not layers % stages:
        return
    even = [ways for ways in range(1, layers + 1) if not layers % ways]
    near = [max(ways for ways in even if ways < stages), min(ways for ways in even if ways > stages)]
    yield Finding(
        "job-stages",
        "warning",
        "parallelism.pipeline",
        f"{stages} stages do not divide the {layers} layers of the model",
        f"use {near[0]} or {near[1]}, or set the layers of the first and the last stage in the training program "
        "(Megatron-LM: --decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers)",
    )


_RULES: tuple[Callable[[JobSpec], Iterator[Finding]], ...] = (
    _check_preemption,
    _check_secrets,
    _check_retries,
    _check_array,
    _check_image,
    _check_environment,
    _check_command,
    _check_script,
    _check_stages,
)
