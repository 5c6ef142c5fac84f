"""The nodes to which a job is pinned."""

from __future__ import annotations

from ....errors import InputError
from ....primitives.nodes import expand
from ..context import PlacementContext
from ..refusal import StepRefusal
from .demand import NodeDemand

__all__ = ["expand_pinned_nodes"]


def expand_pinned_nodes(context: PlacementContext, demand: NodeDemand) -> tuple[str, ...] | StepRefusal:
    """The nodes the job pins, in the order of their expansion; empty if it pins none."""
    pinned, pool = context.job.place.nodes, context.pool
    if not pinned:
        return ()
    try:
        hosts = expand(",".join(pinned))
    except InputError as error:
        return StepRefusal(str(error), "write names as gpu-[0001-0004],gpu-0007")
    known = set(pool.hosts)
    for host in hosts:
        if host not in known:
            return StepRefusal(
                f"{host!r} is not a node of the pool",
                f"its nodes are {pool.hosts}; or omit place.nodes",
                {"place.nodes": None},
            )
    if len(hosts) != demand.nodes:
        return StepRefusal(
            f"place.nodes pins {len(hosts)}, the job needs {demand.nodes}",
            f"pin {demand.nodes} nodes, or omit place.nodes",
            {"place.nodes": None},
        )
    return tuple(hosts)
