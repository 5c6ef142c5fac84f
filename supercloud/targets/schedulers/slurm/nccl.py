"""nccl.conf, or RCCL's rccl.conf, of each pool on an InfiniBand fabric; those of RoCE are in the target ``roce``."""

from __future__ import annotations

from ....plan.build.network.nccl import build_nccl_settings, find_collectives_file, list_collective_fabrics
from ....plan.model.plan import Plan
from ...header import format_header

__all__ = ["render_nccl_files"]


def render_nccl_files(plan: Plan) -> dict[str, str]:
    """Render a file for each pool, for /etc of its nodes; on clouds it is part of the image."""
    found: dict[str, str] = {}
    for pool in plan.pools if plan.site.kind == "onprem" else ():
        if any(fabric.kind == "infiniband" for fabric in list_collective_fabrics(plan, pool)):
            settings = [f"{key}={value}" for key, value in build_nccl_settings(plan, pool).items()]
            file = find_collectives_file(pool)
            assert file is not None, "a pool with such fabrics has a collective library with a configuration file"
            path = f"{file.removesuffix('.conf')}-{pool.name}.conf"
            comments = _format_comments(pool.name, file, has_keys=bool(pool.tenants))
            found[path] = "\n".join([format_header(plan.name), *comments, *settings]) + "\n"
    return found


def _format_comments(pool: str, file: str, has_keys: bool) -> tuple[str, ...]:
    key = "the key of its tenant (target infiniband)" if has_keys else "the default key, of which it is a full member"
    return (
        f"# /etc/{file} on the nodes of {pool}; variables of a job's environment take precedence.",
        f"# NCCL_IB_PKEY is an index: entry 0 of a port's P_Key table is {key}.",
    )
