"""Checks of service hosts: conflicting names and addresses, missing racks and networks."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from ...catalog import Catalog, Machine
from ...errors import Finding
from ...primitives.addresses import AddressRun
from ...primitives.nodes import HostRange
from ...spec.facility import ServiceMachines
from ..build.fabric.roles import find_adapter
from ..build.facility.unracked import find_unracked
from ..build.kubernetes.networks import build_cluster_networks
from ..model.plan import HostPlan, Plan

__all__ = ["CHECKS"]


def service_hosts(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Hosts of the scheduler on-prem whose address is invalid, or whose address or name is in use."""
    if plan.site.kind != "onprem":
        return
    taken: dict[str, str] = {}
    if plan.scheduler.kind == "kubernetes":
        taken[build_cluster_networks(plan).endpoint] = "the endpoint of the control plane"
    for path, host in _iter_hosts(plan):
        for names, addresses in _iter_machines(plan):
            if host.name in names:
                yield Finding(
                    "service-hosts",
                    "error",
                    f"{path}.name",
                    f"{host.name} is also the name of one of {names}",
                    "rename the host, or change the hostname of the pool",
                )
            if host.address in addresses:
                taken.setdefault(host.address, f"one of {names}")
        if (problem := _explain_invalid_address(plan, host.address)) is None and host.address in taken:
            problem = f"{host.address} is the address of {taken[host.address]}"
        if problem:
            yield Finding("service-hosts", "error", f"{path}.address", problem, "set another address, or omit it")
        taken.setdefault(host.address, host.name)


def service_machines(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Hosts of the scheduler on-prem that are not machines of the plan, although it plans racks or an in-band
    network.
    """
    racked = plan.spec.facility is not None and plan.spec.facility.rack is not None
    joined = any(fabric.role == "in-band" for fabric in plan.fabrics)
    if plan.site.kind != "onprem" or not (racked or joined):
        return
    declared = plan.spec.facility.machines if plan.spec.facility else ()
    machines = {f"{item.name}-{number:02d}" for item in declared for number in range(1, item.count + 1)}
    lacking = [(path, host.name) for path, host in _iter_hosts(plan) if host.name not in machines]
    if lacking:
        names = [name for _, name in lacking]
        count = (
            f"{names[0]} has no machine: it has"
            if len(names) == 1
            else (f"{', '.join(names)} have no machines: they have")
        )
        yield Finding(
            "service-machines",
            "note",
            lacking[0][0],
            f"{count} no rack, no power and no port in this plan",
            f"set {_suggest_numbered_hosts(plan)}scheduler.machine to the type of these machines (see: supercloud "
            "catalog machines)",
        )


def _suggest_numbered_hosts(plan: Plan) -> str:
    """The names of hosts that scheduler.machine requires, as settings followed by ``and``; empty if they have them."""
    controllers, database = [host.name for host in plan.scheduler.controllers], plan.scheduler.database
    numbered = _number_hosts(controllers)
    settings = []
    if numbered != controllers:
        settings.append(f"scheduler.controllers to [{', '.join(f'{{name: {name}}}' for name in numbered)}]")
    if database and database.name not in controllers and _number_hosts([database.name]) != [database.name]:
        settings.append(f"scheduler.database.name to {_number_hosts([database.name])[0]}")
    return "".join(f"{item} and " for item in settings)


def _number_hosts(names: list[str]) -> list[str]:
    """Names of one group of machines: the first name without its number, and numbers from 01."""
    group = re.sub(r"-?\d+$", "", names[0])
    return [f"{group}-{number:02d}" for number in range(1, len(names) + 1)]


def service_racks(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines on networks, subnet managers included, without a rack in a plan that has racks."""
    if plan.facility is None or not plan.facility.racks:
        return
    for item in find_unracked(plan):
        many = item.count > 1
        few = (
            f"{item.count} of the {item.wanted} machines of {item.name}"
            if item.count < item.wanted
            else (f"{item.name} ({item.count} machine{'s' * many})")
        )
        machine = item.product if item.product in catalog.list_names("machines") else "…"
        more = "" if machine != "…" else " (machine: see supercloud catalog machines)"
        yield Finding(
            "service-racks",
            "note",
            item.path,
            f"{few} {'have' if many else 'has'} no rack: {'their' if many else 'its'} power is not counted, and "
            f"{item.links} link{'s have' if item.links > 1 else ' has'} no cable length",
            f"add {{name: {item.name}, machine: {machine}, count: {item.wanted}}} to facility.machines{more}",
        )


def service_networks(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines of facility.machines on no network, or on the management network only."""
    if plan.site.kind != "onprem" or not any(fabric.tiers for fabric in plan.fabrics):
        return
    joined: dict[str, int] = {}
    for fabric in plan.fabrics:
        for service in fabric.services if fabric.role != "management" else ():
            joined[service.name] = max(joined.get(service.name, 0), service.count)
    hosts = {host.name for _, host in _iter_hosts(plan)}
    for index, item in enumerate(plan.spec.facility.machines if plan.spec.facility else ()):
        count = item.count - joined.get(item.name, 0)
        if count <= 0:
            continue
        # Machines that scheduler.machine requires have no line in the spec.
        by_scheduler = plan.spec.scheduler.machine == item.machine and f"{item.name}-01" in hosts
        verb, pronoun = ("are", "them") if count > 1 else ("is", "it")
        yield Finding(
            "service-networks",
            "warning",
            "scheduler.machine" if by_scheduler else f"facility.machines[{index}]",
            f"{_describe_machines(item, count)} {verb} on no in-band network: "
            f"neither nodes nor users can reach {pronoun}",
            _suggest_service(plan, catalog, item),
        )


def _describe_machines(item: ServiceMachines, count: int) -> str:
    """Some or all machines of a kind, as the subject of a sentence."""
    if item.count == 1:
        return item.name
    return (
        f"{count} of the {item.count} machines of {item.name}"
        if count < item.count
        else (f"the {count} machines of {item.name}")
    )


def _suggest_service(plan: Plan, catalog: Catalog, item: ServiceMachines) -> str:
    """The entry of ``services`` that cables the machines, and the fabric to add it to."""
    known = item.machine in catalog.list_names("machines")
    fabrics = [fabric for fabric in plan.fabrics if fabric.role == "in-band" and fabric.tiers]
    for fabric in fabrics:
        adapter = find_adapter(catalog.get(Machine, item.machine), "in-band", fabric.kind) if known else None
        if adapter:
            links = f", links: {adapter.count}" + (f", cage: {adapter.cage}" if adapter.cage else "")
            return f"add {{name: {item.name}, count: {item.count}{links}}} to the services of {fabric.name}"
    entry = f"{{name: {item.name}, count: {item.count}, links: 1}}"
    if fabrics:
        return f"add {entry} (links: those of one machine) to the services of {fabrics[0].name}"
    return (
        f"declare a fabric with role: in-band, {entry} (links: those of one machine) in its services, and its name in "
        "fabrics of the pools whose nodes use it"
    )


def _iter_hosts(plan: Plan) -> Iterator[tuple[str, HostPlan]]:
    for index, host in enumerate(plan.scheduler.controllers):
        yield f"scheduler.controllers[{index}]", host
    database = plan.scheduler.database
    if database and database.name not in {host.name for host in plan.scheduler.controllers}:
        yield "scheduler.database", database


def _iter_machines(plan: Plan) -> Iterator[tuple[HostRange, AddressRun]]:
    for pool in plan.pools:
        yield pool.hosts, pool.addresses
    for group in plan.servers:
        yield group.hosts, group.addresses
    for run in plan.networks.bmcs if plan.networks else ():
        yield run.names, run.addresses


def _explain_invalid_address(plan: Plan, text: str) -> str | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return f"{text!r} is not an IP address"
    if plan.scheduler.kind == "kubernetes" and address.version != 4:
        return f"{text} is an IPv6 address, but the cluster's pods and services use IPv4"
    return None


def kubernetes_endpoint(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Hosts that cannot hold the address of the control plane, which is announced by ARP (kube-vip)."""
    if plan.site.kind != "onprem" or plan.scheduler.kind != "kubernetes":
        return
    network, endpoint = plan.network.management, build_cluster_networks(plan).endpoint
    for path, host in _iter_hosts(plan):
        if _explain_invalid_address(plan, host.address) is None and ipaddress.ip_address(host.address) not in network:
            yield Finding(
                "kubernetes-endpoint",
                "warning",
                f"{path}.address",
                f"{host.address} is outside of {network}, but the control plane endpoint {endpoint} is in it: the "
                "host can announce that address only within the same network",
                f"choose an address in {network}, or set network.management to the network of the hosts",
            )


CHECKS = (service_hosts, service_machines, service_racks, service_networks, kubernetes_endpoint)
