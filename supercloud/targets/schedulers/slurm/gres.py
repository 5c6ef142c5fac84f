"""Generic resources: the resources of a node (Gres=) and their device files (gres.conf).

Devices are listed explicitly, which every build of Slurm supports; only MIG instances are detected by NVML, because
their device files depend on the order in which the instances were created.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Plan, PoolPlan
from .conf import ConfigWriter, Value

__all__ = [
    "count_accelerator_units",
    "render_gres_lines",
    "build_gres_items",
    "list_gres_types",
    "select_sliced_devices",
    "list_tracked_resources",
]

# Values of Flags= that select the environment variables Slurm sets for a job.
_ENVIRONMENT_FLAGS = {"CUDA_VISIBLE_DEVICES": "nvidia_gpu_env", "ROCR_VISIBLE_DEVICES": "amd_gpu_env"}


def count_accelerator_units(pool: PoolPlan) -> dict[str, int]:
    """Return the ``gpu`` resources of one node: type -> number. A MIG instance is a gpu of the type of its profile."""
    accelerator, slicing = pool.accelerator, pool.slicing
    if accelerator is None or accelerator.gres is None or not pool.accelerators_per_node:
        return {}
    if slicing is None or not slicing.mig:
        return {accelerator.gres: pool.accelerators_per_node}
    sliced = len(select_sliced_devices(pool))
    units = {accelerator.gres: pool.accelerators_per_node - sliced} if sliced < pool.accelerators_per_node else {}
    return units | {profile: number * sliced for profile, number in sorted(slicing.mig.items())}


def select_sliced_devices(pool: PoolPlan) -> range:
    """Return the partitioned accelerators of a node: the last ones, so that whole ones are numbered from 0."""
    if pool.slicing is None:
        return range(0)
    return range(
        pool.accelerators_per_node
        - min(pool.slicing.accelerators or pool.accelerators_per_node, pool.accelerators_per_node),
        pool.accelerators_per_node,
    )


def _count_shards(pool: PoolPlan) -> int:
    slicing = pool.slicing
    return (
        len(select_sliced_devices(pool)) * slicing.shards
        if slicing and slicing.shards and count_accelerator_units(pool)
        else 0
    )


def build_gres_items(pool: PoolPlan) -> list[str]:
    """Items of a node's ``Gres=``."""
    items = [f"gpu:{kind}:{number}" for kind, number in count_accelerator_units(pool).items()]
    return [*items, f"shard:{_count_shards(pool)}"] if _count_shards(pool) else items


def list_gres_types(plan: Plan) -> list[str]:
    """Names of all generic resources of the cluster."""
    names = {"gpu": any(map(count_accelerator_units, plan.pools)), "shard": any(map(_count_shards, plan.pools))}
    return [name for name, used in names.items() if used]


def list_tracked_resources(plan: Plan) -> list[str]:
    """Return the resources that accounting tracks: every typed one and its untyped one."""
    kinds = dict.fromkeys(kind for pool in plan.pools for kind in count_accelerator_units(pool))
    typed = [f"gres/gpu:{kind}" for kind in kinds]
    return [*(f"gres/{name}" for name in list_gres_types(plan)), *typed]


def render_gres_lines(
    pool: PoolPlan, writer: ConfigWriter, nodes: str, has_counted_cores: bool = False
) -> Iterator[str]:
    """Lines of gres.conf for one pool.

    With ``has_counted_cores`` the node has counted its cores, which may differ from the catalog: its core affinity is
    omitted.
    """
    accelerator = pool.accelerator
    if accelerator is None or not count_accelerator_units(pool):
        return
    if pool.slicing and pool.slicing.mig:
        yield writer.format_record("gres", {"NodeName": nodes, "AutoDetect": accelerator.autodetect})
        return
    common: dict[str, Value] = {"NodeName": nodes, "Name": "gpu", "Type": accelerator.gres}
    flags = _ENVIRONMENT_FLAGS.get(accelerator.visible_env or "")
    if accelerator.devices is None:
        yield writer.format_record("gres", {**common, "Count": pool.accelerators_per_node, "Flags": flags})
    else:
        for start, stop, cores in (
            [(0, pool.accelerators_per_node, None)] if has_counted_cores else _iter_socket_devices(pool)
        ):
            yield writer.format_record(
                "gres", {**common, "File": _format_device_files(pool, start, stop), "Cores": cores, "Flags": flags}
            )
    if _count_shards(pool):
        sliced = select_sliced_devices(pool)
        some = (
            _format_device_files(pool, sliced.start, sliced.stop) if len(sliced) < pool.accelerators_per_node else None
        )
        yield writer.format_record(
            "gres", {"NodeName": nodes, "Name": "shard", "Count": _count_shards(pool), "File": some}
        )


def _iter_socket_devices(pool: PoolPlan) -> Iterator[tuple[int, int, str | None]]:
    """Yield first device, end, and the cores near them; a single range if the catalog has no sockets."""
    installed, cpu = pool.machine.accelerators, pool.machine.cpu
    assert installed is not None
    if cpu is None or sum(installed.per_socket) != installed.count or len(installed.per_socket) != cpu.sockets:
        yield 0, installed.count, None
        return
    start = 0
    for socket, count in enumerate(installed.per_socket):
        first = socket * cpu.cores_per_socket
        yield start, start + count, f"{first}-{first + cpu.cores_per_socket - 1}"
        start += count


def _format_device_files(pool: PoolPlan, start: int, stop: int) -> str | None:
    devices = pool.accelerator.devices if pool.accelerator else None
    if devices is None:
        return None
    numbers = [devices.compute_number(index) for index in range(start, stop)]
    if len(numbers) == 1:
        return f"{devices.path}{numbers[0]}"
    text = f"{numbers[0]}-{numbers[-1]}" if devices.step == 1 else ",".join(map(str, numbers))
    return f"{devices.path}[{text}]"
