"""Machines that are no nodes of a pool: controllers, logins, the database, the system group, storage backends."""

from __future__ import annotations

from typing import cast

from ....catalog import StorageProduct, StorageService
from ....spec import SlurmScheduler, Storage
from ....spec.storage import Servers
from ...model.cloud import CloudDatabase, CloudHost, CloudStorage
from ..storage.designs import Needs, design_of
from ..storage.servers import check_server_count
from .given import Given, machine_of
from .groups import image_key

__all__ = ["database_of", "hosts_of"]


def hosts_of(
    given: Given, private: tuple[str, ...], public: tuple[str, ...], products: tuple[CloudStorage, ...]
) -> tuple[CloudHost, ...]:
    """All of them, in the order in which they are started. ``private`` and ``public`` are keys of subnets."""
    found = _slurm(given, private, public) if not given.kubernetes else _system(given, private)
    return (*found, *_backends(given, private, products))


def _slurm(given: Given, private: tuple[str, ...], public: tuple[str, ...]) -> list[CloudHost]:
    declared = cast(SlurmScheduler, given.spec.scheduler)
    defaults = given.provider.defaults
    nodes = sum(pool.nodes for pool in given.pools)
    usual = defaults.controller_large if nodes > defaults.controller_nodes else defaults.controller
    found = []
    machine = machine_of(given, declared.machine or given.usual(usual), "scheduler.machine")
    if machine:
        outside = declared.public and bool(public)
        for controller in declared.controllers:
            found.append(
                CloudHost(
                    controller.name, "controller", machine, 1, public[:1] if outside else private[:1],
                    declared.disk or defaults.disk, image_key(given, machine, None),
                    state=declared.state or defaults.state, public=outside, hosts=(controller.name,),
                )
            )  # fmt: skip
    controllers = {controller.name for controller in declared.controllers}
    if declared.accounting and declared.database and declared.database.name not in controllers:
        host = machine_of(given, given.usual(defaults.database), "scheduler.database")
        if host:
            name = declared.database.name
            found.append(
                CloudHost(name, "database", host, 1, private[:1], defaults.disk, image_key(given, host, None),
                          state=defaults.state, hosts=(name,))
            )  # fmt: skip
    login = given.service
    if login.count:
        host = machine_of(given, login.machine or given.usual(defaults.login), "scheduler.login.machine")
        if host:
            outside = login.public and bool(public)
            names = ("login",) if login.count == 1 else tuple(f"login{n}" for n in range(1, login.count + 1))
            found.append(
                CloudHost("login", "login", host, login.count, public[:1] if outside else private[:1],
                          login.disk or defaults.disk, image_key(given, host, None), public=outside, hosts=names)
            )  # fmt: skip
    return found


def _system(given: Given, private: tuple[str, ...]) -> list[CloudHost]:
    service, defaults = given.service, given.provider.defaults
    machine = machine_of(given, service.machine or given.usual(defaults.system), "scheduler.system.machine")
    if machine is None or not service.count:
        return []
    return [
        CloudHost("system", "system", machine, service.count, private, service.disk or defaults.disk,
                  image_key(given, machine, None))
    ]  # fmt: skip


def _backends(given: Given, private: tuple[str, ...], products: tuple[CloudStorage, ...]) -> list[CloudHost]:
    """Servers of file systems on instances of our own: as many as capacity and throughput need."""
    found = []
    for index, item in enumerate(given.spec.storage):
        product = next((one for one in products if one.name == item.name and one.kind == "servers"), None)
        if product is None:
            continue
        service = cast(StorageService, given.catalog.get("storage-services", product.product))
        name = item.servers.machine if item.servers else given.provider.defaults.backend.get(service.name, "")
        machine = machine_of(given, name, f"storage[{index}].servers.machine")
        if machine is None:
            continue
        count = item.servers.count if item.servers else None
        if count is None and service.product:
            known = cast(StorageProduct, given.catalog.get("storage", service.product))
            throughput = item.throughput
            needs = Needs(item.capacity, throughput.read if throughput else None,
                          throughput.write if throughput else None, None)  # fmt: skip
            ports = machine.instance.network if machine.instance else None
            design = design_of(_with_servers(item, name), known, machine, needs, ports)
            count = design.servers if design else None
        count = max(count or 0, service.min_servers or 1) if not (item.servers and item.servers.count) else count
        if not check_server_count(item, machine, count or 1, f"storage[{index}]", given.problems):
            continue
        found.append(
            CloudHost(
                f"{item.name}-servers", "storage", machine, count or 1, private[:1], given.provider.defaults.disk,
                image_key(given, machine, None), state=None, storage=item.name,
                hosts=tuple(f"{item.name}-{number}" for number in range(1, (count or 1) + 1)),
            )
        )  # fmt: skip
    return found


def _with_servers(item: Storage, machine: str) -> Storage:
    return item if item.servers else item.model_copy(update={"servers": Servers(machine=machine)})


def database_of(given: Given, private: tuple[str, ...]) -> CloudDatabase | None:
    """The accounting database that the provider runs, where the spec wants it."""
    declared, known = given.spec.scheduler, given.provider.database
    if not isinstance(declared, SlurmScheduler) or not declared.accounting or not declared.managed_database:
        return None
    if known is None:
        given.problems.error(
            "cloud-database", "scheduler.managed_database", f"{given.provider.name} has no database in the catalog",
            "leave it out: the controller then keeps the accounts",
        )  # fmt: skip
        return None
    return CloudDatabase(
        "accounting", known.product, known.engine, known.version, known.machine, known.disk, private[: known.zones],
        "accounting-database", known.port,
    )  # fmt: skip
