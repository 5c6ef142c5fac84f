"""Checks of the user's file systems, placement groups and endpoints, and of threads of machines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....catalog import Catalog
from ....errors import Finding
from ...model.plan import Plan
from .facts import iter_cloud_facts, iter_pools
from .storage import iter_cloud_storage

__all__ = ["CHECKS"]


def cloud_existing_storage(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """An existing file system of a product that does not support it, described incompletely, or out of reach."""
    for path, declared, _, service, _ in iter_cloud_storage(plan, catalog):
        rule = service.existing
        if declared.id is None or plan.cloud is None:
            continue
        if rule is None:
            problem, hint = f"existing ones of {service.name} cannot be used", "omit it"
        elif not re.fullmatch(rule.id, declared.id):
            problem, hint = f"{declared.id!r} is not an identifier of {service.name}", f"an example is {rule.example}"
        else:
            problem, hint = "", ""
        if problem:
            yield Finding("cloud-existing-storage", "error", f"{path}.id", problem, hint)
        elif rule is not None and rule.option is not None and not declared.options.get(rule.option):
            yield Finding(
                "cloud-existing-storage",
                "error",
                f"{path}.options.{rule.option}",
                f"what machines mount from {declared.id} is not set",
                f"set {rule.option} as the provider shows it for {declared.id}",
            )
        elif plan.cloud.network.existing is None:
            yield Finding(
                "cloud-existing-storage",
                "warning",
                f"{path}.id",
                f"{declared.id} is in another network than the machines, which are in a new one",
                "set network.id and network.subnets of its network, or connect the two networks yourself",
            )


def cloud_existing_placement(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """An existing placement group for capacity that supports none, for several zones, or without effect."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            if declared.placement_group is None:
                continue
            groups = cloud.list_groups(pool.name)
            rules = {group.key: provider.find_capacity_rule(group.capacity.kind) for group in groups}
            refused = [key for key, rule in rules.items() if rule is not None and rule.placement == "refused"]
            if refused:
                problem = f"capacity of {', '.join(refused)} cannot be used with a placement group"
            elif declared.placement is not None:
                problem = f"'placement' is {declared.placement} too, which is for a new group"
            elif any(len(group.zones) > 1 for group in groups):
                problem = "a placement group is in one zone, and the pool has several"
            else:
                continue
            yield Finding("cloud-existing-placement", "error", f"{path}.placement_group", problem, "omit one of them")


def cloud_existing_endpoints(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Existing endpoints of a network that is created, or duplicates."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        declared = plan.spec.network.endpoints
        if declared and cloud.network.existing is None:
            yield Finding(
                "cloud-existing-endpoints",
                "error",
                "network.endpoints",
                "a network that is created has no endpoints yet",
                "omit it, or set network.id",
            )
        for index, name in enumerate(declared):
            if name in declared[:index]:
                yield Finding(
                    "cloud-existing-endpoints",
                    "error",
                    f"network.endpoints[{index}]",
                    f"duplicate service {name}",
                    "list each service once",
                )


def cloud_threads(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """One thread of each core for machines whose number of cores is unknown, and two where cores have one."""
    for _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            cpu, instance = pool.machine.cpu, pool.machine.instance
            if declared.threads_per_core is None or instance is None:
                continue
            if cpu is None and declared.threads_per_core == 1 and instance.arch == "x86_64":
                problem = f"the catalog has no number of cores of {declared.machine}, which the cloud requires for it"
            elif declared.threads_per_core == 2 and (instance.arch == "aarch64" or (cpu and cpu.threads_per_core == 1)):
                problem = f"cores of {declared.machine} have one thread"
            else:
                continue
            yield Finding("cloud-threads", "error", f"{path}.threads_per_core", problem, "omit it")


def cloud_boot_script(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Programs for the start of machines that no machine can fetch, that are listed twice, or that nothing runs."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        seen: dict[str, int] = {}
        for index, script in enumerate(cloud.boot_scripts):
            path, rule = f"site.scripts[{index}]", provider.identifiers.get("object")
            first = seen.setdefault(script.sha256, index)
            if plan.scheduler.kind == "kubernetes":
                problem = "nodes of the managed Kubernetes do not run it: only machines of Slurm do"
                yield Finding("cloud-boot-script", "error", path, problem, "omit it, and use a DaemonSet")
            elif not script.source.startswith("https://") and not (rule and re.fullmatch(rule, script.source)):
                form = provider.identifier_forms.get("object", "an object of a bucket")
                problem = f"{script.source!r} is not a valid location of a program"
                yield Finding(
                    "cloud-boot-script", "error", f"{path}.source", problem, f"use https://host/path or {form}"
                )
            elif script.source.startswith("https://") and cloud.network.is_isolated:
                problem = f"{script.source} is not reachable from an isolated network"
                yield Finding("cloud-boot-script", "error", f"{path}.source", problem, "put it into a bucket")
            elif first < index:
                problem = f"the same program as site.scripts[{first}], which machines run once"
                yield Finding("cloud-boot-script", "error", f"{path}.sha256", problem, "remove one of them")


CHECKS = (
    cloud_boot_script,
    cloud_existing_storage,
    cloud_existing_placement,
    cloud_existing_endpoints,
    cloud_threads,
)
