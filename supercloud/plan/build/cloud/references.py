"""Existing resources that the spec names: what the cloud must have of them before anything is created."""

from __future__ import annotations

from collections.abc import Iterator

from ....spec.site import CloudSite
from ...model.cloud import CloudHost, CloudReference, NodeGroup
from .inputs import CloudInputs
from .storage import find_storage_service

__all__ = ["build_references"]


def build_references(
    inputs: CloudInputs, groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...], roots: dict[str, str]
) -> tuple[CloudReference, ...]:
    """List custom images, buckets and secrets of the spec that machines or file systems of the cluster use.

    Args:
        inputs: The spec with the facts of its cloud.
        groups: Groups of nodes.
        hosts: Hosts outside of the pools.
        roots: Image key -> device on which the root disk is set up.
    """
    return (*_iter_images(inputs, groups, hosts, roots), *_iter_storage(inputs))


def _iter_images(
    inputs: CloudInputs, groups: tuple[NodeGroup, ...], hosts: tuple[CloudHost, ...], roots: dict[str, str]
) -> Iterator[CloudReference]:
    """Custom images in use. Only groups set up the root disk by its device; hosts have that of their image."""
    site, pools = inputs.spec.site, {pool.name: pool for pool in inputs.pools}
    machines = [(host.image, host.machine) for host in hosts]
    machines += [(group.image, pools[group.pool].machine) for group in groups]
    used = {key: machine.instance.arch for key, machine in machines if machine.instance}
    nodes = {group.image for group in groups}
    own = site.own_images if isinstance(site, CloudSite) else {}
    for key, image in sorted(own.items()):
        if key in used:
            root = roots.get(key, "") if key in nodes else image.root or ""
            yield CloudReference("image", f"site.images.{key}", image.id, arch=used[key], root=root)


def _iter_storage(inputs: CloudInputs) -> Iterator[CloudReference]:
    """Buckets from which file systems import, the buckets and the secrets for the installation of their servers."""
    for index, storage in enumerate(inputs.spec.storage):
        path = f"storage[{index}]"
        if bucket := _find_bucket(inputs, storage.import_from or ""):
            yield CloudReference("bucket", f"{path}.import_from", bucket, is_regional=True)
        service = find_storage_service(inputs, storage, path, is_quiet=True)
        software = service.install if service else None
        if software is None:
            continue
        if bucket := _find_bucket(inputs, str(storage.options.get(software.source, ""))):
            yield CloudReference("bucket", f"{path}.options.{software.source}", bucket)
        if software.token in storage.options:
            path = f"{path}.options.{software.token}"
            yield CloudReference("secret", path, str(storage.options[software.token]))


def _find_bucket(inputs: CloudInputs, source: str) -> str:
    """Name of the bucket of an object's URL; empty if it is none."""
    scheme, _, rest = source.partition("://")
    return rest.partition("/")[0] if scheme == inputs.provider.object_scheme else ""
