"""Names used twice on a cloud site, where one resource could not be created or not be found."""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog import Catalog
from ....errors import Finding
from ....spec import SlurmScheduler
from ...model.cloud import CloudPlan
from ...model.plan import Plan
from .facts import iter_cloud_facts

__all__ = ["CHECKS"]


def cloud_name_clash(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines with the same name, and an object store with the name of the cluster's own bucket."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        seen: dict[str, str] = {}
        for name, what, path in _iter_names(plan, cloud):
            if name in seen:
                yield Finding(
                    "cloud-name-clash",
                    "error",
                    path,
                    f"duplicate name {name}: {seen[name]} and {what}",
                    "choose another name",
                )
            seen.setdefault(name, what)
        for index, item in enumerate(plan.spec.storage):
            if item.kind == "object" and item.name == cloud.state_bucket:
                yield Finding(
                    "cloud-name-clash",
                    "error",
                    f"storage[{index}].name",
                    f"{item.name} is the name of the bucket with the cluster's configuration",
                    "choose another name",
                )


def _iter_names(plan: Plan, cloud: CloudPlan) -> Iterator[tuple[str, str, str]]:
    """(name, resource with that name, path that declares it), names that the spec cannot choose first."""
    declared = plan.spec.scheduler
    for host in cloud.list_hosts("login"):
        yield from ((name, "a login", "scheduler.login.count") for name in host.hosts)
    if cloud.database:
        yield cloud.database.host, "the accounting database", "scheduler.managed_database"
    if isinstance(declared, SlurmScheduler):
        for index, controller in enumerate(declared.controllers):
            yield controller.name, f"controller {index + 1}", f"scheduler.controllers[{index}].name"
        if cloud.list_hosts("database") and declared.database:
            yield declared.database.name, "the host of slurmdbd", "scheduler.database.name"
    for index, item in enumerate(plan.spec.storage):
        for host in cloud.list_hosts("storage"):
            if host.storage == item.name:
                yield from ((name, f"a server of {item.name}", f"storage[{index}].name") for name in host.hosts)


CHECKS = (cloud_name_clash,)
