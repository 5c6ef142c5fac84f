"""Checks of names on the network: labels that DNS accepts, and names that are used twice."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.nodes import HostRange
from ..model.plan import Plan

__all__ = ["CHECKS"]

# Characters of one label of a name (RFC 1035, 2.3.4).
_MAX_LABEL_LENGTH = 63


def network_names(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Names of server ports that are not valid in DNS."""
    positions = {fabric.name: index for index, fabric in enumerate(plan.spec.fabrics)}
    for item in plan.networks.servers if plan.networks else ():
        last = f"{item.format_host_name(len(item.hosts) - 1)}-{item.fabric}" + (
            f"-{item.ports}" if item.ports > 1 else ""
        )
        if len(last) > _MAX_LABEL_LENGTH:
            yield Finding(
                "network-names",
                "error",
                f"fabrics[{positions[item.fabric]}].name",
                f"{last} would be the name of a port of {item.name} and has {len(last)} characters: DNS supports "
                f"{_MAX_LABEL_LENGTH}",
                "shorten the name of the fabric or the store",
            )


def duplicate_name(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Two hosts, switches or ports that would have the same name."""
    named: dict[str, list[tuple[HostRange, str]]] = {}
    for hosts, what, path in _iter_named_ranges(plan):
        shared = (
            (run, first, owner)
            for run in hosts.list_runs()
            for other, owner in named.get(run.prefix, ())
            if (first := _find_shared_name(run, other)) is not None
        )
        if found := next(shared, None):
            run, first, owner = found
            yield Finding(
                "duplicate-name",
                "error",
                path,
                f"{run.prefix}{first} would be the name of {what} and of {owner}",
                "rename one of them",
            )
        for run in hosts.list_runs():
            named.setdefault(run.prefix, []).append((run, what))


def _iter_named_ranges(plan: Plan) -> Iterator[tuple[HostRange, str, str]]:
    """(names, what they belong to, path) of all numbered names."""
    networks = plan.networks
    if networks is None:
        return
    fabrics = {fabric.name: index for index, fabric in enumerate(plan.spec.fabrics)}
    for run in networks.switches:
        what = f"a {run.tier.name} switch of {run.fabric}"
        yield run.hosts, what, f"fabrics[{fabrics[run.fabric]}].name"
    places = {
        pool.name: f"pools[{index}].{'hosts.names' if pool.hosts.names else 'name'}"
        for index, pool in enumerate(plan.spec.pools)
    }
    for pool in plan.pools:
        yield pool.hosts, f"a node of {pool.name}", places[pool.name]
    places |= {
        group.name: f"storage[{index}].name" for index, item in enumerate(plan.storage) for group in item.servers
    }
    for group in plan.servers:
        yield group.hosts, f"a server of {group.storage}", places[group.name]
    places |= {item.name: _find_machine_path(plan, item.name) for item in networks.machines}
    for item in networks.machines:
        yield item.hosts, f"a machine of {item.name}", places[item.name]
    for bmc in networks.bmcs:
        if bmc.names != bmc.owners:
            yield bmc.names, f"the management port of {bmc.group}", places.get(bmc.group, "network.management")


def _find_machine_path(plan: Plan, name: str) -> str:
    """Path where service machines are declared."""
    for index, fabric in enumerate(plan.spec.fabrics):
        for position, service in enumerate(fabric.services):
            if service.name == name:
                return f"fabrics[{index}].services[{position}].name"
        if name == f"{fabric.name}-manager":
            return f"fabrics[{index}].name"
    machines = plan.spec.facility.machines if plan.spec.facility else ()
    place = next((place for place, item in enumerate(machines) if item.name == name), None)
    return "facility.machines" if place is None else f"facility.machines[{place}].name"


def _find_shared_name(left: HostRange, right: HostRange) -> str | None:
    """The first common name, without its prefix: numbers of different widths are equal once they fill both widths."""
    if not (left.width and right.width):
        return "" if left.width == right.width else None
    low, high = max(left.first, right.first), min(left.last, right.last)
    width = max(left.width, right.width)
    if left.width != right.width:
        low = max(low, 10 ** (width - 1))
    return f"{low:0{width}d}" if low <= high else None


CHECKS = (
    network_names,
    duplicate_name,
)
