"""The role of a network, and the adapters of a machine that belong to it."""

from __future__ import annotations

from ....catalog import Machine
from ....catalog.machine import Adapter
from ....primitives.quantity import Rate
from ....spec import ClusterSpec, Fabric

__all__ = [
    "find_adapter",
    "is_port_assumed",
    "find_client_adapter",
    "find_client_fabric",
    "has_same_ports",
    "is_routed",
    "get_fabric_role",
    "list_adapter_kinds",
    "can_join_fabric",
]

_ROLES = ("compute", "storage", "in-band", "management")
# Kinds of adapters that support a kind of fabric. Fabrics of a cloud are supported by adapters of the same name.
_ADAPTER_KINDS = {
    "infiniband": ("infiniband", "vpi"),
    "roce": ("ethernet", "vpi"),
    "ethernet": ("ethernet", "vpi"),
}


def list_adapter_kinds(kind: str) -> tuple[str, ...]:
    """Kinds of adapters that support a kind of fabric."""
    return _ADAPTER_KINDS.get(kind, (kind,))


def can_join_fabric(adapter: Adapter, kind: str) -> bool:
    """Whether adapters can be on a fabric of a kind."""
    return adapter.kind in list_adapter_kinds(kind) or kind in adapter.fabrics


def get_fabric_role(fabric: Fabric) -> str:
    """The role of the machines' adapters that a fabric connects."""
    return fabric.role or (fabric.name if fabric.name in _ROLES else "compute")


def find_adapter(machine: Machine, role: str, kind: str, speed: Rate | None = None) -> Adapter | None:
    """The adapters of a machine for a fabric of a role and kind.

    Every device in a hall has a management port; if the catalog does not have it, a twisted-pair port at the ``speed``
    of the network is assumed. A finding reports the assumption.
    """
    known = next((item for item in machine.adapters if item.role == role and can_join_fabric(item, kind)), None)
    if known is None and speed is not None and is_port_assumed(machine, role, kind):
        return Adapter(role="management", kind="ethernet", count=1, speed=speed, cage="rj45")
    return known


def is_port_assumed(machine: Machine, role: str, kind: str) -> bool:
    """Whether a machine's port on the management network is missing in the catalog."""
    return (
        role == "management"
        and kind == "ethernet"
        and machine.provider == "onprem"
        and all(item.role != role for item in machine.adapters)
    )


def has_same_ports(left: Adapter, right: Adapter) -> bool:
    """Whether two entries of one machine are the same ports: a network on one entry also uses those of the other."""
    return left == right or (left.same_ports is not None and left.same_ports == right.same_ports)


def is_routed(kind: str, role: str) -> bool:
    """Whether every link of a fabric is routed. In-band and management networks are bridged: their hosts have one
    address each from a subnet of the site, by DHCP. RoCE is routed in every role.
    """
    return kind == "roce" or (kind == "ethernet" and role not in ("in-band", "management"))


def find_client_fabric(spec: ClusterSpec, name: str | None) -> Fabric | None:
    """The network between clients and a store: the specified one, else the in-band network, if declared."""
    if name:
        return next((item for item in spec.fabrics if item.name == name), None)
    return next((item for item in spec.fabrics if get_fabric_role(item) == "in-band"), None)


def find_client_adapter(machine: Machine, fabric: Fabric | None) -> Adapter | None:
    """The adapters of a server on that network: those of its role, else those for storage, else in-band ones.

    If no network is declared, its Ethernet ports.
    """
    kind = fabric.kind if fabric else "ethernet"
    roles = (get_fabric_role(fabric), "storage", "in-band") if fabric else ("storage", "in-band")
    fitting = [item for item in machine.adapters if can_join_fabric(item, kind)]
    return next((item for role in roles for item in fitting if item.role == role), None)
