"""What NCCL is told of a pool's fabrics: RDMA devices, the entry of the P_Key table, the traffic class.

The variables: docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html. A file has them for a whole host: NCCL reads
/etc/nccl.conf (same page), RCCL /etc/rccl.conf (rocm.docs.amd.com/projects/rccl, environment variables, and
src/misc/param.cc); HCCL of Gaudi and libraries of others read neither.
"""

from __future__ import annotations

from ...model.plan import FabricPlan, Plan, PoolPlan
from ..network.adapter_qos import nodes_key
from .roles import adapter_of

__all__ = ["collective_fabrics", "collectives_file", "fabric_settings", "nccl_settings", "rdma_devices"]

# Index of the P_Key that jobs use: plan/fabric/partitions.py has the key of a node's tenant there.
_KEY_INDEX = "0"

# Makers of accelerators whose collectives are run by NCCL, or by a library that reads its variables -> its file.
_FILES = {"NVIDIA": "nccl.conf", "AMD": "rccl.conf"}


def collectives_file(pool: PoolPlan) -> str | None:
    """The file in /etc that has the variables for a pool's hosts; None where their library reads none."""
    return _FILES.get(pool.accelerator.vendor) if pool.accelerator else _FILES["NVIDIA"]


def collective_fabrics(plan: Plan, pool: PoolPlan) -> tuple[FabricPlan, ...]:
    """The fabrics of a pool that collectives of NCCL run over, where they are RDMA of our own."""
    if collectives_file(pool) is None:
        return ()
    return tuple(
        fabric
        for fabric in plan.fabrics
        if fabric.name in pool.fabrics and fabric.role == "compute" and fabric.kind in ("infiniband", "roce")
    )


def rdma_devices(pool: PoolPlan, fabric: FabricPlan) -> tuple[str, ...]:
    """RDMA devices of a pool's machine on a fabric, in rail order; none where the catalog does not know them all."""
    adapter = adapter_of(pool.machine, fabric.role, fabric.kind)
    links = fabric.rails * fabric.planes
    return adapter.devices[:links] if adapter and len(adapter.devices) >= links else ()


def fabric_settings(plan: Plan, fabric: FabricPlan, pool: PoolPlan) -> dict[str, str]:
    """Settings of a fabric for the hosts of a pool, without their devices."""
    found: dict[str, str] = {}
    underlay = plan.networks.underlay(fabric.name) if plan.networks else None
    if underlay:
        found["NCCL_IB_TC"] = str(underlay.lossless.dscp << 2)
        adapters = underlay.tools.get(nodes_key(pool.name))
        if adapters and adapters.gid_index is not None:
            found["NCCL_IB_GID_INDEX"] = str(adapters.gid_index)
    elif fabric.kind == "infiniband" and fabric.tiers:
        found["NCCL_IB_PKEY"] = _KEY_INDEX
    if getattr(fabric.wiring, "rails_are_disjoint", False):
        found["NCCL_CROSS_NIC"] = "0"
    return found


def nccl_settings(plan: Plan, pool: PoolPlan) -> dict[str, str]:
    """Settings of a pool's hosts, sorted; empty where no fabric says anything."""
    found: dict[str, str] = {}
    devices: list[str] = []
    fabrics = collective_fabrics(plan, pool)
    for fabric in fabrics:
        devices += rdma_devices(pool, fabric)
        found |= fabric_settings(plan, fabric, pool)
    if fabrics and all(rdma_devices(pool, fabric) for fabric in fabrics):
        found["NCCL_IB_HCA"] = "=" + ",".join(devices)
    # NCCL_MNNVL_ENABLE is not set: NCCL uses NVLink between nodes where IMEX runs, and forced it would fail elsewhere
    return dict(sorted(found.items()))
