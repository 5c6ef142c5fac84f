"""Tables and settings that the programs read: groups of the cloud, file systems with their mount points."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...errors import InputError
from ...plan.model.cloud import CloudPlan, MountRule
from ...plan.model.plan import Plan, StoragePlan

__all__ = [
    "render_disk_lines",
    "render_fabric_lines",
    "render_key_recipient_lines",
    "render_metadata_lines",
    "render_mount_lines",
    "render_scaler_settings",
    "render_script_lines",
    "require_mount_rule",
    "list_mounted_storage",
]

_KEY_RECIPIENT_ROLES = ("database", "login")
"""Roles of hosts that get the daemons' key from the controller, in addition to nodes."""
_SCRIPT_ROLES = {"controller": "controller,database", "login": "login", "node": "compute"}
"""Kind of machine in the spec -> roles in the boot scripts."""
_SCALER_TIMES = {"pass_interval": 15, "capacity_retry": 300, "node_retry": 600}
"""Seconds: between passes; until a group without capacity is tried again; until a node that did not join is tried
again."""


def render_scaler_settings(plan: Plan, head: str) -> str:
    """``scale.json``, the settings of the scaler (:mod:`.scaler.settings`): its times and a row per group.

    Args:
        plan: A plan with a cloud.
        head: The header that names the generator. JSON has no comments, so it is a value that the scaler ignores.
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
    """Yield one row per group or host whose machines get the daemons' key from the controller."""
    assert plan.cloud is not None
    yield "# groups and hosts whose machines get the daemons' key from the controller, once each"
    yield from (group.key for group in plan.cloud.groups)
    yield from (host.key for host in plan.cloud.hosts if host.role in _KEY_RECIPIENT_ROLES)


def render_metadata_lines(plan: Plan) -> Iterator[str]:
    """Yield one row per address of the cloud's metadata service: the address, and its blocked TCP ports, ``-`` for
    all.
    """
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


def render_fabric_lines(plan: Plan) -> Iterator[str]:
    """Yield one row per file system and pool whose nodes reach it over a fabric."""
    assert plan.cloud is not None
    yield "# storage, pool, driver and network of the adapters, number of adapters, peer credits"
    for storage in list_mounted_storage(plan):
        client = plan.cloud.get_storage(storage.name).fabric_client
        for pool in plan.pools if client else ():
            instance, kinds = pool.machine.instance, {item.kind for item in pool.machine.adapters}
            if not client or not instance or client.network not in kinds or not pool.fabrics:
                continue
            if not {instance.family, instance.system} & {*client.without}:
                count = client.adapters.get(pool.machine.name, client.several if (instance.cards or 1) > 1 else 1)
                yield f"{storage.name} {pool.name} {client.network} {count} {client.credits}"


def render_disk_lines(plan: Plan) -> Iterator[str]:
    """Yield how internal disks are found, and the number of them in each pool whose nodes mount them."""
    assert plan.cloud is not None
    yield "# model, links: beginning of what internal disks have; prepared: unit of the image that mounts them, place;"
    yield "# count: pool, disks of a node (-: unknown)"
    disks = plan.cloud.local_disks
    if disks is not None:
        yield f"model {disks.model}" if disks.model else f"links {disks.links}"
        if disks.prepared:
            yield f"prepared {disks.prepared.unit} {disks.prepared.mount}"
    mounted = {group.pool for group in plan.cloud.groups if group.local_disk_mount}
    for pool in plan.pools:
        if pool.name in mounted:
            yield f"count {pool.name} {sum(disk.count for disk in pool.machine.disks if disk.role == 'scratch') or '-'}"


def render_script_lines(plan: Plan) -> Iterator[str]:
    """Yield one row per program of the user's that machines run when they start."""
    assert plan.cloud is not None
    yield "# when, roles of machines (-: all), SHA-256 digest, location"
    for script in plan.cloud.boot_scripts:
        roles = ",".join(_SCRIPT_ROLES[machine] for machine in script.machines)
        yield f"{script.when} {roles or '-'} {script.sha256} {script.source}"


def require_mount_rule(cloud: CloudPlan, name: str) -> MountRule:
    """Return how clients mount a file system; raises :class:`InputError` if the catalog does not specify it."""
    storage = cloud.get_storage(name)
    if storage.mount_rule is None:
        raise InputError(f"storage {name}: the catalog does not specify how {storage.product} is mounted")
    return storage.mount_rule


def list_mounted_storage(plan: Plan) -> list[StoragePlan]:
    """Return the file systems that clients mount: storage with a mount point that is not an object store."""
    return [storage for storage in plan.storage if storage.mount and storage.kind != "object"]
