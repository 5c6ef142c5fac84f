"""The impact of a change on a running cluster: tables of paths of the published plan and of the spec.

A path of a table is that of a value or of an object, with ``[*]`` for the key of an item of a list. Whatever no table
contains is changed in place. A cloud's own table (:mod:`cloud_impact`) comes before these.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from string import digits
from typing import Any

from ...errors import QuantityError
from ...primitives.quantity import Size
from ..model.plan import Plan
from .cloud_impact import Impact

__all__ = ["DEVICE_COUNTS", "GROWING", "HOST_LISTS", "MODELS", "REPLACING", "classify_impact", "find_release_impact"]

MODELS = (
    "facility.cooling.cdu",
    "facility.heat.cdu",
    "facility.machines[*].machine",
    "facility.management.pdu",
    "facility.management.type",
    "facility.power.shelf",
    "facility.power.ups",
    "facility.rack.pdu",
    "facility.rack.type",
    "facility.rack_groups[*].pdu",
    "facility.rack_groups[*].rack",
    "fabrics[*].manager.product",
    "fabrics[*].services[*].product",
    "fabrics[*].switch_models",
    "pools[*].accelerator",
    "pools[*].machine",
    "pools[*].rack.pdu",
    "pools[*].rack.type",
    "scheduler.login.machine",
    "scheduler.machine",
    "scheduler.system.machine",
    "storage[*].metadata.machine",
    "storage[*].servers.machine",
    "storage[*].servers[*].machine",
)
"""Products of the catalog: another one is another machine, switch or rack."""

REPLACING = (
    "name",
    "site.kind",
    "site.location",
    "site.region",
    "domain",
    "cidr",
    "network.domain",
    "network.cidr",
    "network.id",
    "network.blocks",
    "scheduler.kind",
    "scheduler.controllers[*].address",
    "scheduler.database.name",
    "scheduler.database.address",
    "pools[*].accelerators_per_node",
    "pools[*].domain",
    "pools[*].hostname",
    "fabrics[*].kind",
    "fabrics[*].shape",
    "fabrics[*].planes",
    "fabrics[*].rails",
    "fabrics[*].subnet",
    "fabrics[*].switch",
    "fabrics[*].switches",
    "fabrics[*].partitions[*].pkey",
    "storage[*].kind",
    "networks.subnets[*].cidr",
    "networks.switches[*].asn_first",
    "networks.switches[*].asn_step",
    "networks.nodes[*].rails[*].first_address",
    "networks.servers[*].cidrs",
    "networks.servers[*].first_address",
    "networks.servers[*].port_step",
    "networks.underlays[*].addresses_per_leaf",
    "networks.underlays[*].cidr",
    "networks.kubernetes.pods",
    "networks.kubernetes.services",
    "networks.kubernetes.endpoint",
)
"""Another value means new machines, new names or addresses, or a rebuilt network (jobs lose their connections if the
key of their partition changes)."""

HOST_LISTS = (
    "cloud.hosts[*].hosts",
    "networks.bmcs[*].hosts",
    "networks.machines[*].hosts",
    "networks.servers[*].hosts",
    "networks.switches[*].hosts",
    "pools[*].hosts",
    "storage[*].servers[*].hosts",
)
"""Names of hosts: a shorter list removes hosts, another order or other names replace them."""

ADDRESS_LISTS = (
    "networks.bmcs[*].addresses",
    "networks.machines[*].addresses",
    "networks.nodes[*].rails[*].addresses",
    "networks.switches[*].addresses",
    "networks.switches[*].loopbacks.addresses",
    "pools[*].addresses",
    "storage[*].servers[*].addresses",
)
"""Addresses in the order of the hosts: only another address of a host that remains replaces something."""

DEVICE_COUNTS = (
    "cloud.groups[*].nodes",
    "cloud.hosts[*].count",
    "fabrics[*].switches",
    "facility.heat.cdus",
    "facility.machines[*].count",
    "facility.network_racks",
    "facility.rack_groups[*].racks",
    "facility.racks",
    "facility.storage_racks",
    "pools[*].nodes",
    "scheduler.login.count",
    "scheduler.system.count",
    "storage[*].metadata.count",
    "storage[*].servers.count",
    "storage[*].servers[*].count",
)
"""Numbers of machines, switches and racks: a lower one removes some of them. In a spec ``switches`` are names."""

GROWING = ("storage[*].capacity", "storage[*].capacity_bytes")
"""Sizes that only grow in place."""

_KEY_PATTERN = re.compile(r"\[[^\]]*\]")


def classify_impact(path: str, old: Any, new: Any) -> Impact:
    """The impact of another value at a path; an empty value is one that its plan does not have."""
    plain = _KEY_PATTERN.sub("[*]", path)
    if _is_in(plain, MODELS):
        return _classify_model(old, new)
    if old is None or new is None:
        return "changes"
    if _is_in(plain, HOST_LISTS) or _is_in(plain, ADDRESS_LISTS):
        return _classify_list(_compare_lists(old, new), _is_in(plain, HOST_LISTS))
    if _is_in(plain, DEVICE_COUNTS) and isinstance(old, int):
        return "removes" if _is_less(new, old) else "changes"
    if _is_in(plain, GROWING):
        return "replaces" if _is_less(new, old) else "changes"
    return "replaces" if _is_in(plain, REPLACING) else "changes"


def _classify_model(old: Any, new: Any) -> Impact:
    """The impact of another product; an empty name is none."""
    return "removes" if not new else "adds" if not old else "replaces"


def _classify_list(change: str, has_hosts: bool) -> Impact:
    """The impact of another list of hosts or of their addresses."""
    if not change:
        return "replaces"
    return "removes" if has_hosts and change == "shrinks" else "changes"


def find_release_impact(old: Plan, new: Plan) -> tuple[Impact, str] | None:
    """The impact of another release of the scheduler, and the reason; None if it is changed in place."""
    before, after = old.scheduler, new.scheduler
    if before.kind != after.kind:
        return "replaces", f"{before.title} by {after.title}"
    if _parse_release(after.version) < _parse_release(before.version):
        return "replaces", f"the saved state: {after.title} reads only that of earlier releases"
    oldest = after.release.upgrades_from[0] if after.release and after.release.upgrades_from else ""
    if _parse_release(before.version) < _parse_release(oldest):
        return "replaces", f"the saved state: {after.version} reads that of {oldest} and later; upgrade in steps"
    if new.cloud and after.kind == "slurm":
        return "replaces", "controller, login hosts and nodes: new instances get the release, running ones do not"
    return None


def _is_in(path: str, table: Collection[str]) -> bool:
    return any(path == item or path.startswith((f"{item}.", f"{item}[")) for item in table)


def _is_less(one: Any, other: Any) -> bool:
    """Whether a number or a declared size is less than another one."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one < other
    try:
        return Size(one) < Size(other)
    except (QuantityError, TypeError):
        return False


def _parse_release(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def _compare_lists(old: str | Sequence[str], new: str | Sequence[str]) -> str:
    """``grows`` or ``shrinks`` if one list of hosts or addresses extends the other, empty if an item is renamed."""
    before, after = (_parse_ranges(item if isinstance(item, str) else ",".join(item)) for item in (old, new))
    both = min(len(before), len(after))
    if not both or before[: both - 1] != after[: both - 1] or before[both - 1][:2] != after[both - 1][:2]:
        return ""
    shorter, longer = sorted((before, after), key=lambda ranges: (len(ranges), ranges[-1][2]))
    if len(shorter) < len(longer) and shorter[-1][2] > longer[both - 1][2]:
        return ""
    return "grows" if longer is after else "shrinks"


def _parse_ranges(text: str) -> list[tuple[str, str, int]]:
    """Prefix, first number as written, and last number of each range of a list."""
    found: list[tuple[str, str, int]] = []
    for name, inner in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?", text):
        prefix = name if inner else name.rstrip(digits)
        for part in (inner or name[len(prefix) :]).split(","):
            if not inner and not part:  # a name without a number
                found.append((name, "", 0))
                continue
            first, _, last = part.partition("-")
            if not first.isdigit() or not (last or first).isdigit():
                return []
            found.append((prefix, first, int(last or first)))
    return found
