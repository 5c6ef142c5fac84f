"""Machines of the scheduler's hosts on-prem: they become service machines with the same properties.

``scheduler.machine`` names the machine. The hosts then have racks, power, ports on the in-band network, a BMC and an
entry in the lists of addresses like every service machine. Hosts with the name of one of ``facility.machines`` are such
a machine already.
"""

from __future__ import annotations

import re

from ...catalog import Catalog, Machine
from ...spec import ClusterSpec, Fabric, SlurmScheduler
from ...spec.fabric import Service
from ...spec.facility import Facility, ServiceMachines
from ...spec.scheduler import Host
from ..model.problems import Problems
from .fabric.roles import find_adapter, get_fabric_role
from .site_machines import find_site_machine

__all__ = ["with_service_hosts"]

_NUMBERED_NAME = re.compile(r"(.+)-(\d{2,})")


def with_service_hosts(spec: ClusterSpec, catalog: Catalog, problems: Problems) -> ClusterSpec:
    """The spec with the machines of controllers and database host added to its service machines and in-band networks.
    Errors are problems at their path.
    """
    name = spec.scheduler.machine
    if spec.site.kind != "onprem" or name is None:
        return spec
    machine = find_site_machine(name, "scheduler.machine", spec.site.kind, catalog, problems)
    if machine is None:
        return spec
    facility = spec.facility or Facility()
    groups = _count_group_machines(spec, {item.name: item.count for item in facility.machines}, problems)
    if not groups:
        return spec
    more = tuple(ServiceMachines(name=group, machine=name, count=count) for group, count in groups.items())
    fabrics = _with_hosts(spec.fabrics, machine, groups)
    return spec.model_copy(
        update={
            "facility": facility.model_copy(update={"machines": (*facility.machines, *more)}),
            "fabrics": fabrics,
        }
    )


def _count_group_machines(spec: ClusterSpec, declared: dict[str, int], problems: Problems) -> dict[str, int]:
    """Group -> machines, for the hosts that are not among the declared machines."""
    hosts: list[tuple[str, Host]] = [
        (f"scheduler.controllers[{index}]", host) for index, host in enumerate(spec.scheduler.controllers)
    ]
    if isinstance(spec.scheduler, SlurmScheduler) and spec.scheduler.accounting and spec.scheduler.database:
        hosts.append(("scheduler.database", spec.scheduler.database))
    numbers: dict[str, dict[int, str]] = {}
    for path, host in hosts:
        found = _NUMBERED_NAME.fullmatch(host.name)
        if found is None or f"{int(found[2]):02d}" != found[2] or int(found[2]) < 1:
            problems.add_error(
                "service-hosts",
                f"{path}.name",
                f"{host.name} does not end in the number of a service machine, which scheduler.machine requires",
                f"name it {host.name.rstrip('0123456789').rstrip('-') or 'ctl'}-01 and count upwards",
            )
            continue
        if int(found[2]) > declared.get(found[1], 0):
            numbers.setdefault(found[1], {})[int(found[2])] = path
    groups = {}
    for group, paths in numbers.items():
        if group in declared or sorted(paths) != list(range(1, len(paths) + 1)):
            problems.add_error(
                "service-hosts",
                f"{paths[max(paths)]}.name",
                f"machines of {group} must be numbered from 01 without gaps"
                + (f", and facility.machines declares {declared[group]} of them" if group in declared else ""),
                "renumber them, or declare all of them in facility.machines",
            )
            continue
        groups[group] = len(paths)
    return groups


def _with_hosts(fabrics: tuple[Fabric, ...], machine: Machine, groups: dict[str, int]) -> tuple[Fabric, ...]:
    """The fabrics, with ports for the groups on the first in-band network that they fit: a port is on one network.
    Groups that such a network declares as services exist already.
    """
    in_band = [index for index, fabric in enumerate(fabrics) if get_fabric_role(fabric) == "in-band"]
    known = {service.name for index in in_band for service in fabrics[index].services}
    first = next((index for index in in_band if find_adapter(machine, "in-band", fabrics[index].kind)), None)
    own = find_adapter(machine, "in-band", fabrics[first].kind) if first is not None else None
    if first is None or own is None:
        return fabrics
    more = tuple(
        Service(name=group, count=count, links=own.count, cage=own.cage, product=machine.name)
        for group, count in groups.items()
        if group not in known
    )
    joined = fabrics[first].model_copy(update={"services": (*fabrics[first].services, *more)})
    return (*fabrics[:first], joined, *fabrics[first + 1 :])
