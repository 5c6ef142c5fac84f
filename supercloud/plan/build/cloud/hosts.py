"""Hosts outside of the pools: controllers, login hosts, the database, the system node group, storage backends."""

from __future__ import annotations

from ....catalog import Machine, StorageProduct, StorageService
from ....spec import SlurmScheduler, Storage
from ....spec.storage import StorageServers
from ...model.cloud import CloudDatabase, CloudHost, CloudStorage
from ..storage.designs import StorageRequirements, build_design
from ..storage.servers import require_server_count
from .groups import format_image_key
from .inputs import CloudInputs, find_machine

__all__ = ["build_database", "build_hosts"]


def build_hosts(
    inputs: CloudInputs, private: tuple[str, ...], public: tuple[str, ...], products: tuple[CloudStorage, ...]
) -> tuple[CloudHost, ...]:
    """All hosts, in the order of their start. ``private`` and ``public`` are keys of subnets."""
    declared = inputs.spec.scheduler
    found = (
        _build_slurm_hosts(inputs, declared, private, public)
        if isinstance(declared, SlurmScheduler)
        else _build_system_hosts(inputs, private)
    )
    return (*found, *_build_storage_backends(inputs, private, products))


def _build_slurm_hosts(
    inputs: CloudInputs, declared: SlurmScheduler, private: tuple[str, ...], public: tuple[str, ...]
) -> list[CloudHost]:
    return [
        *_build_controllers(inputs, declared, private, public),
        *_build_database_hosts(inputs, declared, private),
        *_build_login_hosts(inputs, private, public),
    ]


def _build_controllers(
    inputs: CloudInputs, declared: SlurmScheduler, private: tuple[str, ...], public: tuple[str, ...]
) -> list[CloudHost]:
    defaults = inputs.provider.defaults
    nodes = sum(pool.nodes for pool in inputs.pools)
    usual = defaults.controller_large if nodes > defaults.controller_nodes else defaults.controller
    machine = find_machine(inputs, declared.machine or inputs.select_service_machine(usual), "scheduler.machine")
    if machine is None:
        return []
    is_public = declared.public and bool(public)
    return [
        CloudHost(
            controller.name,
            "controller",
            machine,
            1,
            public[:1] if is_public else private[:1],
            declared.disk or defaults.disk,
            format_image_key(inputs, machine, None),
            state_disk=declared.state or defaults.state,
            is_public=is_public,
            hosts=(controller.name,),
        )
        for controller in declared.controllers
    ]


def _build_database_hosts(inputs: CloudInputs, declared: SlurmScheduler, private: tuple[str, ...]) -> list[CloudHost]:
    """The host of the accounting database, unless it is on a controller."""
    database, defaults = declared.database, inputs.provider.defaults
    controllers = {controller.name for controller in declared.controllers}
    if not declared.accounting or database is None or database.name in controllers:
        return []
    machine = find_machine(inputs, inputs.select_service_machine(defaults.database), "scheduler.database")
    if machine is None:
        return []
    return [
        CloudHost(
            database.name,
            "database",
            machine,
            1,
            private[:1],
            defaults.disk,
            format_image_key(inputs, machine, None),
            state_disk=defaults.state,
            hosts=(database.name,),
        )
    ]


def _build_login_hosts(inputs: CloudInputs, private: tuple[str, ...], public: tuple[str, ...]) -> list[CloudHost]:
    login, defaults = inputs.service_machines, inputs.provider.defaults
    if not login.count:
        return []
    name = login.machine or inputs.select_service_machine(defaults.login)
    machine = find_machine(inputs, name, "scheduler.login.machine")
    if machine is None:
        return []
    is_public = login.public and bool(public)
    outer = public[:1] if is_public else private[:1]
    names = ("login",) if login.count == 1 else tuple(f"login{number}" for number in range(1, login.count + 1))
    return [
        CloudHost(
            "login",
            "login",
            machine,
            login.count,
            private[:1] if login.balancer else outer,
            login.disk or defaults.disk,
            format_image_key(inputs, machine, None),
            is_public=is_public and not login.balancer,
            hosts=names,
            balancer=("public" if is_public else "private") if login.balancer else None,
            balancer_subnets=outer if login.balancer else (),
        )
    ]


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
    on_servers = {product.name: product for product in products if product.kind == "servers"}
    for index, item in enumerate(inputs.spec.storage):
        if item.name not in on_servers:
            continue
        service = inputs.catalog.get(StorageService, on_servers[item.name].product)
        name = item.servers.machine if item.servers else inputs.provider.defaults.backend.get(service.name, "")
        machine = find_machine(inputs, name, f"storage[{index}].servers.machine")
        if machine is None:
            continue
        count = _count_servers(inputs, item, service, machine)
        if require_server_count(item, machine, count, f"storage[{index}]", inputs.problems):
            found.append(_build_storage_host(inputs, item, machine, count, private))
    return found


def _count_servers(inputs: CloudInputs, storage: Storage, service: StorageService, machine: Machine) -> int:
    """The declared number, else that of the product's design, at least the minimum of the service."""
    if storage.servers and storage.servers.count:
        return storage.servers.count
    designed = 0
    if service.product:
        throughput = storage.throughput
        needs = StorageRequirements(
            storage.capacity, throughput.read if throughput else None, throughput.write if throughput else None, None
        )
        ports = machine.instance.network if machine.instance else None
        known = inputs.catalog.get(StorageProduct, service.product)
        design = build_design(_with_servers(storage, machine.name), known, machine, needs, ports)
        designed = design.servers if design else 0
    return max(designed, service.min_servers or 1)


def _build_storage_host(
    inputs: CloudInputs, storage: Storage, machine: Machine, count: int, private: tuple[str, ...]
) -> CloudHost:
    return CloudHost(
        f"{storage.name}-servers",
        "storage",
        machine,
        count,
        private[:1],
        inputs.provider.defaults.disk,
        format_image_key(inputs, machine, None),
        state_disk=None,
        storage=storage.name,
        hosts=tuple(f"{storage.name}-{number}" for number in range(1, count + 1)),
    )


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
