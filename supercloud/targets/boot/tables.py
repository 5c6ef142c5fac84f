"""Tables and settings that the programs read: groups of the cloud, file systems and where they go."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...errors import InputError
from ...plan.model.cloud import CloudPlan, MountRule
from ...plan.model.plan import Plan, StoragePlan

__all__ = [
    "render_key_recipient_lines",
    "render_metadata_lines",
    "render_mount_lines",
    "render_scaler_settings",
    "require_mount_rule",
    "list_mounted_storage",
]

_KEY_RECIPIENT_ROLES = ("database", "login")
"""Roles of hosts that the controller gives the daemons' key to, besides nodes."""
_SCALER_TIMES = {"pass_interval": 15, "capacity_retry": 300, "node_retry": 600}
"""Seconds: between passes; for which a group without capacity is left alone; for which a node that did not join stays
down."""


def render_scaler_settings(plan: Plan, head: str) -> str:
    """``scale.json``, what the scaler is told (:mod:`.scaler.settings`): its times and a row a group.

    Args:
        plan: A plan with a cloud.
        head: Who made the file. JSON has no comments, so it is a value that the scaler does not read.
    """
    assert plan.cloud is not None
    rows = [
        {
            "key": group.key,
            "pool": group.pool,
            "rank": group.rank,
            "max_instances": group.max_nodes,
            "domain_instances": group.domain_nodes,
            "min_instances": group.min_nodes,
        }
        for group in plan.cloud.groups
    ]
    values = {"comment": head.removeprefix("# "), **_SCALER_TIMES}
    fields = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items()]
    groups = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    return "{" + ",\n".join([*fields, f'"groups": [\n{groups}\n]']) + "}\n"


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
