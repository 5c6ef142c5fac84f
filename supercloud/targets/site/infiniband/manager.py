"""Start of OpenSM: a script that detects the host's port on the fabric, and a systemd unit for the fabric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ....plan.build.fabric.partitions import list_manager_hosts
from ....plan.build.fabric.port_guids import PortGuids
from ....plan.build.fabric.switch_manager import count_subnets
from ....plan.build.network.nccl import list_rdma_devices
from ....plan.model.plan import FabricPlan, Plan
from ....primitives.bundle import File
from ....primitives.nodes import HostRange
from ....primitives.templates import render_template

__all__ = ["format_manager_unit", "list_nvidia_switches", "render_manager"]


class _ManagerHost(NamedTuple):
    """A host of the subnet manager."""

    host: str
    port: str
    """GUID of its port; empty if unknown."""


class _CandidatePool(NamedTuple):
    """Nodes that may run the subnet manager if no machine is declared for it."""

    hosts: HostRange
    device: str


def format_manager_unit(fabric: FabricPlan) -> str:
    """Format the unit name without ``.service``; with several subnets it is a template whose instances are ports."""
    return f"opensm-{fabric.name}{'@' if count_subnets(fabric) > 1 else ''}"


def list_nvidia_switches(fabric: FabricPlan) -> list[str]:
    """Titles of the switches that need NVIDIA's OpenSM."""
    return list(dict.fromkeys(tier.switch.title for tier in fabric.tiers if tier.switch.opensm == "nvidia"))


def render_manager(plan: Plan, fabric: FabricPlan, m_key: str | None, folder: str) -> Iterator[tuple[str, File | str]]:
    """Yield the script and the unit; ``folder`` is their directory on a host."""
    several = count_subnets(fabric) > 1
    yield (
        "start-opensm.sh",
        File(
            render_template(
                "infiniband/start-opensm.sh.j2",
                name=plan.name,
                fabric=fabric.name,
                m_key=m_key,
                several=several,
                nvidia_switches=list_nvidia_switches(fabric),
                managers=_list_managers(plan, fabric, several),
                pools=() if several else list(_iter_candidate_pools(plan, fabric)),
            ),
            executable=True,
        ),
    )
    yield (
        f"{format_manager_unit(fabric)}.service",
        render_template(
            "infiniband/opensm.service.j2", name=plan.name, fabric=fabric.name, folder=folder, several=several
        ),
    )


def _list_managers(plan: Plan, fabric: FabricPlan, several: bool) -> list[_ManagerHost]:
    """Return the declared hosts of the subnet manager, the master first."""
    guids = PortGuids(plan, fabric)
    return [
        _ManagerHost(host, "" if several else next(iter(guids.list_guids(host)), ""))
        for host in list_manager_hosts(fabric)
    ]


def _iter_candidate_pools(plan: Plan, fabric: FabricPlan) -> Iterator[_CandidatePool]:
    for name in fabric.pools:
        pool = plan.get_pool(name)
        devices = list_rdma_devices(pool, fabric)
        if devices:
            yield _CandidatePool(pool.hosts, devices[0])
