"""The environment of each machine: its role, its group, addresses and paths, names of secrets (never their values)."""

from __future__ import annotations

from collections.abc import Iterator

from ...plan.model.cloud import CloudHost, CloudPlan, NodeGroup
from ...plan.model.plan import Plan
from ...spec import SlurmScheduler
from .tables import list_mounted_storage, require_mount_rule

__all__ = ["build_environments"]

# Port on which the controller serves the daemons' key: reserved for root (below 1024), unassigned, and below the source
# ports of NFS and Lustre clients.
_KEY_PORT = 329
# File systems truncate longer labels.
_MAX_LABEL_LENGTH = 16


def build_environments(plan: Plan) -> dict[str, list[str]]:
    """Key of a group or host -> lines ``NAME='value'``."""
    assert plan.cloud is not None
    found = {group.key: list(_render_group_environment(plan, group)) for group in plan.cloud.groups}
    return found | {host.key: list(_render_host_environment(plan, host)) for host in plan.cloud.hosts}


def _build_common_variables(plan: Plan, role: str) -> dict[str, str]:
    slurm, release = plan.scheduler.settings, plan.scheduler.release
    assert isinstance(slurm, SlurmScheduler) and release is not None, "a boot bundle is for Slurm"
    return {
        "ROLE": role,
        "CLUSTER": "@{cluster}",
        "REGION": "@{region}",
        "BUCKET": "@{bucket}",
        "HOST": "",
        "GROUP": "",
        "POOL": "",
        "RELEASE": release.name,
        "SLURM_USER": str(plan.scheduler.slurm_user or ""),
        "AUTH": "slurm" if slurm.auth == "slurm" else "munge",
        "DOMAIN": plan.network.domain,
        "SECRET_AUTH": "@{secret_auth}" if role == "controller" else "",
        "KEY_PORT": str(_KEY_PORT),
        "CONTROLLERS": ",".join(host.address for host in plan.scheduler.controllers),
        "ACCOUNTING": "yes" if plan.scheduler.database else "no",
        "DATABASE": "no",
        "DATABASE_HOST": "",
        "SECRET_DATABASE": "",
        "STATE_DISK": "",
        "STATE_LABEL": "",
        "TOPOLOGY": "",
        "STORAGE": "",
        "LOCAL_MOUNT": "",
    }


def _render_group_environment(plan: Plan, group: NodeGroup) -> Iterator[str]:
    yield from _format_assignments(
        _build_common_variables(plan, "compute")
        | _build_user_variables(plan)
        | {
            "GROUP": group.key,
            "POOL": group.pool,
            "STORAGE": _format_mount_sources(plan),
            "TOPOLOGY": _select_topology(plan),
            "LOCAL_MOUNT": group.local_disk_mount or "",
        }
    )


def _render_host_environment(plan: Plan, host: CloudHost) -> Iterator[str]:
    assert plan.cloud is not None
    database = plan.scheduler.database
    own = _build_common_variables(plan, host.role) | {"HOST": host.hosts[0] if len(host.hosts) == 1 else ""}
    if database and host.role in ("controller", "database") and database.name in host.hosts:
        managed = plan.cloud.database is not None
        own |= {"DATABASE": "managed" if managed else "here", "SECRET_DATABASE": "@{secret_database}"}
        own |= {"DATABASE_HOST": "@{database_host}"} if managed else {}
    if host.state_disk:
        own |= {"STATE_DISK": "@{state_device}", "STATE_LABEL": f"sc-{host.key}"[:_MAX_LABEL_LENGTH]}
    if host.role in ("controller", "login"):
        own["STORAGE"] = _format_mount_sources(plan)
    if host.role == "login":
        own |= _build_user_variables(plan)
    if host.role == "controller":
        own["TOPOLOGY"] = _select_topology(plan)
        own["LOGINS"] = "administrators" if plan.cloud.list_hosts("login") else "users"
    if host.role == "storage":
        own |= _build_storage_server_variables(plan.cloud, host)
    yield from _format_assignments(own)


def _build_storage_server_variables(cloud: CloudPlan, host: CloudHost) -> dict[str, str]:
    """Build variables for file system servers: the file system, and the source of their software."""
    install, rule = cloud.get_storage(host.storage).install, require_mount_rule(cloud, host.storage)
    found = {
        "STORAGE_NAME": host.storage,
        "FILE_SYSTEM": rule.path.strip("/") or host.storage,
        "SERVERS": str(host.count),
    }
    if install is not None:
        found |= {
            "INSTALL_SOURCE": install.source,
            "INSTALL_SHA256": install.digest or "",
            "INSTALL_TOKEN": install.token or "",
        }
    return found


def _build_user_variables(plan: Plan) -> dict[str, str]:
    """Build variables on users' permissions for machines on which users work."""
    return {"USERS": "@{role_users}", "TENANTS": "yes" if plan.tenants else "no"}


def _format_mount_sources(plan: Plan) -> str:
    return "\n".join(f"{storage.name}=@{{source_{storage.name}}}" for storage in list_mounted_storage(plan))


def _select_topology(plan: Plan) -> str:
    """Return the topology in which nodes report their location: none in releases that cannot update it at run time."""
    release = plan.scheduler.release
    return "network" if release and release.abilities.topology_yaml else ""


def _format_assignments(variables: dict[str, str]) -> Iterator[str]:
    for name, value in variables.items():
        quoted = value.replace("'", r"'\''")  # always quoted: placeholders may be replaced by any text
        yield f"{name}='{quoted}'"
