"""Checks of fields of the spec that apply to clouds only, or on-prem only, and have no effect on the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import BaseModel

from ....catalog import Catalog
from ....errors import Finding
from ...model.plan import Plan

__all__ = ["CHECKS"]

_POOL_FIELDS = (
    "capacity",
    "disk",
    "zones",
    "min",
    "initial",
    "placement",
    "placement_group",
    "threads_per_core",
    "local",
    "domain",
)
_NETWORK_FIELDS = ("id", "subnets", "cidrs", "access", "zone", "endpoints", "isolated")
_SCHEDULER_FIELDS = ("disk", "state", "public", "login", "managed_database", "system")
_STORAGE_FIELDS = ("id", "deployment", "options")
_HOST_FIELDS = ("address",)
_ONPREM_FIELDS = {
    "pool": ("hosts", "rack"),
    "network": ("fabrics", "macs", "management"),
    "scheduler": ("state_folder",),
    "storage": ("average_file", "data_on_metadata", "interface", "metadata", "protection", "servers"),
    "servers": ("average_file", "data_on_metadata", "interface", "metadata"),
}
"""Fields that apply on-prem only; ``servers``: of storage on on-prem servers."""
_FABRIC_FIELDS = ("name", "kind", "role", "rails", "planes")
"""Fields of a fabric that the provider owns."""


def cloud_fields(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Fields for clouds in the spec of an on-prem site, and the reverse."""
    if plan.site.kind != "onprem":
        for path in _iter_physical_paths(plan):
            yield Finding(
                "cloud-fields",
                "warning",
                path,
                f"{path.rpartition('.')[2]} has no effect at {plan.site.kind}",
                "omit it, or set site.kind to onprem",
            )
        return
    spec = plan.spec
    declared = [("budget", spec.budget is not None)]
    declared += _iter_declared_fields("network", spec.network, _NETWORK_FIELDS)
    declared += _iter_declared_fields("scheduler", spec.scheduler, _SCHEDULER_FIELDS)
    for index, pool in enumerate(spec.pools):
        declared += _iter_declared_fields(f"pools[{index}]", pool, _POOL_FIELDS)
    for index, item in enumerate(spec.storage):
        declared += _iter_declared_fields(f"storage[{index}]", item, _STORAGE_FIELDS)
    for path, is_declared in declared:
        if is_declared:
            yield Finding(
                "cloud-fields",
                "warning",
                path,
                f"{path.rpartition('.')[2]} has no effect on-prem",
                "omit it, or set site.kind to a cloud",
            )


def _iter_physical_paths(plan: Plan) -> Iterator[str]:
    """Paths of declared fields of equipment that a provider owns."""
    spec, own = plan.spec, {item.name: item.kind for item in plan.cloud.storage} if plan.cloud else {}
    declared = [
        ("facility", spec.facility is not None),
        *_iter_declared_fields("network", spec.network, _ONPREM_FIELDS["network"]),
        *_iter_declared_fields("scheduler", spec.scheduler, _ONPREM_FIELDS["scheduler"]),
    ]
    for index, pool in enumerate(spec.pools):
        declared += _iter_declared_fields(f"pools[{index}]", pool, _ONPREM_FIELDS["pool"])
    for index, fabric in enumerate(spec.fabrics):
        declared += _iter_declared_fields(
            f"fabrics[{index}]", fabric, sorted(type(fabric).model_fields.keys() - {*_FABRIC_FIELDS})
        )
    for index, item in enumerate(spec.storage):
        kind = "servers" if own.get(item.name) == "servers" else "storage"
        declared += _iter_declared_fields(f"storage[{index}]", item, _ONPREM_FIELDS[kind])
    if spec.scheduler.kind == "kubernetes":
        declared += _iter_declared_fields("scheduler", spec.scheduler, ("machine",))
    if spec.scheduler.kind == "slurm":
        for index, host in enumerate(spec.scheduler.controllers):
            declared += _iter_declared_fields(f"scheduler.controllers[{index}]", host, _HOST_FIELDS)
    yield from (path for path, is_declared in declared if is_declared)


def _iter_declared_fields(path: str, model: BaseModel, names: Iterable[str]) -> Iterator[tuple[str, bool]]:
    for name in names:
        yield f"{path}.{name}", name in model.model_fields_set and bool(getattr(model, name))


CHECKS = (cloud_fields,)
