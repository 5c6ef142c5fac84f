"""partitions.conf: a partition for everything the subnet manager itself needs, and one for each tenant."""

from __future__ import annotations

from ....errors import InputError
from ....plan.cabling.ends import Spots, node_devices, service_devices
from ....plan.fabric.subnet import partitions_of
from ....plan.model import FabricPlan, Plan
from ....spec import Fabric as Declared

__all__ = ["partitions_text"]


def partitions_text(plan: Plan, fabric: FabricPlan, declared: Declared) -> str:
    """The file. Raises InputError where the GUIDs of hosts in a partition are not known."""
    wanted = partitions_of(plan, fabric, declared)
    lines = [f"# {plan.name}, {fabric.name}: made from the spec; edits are lost"]
    if not wanted:
        return "\n".join([*lines, "Default=0x7fff, ipoib, defmember=full : ALL ;"]) + "\n"
    adapters: dict[str, list[str]] = {}
    served: list[str] = []
    if any(item.hosts is not None for item in wanted):
        spots = Spots(plan)
        for nodes in node_devices(plan, fabric, spots):
            adapters |= {name: [f"{name} {device}" for device in nodes.adapters] for name in nodes.names}
        servers = [service_devices(plan, fabric.role, item, spots) for item in fabric.services if item.hosts]
        served = [f"{name} {device}" for item in servers for name in item.names for device in item.adapters]
        _need(served, fabric, f"fabrics: {fabric.name}: servers of storage")
    full = "".join(f",\n    {fabric.guids[name]}=full" for name in served)
    lines += ["# Servers of storage are full members of the default partition: all tenants reach them."] * bool(served)
    lines += [
        "# Nodes are limited members of the default partition: they reach the subnet manager there, not each other.",
        f"Default=0x7fff, ipoib, defmember=limited : ALL, ALL_SWITCHES=full, SELF=full{full} ;",
    ]
    for number, item in enumerate(wanted):
        head = f"{item.name}=0x{item.pkey:04x}, ipoib, defmember=full :"
        if item.hosts is None:
            lines.append(f"{head} ALL_CAS, SELF ;")
            continue
        place = f"fabrics: {fabric.name}: partitions[{number}].hosts"
        ports = [adapter for host in item.hosts for adapter in adapters[host]]
        _need(ports, fabric, place)
        guids = ",\n    ".join(fabric.guids[name] for name in ports)
        lines.append(f"{head} SELF,\n    {guids} ;")
    return "\n".join(lines) + "\n"


def _need(ports: list[str], fabric: FabricPlan, place: str) -> None:
    lacking = [name for name in ports if name not in fabric.guids]
    if lacking:
        raise InputError(
            f"{place}: the GUIDs of {len(lacking)} of {len(ports)} adapters are not known, the first is "
            f"{lacking[0]!r}; set guids to a file that ibnetdiscover printed"
        )
