"""The IMEX service of nodes whose NVLink domains span several: who is in the domain, and that it runs.

docs.nvidia.com/multi-node-nvlink-systems/imex-guide (Deployment Models): the service runs before CUDA programs start,
and nodes_config.cfg has the addresses of all nodes of the domain, the same on each of them.
"""

from __future__ import annotations

from ....plan.model.plan import Plan, PoolPlan
from ....primitives.addresses import AddressRun
from ....primitives.bundle import File
from ....primitives.templates import fill
from .conf import head
from .given import release_of

__all__ = ["imex_files", "imex_pools"]


def imex_pools(plan: Plan) -> list[PoolPlan]:
    """Pools of our own whose jobs get channels of switch/nvidia_imex; on clouds addresses are not known before."""
    if plan.site.kind != "onprem" or not release_of(plan).abilities.imex:
        return []
    return [pool for pool in plan.pools if pool.imex]


def imex_files(plan: Plan) -> dict[str, File | str]:
    """One script for all nodes: each works out its domain and the addresses, with the arithmetic of the plan."""
    pools = imex_pools(plan)
    if not pools:
        return {}
    text = fill("slurm/imex-config.sh.j2", head=head(plan.name), pools=pools, per_256=AddressRun.PER_256)
    return {"imex-config.sh": File(text, executable=True)}
