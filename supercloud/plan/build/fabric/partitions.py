"""Partitions of an InfiniBand fabric: their keys, their members, and reachability.

Each port has a table of P_Keys. Two ports exchange packets by a key that both have (its low 15 bits), where at least
one of them is a full member (bit 15). A program that selects no key uses the one at index 0 of the table: NCCL
(NCCL_IB_PKEY), and IPoIB's first interface with all services that use its address, such as LNet and WEKA.

The configuration of the subnet manager is a list of rules (``PartitionRule``). The file that it reads and the tables
that it programs (``build_port_keys``) both follow from that list, so that the two cannot differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ....errors import InputError
from ....primitives.nodes import expand
from ....spec.fabric import Partition
from ...model.plan import FabricPlan, Plan, Service

__all__ = [
    "DEFAULT_KEY",
    "FULL_MEMBERSHIP",
    "HasPartitions",
    "PartitionPlan",
    "PartitionRule",
    "PortKeys",
    "compute_pkey",
    "expand_hosts",
    "find_key_match",
    "find_manager_node",
    "find_free_pkey",
    "has_tenant_hosts",
    "is_default_first",
    "has_isolated_tenants",
    "list_manager_hosts",
    "build_partition_rules",
    "build_partitions",
    "build_port_keys",
    "select_owners",
    "list_service_hosts",
]

DEFAULT_KEY = 0x7FFF
FULL_MEMBERSHIP = 0x8000
"""The bit of full membership."""
# Keys of partitions are below the default one; the first ones are reserved for manual partitions.
_FIRST_KEY = 16
_LAST_KEY = DEFAULT_KEY - 1


class HasPartitions(Protocol):
    """A fabric as declared, or the subnet manager of its plan."""

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """Partitions as declared."""


@dataclass(frozen=True)
class PartitionPlan:
    """A tenant's partition: its key without the membership bit, and its hosts."""

    name: str
    pkey: int
    hosts: tuple[str, ...] | None
    """None: all hosts of the fabric."""


@dataclass(frozen=True)
class PartitionRule:
    """One partition rule of the subnet manager. Several rules of a key are combined."""

    name: str
    pkey: int
    """Without the membership bit."""
    is_at_index_0: bool
    """Whether its members have the key at index 0 of their tables."""
    hosts: tuple[str, ...] | None
    """Hosts whose ports are members; None: all ports of the subnet."""
    is_full: bool = True
    """Membership of these hosts."""
    full_hosts: tuple[str, ...] = ()
    """Hosts that are full members, with all others limited."""


@dataclass(frozen=True)
class PortKeys:
    """The table of P_Keys of a port, with the membership bits."""

    index_0_key: int
    """At index 0."""
    other_keys: frozenset[int]
    """At further indices, in an order that the subnet manager chooses."""


def compute_pkey(name: str) -> int:
    """The default key of a tenant: derived from its name alone, so that no other tenant changes it."""
    return _FIRST_KEY + int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % (_LAST_KEY - _FIRST_KEY + 1)


def find_free_pkey(name: str, used_keys: Iterable[int]) -> int | None:
    """A free key for a tenant whose default key belongs to another; None if all are in use."""
    used, start = set(used_keys), compute_pkey(name)
    count = _LAST_KEY - _FIRST_KEY + 1
    keys = (_FIRST_KEY + (start - _FIRST_KEY + step) % count for step in range(count))
    return next((key for key in keys if key not in used), None)


def build_partitions(declared: HasPartitions) -> tuple[PartitionPlan, ...]:
    """The declared partitions, sorted by name."""
    found = []
    for item in declared.partitions:
        pkey = compute_pkey(item.tenant) if item.pkey is None else item.pkey
        found.append(PartitionPlan(item.tenant, pkey, tuple(expand_hosts(item.hosts)) if item.hosts else None))
    return tuple(sorted(found, key=lambda item: (item.name, item.pkey)))


def expand_hosts(text: str) -> list[str]:
    """The hosts of a partition; empty if the text is invalid, which a check reports."""
    try:
        return expand(text)
    except InputError:
        return []


def has_tenant_hosts(declared: HasPartitions) -> bool:
    """Whether nodes are assigned to tenants on the fabric: at least one partition lists hosts."""
    return any(item.hosts for item in declared.partitions)


def has_isolated_tenants(declared: HasPartitions) -> bool:
    """Whether no node has a key that reaches nodes of another tenant: every partition lists hosts. In a partition
    without hosts all ports are full members, those of other tenants too.
    """
    return bool(declared.partitions) and all(item.hosts for item in declared.partitions)


def is_default_first(fabric: FabricPlan, declared: HasPartitions) -> bool:
    """Whether nodes have the default partition at index 0: without isolation of tenants, and on storage fabrics, where
    the traffic is between nodes and storage servers, which are full members of it.
    """
    return not has_tenant_hosts(declared) or fabric.role == "storage"


def list_service_hosts(service: Service) -> list[str]:
    """Names of the machines of a service."""
    from .device_names import list_service_names

    return list(service.hosts or ()) or list_service_names(service.name, service.count)


def list_manager_hosts(fabric: FabricPlan) -> list[str]:
    """Names of the machines of the subnet manager that the spec declares for a fabric, the master first."""
    service = next((item for item in fabric.services if item.name == f"{fabric.name}-manager"), None)
    return list_service_hosts(service) if service else []


def find_manager_node(plan: Plan, fabric: FabricPlan) -> str:
    """A node for the subnet manager if no machine is declared: one without a tenant, by its pool and by the partitions
    of every fabric. Empty if there is none.
    """
    assigned = {host for item in plan.spec.fabrics for part in build_partitions(item) for host in part.hosts or ()}
    pools = (plan.get_pool(name) for name in fabric.pools)
    return next((host for pool in pools if not pool.tenants for host in pool.hosts if host not in assigned), "")


def select_owners(hosts: Iterable[str], partitions: Sequence[PartitionPlan]) -> dict[str, str]:
    """Host -> the tenant whose key it has at index 0: of several the first by name, and a tenant of listed hosts before
    one of all hosts. Hosts without a tenant are omitted.
    """
    owners: dict[str, str] = {}
    for item in partitions:
        for host in item.hosts or ():
            owners.setdefault(host, item.name)
    everyone = next((item.name for item in partitions if item.hosts is None), None)
    if everyone is not None:
        for host in hosts:
            owners.setdefault(host, everyone)
    return owners


def build_partition_rules(plan: Plan, fabric: FabricPlan) -> tuple[PartitionRule, ...]:
    """The partition rules of the subnet manager of a fabric.

    If no partition lists hosts, all ports are full members of the default partition. Otherwise nodes are limited
    members of it: there they reach the subnet manager and the service machines, which are full members, but not each
    other; the key of their tenant is at index 0, except on a storage fabric.
    """
    declared = fabric.require_subnet_manager()
    wanted = build_partitions(declared)
    if not has_tenant_hosts(declared):
        rules = [PartitionRule("Default", DEFAULT_KEY, True, None)]
        return (*rules, *(PartitionRule(item.name, item.pkey, False, None) for item in wanted))
    served = tuple(host for service in fabric.services for host in list_service_hosts(service))
    default_first = is_default_first(fabric, declared)
    rules = [PartitionRule("Default", DEFAULT_KEY, default_first, None, is_full=False, full_hosts=served)]
    return (*rules, *_iter_tenant_rules(plan, fabric, wanted, default_first))


def _iter_tenant_rules(
    plan: Plan, fabric: FabricPlan, partitions: Sequence[PartitionPlan], is_default_first: bool
) -> Iterator[PartitionRule]:
    nodes = [host for pool in fabric.pools for host in plan.get_pool(pool).hosts]
    owners = {} if is_default_first else select_owners(nodes, partitions)
    for item in partitions:
        if item.hosts is None:
            yield PartitionRule(item.name, item.pkey, False, None)
        members = nodes if item.hosts is None else item.hosts
        first = tuple(host for host in members if owners.get(host) == item.name)
        if first:
            yield PartitionRule(item.name, item.pkey, True, first)
        rest = tuple(host for host in item.hosts or () if owners.get(host) != item.name)
        if rest:
            yield PartitionRule(item.name, item.pkey, False, rest)


def build_port_keys(rules: Sequence[PartitionRule], host: str, runs_manager: bool = False) -> PortKeys:
    """The table of the ports of a host; ``runs_manager``: for the host of the subnet manager itself."""
    first = DEFAULT_KEY
    keys: dict[int, bool] = {DEFAULT_KEY: runs_manager}
    for rule in rules:
        if rule.hosts is not None and host not in rule.hosts:
            continue
        keys[rule.pkey] = keys.get(rule.pkey, False) or rule.is_full or host in rule.full_hosts
        first = rule.pkey if rule.is_at_index_0 else first
    table = {pkey: pkey | (FULL_MEMBERSHIP if full else 0) for pkey, full in keys.items()}
    return PortKeys(table[first], frozenset(value for pkey, value in table.items() if pkey != first))


def find_key_match(left: PortKeys, right: PortKeys) -> tuple[bool, frozenset[int]]:
    """Whether two ports reach each other by the keys at index 0, and all keys (without membership) by which they do.

    Keys match if their low 15 bits are equal and at least one is of a full member.
    """
    pairs = [(a, b) for a in {left.index_0_key, *left.other_keys} for b in {right.index_0_key, *right.other_keys}]
    return _is_match(left.index_0_key, right.index_0_key), frozenset(
        a & ~FULL_MEMBERSHIP for a, b in pairs if _is_match(a, b)
    )


def _is_match(left: int, right: int) -> bool:
    return left & ~FULL_MEMBERSHIP == right & ~FULL_MEMBERSHIP and bool((left | right) & FULL_MEMBERSHIP)
