"""The step of a pass that assigns a node name to each running instance."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .cloud import Cloud, Instance
from .commands import Journal
from .memory import Memory, Record
from .settings import Group
from .slurm import update_node
from .view import ClusterView, PlannedNode

__all__ = ["NameGiver"]

_Slot = tuple[str, str]
"""A pool and a block of its names; the block is empty without scale-up domains."""


class NameGiver:
    """Assigns instances to nodes that Slurm waits for; if there are none, powers up a node that is powered down.

    An instance finds its name by its address: it queries slurmctld for the node with this address.
    """

    def __init__(self, view: ClusterView, memory: Memory, cloud: Cloud, journal: Journal) -> None:
        self._view, self._memory, self._cloud, self._journal = view, memory, cloud, journal
        self._named = {record.instance for record in view.records.values()}
        self._domains: dict[str, str] = {}
        self._blocks: dict[str, str] = {}
        # free names of each pool and block, listed once: a pool may have thousands
        self._waiting: dict[_Slot, deque[str]] = {}
        self._off: dict[_Slot, deque[str]] = {}

    def run(self) -> None:
        """Name the instances of all groups; those without an address are named in a later pass."""
        for group in self._view.settings.groups:
            if self._read_domains(group):
                for instance in self._view.instances[group.key]:
                    if instance.address and instance.id not in self._named:
                        self._name(group, instance)

    def _name(self, group: Group, instance: Instance) -> None:
        block = self._select_block(group, instance.id)
        if block is None:
            return
        slot = (group.pool, block)
        node = _take(self._waiting, slot, self._view.list_waiting)
        if node:
            self._assign(node, group, instance)
            return
        node = _take(self._off, slot, self._view.list_off)
        if not node:
            self._journal.write(f"{group.key}: no free node name for instance {instance.id}, which is terminated")
            self._cloud.terminate(group.key, instance.id)
            return
        # Slurm calls this program for the node, and that pass assigns the name
        self._journal.write(f"{node}: powered up for instance {instance.id} of {group.key}, for which no node waits")
        update_node(node, "State=POWER_UP")

    def _assign(self, node: str, group: Group, instance: Instance) -> None:
        """Assign a node to an instance.

        The record is written first: if the pass is interrupted, the next one finds an instance that never joins, and
        not two instances with one name.
        """
        record = Record(group.key, instance.id)
        self._memory.write_record(node, record)
        self._memory.forget_failed(node)
        if update_node(node, f"NodeAddr={instance.address}"):
            self._view.records[node] = record
            self._named.add(instance.id)
            self._journal.write(f"{node}: is instance {instance.id} of {group.key} at {instance.address}")
        else:
            self._memory.forget_record(node)
            self._journal.write(f"{node}: Slurm refuses the address {instance.address}")

    def _read_domains(self, group: Group) -> bool:
        """Read the domains of the instances of a group; false if the cloud does not report them: none is named then."""
        if group.domain_instances <= 1:
            return True
        found = self._cloud.get_domains(group.key)
        if found is None:
            self._journal.write(f"{group.key}: the cloud does not report the domains of instances")
            return False
        self._domains.update(found)
        for node, record in self._view.records.items():
            domain, planned = self._domains.get(record.instance, ""), self._view.planned.get(node)
            if domain and planned:
                self._blocks[domain] = planned.block
        return True

    def _select_block(self, group: Group, instance: str) -> str | None:
        """The block of names for an instance: a block is for the instances of one domain.

        Returns:
            An empty string without scale-up domains, None if no name can be assigned now.
        """
        if group.domain_instances <= 1:
            return ""
        domain = self._domains.get(instance)
        if domain is None:
            self._journal.write(f"{group.key}: the domain of instance {instance} is still unknown")
            return None
        if not self._blocks.get(domain):
            block = self._find_free_block(group.pool)
            if not block:
                self._journal.write(f"{group.key}: no free block of node names for domain {domain}")
                return None
            self._blocks[domain] = block
        return self._blocks[domain]

    def _find_free_block(self, pool: str) -> str:
        """A block without instances, those that Slurm waits for first; empty if there is none."""
        planned = self._view.planned
        used = {*self._blocks.values(), *(planned[node].block for node in self._view.records if node in planned)}
        candidates = [*self._view.list_waiting(pool), *(node for node in planned.values() if node.pool == pool)]
        return next((node.block for node in candidates if node.block and node.block not in used), "")


def _take(lists: dict[_Slot, deque[str]], slot: _Slot, find: Callable[[str], list[PlannedNode]]) -> str:
    """Take the next name of a slot for this pass; empty if there is none."""
    if slot not in lists:
        pool, block = slot
        lists[slot] = deque(node.name for node in find(pool) if node.block == block)
    return lists[slot].popleft() if lists[slot] else ""
