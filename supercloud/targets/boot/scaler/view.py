"""The state that a pass observes: nodes of the plan and of Slurm, instances, and the instance of each node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .cloud import Cloud, Instance
from .memory import Memory, Record
from .settings import Group, Settings
from .slurm import SlurmNode

__all__ = ["ClusterView", "NodeLine", "PlannedNode", "observe_groups", "parse_node_lines"]


@dataclass(frozen=True)
class NodeLine:
    """A line of ``cloud-nodes.conf``: equal nodes, as arguments of ``scontrol create``."""

    hosts: str
    values: tuple[str, ...]
    """``Key=value`` of everything but the name."""

    def get_value(self, key: str) -> str:
        """The value of a key; empty if the line does not have it."""
        start = f"{key}="
        return next((value[len(start) :] for value in self.values if value.startswith(start)), "")


@dataclass(frozen=True)
class PlannedNode:
    """A node of the plan."""

    name: str
    features: str
    topology: str
    """Its topology while it is powered down; empty in releases that cannot change it at run time."""

    @property
    def pool(self) -> str:
        """The pool, which is the first feature."""
        return self.features.split(",", 1)[0]

    @property
    def block(self) -> str:
        """The block of names for one scale-up domain; empty without domains."""
        return self.topology.rsplit(":", 1)[-1] if "," in self.topology else ""


def parse_node_lines(text: str) -> list[NodeLine]:
    """Lines of ``cloud-nodes.conf``."""
    rows = [line.split() for line in text.split("\n") if line.startswith("NodeName=")]
    return [NodeLine(row[0].partition("=")[2], tuple(row[1:])) for row in rows]


@dataclass
class ClusterView:
    """The observed state; steps of the pass update it with their changes."""

    settings: Settings
    planned: dict[str, PlannedNode]
    """Nodes of the plan by name, in their order."""
    slurm: dict[str, SlurmNode]
    records: dict[str, Record] = field(default_factory=dict)
    instances: dict[str, list[Instance]] = field(default_factory=dict)
    """Of each group."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Of each group: the requested number of instances."""

    def get_state(self, node: str) -> str:
        """The state of a node; empty if Slurm does not have it."""
        return self.slurm[node].state if node in self.slurm else ""

    def is_powered_down(self, node: str) -> bool:
        """Whether Slurm has the node, and it is powered down."""
        return "POWERED_DOWN" in self.get_state(node)

    def set_slurm(self, node: str, state: str, topology: str) -> None:
        """Update the state of a node after a change in Slurm."""
        self.slurm[node] = SlurmNode(state, topology)

    def list_waiting(self, pool: str) -> list[PlannedNode]:
        """Nodes that Slurm powers up and that have no instance."""
        return [node for node in self._list_free(pool) if "POWERING_UP" in self.get_state(node.name)]

    def list_off(self, pool: str) -> list[PlannedNode]:
        """Idle nodes that are powered down and have no instance."""
        states = ((node, self.get_state(node.name)) for node in self._list_free(pool))
        return [node for node, state in states if state.startswith("IDLE") and "POWERED_DOWN" in state]

    def count_pending(self, group: Group) -> int:
        """Pending instances: requested ones that do not exist yet, and those without an address."""
        present = self.instances[group.key]
        return self.sizes[group.key] - len(present) + sum(not item.address for item in present)

    def remove_instance(self, group: str, instance: str) -> None:
        """Remove a terminated instance, by which the group is smaller."""
        self.instances[group] = [item for item in self.instances.get(group, []) if item.id != instance]
        self.sizes[group] = self.sizes.get(group, 0) - 1

    def _list_free(self, pool: str) -> Iterator[PlannedNode]:
        return (node for node in self.planned.values() if node.pool == pool and node.name not in self.records)


def observe_groups(view: ClusterView, memory: Memory, cloud: Cloud) -> None:
    """Add the instances, the sizes of the groups, and the instance of each node to a view.

    Raises:
        UnavailableError: The cloud does not respond for one of the groups: instances of the others would appear to
            have ended.
    """
    view.records = memory.read_records()
    for group in view.settings.groups:
        view.instances[group.key] = cloud.list_instances(group.key)
        view.sizes[group.key] = cloud.get_size(group.key)
