"""Tables that the programs read: groups in the order in which they are tried, file systems and where they go."""

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
"""Roles of hosts that the controller gives the daemons' key to, besides nodes."""


def render_group_lines(plan: Plan) -> Iterator[str]:
    """A row a group."""
    assert plan.cloud is not None
    yield "# group, pool, rank within the pool, most instances, instances that come together, least instances"
    for group in plan.cloud.groups:
        yield f"{group.key} {group.pool} {group.rank} {group.max_nodes} {group.domain_nodes} {group.min_nodes}"


def render_key_recipient_lines(plan: Plan) -> Iterator[str]:
    """A row a group or host whose machines the controller gives the daemons' key to."""
    assert plan.cloud is not None
    yield "# groups and hosts whose machines get the key of all daemons from the controller, once each"
    yield from (group.key for group in plan.cloud.groups)
    yield from (host.key for host in plan.cloud.hosts if host.role in _KEY_RECIPIENT_ROLES)


def render_metadata_lines(plan: Plan) -> Iterator[str]:
    """A row an address of the cloud's metadata service: the address, and its closed TCP ports, ``-`` for all."""
    assert plan.cloud is not None
    for item in plan.cloud.metadata_addresses:
        yield f"{item.address} {','.join(map(str, item.ports)) or '-'}"


def render_mount_lines(plan: Plan) -> Iterator[str]:
    """A row a file system that clients mount."""
    assert plan.cloud is not None
    yield "# storage, kind, where it is mounted, type, port of its servers (- where the type knows it), options"
    for storage in list_mounted_storage(plan):
        rule = require_mount_rule(plan.cloud, storage.name)
        yield f"{storage.name} {storage.kind} {storage.mount} {rule.type} {rule.port or '-'} {rule.options}"


def require_mount_rule(cloud: CloudPlan, name: str) -> MountRule:
    """How clients mount a file system; raises :class:`InputError` where the catalog does not say."""
    storage = cloud.get_storage(name)
    if storage.mount_rule is None:
        raise InputError(f"storage {name}: the catalog does not say how {storage.product} is mounted")
    return storage.mount_rule


def list_mounted_storage(plan: Plan) -> list[StoragePlan]:
    """File systems that clients mount: what has a place and is no object store."""
    return [storage for storage in plan.storage if storage.mount and storage.kind != "object"]
