"""What a network is for, and which adapters of a machine belong on it."""

from __future__ import annotations

from ....catalog import Machine
from ....catalog.machine import Adapter
from ....primitives.quantity import Rate
from ....spec import ClusterSpec, Fabric

__all__ = [
    "ADAPTER_KINDS",
    "find_adapter",
    "is_port_assumed",
    "find_client_adapter",
    "find_client_fabric",
    "has_same_ports",
    "is_routed",
    "get_fabric_role",
]

_ROLES = ("compute", "storage", "in-band", "management")
# Kinds of adapters that speak a kind of fabric.
ADAPTER_KINDS = {
    "infiniband": ("infiniband", "vpi"),
    "roce": ("ethernet", "vpi"),
    "ethernet": ("ethernet", "vpi"),
    "efa": ("efa",),
    "gpudirect-tcpx": ("gvnic",),
    "ici": ("ici",),
}


def get_fabric_role(fabric: Fabric) -> str:
    """Which adapters of the machines a fabric joins."""
    return fabric.role or (fabric.name if fabric.name in _ROLES else "compute")


def find_adapter(machine: Machine, role: str, kind: str, speed: Rate | None = None) -> Adapter | None:
    """The adapters a machine has for a fabric of that role and kind.

    Whatever stands in a hall has a port for its management; where the catalog does not know it, it is taken to be one
    of twisted pair at the ``speed`` of the network. That it is assumed is said by a finding.
    """
    known = next((item for item in machine.adapters if item.role == role and item.kind in ADAPTER_KINDS[kind]), None)
    if known is None and speed is not None and is_port_assumed(machine, role, kind):
        return Adapter(role="management", kind="ethernet", count=1, speed=speed, cage="rj45")
    return known


def is_port_assumed(machine: Machine, role: str, kind: str) -> bool:
    """Whether a machine's port on the management network is not known to the catalog."""
    return (
        role == "management"
        and kind == "ethernet"
        and machine.provider == "onprem"
        and all(item.role != role for item in machine.adapters)
    )


def has_same_ports(left: Adapter, right: Adapter) -> bool:
    """Whether two entries of one machine are the same ports: a network on one of them leaves none for the other."""
    return left == right or (left.same_ports is not None and left.same_ports == right.same_ports)


def is_routed(kind: str, role: str) -> bool:
    """Whether every link of a fabric is routed. The ordinary and the management network are bridged: their hosts have
    one address each, out of a subnet of the site, and ask for it by DHCP. RoCE is routed whatever it is for."""
    return kind == "roce" or (kind == "ethernet" and role not in ("in-band", "management"))


def find_client_fabric(spec: ClusterSpec, name: str | None) -> Fabric | None:
    """The network that clients of a store come over: the one that is named, else the ordinary one, where declared."""
    if name:
        return next((item for item in spec.fabrics if item.name == name), None)
    return next((item for item in spec.fabrics if get_fabric_role(item) == "in-band"), None)


def find_client_adapter(machine: Machine, fabric: Fabric | None) -> Adapter | None:
    """The adapters a server has towards that network: those of its role, else those for storage, else in-band ones.

    Where no network is declared, its ports on Ethernet.
    """
    kinds = ADAPTER_KINDS[fabric.kind] if fabric else ADAPTER_KINDS["ethernet"]
    roles = (get_fabric_role(fabric), "storage", "in-band") if fabric else ("storage", "in-band")
    return next((item for role in roles for item in machine.adapters if item.role == role and item.kind in kinds), None)
