"""NCCL settings for a pool's fabrics: RDMA devices, index in the P_Key table, traffic class.

The variables: docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html. A file has them for a whole host: NCCL reads
/etc/nccl.conf (same page), RCCL /etc/rccl.conf (rocm.docs.amd.com/projects/rccl, environment variables, and
src/misc/param.cc); HCCL of Gaudi and libraries of others read neither.
"""

from __future__ import annotations

from ...model.plan import FabricPlan, Plan, PoolPlan
from ..fabric.roles import find_adapter
from .adapter_qos import format_nodes_key

__all__ = [
    "list_collective_fabrics",
    "find_collectives_file",
    "build_fabric_settings",
    "build_nccl_settings",
    "list_rdma_devices",
]

# Index of the P_Key that jobs use: plan/build/fabric/partitions.py puts the key of a node's tenant there.
_PKEY_INDEX = "0"

# Vendors of accelerators whose collectives use NCCL, or a library that reads its variables -> its file.
_CONFIG_FILES = {"NVIDIA": "nccl.conf", "AMD": "rccl.conf"}


def find_collectives_file(pool: PoolPlan) -> str | None:
    """The file in /etc with the variables for a pool's hosts; None if their library reads none."""
    return _CONFIG_FILES.get(pool.accelerator.vendor) if pool.accelerator else _CONFIG_FILES["NVIDIA"]


def list_collective_fabrics(plan: Plan, pool: PoolPlan) -> tuple[FabricPlan, ...]:
    """The fabrics of a pool that NCCL collectives use: self-managed RDMA fabrics."""
    if find_collectives_file(pool) is None:
        return ()
    return tuple(
        fabric
        for fabric in plan.fabrics
        if fabric.name in pool.fabrics and fabric.role == "compute" and fabric.kind in ("infiniband", "roce")
    )


def list_rdma_devices(pool: PoolPlan, fabric: FabricPlan) -> tuple[str, ...]:
    """RDMA devices of a pool's machine on a fabric, in rail order; empty unless the catalog has all of them."""
    adapter = find_adapter(pool.machine, fabric.role, fabric.kind)
    links = fabric.rails * fabric.planes
    return adapter.devices[:links] if adapter and len(adapter.devices) >= links else ()


def build_fabric_settings(plan: Plan, fabric: FabricPlan, pool: PoolPlan) -> dict[str, str]:
    """Settings of a fabric for the hosts of a pool, without their devices."""
    found: dict[str, str] = {}
    underlay = plan.networks.find_underlay(fabric.name) if plan.networks else None
    if underlay:
        found["NCCL_IB_TC"] = str(underlay.qos_policy.dscp << 2)
        adapters = underlay.adapter_tools.get(format_nodes_key(pool.name))
        if adapters and adapters.gid_index is not None:
            found["NCCL_IB_GID_INDEX"] = str(adapters.gid_index)
    elif fabric.kind == "infiniband" and fabric.tiers:
        found["NCCL_IB_PKEY"] = _PKEY_INDEX
    if getattr(fabric.wiring, "has_disjoint_rails", False):
        found["NCCL_CROSS_NIC"] = "0"
    return found


def build_nccl_settings(plan: Plan, pool: PoolPlan) -> dict[str, str]:
    """Settings of a pool's hosts, sorted; empty if no fabric has settings."""
    found: dict[str, str] = {}
    devices: list[str] = []
    fabrics = list_collective_fabrics(plan, pool)
    for fabric in fabrics:
        devices += list_rdma_devices(pool, fabric)
        found |= build_fabric_settings(plan, fabric, pool)
    if fabrics and all(list_rdma_devices(pool, fabric) for fabric in fabrics):
        found["NCCL_IB_HCA"] = "=" + ",".join(devices)
    # NCCL_MNNVL_ENABLE is not set: NCCL uses NVLink between nodes if IMEX runs; forced, it would fail otherwise
    return dict(sorted(found.items()))
