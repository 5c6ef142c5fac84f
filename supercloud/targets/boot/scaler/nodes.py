"""Steps of a pass that keep Slurm's nodes as planned: names, topology, nodes that stay on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .commands import Journal, UnavailableError
from .memory import Memory
from .settings import Settings
from .slurm import (
    SlurmNode,
    expand_hosts,
    fold_hosts,
    list_nodes,
    read_always_on,
    run_scontrol,
    update_node,
)
from .view import ClusterView, NodeLine, PlannedNode, parse_node_lines

__all__ = [
    "keep_nodes_on",
    "observe_nodes",
    "reset_node",
    "restore_topologies",
    "retry_failed_nodes",
    "select_always_on",
]

_NEW_STATE = "IDLE+CLOUD+POWERED_DOWN"
"""State of a node that was just added to Slurm."""


def observe_nodes(settings: Settings, path: Path, journal: Journal) -> ClusterView:
    """Read Slurm's nodes, create those of the plan that are missing, and delete those that are not in the plan.

    Nodes are missing after a loss of Slurm's state, or if a pool has grown. Nodes that are no longer in the plan are
    deleted when they are powered down.

    Args:
        settings: Values of this cluster.
        path: ``cloud-nodes.conf``.
        journal: The log.

    Raises:
        UnavailableError: slurmctld does not respond, or the file cannot be read: all nodes would be deleted.
    """
    view = ClusterView(settings, {}, list_nodes())
    try:
        lines = parse_node_lines(path.read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError as error:
        raise UnavailableError(f"{path} cannot be read: {error}") from error
    for line in lines:
        names = expand_hosts(line.hosts)
        for name in names:
            view.planned[name] = PlannedNode(name, line.get_value("Features"), line.get_value("Topology"))
        missing = [name for name in names if not view.get_state(name)]
        if missing:
            _create_nodes(view, line, missing, journal)
    for name in [name for name in view.slurm if name not in view.planned and view.is_powered_down(name)]:
        if run_scontrol("delete", f"NodeName={name}").code == 0:
            journal.write(f"{name}: not in the spec any more, deleted from Slurm")
    return view


def _create_nodes(view: ClusterView, line: NodeLine, names: Sequence[str], journal: Journal) -> None:
    """Create nodes in Slurm; those that it refuses are logged, and the pass continues."""
    journal.write(f"creating {len(names)} nodes in Slurm, from {names[0]} on")
    for hosts in fold_hosts(names):
        done = run_scontrol("create", f"NodeName={hosts}", *line.values, with_errors=True)
        journal.append(done.text)
        if done.code != 0:
            journal.write(f"Slurm refuses nodes {hosts}")
    for name in names:
        view.set_slurm(name, _NEW_STATE, line.get_value("Topology"))


def reset_node(view: ClusterView, node: str, journal: Journal) -> None:
    """Reset the address and the topology of a node that is powered down.

    Its last address may be assigned to another instance, to which its jobs would be sent.
    """
    values = [f"NodeAddr={node}"]
    planned = view.planned.get(node)
    if planned and planned.topology:
        values.append(f"Topology={planned.topology}")
        view.set_slurm(node, view.get_state(node), planned.topology)
    elif planned and planned.features:
        # in older releases the topology is among the features
        values += [f"AvailableFeatures={planned.features}", f"ActiveFeatures={planned.features}"]
    if not update_node(node, *values):
        journal.write(f"{node}: Slurm refuses to reset its address and topology")


def restore_topologies(view: ClusterView, journal: Journal) -> None:
    """Restore the topology of nodes that are powered down and have lost it.

    Slurm before 26.11 removes the topology of a node whose features were changed by hand when it powers the node down;
    if too few nodes of a pool have one, it refuses jobs of several nodes. Running nodes report their topology.
    """
    lost: dict[str, list[str]] = {}
    for node in view.planned.values():
        found = view.slurm.get(node.name, SlurmNode("", ""))
        if node.topology and found.topology != node.topology and view.is_powered_down(node.name):
            lost.setdefault(node.topology, []).append(node.name)
    for topology, names in lost.items():
        for hosts in fold_hosts(names):
            done = update_node(hosts, f"Topology={topology}")
            journal.write(
                f"{hosts}: restored to {topology}" if done else f"{hosts}: Slurm refuses the topology {topology}"
            )


def select_always_on(view: ClusterView) -> list[str]:
    """The nodes that always run: the first of each pool, as many as its groups have instances at least."""
    found: list[str] = []
    for pool in view.settings.list_pools():
        least = sum(group.min_instances for group in view.settings.list_groups(pool))
        found += [node.name for node in view.planned.values() if node.pool == pool][:least]
    return found


def keep_nodes_on(view: ClusterView, memory: Memory, journal: Journal) -> None:
    """Set the nodes that Slurm must not power down.

    In every pass, because slurmctld loses the setting at a restart. If a release does not support it, this is logged
    once for the same nodes.
    """
    names = select_always_on(view)
    wanted = ",".join(fold_hosts(names)) if names else ""
    known = read_always_on()
    if known is None or known == wanted:
        return
    if run_scontrol("update", f"SuspendExcNodes={wanted}", with_errors=True).code == 0:
        journal.write(f"never powered down: {wanted or 'none'}")
    elif memory.read_kept() != wanted:
        journal.write(f"this release of Slurm powers down {wanted} too: it cannot set SuspendExcNodes at run time")
        memory.write_kept(wanted)


def retry_failed_nodes(view: ClusterView, memory: Memory, journal: Journal) -> None:
    """Resume nodes that did not join and have been DOWN for ``node_retry`` seconds."""
    for node in memory.list_failed(view.settings.node_retry):
        memory.forget_failed(node)
        # an administrator may have resumed it, or it may still have its instance
        has_failed = "DOWN+" in view.get_state(node).partition("POWERED_DOWN")[0] and view.is_powered_down(node)
        if has_failed and update_node(node, "State=RESUME"):
            journal.write(f"{node}: resumed")
