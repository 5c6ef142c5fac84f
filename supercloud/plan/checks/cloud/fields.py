"""Words of the spec that mean something on clouds only, said on-prem: nothing would come of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import BaseModel

from ....catalog import Catalog
from ....errors import Finding
from ...model import Plan

__all__ = ["CHECKS"]

_POOL = ("capacity", "disk", "zones", "min", "initial", "placement", "local", "domain")
_NETWORK = ("id", "subnets", "cidrs", "access", "closed")
_SCHEDULER = ("machine", "disk", "state", "public", "login", "managed_database", "system")
_STORAGE = ("deployment", "options")


def cloud_fields(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Fields for clouds in the spec of a site of one's own."""
    if plan.site.kind != "onprem":
        return
    spec = plan.spec
    said = [("budget", spec.budget is not None)]
    said += _said("network", spec.network, _NETWORK)
    said += _said("scheduler", spec.scheduler, _SCHEDULER)
    for index, pool in enumerate(spec.pools):
        said += _said(f"pools[{index}]", pool, _POOL)
    for index, item in enumerate(spec.storage):
        said += _said(f"storage[{index}]", item, _STORAGE)
    for path, is_said in said:
        if is_said:
            yield Finding("cloud-fields", "warning", path, f"{path.rpartition('.')[2]} means nothing on-prem",
                          "leave it out, or set site.kind to a cloud")  # fmt: skip


def _said(path: str, model: BaseModel, names: Iterable[str]) -> Iterator[tuple[str, bool]]:
    for name in names:
        yield f"{path}.{name}", name in model.model_fields_set and bool(getattr(model, name))


CHECKS = (cloud_fields,)
