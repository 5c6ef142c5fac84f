"""Jobs of Slurm that run tests of accelerators from images."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog.image_tool import ImageTool
from ...plan.model.cloud import CloudPlan
from ...plan.model.plan import Plan, PoolPlan
from ...primitives.bundle import File
from ...primitives.templates import render_template
from ..header import format_header

__all__ = ["render_tool_jobs"]

_NODES = 2
"""Nodes of the job, if the pool has as many: the smallest number that uses the fabric."""


def render_tool_jobs(plan: Plan, cloud: CloudPlan) -> dict[str, File]:
    """Render a job for each pool whose image contains a tool for its accelerators.

    Args:
        plan: A plan of a Slurm cluster on a cloud.
        cloud: Its cloud.
    """
    return {
        f"{tool.name}/{pool.name}.sh": File(_render_job(plan, cloud, tool, pool), executable=True)
        for tool in cloud.image_tools
        for pool in _iter_pools(plan, cloud, tool)
    }


def _iter_pools(plan: Plan, cloud: CloudPlan, tool: ImageTool) -> Iterator[PoolPlan]:
    images = {image.key for image in cloud.published_images if image.accelerator == tool.accelerator}
    for pool in plan.pools:
        if pool.accelerators_per_node and any(group.image in images for group in cloud.list_groups(pool.name)):
            yield pool


def _render_job(plan: Plan, cloud: CloudPlan, tool: ImageTool, pool: PoolPlan) -> str:
    return render_template(
        "images/tool-job.sh.j2",
        head=format_header(plan.name),
        tool=tool,
        mpi=tool.mpi.get(cloud.provider, ""),
        pool=pool.name,
        partition=next((part.name for part in plan.scheduler.partitions if pool.name in part.pools), ""),
        nodes=min(_NODES, pool.nodes),
        accelerators=pool.accelerators_per_node,
    )
