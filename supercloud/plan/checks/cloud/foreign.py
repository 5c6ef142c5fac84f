"""Checks of existing resources that cannot be used where they are declared: another architecture, another region."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....catalog import Catalog, Machine, Provider
from ....errors import Finding
from ....spec.pool import ReservationGroup
from ...model.cloud import CloudPlan
from ...model.plan import Plan
from .facts import iter_cloud_facts, iter_pools
from .storage import iter_cloud_storage

__all__ = ["CHECKS"]


def cloud_image_arch(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Custom images of another architecture than the machines that start from them."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        site = plan.spec.site
        needed = _find_architectures(plan, cloud)
        owners: dict[str, str] = {}
        for key, image in sorted((site.own_images if site.kind != "onprem" else {}).items()):
            arch = needed.get(key)
            if arch is None:
                continue
            first = owners.setdefault(image.id, key)
            found = _find_image_architecture(provider, image.id)
            if found not in (None, arch):
                problem = f"{image.id} is an image for {found}; machines that use {key} are {arch} and cannot start it"
            elif needed[first] != arch:
                problem = (
                    f"{image.id} is also that of {first}: machines that use {key} are {arch}, those of {first} "
                    f"{needed[first]}, and an image has one architecture"
                )
            else:
                continue
            yield Finding("cloud-image-arch", "error", f"site.images.{key}", problem, f"set an image for {arch}")


def _find_architectures(plan: Plan, cloud: CloudPlan) -> dict[str, str]:
    """Image key -> architecture of the machines that start from it."""
    machines: list[tuple[str, Machine]] = [(host.image, host.machine) for host in cloud.hosts]
    machines += [(group.image, plan.get_pool(group.pool).machine) for group in cloud.groups]
    return {key: machine.instance.arch for key, machine in machines if machine.instance}


def _find_image_architecture(provider: Provider, reference: str) -> str | None:
    """The architecture that the reference of a published image names; None if it names none, as identifiers do."""
    parts = set(re.split(r"[/:]", reference))
    return next((arch for arch, names in provider.image_architectures.items() if parts & set(names)), None)


def cloud_identifier_region(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Existing resources of another region: machines and groups of the cluster cannot use them."""
    for cloud, provider, _ in iter_cloud_facts(plan, catalog):
        if provider.identifier_region is None:
            continue
        for path, what, text in _iter_identifiers(plan, catalog):
            found = re.fullmatch(provider.identifier_region, text)
            if found and found[1] != cloud.region:
                yield Finding(
                    "cloud-identifier-region",
                    "error",
                    path,
                    f"{what} {text} is in {found[1]}, the cluster in {cloud.region}: it cannot be used from there",
                    f"set one of {cloud.region}, or create a copy there",
                )


def _iter_identifiers(plan: Plan, catalog: Catalog) -> Iterator[tuple[str, str, str]]:
    """Path, kind and text of identifiers that may contain a region."""
    for name, value in plan.cloud.options.items() if plan.cloud else ():
        yield f"site.{name}", "the resource", str(value)
    for path, declared, _ in iter_pools(plan):
        for index, way in enumerate(declared.capacity):
            if isinstance(way, ReservationGroup):
                yield f"{path}.capacity[{index}].id", "the reservation group", way.id
    for path, item, _, service, _ in iter_cloud_storage(plan, catalog):
        if service.install is not None and service.install.token in item.options:
            token = service.install.token
            yield f"{path}.options.{token}", "the secret", str(item.options[token])


CHECKS = (cloud_image_arch, cloud_identifier_region)
