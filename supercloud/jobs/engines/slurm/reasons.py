"""What Slurm's words mean, in sentences that say what to do where something can be done."""

from __future__ import annotations

__all__ = ["describe_refusal", "describe_state"]

# why a job waits
_WAITING_REASONS = {
    "AssocGrpGRES": "its tenant uses all the accelerators it may use at one time",
    "AssocGrpNodeLimit": "its tenant uses all the nodes it may use at one time",
    "AssocGrpJobsLimit": "its tenant runs as many jobs as it may run at one time",
    "AssocMaxJobsLimit": "its tenant runs as many jobs as it may run at one time",
    "BadConstraints": "no node can ever fulfil its constraints; cancel it and ask for something else",
    "BeginTime": "it is to begin later",
    "Cleaning": "its last attempt is being cleaned up",
    "Dependency": "it waits for other jobs",
    "JobArrayTaskLimit": "as many tasks of its array run as may",
    "JobHeldAdmin": "an administrator holds it",
    "JobHeldUser": "it is held; scontrol release lets it go",
    "Licenses": "it waits for licences that others hold",
    "NodeDown": "a node it needs is down",
    "Nodes required for job are DOWN": "nodes it needs are down, drained or reserved",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is inactive",
    "PartitionNodeLimit": "it asks for more nodes than its partition gives; cancel it and ask for fewer",
    "PartitionTimeLimit": "its time limit is beyond the partition's; cancel it and ask for less",
    "Priority": "jobs of a higher priority are before it",
    "QOSGrpGRES": "its priority class uses all the accelerators it may use at one time",
    "QOSMaxGRESPerUser": "its user has all the accelerators this priority class allows",
    "ReqNodeNotAvail": "nodes it needs are down, drained or reserved",
    "Reservation": "it waits for its reservation",
    "Resources": "it is next; the nodes it needs are in use",
    "launch_failed_requeued_held": "it could not be launched and is held; scontrol release lets it go",
}
# how a job ended, by its state
_END_REASONS = {
    "BOOT_FAIL": "its nodes did not boot",
    "CANCELLED": "cancelled",
    "CONFIGURING": "its nodes are being made ready",
    "DEADLINE": "its deadline has passed",
    "NODE_FAIL": "a node was lost under it",
    "OUT_OF_MEMORY": "it used more memory than it may; ask for more accelerators or nodes, or use less",
    "PREEMPTED": "work of a higher priority took its nodes, and it may not be put back; retries: 1 lets it",
    "REQUEUE_HOLD": "it was put back and is held; scontrol release lets it go",
    "SPECIAL_EXIT": "it asked to be put back and is held; scontrol release lets it go",
    "STOPPED": "it is stopped",
    "SUSPENDED": "it is suspended",
    "TIMEOUT": "it ran longer than its time limit",
}
# what sbatch says when it refuses -> what next
_REFUSAL_HINTS = {
    "Invalid account": "set tenant to one whose member you are (sacctmgr show assoc user=$USER)",
    "Invalid qos": "set priority to one your tenant may use",
    "Invalid license": "ask for licences that the cluster has (scontrol show licenses)",
    "invalid partition": "plan again: the cluster's partitions have changed",
    "Invalid partition": "plan again: the cluster's partitions have changed",
    "Requested node configuration is not available": "no nodes like this are up, or the cluster differs from its plan",
    "Node count specification invalid": "ask for fewer nodes",
    "Requested time limit is invalid": "set a shorter time_limit",
    "Unable to contact slurm controller": "try again when the controller answers",
    "Could not establish a configuration source": "run this where Slurm's commands are configured, or say how the "
    "cluster is reached: --via ssh:LOGIN_HOST or --via https://CONTROLLER:6820; --engine local simulates it here",
}


def describe_state(state: str, reason: str, exit_code: int | None = None, attempt: int = 1) -> str:
    """Why a job waits, or how it ended; empty where there is nothing to add to the state."""
    if state == "PENDING":
        word = reason.strip("()").split(",")[0].strip()
        again = "it was put back" if attempt > 1 else ""
        if again and word == "BeginTime":
            return "it was put back and may begin again in a moment"
        return again if word in ("None", "") else _WAITING_REASONS.get(word, f"Slurm says {word}")
    if state in ("FAILED", "LAUNCH_FAILED") and exit_code:
        return f"ended with exit code {exit_code}"
    return _END_REASONS.get(state, "")


def describe_refusal(text: str) -> str:
    """What sbatch said, with what next where it is known."""
    said = [line.strip() for line in text.splitlines() if line.strip()]
    last = said[-1].removeprefix("sbatch: ").removeprefix("error: ").removeprefix("fatal: ") if said else "no reason"
    last = last.removeprefix("Batch job submission failed: ")
    hint = next((hint for words, hint in _REFUSAL_HINTS.items() if words in text), "")
    return f"{last}; {hint}" if hint else last
