"""Storage as the provider sells it: product, deployment, a size that is a step of it, a throughput it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ....catalog import StorageService
from ....catalog.storage_service import Deployment, FabricRule
from ....errors import UnknownName
from ....primitives.quantity import Rate, Size
from ....spec import Storage
from ....spec.base import OptionValue
from ...model.cloud import CloudInstall, CloudStorage
from ...model.plan import StoragePlan
from .given import Given

__all__ = ["deployment_of", "fits", "rate_text", "service_of", "size_of", "step_of", "storage_products"]

_TIB = Size(1, "TiB")


def service_of(given: Given, item: Storage, path: str, quiet: bool = False) -> StorageService | None:
    """The provider's product for a storage: the one named, else the usual one of its kind."""
    provider, problems = given.provider, given.problems
    name = item.product or provider.defaults.storage.get(item.kind)
    if name is None:
        reason = provider.cannot.get(item.kind)
        if not quiet:
            problems.error(
                "cloud-storage-kind", f"{path}.kind",
                f"{provider.name} has no {item.kind}" + (f": {reason}" if reason else ""),
                "name a 'product': supercloud catalog storage-services" if item.kind == "managed" else
                f"take one of {', '.join(provider.defaults.storage)}",
            )  # fmt: skip
        return None
    ours = [known for known in given.catalog.names("storage-services")]
    if name not in ours:
        if not quiet:
            problems.unknown(f"{path}.product", UnknownName("storage service", name, ours))
        return None
    service = cast(StorageService, given.catalog.get("storage-services", name))
    if service.provider != provider.name or item.kind not in (*service.kinds, "managed"):
        if not quiet:
            problems.error(
                "cloud-storage-kind", f"{path}.product",
                f"{name} is a product of {service.provider} for {', '.join(service.kinds)}, not for {item.kind} at "
                f"{provider.name}",
                f"leave it out for the usual one, {provider.defaults.storage.get(item.kind, 'if there is any')}",
            )  # fmt: skip
        return None
    return service


def deployment_of(service: StorageService, item: Storage) -> Deployment | None:
    """The way it is set up: the one named, else the first that sells the throughput per TiB asked for, else the first.

    None where the one named is not among them.
    """
    if not service.deployments:
        return None
    if item.deployment:
        return service.deployment(item.deployment)
    wanted = item.throughput_per_tib
    fitting = [one for one in service.deployments if wanted is None or not one.per_tib or wanted in one.per_tib]
    return (fitting or list(service.deployments))[0]


def step_of(deployment: Deployment, per_tib: Rate | None) -> Size | None:
    """The step its sizes come in."""
    return deployment.steps.get(rate_text(per_tib), deployment.step) if per_tib else deployment.step


def fits(rule: FabricRule, per_tib: Rate | None, size: Size) -> bool:
    """Whether a file system of that size can be reached over the fabric."""
    step = rule.steps.get(rate_text(per_tib))
    return step is not None and size.base > 0 and size.base % step.base == 0


def rate_text(rate: Rate | None) -> str:
    """How data files name a throughput: ``250 MB/s``."""
    return f"{rate.to('MB/s'):g} MB/s" if rate else ""


def size_of(deployment: Deployment, per_tib: Rate | None, wanted: Size) -> Size:
    """The smallest size it comes in that is not below what is wanted (its largest where nothing is)."""
    for size in deployment.sizes:
        if size >= wanted:
            return size
    step = step_of(deployment, per_tib)
    wanted = max(wanted, deployment.min) if deployment.min else wanted
    size = step * -(-wanted.base // step.base) if step else wanted
    return min(size, deployment.max) if deployment.max else size


def storage_products(
    given: Given, plans: tuple[StoragePlan, ...], subnets: tuple[str, ...], fabric: bool
) -> tuple[CloudStorage, ...]:
    """Every storage of the spec that the provider sells. ``subnets`` are keys in the order of the zones to use."""
    wanted = {plan.name: plan for plan in plans}
    found = []
    for index, item in enumerate(given.spec.storage):
        service = service_of(given, item, f"storage[{index}]")
        if service is not None:
            found.append(_product(given, item, service, wanted.get(item.name), subnets, fabric))
    return tuple(found)


def _product(
    given: Given, item: Storage, service: StorageService, plan: StoragePlan | None, subnets: tuple[str, ...],
    fabric: bool,
) -> CloudStorage:  # fmt: skip
    deployment = deployment_of(service, item)
    options: dict[str, str | int | bool] = {**service.options, **item.options}
    capacity, throughput, per_tib = None, None, None
    if deployment is not None:
        options.setdefault("deployment", deployment.name)
        wanted = max(filter(None, (plan.read, plan.write)), default=None) if plan else None
        capacity = item.capacity
        if deployment.per_tib:
            per_tib = item.throughput_per_tib or _per_tib(deployment, capacity, wanted)
            if wanted and capacity and not item.throughput_per_tib and per_tib * capacity.to("TiB") < wanted:
                capacity = _TIB * (wanted / per_tib)  # the fastest is too slow at this size: only size helps
        if capacity is not None and service.lowers_to != "servers":
            capacity = size_of(deployment, per_tib, capacity)
        if per_tib and capacity:
            throughput = per_tib * capacity.to("TiB")
        elif deployment.throughput:
            asked = wanted or deployment.throughput[0]
            throughput = next((rate for rate in deployment.throughput if rate >= asked), max(deployment.throughput))
        rule = service.fabric
        if rule and rule.option not in options and fabric and deployment.name in rule.deployments:
            options[rule.option] = bool(item.fabric or capacity and fits(rule, per_tib, capacity))
    zones = deployment.zones if deployment else 1
    everywhere = deployment is not None and deployment.everywhere
    return CloudStorage(
        name=item.name,
        kind=service.lowers_to,
        product=service.name,
        mount=item.mount,
        subnets=() if service.lowers_to == "bucket" else subnets if everywhere else subnets[:zones],
        capacity=capacity,
        throughput=throughput,
        per_tib=per_tib,
        options=_sorted(_fitting(service, item, options)),
        linked=item.import_from,
        ports=(*(f"tcp:{port}" for port in service.tcp_ports), *(f"udp:{port}" for port in service.udp_ports)),
        mounting=service.mount,
        install=_install(service, options),
    )


def _fitting(service: StorageService, item: Storage, options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
    """The options without defaults that do not go with the others."""
    left_out = {rule.without for rule in service.option_rules if rule.holds(options)} - item.options.keys()
    return {name: value for name, value in options.items() if name not in left_out}


def _install(service: StorageService, options: Mapping[str, str | int | bool]) -> CloudInstall | None:
    """Where the software of servers comes from, as the options say it."""
    rule = service.install
    if rule is None or rule.source not in options:
        return None
    token = options.get(rule.token)
    return CloudInstall(str(options[rule.source]), None if token is None else str(token))


def _per_tib(deployment: Deployment, capacity: Size | None, wanted: Rate | None) -> Rate:
    """The slowest that is fast enough, else the fastest."""
    rates = sorted(deployment.per_tib)
    if wanted is None or capacity is None:
        return rates[0]
    return next((rate for rate in rates if rate * capacity.to("TiB") >= wanted), rates[-1])


def _sorted(options: Mapping[str, str | int | bool]) -> dict[str, str | int | bool]:
    return dict(sorted(options.items()))
