"""Steps of a pass that terminate instances of nodes that are powered down, and handle instances that ended."""

from __future__ import annotations

from .cloud import Cloud
from .commands import Journal
from .memory import Memory
from .nodes import reset_node
from .slurm import update_node
from .view import ClusterView

__all__ = ["end_instances", "is_leaving", "mark_failed", "mark_vanished"]

_MAX_REASON_LENGTH = 240
"""Characters of a reason in Slurm, so that its tables stay readable; the log has all of it."""


def mark_vanished(view: ClusterView, memory: Memory, journal: Journal) -> None:
    """Release the names of instances that ended without a request of Slurm: reclaimed, replaced, terminated by hand."""
    present = {item.id for group in view.instances.values() for item in group}
    for node, record in list(view.records.items()):
        if record.instance in present:
            continue
        del view.records[node]
        memory.forget_record(node)
        state = view.get_state(node)
        if "POWERING_UP" in state:
            # Slurm still waits for the node: this or a later pass assigns another instance
            journal.write(f"{node}: instance {record.instance} ended before it joined")
        elif "POWERED_DOWN" in state or "POWERING_DOWN" in state:
            reset_node(view, node, journal)
        elif state:
            _set_powered_down(view, node, record.instance, journal)


def _set_powered_down(view: ClusterView, node: str, instance: str, journal: Journal) -> None:
    """Set a node whose instance ended to DOWN, so that Slurm requeues its jobs and does not wait for it."""
    journal.write(f"{node}: instance {instance} ended; its jobs are requeued")
    if not update_node(node, "State=DOWN", f"Reason=instance {instance} ended"):
        return
    # Slurm does not power down nodes that are DOWN
    update_node(node, "State=POWER_DOWN_FORCE")
    view.set_slurm(node, "DOWN+POWERED_DOWN", view.slurm[node].topology)
    reset_node(view, node, journal)


def is_leaving(state: str) -> bool:
    """Whether the instance of a node in this state must end: Slurm powers the node down, or no longer has it.

    A node that is powered up again immediately has both states.
    """
    return not state or (("POWERED_DOWN" in state or "POWERING_DOWN" in state) and "POWERING_UP" not in state)


def end_instances(view: ClusterView, memory: Memory, cloud: Cloud, journal: Journal) -> None:
    """Terminate the instances of nodes that Slurm has powered down, or that did not join.

    The record of an instance that cannot be terminated is kept, so that the next pass tries again.
    """
    for node, record in list(view.records.items()):
        state = view.get_state(node)
        if not is_leaving(state):
            continue
        if state.startswith("DOWN") and not memory.has_failed(node):
            # Slurm sets a node that did not join to DOWN, then calls this program with "fail". If a pass comes first,
            # "fail" knows the instance only from this file.
            memory.write_failed(node, f"{record.instance} of {record.group}")
        if not cloud.terminate(record.group, record.instance):
            journal.write(
                f"{node}: instance {record.instance} of {record.group} cannot be terminated; retried in the next pass"
            )
            continue
        journal.write(f"{node}: instance {record.instance} of {record.group} terminated")
        del view.records[node]
        memory.forget_record(node)
        view.remove_instance(record.group, record.instance)
        reset_node(view, node, journal)


def mark_failed(node: str, failure: str | None, memory: Memory, journal: Journal) -> None:
    """Set the reason of a node that did not join in time: Slurm's own reason is only "ResumeTimeout reached".

    Args:
        node: Name of the node.
        failure: Why the cloud could not start instances of its pool, if it says so: an image that does not exist.
        memory: State of the scaler.
        journal: Its log.
    """
    instance = memory.describe_instance(node)
    reason = "the cloud gave no instance in time" + (f": {failure}" if failure else "")
    if instance:
        reason = f"instance {instance} did not join in time: see its boot.log"
    journal.write(f"{node}: {reason}")
    update_node(node, "State=DOWN", f"Reason={reason[:_MAX_REASON_LENGTH]}")
    memory.write_failed(node)
