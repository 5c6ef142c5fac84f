"""Storage products of the provider: product, deployment, a size that is a step of it, an available throughput."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....catalog import StorageService
from ....catalog.storage_service import Deployment, FabricRule
from ....errors import UnknownNameError
from ....primitives.quantity import Rate, Size
from ....spec import Storage
from ....spec.base import OptionValue
from ...model.cloud import CloudInstall, CloudStorage, ExistingFileSystem
from ...model.plan import StoragePlan
from .inputs import CloudInputs

__all__ = [
    "select_deployment",
    "can_use_fabric",
    "format_rate",
    "find_storage_service",
    "select_size",
    "find_size_step",
    "build_storage_products",
]

_TIB = Size(1, "TiB")


def find_storage_service(
    inputs: CloudInputs, storage: Storage, path: str, is_quiet: bool = False
) -> StorageService | None:
    """The provider's product for a storage: the specified one, else the default of its kind."""
    provider, problems = inputs.provider, inputs.problems
    name = storage.product or provider.defaults.storage.get(storage.kind)
    if name is None:
        reason = provider.cannot.get(storage.kind)
        if not is_quiet:
            problems.add_error(
                "cloud-storage-kind",
                f"{path}.kind",
                f"{provider.name} does not offer {storage.kind}" + (f": {reason}" if reason else ""),
                "set 'product': supercloud catalog storage-services"
                if storage.kind == "managed"
                else f"use one of {', '.join(provider.defaults.storage)}",
            )
        return None
    ours = list(inputs.catalog.list_names("storage-services"))
    if name not in ours:
        if not is_quiet:
            problems.add_unknown_name(f"{path}.product", UnknownNameError("storage service", name, ours))
        return None
    service = inputs.catalog.get(StorageService, name)
    if service.provider != provider.name or storage.kind not in (*service.kinds, "managed"):
        if not is_quiet:
            problems.add_error(
                "cloud-storage-kind",
                f"{path}.product",
                f"{name} is a product of {service.provider} for {', '.join(service.kinds)}, not for {storage.kind} at "
                f"{provider.name}",
                f"omit it to use the default, {provider.defaults.storage.get(storage.kind, 'if any')}",
            )
        return None
    return service


def select_deployment(service: StorageService, storage: Storage) -> Deployment | None:
    """The deployment: the specified one, else the first with the requested throughput per TiB, else the first.

    None if the specified one does not exist.
    """
    if not service.deployments:
        return None
    if storage.deployment:
        return service.find_deployment(storage.deployment)
    wanted = storage.throughput_per_tib
    fitting = [one for one in service.deployments if wanted is None or not one.per_tib or wanted in one.per_tib]
    return (fitting or list(service.deployments))[0]


def find_size_step(deployment: Deployment, per_tib: Rate | None) -> Size | None:
    """The step of its sizes."""
    return deployment.steps.get(format_rate(per_tib), deployment.step) if per_tib else deployment.step


def can_use_fabric(rule: FabricRule, per_tib: Rate | None, size: Size) -> bool:
    """Whether clients can reach a file system of that size over the fabric."""
    step = rule.steps.get(format_rate(per_tib))
    return step is not None and size.base > 0 and size.base % step.base == 0


def format_rate(rate: Rate | None) -> str:
    """Format a throughput as the data files do: ``250 MB/s``."""
    return f"{rate.to('MB/s'):g} MB/s" if rate else ""


def select_size(deployment: Deployment, per_tib: Rate | None, requested: Size) -> Size:
    """The smallest available size that is at least the requested one (the largest if there is none)."""
    for size in deployment.sizes:
        if size >= requested:
            return size
    step = find_size_step(deployment, per_tib)
    requested = max(requested, deployment.min) if deployment.min else requested
    size = step * -(-requested.base // step.base) if step else requested
    return min(size, deployment.max) if deployment.max else size


def build_storage_products(
    inputs: CloudInputs, plans: tuple[StoragePlan, ...], subnets: tuple[str, ...], has_fabric: bool
) -> tuple[CloudStorage, ...]:
    """All storages of the spec that the provider offers. ``subnets`` are keys in the order of the zones to use."""
    wanted = {plan.name: plan for plan in plans}
    found = []
    for index, item in enumerate(inputs.spec.storage):
        service = find_storage_service(inputs, item, f"storage[{index}]")
        if service is not None:
            found.append(_build_product(inputs, item, service, wanted.get(item.name), subnets, has_fabric))
    return tuple(found)


@dataclass(frozen=True)
class _Sizing:
    """The size of a file system, and what it gives; None: not applicable, or unknown."""

    capacity: Size | None = None
    throughput: Rate | None = None
    per_tib: Rate | None = None


def _build_product(
    inputs: CloudInputs,
    storage: Storage,
    service: StorageService,
    plan: StoragePlan | None,
    subnets: tuple[str, ...],
    has_fabric: bool,
) -> CloudStorage:
    deployment = select_deployment(service, storage)
    options: dict[str, str | int | bool] = {**service.options, **storage.options}
    sizing = _Sizing()
    if deployment is not None:
        options.setdefault("deployment", deployment.name)
        sizing = _compute_sizing(storage, service, deployment, plan)
        rule = service.fabric
        if rule and rule.option not in options and has_fabric and deployment.name in rule.deployments:
            options[rule.option] = bool(storage.fabric) or _can_size_use_fabric(rule, sizing)
    return CloudStorage(
        name=storage.name,
        kind=service.lowers_to,
        product=service.name,
        mount=storage.mount,
        subnets=_select_subnets(service, deployment, subnets),
        capacity=sizing.capacity,
        throughput=sizing.throughput,
        per_tib=sizing.per_tib,
        options=_sort_options(_select_default_options(service, storage, options)),
        linked_store=storage.import_from,
        ports=(*(f"tcp:{port}" for port in service.tcp_ports), *(f"udp:{port}" for port in service.udp_ports)),
        mount_rule=service.mount,
        fabric_client=rule.client if (rule := service.fabric) and options.get(rule.option) is True else None,
        existing=_build_existing(inputs, storage, service),
        install=_build_install(service, options),
    )


def _build_existing(inputs: CloudInputs, storage: Storage, service: StorageService) -> ExistingFileSystem | None:
    """The user's file system; None if it is created."""
    rule = service.existing
    if storage.id is None or rule is None:
        return None
    partition = inputs.provider.find_partition(inputs.region.name)
    suffix = partition.suffix if partition else ""
    server = rule.server.format(id=storage.id, region=inputs.region.name, suffix=suffix)
    path = service.mount.path if service.mount else ""
    return ExistingFileSystem(storage.id, server, str(storage.options.get(rule.option, "")) if rule.option else path)


def _compute_sizing(
    storage: Storage, service: StorageService, deployment: Deployment, plan: StoragePlan | None
) -> _Sizing:
    """The size of a deployment that gives the required throughput, as far as its steps allow."""
    wanted = max(filter(None, (plan.read, plan.write)), default=None) if plan else None
    capacity, per_tib = storage.capacity, None
    if deployment.per_tib:
        per_tib = storage.throughput_per_tib or _select_per_tib(deployment, capacity, wanted)
        if wanted and capacity and not storage.throughput_per_tib and per_tib * capacity.to("TiB") < wanted:
            capacity = _TIB * (wanted / per_tib)  # the fastest is too slow at this size: only a larger size helps
    if capacity is not None and service.lowers_to != "servers":
        capacity = select_size(deployment, per_tib, capacity)
    if per_tib and capacity:
        return _Sizing(capacity, per_tib * capacity.to("TiB"), per_tib)
    return _Sizing(capacity, _select_throughput(deployment, wanted), per_tib)


def _select_throughput(deployment: Deployment, requested: Rate | None) -> Rate | None:
    """The slowest throughput that is fast enough, else the fastest; None if the deployment has no steps of it."""
    rates = deployment.throughput
    if not rates:
        return None
    return next((rate for rate in rates if rate >= (requested or rates[0])), max(rates))


def _can_size_use_fabric(rule: FabricRule, sizing: _Sizing) -> bool:
    return sizing.capacity is not None and can_use_fabric(rule, sizing.per_tib, sizing.capacity)


def _select_subnets(
    service: StorageService, deployment: Deployment | None, subnets: tuple[str, ...]
) -> tuple[str, ...]:
    """The subnets of a product: none of a bucket, else one for each zone of its deployment."""
    if service.lowers_to == "bucket":
        return ()
    if deployment is not None and deployment.everywhere:
        return subnets
    return subnets[: deployment.zones if deployment else 1]


def _select_default_options(
    service: StorageService, storage: Storage, options: Mapping[str, OptionValue]
) -> dict[str, OptionValue]:
    """Options without defaults that are not compatible with the others."""
    left_out = {rule.without for rule in service.option_rules if rule.is_met(options)} - storage.options.keys()
    return {name: value for name, value in options.items() if name not in left_out}


def _build_install(service: StorageService, options: Mapping[str, str | int | bool]) -> CloudInstall | None:
    """The software source of servers, from the options."""
    rule = service.install
    if rule is None or rule.source not in options:
        return None
    token, digest = (None if (value := options.get(name)) is None else str(value) for name in (rule.token, rule.digest))
    return CloudInstall(str(options[rule.source]), token, digest.lower() if digest else None)


def _select_per_tib(deployment: Deployment, capacity: Size | None, requested: Rate | None) -> Rate:
    """The slowest tier that is fast enough, else the fastest."""
    rates = sorted(deployment.per_tib)
    if requested is None or capacity is None:
        return rates[0]
    return next((rate for rate in rates if rate * capacity.to("TiB") >= requested), rates[-1])


def _sort_options(options: Mapping[str, str | int | bool]) -> dict[str, str | int | bool]:
    return dict(sorted(options.items()))
