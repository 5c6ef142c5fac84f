"""How an InfiniBand fabric is routed, and who may talk to whom on it."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import InputError
from ...primitives.nodes import expand
from ...spec import Fabric as Declared
from ...topology import Fabric as Wiring
from ..model import FabricPlan, Plan

__all__ = ["PartitionPlan", "engines", "partitions_of"]

# Below 0x7fff, the default partition; the first ones are left for hand-made partitions.
_FIRST_KEY = 16
_LAST_KEY = 0x7FFE


def engines(fabric: FabricPlan, declared: Declared) -> tuple[str, ...]:
    """Routing engines of the subnet manager, the best first; the open one stops rather than to fall back further."""
    wiring = fabric.wiring
    trees = isinstance(wiring, Wiring) and len(wiring.tiers) > 1 and not declared.peer_links
    plain = ("ftree", "updn") if trees else ("updn",)
    if declared.subnet_manager == "nvidia":
        return (f"ar_{plain[0]}",) if declared.adaptive_routing else (plain[0],)
    return plain


@dataclass(frozen=True)
class PartitionPlan:
    """A partition: its key without the bit of membership, and the hosts in it."""

    name: str
    pkey: int
    hosts: tuple[str, ...] | None
    """None: all of the fabric."""


def partitions_of(plan: Plan, fabric: FabricPlan, declared: Declared) -> tuple[PartitionPlan, ...]:
    """Declared partitions, or one for each tenant. Raises InputError where keys run out."""
    wanted = [(item.tenant, item.pkey, item.hosts) for item in declared.partitions]
    wanted = wanted or [(tenant.name, None, None) for tenant in plan.tenants]
    taken = {key for _, key, _ in wanted if key is not None}
    found: list[PartitionPlan] = []
    free = _FIRST_KEY
    for name, key, hosts in wanted:
        if key is None:
            while free in taken:
                free += 1
            key = free
            taken.add(key)
        if key > _LAST_KEY:
            raise InputError(f"{fabric.name}: no partition key is left for {name}, the last is {_LAST_KEY:#06x}")
        found.append(PartitionPlan(name, key, tuple(expand(hosts)) if hosts else None))
    return tuple(found)
