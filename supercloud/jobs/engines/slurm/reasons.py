"""Slurm's reasons and states as sentences, with a fix if there is one."""

from __future__ import annotations

from ....primitives.foreign_text import split_lines

__all__ = ["describe_refusal", "describe_state", "is_unconfigured"]

# why a job waits
_WAITING_REASONS = {
    "AssocGrpGRES": "its tenant has reached its limit of accelerators",
    "AssocGrpNodeLimit": "its tenant has reached its limit of nodes",
    "AssocGrpJobsLimit": "its tenant has reached its limit of running jobs",
    "AssocMaxJobsLimit": "its tenant has reached its limit of running jobs",
    "BadConstraints": "no node can ever meet its constraints; cancel it and change its request",
    "BeginTime": "its start time has not come",
    "Cleaning": "its last attempt is being cleaned up",
    "Dependency": "it waits for other jobs",
    "JobArrayTaskLimit": "its array has reached its limit of running tasks",
    "JobHeldAdmin": "held by an administrator",
    "JobHeldUser": "it is held; release it with scontrol release",
    "Licenses": "it waits for licenses in use by other jobs",
    "NodeDown": "a node it needs is down",
    "Nodes required for job are DOWN": "nodes it needs are down, drained or reserved",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is inactive",
    "PartitionNodeLimit": "it requests more nodes than its partition allows; cancel it and request fewer",
    "PartitionTimeLimit": "its time limit exceeds that of its partition; cancel it and request less",
    "Priority": "jobs of a higher priority are ahead of it",
    "QOSGrpGRES": "its priority class has reached its limit of accelerators",
    "QOSMaxGRESPerUser": "its user has reached the limit of accelerators of this priority class",
    "ReqNodeNotAvail": "nodes it needs are down, drained or reserved",
    "Reservation": "it waits for its reservation",
    "Resources": "it is next; the nodes it needs are in use",
    "launch_failed_requeued_held": "it could not be launched and is held; release it with scontrol release",
}
# how a job ended, by its state
_END_REASONS = {
    "BOOT_FAIL": "its nodes did not boot",
    "CANCELLED": "cancelled",
    "CONFIGURING": "its nodes are being prepared",
    "DEADLINE": "its deadline has passed",
    "NODE_FAIL": "a node of the job was lost",
    "OUT_OF_MEMORY": "it exceeded its memory limit; request more accelerators or nodes, or use less memory",
    "PREEMPTED": "preempted by a job of higher priority and not requeued; set retries: 1 to allow a requeue",
    "REQUEUE_HOLD": "it was requeued and is held; release it with scontrol release",
    "SPECIAL_EXIT": "it requested a requeue and is held; release it with scontrol release",
    "STOPPED": "it is stopped",
    "SUSPENDED": "it is suspended",
    "TIMEOUT": "it exceeded its time limit",
}
# error text of sbatch -> fix
_REFUSAL_HINTS = {
    "Invalid account": "set tenant to one that you are a member of (sacctmgr show assoc user=$USER)",
    "Invalid qos": "set priority to one that your tenant may use",
    "Invalid license": "request licenses that the cluster has (scontrol show licenses)",
    "invalid partition": "run plan again: the cluster's partitions have changed",
    "Invalid partition": "run plan again: the cluster's partitions have changed",
    "Requested node configuration is not available": "no such nodes are up, or the cluster differs from its plan",
    "Node count specification invalid": "request fewer nodes",
    "Requested time limit is invalid": "set a shorter time_limit",
    "Unable to contact slurm controller": "try again when the controller responds",
}
# Errors of commands that have no valid slurm.conf: nothing was sent to a controller. src/common/read_config.c and
# src/common/parse_config.c of https://github.com/SchedMD/slurm; tested with 22.05.
_CONFIGURATION_ERRORS = (
    "Could not establish a configuration source",
    "Unable to process configuration file",
    "s_p_parse_file: cannot stat file",
)
_CONFIGURATION_HINT = (
    "run this where Slurm's commands are configured, or specify the connection: --via ssh:LOGIN_HOST or "
    "--via https://CONTROLLER:6820; --engine local simulates the cluster here"
)


def describe_state(state: str, reason: str, exit_code: int | None = None, attempt: int = 1) -> str:
    """Why a job waits, or how it ended; empty if there is nothing to add to the state."""
    if state == "PENDING":
        word = reason.strip("()").split(",")[0].strip()
        again = "it was requeued" if attempt > 1 else ""
        if again and word == "BeginTime":
            return "it was requeued and may start again soon"
        return again if word in ("None", "") else _WAITING_REASONS.get(word, f"Slurm's reason: {word}")
    if state in ("FAILED", "LAUNCH_FAILED") and exit_code:
        return f"ended with exit code {exit_code}"
    return _END_REASONS.get(state, "")


def describe_refusal(text: str) -> str:
    """The error of sbatch, with the fix if known."""
    lines = [line.strip() for line in split_lines(text) if line.strip()]
    last = lines[-1].removeprefix("sbatch: ").removeprefix("error: ").removeprefix("fatal: ") if lines else "no reason"
    last = last.removeprefix("Batch job submission failed: ")
    hint = next((hint for words, hint in _REFUSAL_HINTS.items() if words in text), "")
    hint = _CONFIGURATION_HINT if is_unconfigured(text) else hint
    return f"{last}; {hint}" if hint else last


def is_unconfigured(text: str) -> bool:
    """Whether a command of Slurm failed because it has no valid configuration, so that no controller has seen it."""
    return any(error in text for error in _CONFIGURATION_ERRORS)
