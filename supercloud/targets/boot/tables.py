"""Tables that the programs read: groups in the order in which they are tried, file systems with their mount points."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import InputError
from ...plan.model.cloud import CloudPlan, MountRule
from ...plan.model.plan import Plan, StoragePlan

__all__ = [
    "render_group_lines",
    "render_key_recipient_lines",
    "render_metadata_lines",
    "render_mount_lines",
    "require_mount_rule",
    "list_mounted_storage",
]

_KEY_RECIPIENT_ROLES = ("database", "login")
"""Roles of hosts that get the daemons' key from the controller, in addition to nodes."""


def render_group_lines(plan: Plan) -> Iterator[str]:
    """Yield one row per group."""
    assert plan.cloud is not None
    yield "# group, pool, rank within the pool, maximum instances, instances per domain, minimum instances"
    for group in plan.cloud.groups:
        yield f"{group.key} {group.pool} {group.rank} {group.max_nodes} {group.domain_nodes} {group.min_nodes}"


def render_key_recipient_lines(plan: Plan) -> Iterator[str]:
    """Yield one row per group or host whose machines get the daemons' key from the controller."""
    assert plan.cloud is not None
    yield "# groups and hosts whose machines get the daemons' key from the controller, once each"
    yield from (group.key for group in plan.cloud.groups)
    yield from (host.key for host in plan.cloud.hosts if host.role in _KEY_RECIPIENT_ROLES)


def render_metadata_lines(plan: Plan) -> Iterator[str]:
    """Yield one row per address of the cloud's metadata service: the address, and its blocked TCP ports, ``-`` for
    all."""
    assert plan.cloud is not None
    for item in plan.cloud.metadata_addresses:
        yield f"{item.address} {','.join(map(str, item.ports)) or '-'}"


def render_mount_lines(plan: Plan) -> Iterator[str]:
    """Yield one row per file system that clients mount."""
    assert plan.cloud is not None
    yield "# storage, kind, mount point, type, port of its servers (-: default of the type), options"
    for storage in list_mounted_storage(plan):
        rule = require_mount_rule(plan.cloud, storage.name)
        yield f"{storage.name} {storage.kind} {storage.mount} {rule.type} {rule.port or '-'} {rule.options}"


def require_mount_rule(cloud: CloudPlan, name: str) -> MountRule:
    """Return how clients mount a file system; raises :class:`InputError` if the catalog does not specify it."""
    storage = cloud.get_storage(name)
    if storage.mount_rule is None:
        raise InputError(f"storage {name}: the catalog does not specify how {storage.product} is mounted")
    return storage.mount_rule


def list_mounted_storage(plan: Plan) -> list[StoragePlan]:
    """Return the file systems that clients mount: storage with a mount point that is not an object store."""
    return [storage for storage in plan.storage if storage.mount and storage.kind != "object"]
