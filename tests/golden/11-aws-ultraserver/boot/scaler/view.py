"""What a pass knows: nodes of the plan, nodes of Slurm, instances of the cloud, and which instance is which node."""

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
    """A line of ``cloud-nodes.conf``: equal nodes, as ``scontrol create`` takes them."""

    hosts: str
    values: tuple[str, ...]
    """``Key=value`` of all but the name."""

    def get_value(self, key: str) -> str:
        """The value of a key; empty where the line does not have it."""
        start = f"{key}="
        return next((value[len(start) :] for value in self.values if value.startswith(start)), "")


@dataclass(frozen=True)
class PlannedNode:
    """A node that the plan has."""

    name: str
    features: str
    topology: str
    """Its place while it is off; empty in releases that cannot change locations at run time."""

    @property
    def pool(self) -> str:
        """Its first feature is its pool."""
        return self.features.split(",", 1)[0]

    @property
    def block(self) -> str:
        """The block of names that one scale-up domain gets; empty where domains do not matter."""
        return self.topology.rsplit(":", 1)[-1] if "," in self.topology else ""


def parse_node_lines(text: str) -> list[NodeLine]:
    """Lines of ``cloud-nodes.conf``."""
    rows = [line.split() for line in text.splitlines() if line.startswith("NodeName=")]
    return [NodeLine(row[0].partition("=")[2], tuple(row[1:])) for row in rows]


@dataclass
class ClusterView:
    """What is known in a pass; steps of the pass keep it up to date with what they change."""

    settings: Settings
    planned: dict[str, PlannedNode]
    """Nodes of the plan by name, in their order."""
    slurm: dict[str, SlurmNode]
    records: dict[str, Record] = field(default_factory=dict)
    instances: dict[str, list[Instance]] = field(default_factory=dict)
    """Of each group."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Of each group: how many instances it is to have."""

    def get_state(self, node: str) -> str:
        """The state of a node; empty where Slurm does not have it."""
        return self.slurm[node].state if node in self.slurm else ""

    def is_powered_down(self, node: str) -> bool:
        """Whether Slurm has the node, and it is off."""
        return "POWERED_DOWN" in self.get_state(node)

    def set_slurm(self, node: str, state: str, topology: str) -> None:
        """Slurm was told so."""
        self.slurm[node] = SlurmNode(state, topology)

    def list_waiting(self, pool: str) -> list[PlannedNode]:
        """Nodes that Slurm wants and that have no instance."""
        return [node for node in self._list_free(pool) if "POWERING_UP" in self.get_state(node.name)]

    def list_off(self, pool: str) -> list[PlannedNode]:
        """Nodes that nobody wants and that can be powered up."""
        states = ((node, self.get_state(node.name)) for node in self._list_free(pool))
        return [node for node, state in states if state.startswith("IDLE") and "POWERED_DOWN" in state]

    def count_pending(self, group: Group) -> int:
        """Instances on their way: those that the group is to have more, and those that have no address yet."""
        present = self.instances[group.key]
        return self.sizes[group.key] - len(present) + sum(not item.address for item in present)

    def remove_instance(self, group: str, instance: str) -> None:
        """An instance was ended, and the group is smaller by it."""
        self.instances[group] = [item for item in self.instances.get(group, []) if item.id != instance]
        self.sizes[group] = self.sizes.get(group, 0) - 1

    def _list_free(self, pool: str) -> Iterator[PlannedNode]:
        return (node for node in self.planned.values() if node.pool == pool and node.name not in self.records)


def observe_groups(view: ClusterView, memory: Memory, cloud: Cloud) -> None:
    """Add to a view which instances there are, and which of them is which node.

    Raises:
        UnavailableError: The cloud does not answer for one of the groups: a pass that knows only a part of the
            instances would take the others for gone.
    """
    view.records = memory.read_records()
    for group in view.settings.groups:
        view.instances[group.key] = cloud.list_instances(group.key)
        view.sizes[group.key] = cloud.get_size(group.key)
