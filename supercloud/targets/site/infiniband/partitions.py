"""partitions.conf: a partition for everything the subnet manager itself needs, and one for each tenant."""

from __future__ import annotations

from ....errors import InputError
from ....plan.cable_ends import Spots, node_devices
from ....plan.model import FabricPlan, Plan
from ....plan.subnet import partitions_of
from ....spec import Fabric as Declared

__all__ = ["partitions_text"]


def partitions_text(plan: Plan, fabric: FabricPlan, declared: Declared) -> str:
    """The file. Raises InputError where the GUIDs of hosts in a partition are not known."""
    wanted = partitions_of(plan, fabric, declared)
    lines = [f"# {plan.name}, {fabric.name}: made from the spec; edits are lost"]
    if not wanted:
        return "\n".join([*lines, "Default=0x7fff, ipoib, defmember=full : ALL ;"]) + "\n"
    lines += [
        "# Nodes are limited members of the default partition: they reach the subnet manager there, not each other.",
        "Default=0x7fff, ipoib, defmember=limited : ALL, ALL_SWITCHES=full, SELF=full ;",
    ]
    adapters: dict[str, list[str]] = {}
    if any(item.hosts is not None for item in wanted):
        for nodes in node_devices(plan, fabric, Spots(plan)):
            adapters |= {name: [f"{name} {device}" for device in nodes.adapters] for name in nodes.names}
    for number, item in enumerate(wanted):
        head = f"{item.name}=0x{item.pkey:04x}, ipoib, defmember=full :"
        if item.hosts is None:
            lines.append(f"{head} ALL_CAS, SELF ;")
            continue
        place = f"fabrics: {fabric.name}: partitions[{number}].hosts"
        strange = [host for host in item.hosts if host not in adapters]
        if strange:
            raise InputError(f"{place}: {len(strange)} hosts are not on this fabric, the first is {strange[0]}")
        ports = [adapter for host in item.hosts for adapter in adapters[host]]
        lacking = [name for name in ports if name not in fabric.guids]
        if lacking:
            raise InputError(
                f"{place}: the GUIDs of {len(lacking)} of {len(ports)} adapters are not known, the first is "
                f"{lacking[0]!r}; set guids to a file that ibnetdiscover printed"
            )
        guids = ",\n    ".join(fabric.guids[name] for name in ports)
        lines.append(f"{head} SELF,\n    {guids} ;")
    return "\n".join(lines) + "\n"
