"""Checks of cloud storage: deployments, steps of sizes, available throughput."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from ....catalog import Catalog, Machine, StorageService
from ....catalog.storage_service import Deployment, FabricRule
from ....errors import Finding, suggest_nearest
from ....primitives.quantity import Rate, Size
from ....spec import Storage
from ...build.cloud.storage import can_use_fabric, find_size_step, format_rate, select_deployment, select_size
from ...model.cloud import CloudStorage
from ...model.plan import Plan
from .facts import iter_cloud_facts

__all__ = ["CHECKS", "StorageFacts", "iter_cloud_storage"]

StorageFacts = tuple[str, Storage, CloudStorage, StorageService, Deployment | None]


def iter_cloud_storage(plan: Plan, catalog: Catalog) -> Iterator[StorageFacts]:
    """Path, declaration, product, facts and deployment of every storage product of the cloud."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        products = {item.name: item for item in cloud.storage}
        for index, item in enumerate(plan.spec.storage):
            if item.name in products:
                product = products[item.name]
                service = catalog.get(StorageService, product.product)
                yield f"storage[{index}]", item, product, service, select_deployment(service, item)


def cloud_storage_deployment(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A deployment that the product does not have."""
    for path, item, _, service, deployment in iter_cloud_storage(plan, catalog):
        reason = service.cannot.get(item.deployment or "")
        if item.deployment and deployment is None:
            yield Finding(
                "cloud-storage-deployment",
                "error",
                f"{path}.deployment",
                f"{service.name} has no deployment {item.deployment!r}"
                if reason is None
                else f"{service.name} {item.deployment} is not supported here: {reason}",
                suggest_nearest(item.deployment, [known.name for known in service.deployments]),
            )


def cloud_storage_size(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A size that is missing, beyond the limits, or between two steps."""
    for path, item, product, service, deployment in iter_cloud_storage(plan, catalog):
        if deployment is None or product.existing or service.lowers_to in ("bucket", "servers"):
            continue
        bounded = deployment.sizes or deployment.step or deployment.steps or deployment.min
        if item.capacity is None:
            if bounded:
                yield Finding(
                    "cloud-storage-size",
                    "error",
                    path,
                    f"{service.name} is sold by size, but no size is set",
                    "set 'capacity'",
                )
            continue
        if not bounded:
            continue
        if deployment.max and item.capacity > deployment.max:
            yield Finding(
                "cloud-storage-size",
                "error",
                f"{path}.capacity",
                f"{item.capacity} is over the maximum of {deployment.max} of {service.name}",
                "use another product, or several",
            )
            continue
        size = select_size(deployment, product.per_tib, item.capacity)
        if size != item.capacity:
            step = find_size_step(deployment, product.per_tib)
            yield Finding(
                "cloud-storage-size",
                "warning",
                f"{path}.capacity",
                f"{item.capacity} is not a valid size of {service.name} {deployment.name}"
                + (f" (steps of {step})" if step else "")
                + f": {_format_gib(size)} would be provisioned",
                f"set {_format_gib(size)}",
            )


def _format_gib(size: Size) -> str:
    """The size in the provider's unit, with all digits."""
    return f"{size.ceil('GiB')} GiB"


def cloud_storage_throughput(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Throughput that the product does not offer, or not that much."""
    for path, item, product, service, deployment in iter_cloud_storage(plan, catalog):
        if deployment is None:
            continue
        wanted = item.throughput_per_tib
        rates = ", ".join(format_rate(rate) for rate in deployment.per_tib)
        if wanted is not None and wanted not in deployment.per_tib and service.lowers_to != "servers":
            yield Finding(
                "cloud-storage-throughput",
                "error",
                f"{path}.throughput_per_tib",
                f"{service.name} {deployment.name} does not offer {format_rate(wanted)} per TiB",
                f"set one of {rates}" if rates else "set 'throughput' instead",
            )
        asked = item.throughput
        most = max(filter(None, (asked.read, asked.write)), default=None) if asked else None
        if most and deployment.throughput:
            yield from _check_total_throughput(path, most, product, service, deployment)


def _check_total_throughput(
    path: str, asked: Rate, product: CloudStorage, service: StorageService, deployment: Deployment
) -> Iterator[Finding]:
    """Throughput over the maximum of the deployment, or between the values that it offers."""
    highest = max(deployment.throughput)
    if asked > highest:
        yield Finding(
            "cloud-storage-throughput",
            "error",
            f"{path}.throughput",
            f"{asked.bytes_text} is over the maximum of {highest.bytes_text} of {service.name} {deployment.name}",
            "use another deployment or product",
        )
    elif asked not in deployment.throughput and product.throughput:
        yield Finding(
            "cloud-storage-throughput",
            "note",
            f"{path}.throughput",
            f"{service.name} does not offer {asked.bytes_text}: {product.throughput.bytes_text} would be provisioned",
            f"set {product.throughput.bytes_text}",
        )


def cloud_storage_option(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Options that the product does not have, and invalid values."""
    for path, item, product, service, deployment in iter_cloud_storage(plan, catalog):
        known = _list_option_names(service)
        for name, value in item.options.items():
            problem = _find_option_problem(service, known, name, value)
            if problem:
                yield Finding("cloud-storage-option", "error", f"{path}.options.{name}", *problem)
        version = product.options.get("version")
        if deployment and deployment.versions and version not in deployment.versions:
            yield Finding(
                "cloud-storage-option",
                "error",
                f"{path}.options.version",
                f"{service.name} {deployment.name} does not support version {version}",
                f"set one of {', '.join(deployment.versions)}",
            )


def _list_option_names(service: StorageService) -> set[str]:
    """The options that a product has."""
    return {
        *service.options,
        *service.option_values,
        *service.option_ranges,
        *([service.fabric.option] if service.fabric else ()),
        *([service.install.source, service.install.digest, service.install.token] if service.install else ()),
        *([service.name_option] if service.name_option else ()),
        *([service.existing.option] if service.existing and service.existing.option else ()),
        *(rule.needs for rule in service.option_rules if rule.needs),
    }


def _find_option_problem(service: StorageService, known: set[str], name: str, value: object) -> tuple[str, str] | None:
    """What is wrong with an option, and the fix."""
    values, bounds = service.option_values.get(name), service.option_ranges.get(name)
    if bounds and not (_is_positive(value) and bounds[0] <= value <= bounds[1]):
        return f"{name} cannot be {value!r}", f"set a number from {bounds[0]} to {bounds[1]}"
    if name not in known:
        return f"{service.name} has no option {name!r}", suggest_nearest(name, known)
    if values and value not in values:
        return f"{name} cannot be {value!r}", f"set one of {', '.join(map(str, values))}"
    return None


def cloud_storage_rule(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Options that cannot be combined, and options that require another one."""
    for path, item, product, service, _ in iter_cloud_storage(plan, catalog):
        for rule in service.option_rules:
            if not rule.is_met({**product.options, "linked": item.import_from is not None}):
                continue
            options = ", ".join(
                "import_from" if name == "linked" else f"{name} {value}" for name, value in rule.when.items()
            )
            place = f"{path}.options.{rule.needs or rule.without or next(iter(rule.when))}"
            if rule.needs and not _is_positive(item.options.get(rule.needs)):
                found = item.options.get(rule.needs)
                has = f"{rule.needs} is {found!r}" if rule.needs in item.options else f"{rule.needs} is not set"
                yield Finding(
                    "cloud-storage-rule",
                    "error",
                    place,
                    f"{service.name} with {options}: {has} ({rule.why})",
                    f"set {rule.needs} to a number",
                )
            elif rule.without and rule.without in item.options:
                yield Finding(
                    "cloud-storage-rule",
                    "error",
                    place,
                    f"{service.name} with {options} does not support {rule.without}: {rule.why}",
                    "omit it",
                )
            elif not rule.needs and not rule.without:
                yield Finding(
                    "cloud-storage-rule",
                    "error",
                    place,
                    f"{service.name} does not support {options} together: {rule.why}",
                    "change one of them",
                )


def _is_positive(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def cloud_storage_fabric(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """The fabric to a file system, if deployment or size do not allow it, or if a slightly larger size would."""
    for path, item, product, service, deployment in iter_cloud_storage(plan, catalog):
        rule = service.fabric
        if rule is not None and deployment is not None:
            yield from _check_fabric_rule(path, item, product, rule, deployment)
        elif item.fabric is not None:
            yield Finding(
                "cloud-storage-fabric",
                "warning",
                f"{path}.fabric",
                f"clients reach {service.name} over the network of the cloud, not over a fabric",
                "omit it",
            )


def _check_fabric_rule(
    path: str, item: Storage, product: CloudStorage, rule: FabricRule, deployment: Deployment
) -> Iterator[Finding]:
    place = f"{path}.fabric" if item.fabric else f"{path}.options.{rule.option}"
    asked = item.options.get(rule.option, True if item.fabric else None)
    step, size = rule.steps.get(format_rate(product.per_tib)), product.capacity
    if asked and deployment.name not in rule.deployments:
        yield Finding(
            "cloud-storage-fabric",
            "error",
            place,
            f"{rule.kind} is supported with {', '.join(rule.deployments)}, not with {deployment.name}",
            f"set deployment: {rule.deployments[0]}",
        )
    elif asked and step is None:
        yield Finding(
            "cloud-storage-fabric",
            "warning",
            place,
            f"unknown sizes with {rule.kind} at {format_rate(product.per_tib)} per TiB",
            f"known for {', '.join(rule.steps) or 'none'}",
        )
    elif step is not None and size is not None and not can_use_fabric(rule, product.per_tib, size):
        more = _format_gib(step * -(-size.base // step.base))
        mismatch = (
            f"sizes with {rule.kind} at {format_rate(product.per_tib)} per TiB must be multiples of "
            f"{_format_gib(step)}, not {_format_gib(size)}"
        )
        if asked:
            suggestion = f"set capacity: {more}, or omit {place.rpartition('.')[2]}"
            yield Finding("cloud-storage-fabric", "error", place, mismatch, suggestion)
        elif asked is None and rule.option in product.options and size > step:
            problem = f"{mismatch}: it is accessed without {rule.kind}"
            yield Finding("cloud-storage-fabric", "note", f"{path}.capacity", problem, f"set {more}")


def cloud_storage_servers(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Self-managed servers that are too few, or have no internal disks for the data."""
    for path, _, product, service, _ in iter_cloud_storage(plan, catalog):
        for host in plan.cloud.list_hosts("storage") if plan.cloud else ():
            if host.storage != product.name:
                continue
            if service.min_servers and host.count < service.min_servers:
                yield Finding(
                    "cloud-storage-servers",
                    "error",
                    f"{path}.servers.count",
                    f"{host.count} servers, but {service.name} requires {service.min_servers}",
                    f"set {service.min_servers} or more, or omit it",
                )
            if service.local_disks and not _has_known_disks(host.machine):
                known = catalog.iter_entries(Machine)
                fitting = [
                    one.name
                    for one in known
                    if one.provider == plan.site.kind and _has_known_disks(one) and not one.accelerators
                ]
                yield Finding(
                    "cloud-storage-servers",
                    "error",
                    f"{path}.servers.machine",
                    f"{service.name} stores data on internal disks of its servers, but {host.machine.name} has no "
                    "known disks",
                    f"use one of {', '.join(fitting)}",
                )


def _has_known_disks(machine: Machine) -> bool:
    """Whether it has known internal disks."""
    return any(disk.role == "scratch" for disk in machine.disks) or bool(machine.instance and machine.instance.local)


def cloud_storage_tenants(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A file system linked to a bucket with prefixes of tenants: it shows the objects of all of them."""
    for path, item, product, _, _ in iter_cloud_storage(plan, catalog):
        if product.linked_store and len(plan.tenants) > 1:
            yield Finding(
                "cloud-storage-tenants",
                "warning",
                f"{path}.import_from",
                f"{item.name} shows the objects of all tenants in {product.linked_store}, where each tenant reads its "
                "own prefix only: imported files without owner and mode belong to root, and everyone may read them",
                "use a file system without import_from, or one for each tenant; or give the folder of each prefix the "
                "group of its tenant and mode 0770, and suppress this",
            )


CHECKS = (
    cloud_storage_servers,
    cloud_storage_deployment,
    cloud_storage_size,
    cloud_storage_throughput,
    cloud_storage_option,
    cloud_storage_rule,
    cloud_storage_fabric,
    cloud_storage_tenants,
)
