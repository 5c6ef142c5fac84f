"""Checks of service machines of clouds, tags and budget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from ....catalog import Catalog, Prices
from ....errors import Finding
from ....primitives.counts import format_count
from ....primitives.quantity import Duration, Money
from ...build.cloud.cost import HOURS_PER_MONTH, find_list_price
from ...model.cloud import CloudPlan
from ...model.plan import Plan
from .facts import iter_cloud_facts, iter_pools

__all__ = ["CHECKS"]

# Tags of resources in addition to the user's: name, cluster, pool, group.
_RESERVED_TAG_COUNT = 4
_RESERVED_TAG_NAMES = re.compile("Name|supercloud:.*", re.IGNORECASE)


def cloud_arch(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Different instruction sets: a program built on a login node does not run on nodes of another one."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        nodes = {pool.machine.instance.arch: pool.name for pool in plan.pools if pool.machine.instance}
        for host in cloud.hosts:
            instance = host.machine.instance
            if host.role in ("controller", "login") and instance and nodes and instance.arch not in nodes:
                other = next(iter(nodes))
                path = "scheduler.machine" if host.role == "controller" else "scheduler.login.machine"
                yield Finding(
                    "cloud-arch",
                    "error",
                    path,
                    f"{host.key} ({host.machine.name}) is {instance.arch}, nodes of {nodes[other]} are {other}",
                    f"use an {other} machine",
                )
        if len(nodes) > 1:
            architectures = ", ".join(f"{pool} {arch}" for arch, pool in sorted(nodes.items()))
            yield Finding(
                "cloud-arch",
                "warning",
                "pools",
                f"pools have different instruction sets: {architectures}",
                "select a pool by feature in jobs, and build programs for each",
            )


def cloud_controller_memory(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A controller with less memory than the provider recommends for the number of nodes."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        if provider.controller_memory is None:
            continue
        need = provider.controller_memory.compute(plan.nodes)
        for host in cloud.list_hosts("controller"):
            if host.machine.memory and host.machine.memory < need:
                yield Finding(
                    "cloud-controller-memory",
                    "error",
                    "scheduler.machine",
                    f"{host.machine.name} has {host.machine.memory}, {plan.nodes} nodes require {need.to('GB'):.1f} GB",
                    "use a larger machine, or omit it",
                )
                break


def cloud_tags(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Tags that the cloud rejects, or too many of them."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        limit = provider.limits.get("tags")
        if limit and len(cloud.tags) + _RESERVED_TAG_COUNT > limit.value:
            yield Finding(
                "cloud-tags",
                "error",
                "tags",
                f"{len(cloud.tags)} tags and {_RESERVED_TAG_COUNT} reserved ones: {limit.value} {limit.what} are "
                "allowed",
                f"keep at most {limit.value - _RESERVED_TAG_COUNT}",
            )
        known: dict[str, str] = {}
        for key, value in cloud.tags.items():
            other = known.setdefault(key.lower() if provider.tags_ignore_case else key, key)
            if other != key:
                yield Finding(
                    "cloud-tags",
                    "error",
                    f"tags.{key}",
                    f"{key} and {other} differ only in case, which roles do not distinguish",
                    "keep one of them",
                )
            if _RESERVED_TAG_NAMES.fullmatch(key):
                yield Finding(
                    "cloud-tags",
                    "error",
                    f"tags.{key}",
                    f"{key} is reserved: it is set on every resource",
                    "choose another key",
                )
            for what, text in (("tag-key", key), ("tag-value", value)):
                rule = provider.names.get(what)
                problem = rule.find_problem(text) if rule else ""
                if problem:
                    yield Finding(
                        "cloud-tags",
                        "error",
                        f"tags.{key}",
                        f"{provider.name} rejects it: {problem}",
                        "choose another value",
                    )


def cloud_balancer(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A load balancer in front of one machine, or of machines that nobody logs in to."""
    for _ in iter_cloud_facts(plan, catalog):
        scheduler = plan.spec.scheduler
        for name in ("login", "system"):
            hosts = getattr(scheduler, name, None)
            if hosts is None or not hosts.balancer:
                continue
            if name == "system":
                problem, hint = "nobody logs in to machines for system pods", "omit it"
            elif hosts.count < 2:
                problem, hint = (
                    f"there {'is one login machine' if hosts.count else 'are no login machines'}",
                    "set count: 2",
                )
            else:
                continue
            yield Finding("cloud-balancer", "error", f"scheduler.{name}.balancer", problem, hint)


def cloud_disk(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Disks larger than the cloud offers."""
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        limit = provider.limits.get("disk")
        scheduler = plan.spec.scheduler
        disks = [(f"{path}.disk", declared.disk) for path, declared, _ in iter_pools(plan)]
        disks += [(f"scheduler.{name}", getattr(scheduler, name, None)) for name in ("disk", "state")]
        disks += [
            (f"scheduler.{name}.disk", getattr(getattr(scheduler, name, None), "disk", None))
            for name in ("login", "system")
        ]
        for path, size in disks:
            if limit and size is not None and size.to("GiB") > limit.value:
                yield Finding(
                    "cloud-disk",
                    "error",
                    path,
                    f"{size} is over the limit of {limit.value} {limit.what}",
                    "use a file system for more capacity",
                )


def cloud_budget(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A monthly cost of all resources, where prices are known, over the budget; and a budget that cannot be used."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        month = cloud.cost.known_total * HOURS_PER_MONTH
        partition = provider.find_partition(cloud.region)
        if cloud.monthly_budget is not None and partition is not None and partition.budget is not None:
            yield Finding(
                "cloud-budget",
                "error",
                "budget",
                f"budgets are not available in {cloud.region}: {partition.budget}",
                "omit it",
            )
        elif cloud.monthly_budget is not None and not cloud.monthly_budget.base:
            yield Finding(
                "cloud-budget", "error", "budget", "the budget must be greater than 0", "raise it, or omit it"
            )
        elif cloud.monthly_budget is not None and month > cloud.monthly_budget:
            more = f" and {len(cloud.cost.unpriced_items)} items without a price" if cloud.cost.unpriced_items else ""
            yield Finding(
                "cloud-budget",
                "warning",
                "budget",
                f"one month of all resources costs {month.to('USD'):,.0f} USD{more}, but the budget is "
                f"{cloud.monthly_budget.to('USD'):,.0f} USD",
                "use fewer nodes, start with fewer ('initial'), or raise it",
            )
        elif cloud.monthly_budget is not None and (unpriced := _list_unpriced_machines(cloud)):
            maximum = _compute_spot_maximum(plan, catalog, cloud, unpriced)
            if maximum is not None and month + maximum <= cloud.monthly_budget:
                continue
            yield Finding(
                "cloud-budget",
                "warning",
                "budget",
                f"unknown whether the budget of {cloud.monthly_budget.to('USD'):,.0f} USD is enough: one month of what "
                f"has a price costs {month.to('USD'):,.0f} USD, and {format_count(len(unpriced), 'item')} "
                f"{'has' if len(unpriced) == 1 else 'have'} none ({', '.join(unpriced)})",
                "add their prices to a catalog overlay, or suppress this finding with what they cost as its reason",
            )


def _list_unpriced_machines(cloud: CloudPlan) -> list[str]:
    """Groups of machines and hosts without a price. Disks and traffic have none either, but cost less than machines."""
    machines = {group.key for group in cloud.groups} | {host.key for host in cloud.hosts}
    return [item for item in cloud.cost.unpriced_items if item in machines]


def _compute_spot_maximum(plan: Plan, catalog: Catalog, cloud: CloudPlan, keys: list[str]) -> Money | None:
    """The highest monthly cost of groups of spot instances, which cost at most the on-demand price; None if unknown."""
    total, groups = Money(0, "USD"), {group.key: group for group in cloud.groups}
    for key in keys:
        group = groups.get(key)
        if group is None or group.capacity.kind != "spot":
            return None
        found = find_list_price(catalog, plan.get_pool(group.pool).machine, cloud.region, "on-demand")
        if found is None:
            return None
        total = total + cast(Money, found.price * Duration(1, "h")) * (group.max_nodes * HOURS_PER_MONTH)
    return total


def cloud_spot_price(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A spot limit above the list price: the list price is the maximum anyway."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            for index, way in enumerate(declared.capacity):
                limit = getattr(way, "max_price", None)
                if limit is not None and not limit.base:
                    yield Finding(
                        "cloud-spot-price",
                        "error",
                        f"{path}.capacity[{index}].max_price",
                        f"the limit of {limit} must be greater than 0",
                        "omit it: the list price is the limit",
                    )
                    continue
                if limit is None or pool.machine.name not in catalog.list_names("prices"):
                    continue
                found = catalog.get(Prices, pool.machine.name).find_price(cloud.region, "on-demand")
                if found and limit > found.price:
                    yield Finding(
                        "cloud-spot-price",
                        "note",
                        f"{path}.capacity[{index}].max_price",
                        f"{limit} is above the list price of {found.price}",
                        "omit it: the list price is the limit",
                    )


CHECKS = (
    cloud_arch,
    cloud_balancer,
    cloud_controller_memory,
    cloud_tags,
    cloud_disk,
    cloud_budget,
    cloud_spot_price,
)
