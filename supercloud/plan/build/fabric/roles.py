"""What a network is for, and which adapters of a machine belong on it."""

from __future__ import annotations

from ....catalog import Machine
from ....catalog.machine import Adapter
from ....primitives.quantity import Rate
from ....spec import ClusterSpec, Fabric

__all__ = ["FITS", "adapter_of", "assumed_port", "client_adapter", "client_fabric", "has_same_ports",
           "is_routed", "role_of"]  # fmt: skip

_ROLES = ("compute", "storage", "in-band", "management")
# Kinds of adapters that speak a kind of fabric.
FITS = {
    "infiniband": ("infiniband", "vpi"),
    "roce": ("ethernet", "vpi"),
    "ethernet": ("ethernet", "vpi"),
    "efa": ("efa",),
    "gpudirect-tcpx": ("gvnic",),
    "ici": ("ici",),
}


def role_of(fabric: Fabric) -> str:
    """Which adapters of the machines a fabric joins."""
    return fabric.role or (fabric.name if fabric.name in _ROLES else "compute")


def adapter_of(machine: Machine, role: str, kind: str, speed: Rate | None = None) -> Adapter | None:
    """The adapters a machine has for a fabric of that role and kind.

    Whatever stands in a hall has a port for its management; where the catalog does not know it, it is taken to be one
    of twisted pair at the ``speed`` of the network. That it is assumed is said by a finding.
    """
    known = next((item for item in machine.adapters if item.role == role and item.kind in FITS[kind]), None)
    if known is None and speed is not None and assumed_port(machine, role, kind):
        return Adapter(role="management", kind="ethernet", count=1, speed=speed, cage="rj45")
    return known


def assumed_port(machine: Machine, role: str, kind: str) -> bool:
    """Whether a machine's port on the management network is not known to the catalog."""
    return (
        role == "management" and kind == "ethernet" and machine.provider == "onprem"
        and all(item.role != role for item in machine.adapters)
    )  # fmt: skip


def has_same_ports(one: Adapter, other: Adapter) -> bool:
    """Whether two entries of one machine are the same ports: a network on one of them leaves none for the other."""
    return one == other or (one.same_ports is not None and one.same_ports == other.same_ports)


def is_routed(kind: str, role: str) -> bool:
    """Whether every link of a fabric is routed. The ordinary and the management network are bridged: their hosts have
    one address each, out of a subnet of the site, and ask for it by DHCP. RoCE is routed whatever it is for."""
    return kind == "roce" or (kind == "ethernet" and role not in ("in-band", "management"))


def client_fabric(spec: ClusterSpec, name: str | None) -> Fabric | None:
    """The network that clients of a store come over: the one that is named, else the ordinary one, where declared."""
    if name:
        return next((item for item in spec.fabrics if item.name == name), None)
    return next((item for item in spec.fabrics if role_of(item) == "in-band"), None)


def client_adapter(machine: Machine, fabric: Fabric | None) -> Adapter | None:
    """The adapters a server has towards that network: those of its role, else those for storage, else in-band ones.

    Where no network is declared, its ports on Ethernet.
    """
    kinds = FITS[fabric.kind] if fabric else FITS["ethernet"]
    roles = (role_of(fabric), "storage", "in-band") if fabric else ("storage", "in-band")
    return next((item for role in roles for item in machine.adapters if item.role == role and item.kind in kinds), None)
