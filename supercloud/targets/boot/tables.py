"""Tables that the programs read: groups in the order in which they are tried, file systems and where they go."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import InputError
from ...plan.model.cloud import CloudPlan, MountRule
from ...plan.model.plan import Plan, StoragePlan

__all__ = ["group_lines", "key_lines", "metadata_lines", "mount_lines", "mount_rule", "mounted"]

_MEMBERS = ("database", "login")
"""Roles of hosts that the controller gives the daemons' key to, besides nodes."""


def group_lines(plan: Plan) -> Iterator[str]:
    """A row a group."""
    assert plan.cloud is not None
    yield "# group, pool, rank within the pool, most instances, instances that come together, least instances"
    for group in plan.cloud.groups:
        yield f"{group.key} {group.pool} {group.order} {group.nodes} {group.domain_nodes} {group.minimum}"


def key_lines(plan: Plan) -> Iterator[str]:
    """A row a group or host whose machines the controller gives the daemons' key to."""
    assert plan.cloud is not None
    yield "# groups and hosts whose machines get the key of all daemons from the controller, once each"
    yield from (group.key for group in plan.cloud.groups)
    yield from (host.key for host in plan.cloud.hosts if host.role in _MEMBERS)


def metadata_lines(plan: Plan) -> Iterator[str]:
    """A row an address of the cloud's metadata service: the address, and its closed TCP ports, ``-`` for all."""
    assert plan.cloud is not None
    for item in plan.cloud.metadata:
        yield f"{item.address} {','.join(map(str, item.ports)) or '-'}"


def mount_lines(plan: Plan) -> Iterator[str]:
    """A row a file system that clients mount."""
    assert plan.cloud is not None
    yield "# storage, kind, where it is mounted, type, port of its servers (- where the type knows it), options"
    for storage in mounted(plan):
        rule = mount_rule(plan.cloud, storage.name)
        yield f"{storage.name} {storage.kind} {storage.mount} {rule.type} {rule.port or '-'} {rule.options}"


def mount_rule(cloud: CloudPlan, name: str) -> MountRule:
    """How clients mount a file system; raises :class:`InputError` where the catalog does not say."""
    storage = cloud.storage_named(name)
    if storage.mounting is None:
        raise InputError(f"storage {name}: the catalog does not say how {storage.product} is mounted")
    return storage.mounting


def mounted(plan: Plan) -> list[StoragePlan]:
    """File systems that clients mount: what has a place and is no object store."""
    return [storage for storage in plan.storage if storage.mount and storage.kind != "object"]
