"""Checks of fabrics and placement groups of clouds: their extent, and valid combinations."""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog import Catalog
from ....errors import Finding
from ....primitives.counts import format_indefinite
from ...model.plan import Plan
from .facts import iter_cloud_facts, iter_pools

__all__ = ["CHECKS"]


def cloud_fabric_kind(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A fabric that the cloud does not have, and why."""
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        for index, fabric in enumerate(plan.spec.fabrics):
            if fabric.kind not in provider.fabrics and fabric.kind != "ethernet":
                reason = provider.cannot.get(f"fabric:{fabric.kind}", "it does not offer this fabric")
                yield Finding(
                    "cloud-fabric-kind",
                    "error",
                    f"fabrics[{index}].kind",
                    f"{provider.name} has no {fabric.kind}: {reason}",
                    f"use {' or '.join(provider.fabrics) or 'none'}",
                )


def cloud_fabric_zones(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A pool with a fabric in several zones: a fabric never leaves its zone."""
    for _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            if pool.fabrics and len(declared.zones) > 1:
                yield Finding(
                    "cloud-fabric-zones",
                    "error",
                    f"{path}.zones",
                    f"{len(declared.zones)} zones ({', '.join(declared.zones)}) for a pool with the fabric "
                    f"{', '.join(pool.fabrics)}, which never spans zones",
                    "keep one zone, or declare a pool for each",
                )


def cloud_fabric_unused(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines with the cloud's fast fabric in a pool that has none: they communicate over the standard network
    only.
    """
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            fast = [
                adapter
                for adapter in pool.machine.adapters
                if adapter.role == "compute" and adapter.kind in provider.fabrics
            ]
            if fast and pool.machine.accelerators and not pool.fabrics and pool.nodes > 1:
                yield Finding(
                    "cloud-fabric-unused",
                    "warning",
                    f"{path}.fabrics",
                    f"{declared.machine} has {fast[0].count} × {fast[0].speed} of {fast[0].kind}, and the pool has no "
                    "fabric",
                    f"declare a fabric of kind {fast[0].kind} and add it to the pool",
                )


def cloud_placement(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A requested placement group that is not available."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            if declared.placement != "cluster":
                continue
            instance = pool.machine.instance
            if instance is not None and "cluster" not in instance.placement:
                yield Finding(
                    "cloud-placement",
                    "error",
                    f"{path}.placement",
                    f"{declared.machine} does not support placement groups of type 'cluster'",
                    "omit it",
                )
                continue
            for group in cloud.list_groups(pool.name):
                rule = provider.find_capacity_rule(group.capacity.kind)
                if rule and rule.placement == "refused":
                    yield Finding(
                        "cloud-placement",
                        "error",
                        f"{path}.placement",
                        f"a placement group cannot be used with {format_indefinite(group.capacity.kind)}: "
                        f"{rule.reason}",
                        "omit it: it is then created for the capacity types that support it",
                    )
                elif len(group.zones) > 1:
                    yield Finding(
                        "cloud-placement",
                        "error",
                        f"{path}.placement",
                        f"a placement group is in one zone, but the pool may be in {', '.join(group.zones)}",
                        "set one zone in 'zones'",
                    )
                    break


def cloud_placement_missing(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A fabric without the placement group that it usually has: nodes may be far from each other."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            for group in cloud.list_groups(pool.name):
                rule = provider.find_capacity_rule(group.capacity.kind)
                usual = rule is not None and rule.placement == "usual"
                if pool.fabrics and declared.placement == "none" and usual and pool.nodes > 1:
                    yield Finding(
                        "cloud-placement-missing",
                        "warning",
                        f"{path}.placement",
                        f"{group.capacity.kind} nodes have a fabric but no placement group: they may be far "
                        "from each other",
                        "omit 'placement'",
                    )
                    break


def cloud_image(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines for which the provider publishes no image, and images that nothing uses."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        used = {group.image for group in cloud.groups} | {host.image for host in cloud.hosts}
        for key in sorted(used - cloud.images.keys()):
            pools = (
                ", ".join(sorted({group.pool for group in cloud.groups if group.image == key})) or "service machines"
            )
            yield Finding(
                "cloud-image",
                "error",
                f"site.images.{key}",
                f"no published image is known for {key} (of {pools})",
                "set a custom image there",
            )
        site = plan.spec.site
        for key in sorted((site.own_images if site.kind != "onprem" else {}).keys() - used):
            yield Finding(
                "cloud-image",
                "warning",
                f"site.images.{key}",
                f"no machine uses the image {key}",
                f"images in use: {', '.join(sorted(used))}",
            )


def cloud_image_root(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Custom images of nodes without a root device: that of another image is a guess."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        site = plan.spec.site
        used = {group.image for group in cloud.groups}
        for key, image in sorted((site.own_images if site.kind != "onprem" else {}).items()):
            if image.root is None and key in used and key in cloud.root_devices:
                guess = cloud.root_devices[key]
                yield Finding(
                    "cloud-image-root",
                    "warning",
                    f"site.images.{key}",
                    f"the root device of {image.id} is not set, and {guess} is a guess: with another one, nodes have a "
                    "root disk of the size of the image and a second, empty disk",
                    f"set {{id: {image.id}, root: {guess}}} with the root device of the image",
                )


CHECKS = (
    cloud_image_root,
    cloud_fabric_kind,
    cloud_fabric_zones,
    cloud_fabric_unused,
    cloud_placement,
    cloud_placement_missing,
    cloud_image,
)
