"""The programs of the bundle: prolog and epilog, health check, and programs for the administrator. They are the same
for every cluster; differences are in tables that they contain or read.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.build.fabric.roles import find_adapter
from ....plan.build.storage.clients import list_client_pools
from ....plan.model.plan import Plan, PoolPlan
from ....primitives.bundle import File
from ....primitives.templates import render_template
from ...header import format_header
from .accessors import get_cluster_name, has_dynamic_nodes
from .accounting import build_accounts, build_qos_levels
from .gres import count_accelerator_units, select_sliced_devices
from .imex import list_imex_pools
from .settings import SCRATCH_DIRECTORY

__all__ = ["render_programs"]


def render_programs(plan: Plan) -> dict[str, File | str]:
    """Render all programs and the tables they read."""
    xids = plan.scheduler.xids
    files: dict[str, File | str] = {
        name: _render_program(plan, name, scratch=SCRATCH_DIRECTORY, xids=xids.list_codes("critical") if xids else ())
        for name in ("prolog.sh", "task-prolog.sh", "epilog.sh", "health-check.sh")
    }
    files["node-facts.txt"] = "\n".join([format_header(plan.name), *_render_node_facts(plan)]) + "\n"
    if plan.scheduler.database is not None:
        files["accounts.sh"] = _render_program(
            plan,
            "accounts.sh",
            cluster=get_cluster_name(plan),
            qos=build_qos_levels(plan),
            accounts=build_accounts(plan),
        )
    if any(pool.spares for pool in plan.pools) and not has_dynamic_nodes(plan):
        files["reserve-spares.sh"] = _render_program(
            plan, "reserve-spares.sh", pools=list(_iter_spare_reservations(plan))
        )
    sliced = [pool for pool in plan.pools if pool.slicing and pool.slicing.mig and count_accelerator_units(pool)]
    if sliced:
        files["mig-parted.yaml"] = "\n".join([format_header(plan.name), *_render_mig_config(sliced)]) + "\n"
    return files


def _render_program(plan: Plan, name: str, **values: object) -> File:
    return File(render_template(f"slurm/{name}.j2", head=format_header(plan.name), **values), executable=True)


def _render_node_facts(plan: Plan) -> Iterator[str]:
    """Yield the expected devices of nodes: one row per pool, ``-`` for none."""
    yield "# pool, start of names, digits after it, accelerators, device files, first number, step, RDMA, IMEX, mounts"
    if any(pool.hosts.given for pool in plan.pools):
        yield "# names that the spec gives have the first and the last number instead of the digits"
    imex = [pool.name for pool in list_imex_pools(plan)]
    for pool in plan.pools:
        devices = pool.accelerator.devices if pool.accelerator else None
        count = pool.accelerators_per_node if devices else 0
        adapters = _list_fabric_devices(plan, pool)
        facts = (
            count,
            devices.path if devices else "-",
            devices.first if devices else 0,
            devices.step if devices else 1,
            ",".join(adapters) or "-",
            "imex" if pool.name in imex else "-",
            ",".join(_list_mount_points(plan, pool)) or "-",
        )
        for start, digits in _list_name_forms(pool):
            yield " ".join(map(str, (pool.name, start, digits, *facts)))


def _list_name_forms(pool: PoolPlan) -> list[tuple[str, str]]:
    """Start of host names, and the number of digits after it; of given names the first and the last number."""
    if not pool.hosts.given:
        return [(pool.hosts.prefix, str(pool.hosts.width))]
    return [
        (run.prefix, f"{run.first:0{run.width}d}-{run.last:0{run.width}d}" if run.width else "0")
        for run in pool.hosts.list_runs()
    ]


def _list_fabric_devices(plan: Plan, pool: PoolPlan) -> list[str]:
    """List the RDMA devices of a pool's nodes on its fabrics for computation and storage, if the catalog has them.

    Those on in-band networks are left out: the driver replaces the devices of ports that are in a bond.
    """
    fabrics = [item for item in plan.fabrics if item.name in pool.fabrics and item.role in ("compute", "storage")]
    adapters = [find_adapter(pool.machine, item.role, item.kind) for item in fabrics]
    return list(dict.fromkeys(device for adapter in adapters if adapter for device in adapter.devices))


def _list_mount_points(plan: Plan, pool: PoolPlan) -> list[str]:
    """List the mount points of a pool's nodes; none on clouds, where the boot records what it mounts."""
    if plan.site.kind != "onprem":
        return []
    clients = [(item.mount, list_client_pools(plan, index)) for index, item in enumerate(plan.storage)]
    return [mount for mount, pools in clients if mount and pool in pools]


def _iter_spare_reservations(plan: Plan) -> Iterator[tuple[str, str, int, str]]:
    """Yield pool, a partition with its nodes, number of spares, nodes."""
    for pool in plan.pools:
        partition = next((item.name for item in plan.scheduler.partitions if pool.name in item.pools), None)
        if pool.spares and partition:
            yield pool.name, partition, pool.spares, str(pool.hosts)


def _render_mig_config(pools: list[PoolPlan]) -> Iterator[str]:
    """Yield the partitioning of each pool's accelerators: the configuration of nvidia-mig-parted."""
    yield from ("version: v1", "mig-configs:")
    for pool in pools:
        assert pool.slicing is not None
        sliced = select_sliced_devices(pool)
        yield f"  {pool.name}:"
        if sliced.start:
            yield from (f"    - devices: {list(range(sliced.start))}", "      mig-enabled: false")
        yield from (f"    - devices: {list(sliced)}", "      mig-enabled: true", "      mig-devices:")
        yield from (f'        "{profile}": {count}' for profile, count in sorted(pool.slicing.mig.items()))
