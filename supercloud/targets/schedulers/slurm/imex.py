"""The IMEX service of nodes in multi-node NVLink domains: the members of the domain, and the check that it runs.

docs.nvidia.com/multi-node-nvlink-systems/imex-guide (Deployment Models): the service runs before CUDA programs start,
and nodes_config.cfg has the addresses of all nodes of the domain, the same on each of them.
"""

from __future__ import annotations

from ....plan.model.plan import Plan, PoolPlan
from ....primitives.addresses import AddressRun
from ....primitives.bundle import File
from ....primitives.templates import Quoted, render_template
from ...header import format_header
from .accessors import require_slurm_release

__all__ = ["render_imex_files", "list_imex_pools"]


def list_imex_pools(plan: Plan) -> list[PoolPlan]:
    """Return on-prem pools whose jobs get channels of switch/nvidia_imex; on clouds addresses are not known in
    advance.
    """
    if plan.site.kind != "onprem" or not require_slurm_release(plan).abilities.imex:
        return []
    return [pool for pool in plan.pools if pool.has_imex]


def render_imex_files(plan: Plan) -> dict[str, File | str]:
    """Render one script for all nodes: each computes its domain and the addresses with the arithmetic of the plan."""
    pools = list_imex_pools(plan)
    if not pools:
        return {}
    given = {pool.name: _format_words(pool.addresses) for pool in pools if pool.addresses.given}
    text = render_template(
        "slurm/imex-config.sh.j2",
        head=format_header(plan.name),
        pools=pools,
        addresses=given,
        per_256=AddressRun.HOSTS_PER_256,
    )
    return {"imex-config.sh": File(text, executable=True)}


def _format_words(addresses: AddressRun) -> Quoted:
    """Format addresses as words of Bash: ``10.1.4.{11..74} 10.1.5.9``."""
    return Quoted(str(addresses).replace(",", " ").replace("[", "{").replace("-", "..").replace("]", "}"))
