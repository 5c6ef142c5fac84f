"""Hosts outside of the pools: controllers, login hosts, the database, the system node group, storage backends."""

from __future__ import annotations

from typing import cast

from ....catalog import StorageProduct, StorageService
from ....spec import SlurmScheduler, Storage
from ....spec.storage import StorageServers
from ...model.cloud import CloudDatabase, CloudHost, CloudStorage
from ..storage.designs import StorageRequirements, build_design
from ..storage.servers import require_server_count
from .given import CloudInputs, find_machine
from .groups import format_image_key

__all__ = ["build_database", "build_hosts"]


def build_hosts(
    inputs: CloudInputs, private: tuple[str, ...], public: tuple[str, ...], products: tuple[CloudStorage, ...]
) -> tuple[CloudHost, ...]:
    """All hosts, in the order of their start. ``private`` and ``public`` are keys of subnets."""
    found = (
        _build_slurm_hosts(inputs, private, public)
        if not inputs.has_managed_kubernetes
        else _build_system_hosts(inputs, private)
    )
    return (*found, *_build_storage_backends(inputs, private, products))


def _build_slurm_hosts(inputs: CloudInputs, private: tuple[str, ...], public: tuple[str, ...]) -> list[CloudHost]:
    declared = cast(SlurmScheduler, inputs.spec.scheduler)
    defaults = inputs.provider.defaults
    nodes = sum(pool.nodes for pool in inputs.pools)
    usual = defaults.controller_large if nodes > defaults.controller_nodes else defaults.controller
    found = []
    machine = find_machine(inputs, declared.machine or inputs.select_service_machine(usual), "scheduler.machine")
    if machine:
        outside = declared.public and bool(public)
        for controller in declared.controllers:
            found.append(
                CloudHost(
                    controller.name,
                    "controller",
                    machine,
                    1,
                    public[:1] if outside else private[:1],
                    declared.disk or defaults.disk,
                    format_image_key(inputs, machine, None),
                    state_disk=declared.state or defaults.state,
                    is_public=outside,
                    hosts=(controller.name,),
                )
            )
    controllers = {controller.name for controller in declared.controllers}
    if declared.accounting and declared.database and declared.database.name not in controllers:
        host = find_machine(inputs, inputs.select_service_machine(defaults.database), "scheduler.database")
        if host:
            name = declared.database.name
            found.append(
                CloudHost(
                    name,
                    "database",
                    host,
                    1,
                    private[:1],
                    defaults.disk,
                    format_image_key(inputs, host, None),
                    state_disk=defaults.state,
                    hosts=(name,),
                )
            )
    login = inputs.service_machines
    if login.count:
        host = find_machine(
            inputs, login.machine or inputs.select_service_machine(defaults.login), "scheduler.login.machine"
        )
        if host:
            outside = login.public and bool(public)
            names = ("login",) if login.count == 1 else tuple(f"login{n}" for n in range(1, login.count + 1))
            found.append(
                CloudHost(
                    "login",
                    "login",
                    host,
                    login.count,
                    public[:1] if outside else private[:1],
                    login.disk or defaults.disk,
                    format_image_key(inputs, host, None),
                    is_public=outside,
                    hosts=names,
                )
            )
    return found


def _build_system_hosts(inputs: CloudInputs, private: tuple[str, ...]) -> list[CloudHost]:
    service, defaults = inputs.service_machines, inputs.provider.defaults
    machine = find_machine(
        inputs, service.machine or inputs.select_service_machine(defaults.system), "scheduler.system.machine"
    )
    if machine is None or not service.count:
        return []
    return [
        CloudHost(
            "system",
            "system",
            machine,
            service.count,
            private,
            service.disk or defaults.disk,
            format_image_key(inputs, machine, None),
        )
    ]


def _build_storage_backends(
    inputs: CloudInputs, private: tuple[str, ...], products: tuple[CloudStorage, ...]
) -> list[CloudHost]:
    """Servers of file systems on self-managed instances: as many as capacity and throughput need."""
    found = []
    for index, item in enumerate(inputs.spec.storage):
        product = next((one for one in products if one.name == item.name and one.kind == "servers"), None)
        if product is None:
            continue
        service = inputs.catalog.get(StorageService, product.product)
        name = item.servers.machine if item.servers else inputs.provider.defaults.backend.get(service.name, "")
        machine = find_machine(inputs, name, f"storage[{index}].servers.machine")
        if machine is None:
            continue
        count = item.servers.count if item.servers else None
        if count is None and service.product:
            known = inputs.catalog.get(StorageProduct, service.product)
            throughput = item.throughput
            needs = StorageRequirements(
                item.capacity, throughput.read if throughput else None, throughput.write if throughput else None, None
            )
            ports = machine.instance.network if machine.instance else None
            design = build_design(_with_servers(item, name), known, machine, needs, ports)
            count = design.servers if design else None
        count = max(count or 0, service.min_servers or 1) if not (item.servers and item.servers.count) else count
        if not require_server_count(item, machine, count or 1, f"storage[{index}]", inputs.problems):
            continue
        found.append(
            CloudHost(
                f"{item.name}-servers",
                "storage",
                machine,
                count or 1,
                private[:1],
                inputs.provider.defaults.disk,
                format_image_key(inputs, machine, None),
                state_disk=None,
                storage=item.name,
                hosts=tuple(f"{item.name}-{number}" for number in range(1, (count or 1) + 1)),
            )
        )
    return found


def _with_servers(storage: Storage, machine: str) -> Storage:
    return storage if storage.servers else storage.model_copy(update={"servers": StorageServers(machine=machine)})


def build_database(inputs: CloudInputs, private: tuple[str, ...]) -> CloudDatabase | None:
    """The accounting database of the provider, if the spec requests it."""
    declared, known = inputs.spec.scheduler, inputs.provider.database
    if not isinstance(declared, SlurmScheduler) or not declared.accounting or not declared.managed_database:
        return None
    if known is None:
        inputs.problems.add_error(
            "cloud-database",
            "scheduler.managed_database",
            f"{inputs.provider.name} has no managed database in the catalog",
            "omit it: the controller then hosts the database",
        )
        return None
    return CloudDatabase(
        "accounting",
        known.product,
        known.engine,
        known.version,
        known.machine,
        known.disk,
        private[: known.zones],
        "accounting-database",
        known.port,
    )
