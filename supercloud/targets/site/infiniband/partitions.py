"""partitions.conf: the rules of the plan in the grammar of OpenSM, which UFM reads too (opensm(8))."""

from __future__ import annotations

from collections.abc import Iterator

from ....errors import InputError
from ....plan.build.fabric.partitions import PartitionRule, build_partition_rules
from ....plan.build.fabric.port_guids import PortGuids, iter_missing_guids
from ....plan.model.plan import FabricPlan, Plan

__all__ = ["render_partitions"]

# The code of 4,096 bytes, of which IPoIB uses 4,092: OpenSM's own value is 2,048. All adapters and switches of the
# catalog have it, and WEKA requires it (WEKA, Prerequisites, InfiniBand configurations; opensm(8), PARTITION
# CONFIGURATION).
_MTU_CODE = 5


def render_partitions(plan: Plan, fabric: FabricPlan) -> str:
    """Render the file. Raises InputError if the GUIDs of hosts in a partition are unknown."""
    lacking = next(iter_missing_guids(plan, fabric), None)
    if lacking:
        raise InputError(f"fabrics: {fabric.name}{lacking.path}: {lacking.problem}; {lacking.hint}")
    ports = PortGuids(plan, fabric)
    lines = [f"# {plan.name}, {fabric.name}: made from the spec; do not edit"]
    for rule in build_partition_rules(plan, fabric):
        lines += _render_rule(rule, ports)
    return "\n".join(lines) + "\n"


def _render_rule(rule: PartitionRule, ports: PortGuids) -> Iterator[str]:
    flags = f"{rule.name}=0x{rule.pkey:04x}, {'indx0, ' * rule.is_at_index_0}ipoib, mtu={_MTU_CODE}, "
    if rule.hosts is not None:
        guids = ",\n    ".join(_list_guids(rule.hosts, ports))
        yield f"{flags}defmember=full :\n    {guids} ;"
    elif rule.is_full:
        yield f"{flags}defmember=full : {'ALL' if rule.name == 'Default' else 'ALL_CAS'} ;"
    else:
        yield "# Nodes are limited members: they can reach the subnet manager and service machines, not each other."
        full = "".join(f",\n    {guid}=full" for guid in _list_guids(rule.full_hosts, ports))
        yield f"{flags}defmember=limited : ALL, ALL_SWITCHES=full, SELF=full{full} ;"


def _list_guids(hosts: tuple[str, ...], ports: PortGuids) -> list[str]:
    return [guid for host in hosts for guid in ports.list_guids(host)]
