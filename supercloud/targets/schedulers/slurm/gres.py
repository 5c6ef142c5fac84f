"""Generic resources: what a node offers (Gres=) and where its devices are (gres.conf).

Devices are named one by one, which every build of Slurm understands; only instances of MIG are left to NVML, because
their device files depend on the order in which the instances were made.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Plan, PoolPlan
from .conf import Lines, Value

__all__ = ["accelerator_units", "gres_lines", "gres_of", "gres_types", "sliced_devices", "tracked"]

# Which environment variables Slurm sets for a job; it knows no others by name.
_ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "nvidia_gpu_env", "ROCR_VISIBLE_DEVICES": "amd_gpu_env"}


def accelerator_units(pool: PoolPlan) -> dict[str, int]:
    """What one node offers as ``gpu``: type -> number. An instance of MIG is a gpu of the type of its profile."""
    accelerator, slicing = pool.accelerator, pool.slicing
    if accelerator is None or accelerator.gres is None or not pool.per_node:
        return {}
    if slicing is None or not slicing.mig:
        return {accelerator.gres: pool.per_node}
    sliced = len(sliced_devices(pool))
    units = {accelerator.gres: pool.per_node - sliced} if sliced < pool.per_node else {}
    return units | {profile: number * sliced for profile, number in sorted(slicing.mig.items())}


def sliced_devices(pool: PoolPlan) -> range:
    """Which accelerators of a node are sliced: the last ones, so that whole ones keep the numbers from 0."""
    if pool.slicing is None:
        return range(0)
    return range(pool.per_node - min(pool.slicing.accelerators or pool.per_node, pool.per_node), pool.per_node)


def _shards(pool: PoolPlan) -> int:
    slicing = pool.slicing
    return len(sliced_devices(pool)) * slicing.shards if slicing and slicing.shards and accelerator_units(pool) else 0


def gres_of(pool: PoolPlan) -> list[str]:
    """Items of a node's ``Gres=``."""
    items = [f"gpu:{kind}:{number}" for kind, number in accelerator_units(pool).items()]
    return [*items, f"shard:{_shards(pool)}"] if _shards(pool) else items


def gres_types(plan: Plan) -> list[str]:
    """Names of all generic resources of the cluster."""
    names = {"gpu": any(map(accelerator_units, plan.pools)), "shard": any(map(_shards, plan.pools))}
    return [name for name, used in names.items() if used]


def tracked(plan: Plan) -> list[str]:
    """Resources that accounting counts: the untyped one beside every typed one."""
    kinds = dict.fromkeys(kind for pool in plan.pools for kind in accelerator_units(pool))
    typed = [f"gres/gpu:{kind}" for kind in kinds]
    return [*(f"gres/{name}" for name in gres_types(plan)), *typed]


def gres_lines(pool: PoolPlan, lines: Lines, nodes: str, counted: bool = False) -> Iterator[str]:
    """Lines of gres.conf for one pool.

    A node that has ``counted`` its own cores need not have those of the catalog: it is not told which are near.
    """
    accelerator = pool.accelerator
    if accelerator is None or not accelerator_units(pool):
        return
    if pool.slicing and pool.slicing.mig:
        yield lines.record("gres", {"NodeName": nodes, "AutoDetect": accelerator.autodetect})
        return
    common: dict[str, Value] = {"NodeName": nodes, "Name": "gpu", "Type": accelerator.gres}
    flags = _ENVIRONMENT.get(accelerator.visible_env or "")
    if accelerator.devices is None:
        yield lines.record("gres", {**common, "Count": pool.per_node, "Flags": flags})
    else:
        for start, stop, cores in [(0, pool.per_node, None)] if counted else _sockets(pool):
            yield lines.record("gres", {**common, "File": _files(pool, start, stop), "Cores": cores, "Flags": flags})
    if _shards(pool):
        sliced = sliced_devices(pool)
        some = _files(pool, sliced.start, sliced.stop) if len(sliced) < pool.per_node else None
        yield lines.record("gres", {"NodeName": nodes, "Name": "shard", "Count": _shards(pool), "File": some})


def _sockets(pool: PoolPlan) -> Iterator[tuple[int, int, str | None]]:
    """Devices from, to, and the cores beside them; all in one where the catalog does not know the sockets."""
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


def _files(pool: PoolPlan, start: int, stop: int) -> str | None:
    devices = pool.accelerator.devices if pool.accelerator else None
    if devices is None:
        return None
    numbers = [devices.number(index) for index in range(start, stop)]
    if len(numbers) == 1:
        return f"{devices.path}{numbers[0]}"
    text = f"{numbers[0]}-{numbers[-1]}" if devices.step == 1 else ",".join(map(str, numbers))
    return f"{devices.path}[{text}]"
