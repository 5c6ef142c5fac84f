"""All files of the InfiniBand bundle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....plan.build.fabric.device_names import list_switch_names
from ....plan.build.fabric.partitions import (
    find_manager_node,
    has_isolated_tenants,
    has_tenant_hosts,
    list_manager_hosts,
)
from ....plan.build.fabric.switch_manager import count_subnets, list_manager_switches
from ....plan.model.fabric import FabricPlan, SubnetManagerPlan
from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle, File
from ....primitives.nodes import HostRange
from ....primitives.templates import render_template
from .ipoib import render_ipoib_script
from .manager import format_manager_unit, list_nvidia_switches, render_manager
from .partitions import render_partitions
from .split_ports import list_split_ports

__all__ = ["render"]

_OPENSM_DIRECTORY = "/etc/opensm"
_HOST_DIRECTORY = "/etc/supercloud/infiniband"
_UFM_DIRECTORY = "/opt/ufm/files/conf/opensm"
# sm_priority, 0 to 15 (opensm(8)): the highest is the master. The default is 0, lower than both values here.
_MASTER, _STANDBY = 14, 7


def render(plan: Plan) -> Bundle:
    """Render a folder for each InfiniBand fabric with planned switches."""
    files: dict[str, File | str] = {}
    for fabric in plan.fabrics:
        if fabric.kind == "infiniband" and fabric.tiers:
            files |= {f"{fabric.name}/{path}": text for path, text in _render_files(plan, fabric)}
            addressed = _list_addressed_hosts(plan, fabric)
            if addressed or fabric.require_subnet_manager().kind != "nvidia":
                files[f"{fabric.name}/modules.conf"] = render_template(
                    "infiniband/modules.conf.j2", name=plan.name, fabric=fabric.name
                )
            if addressed:
                files[f"{fabric.name}/ipoib.sh"] = render_ipoib_script(plan, fabric)
                files[f"{fabric.name}/ipoib-{fabric.name}.service"] = render_template(
                    "infiniband/ipoib.service.j2",
                    name=plan.name,
                    fabric=fabric.name,
                    folder=f"{_HOST_DIRECTORY}/{fabric.name}",
                )
    return Bundle(files)


def _list_addressed_hosts(plan: Plan, fabric: FabricPlan) -> list[HostRange]:
    """Return the hosts with addresses on a fabric, which the IPoIB script sets."""
    networks = plan.networks
    if networks is None or all(item.fabric != fabric.name for item in networks.subnets):
        return []
    return [
        *(plan.get_pool(name).hosts for name in fabric.pools),
        *(item.hosts for item in networks.list_servers(fabric.name)),
    ]


@dataclass(frozen=True)
class _Subnet:
    """A fabric with the values for its files."""

    plan: Plan
    fabric: FabricPlan

    @property
    def manager(self) -> SubnetManagerPlan:
        """The subnet manager."""
        return self.fabric.require_subnet_manager()

    @property
    def tiers(self) -> list[tuple[str, list[str]]]:
        """Name of each tier and of its switches, from the leaves up."""
        return [(tier.name, list_switch_names(self.fabric.name, tier.name, tier.count)) for tier in self.fabric.tiers]

    @property
    def root_guids(self) -> list[str]:
        """GUIDs of the topmost switches, if all of them are known."""
        names = self.tiers[-1][1]
        known = [self.fabric.guids[name] for name in names if name in self.fabric.guids]
        return known if len(known) == len(names) else []

    @property
    def named_guids(self) -> list[tuple[str, str]]:
        """GUID and name of each switch whose GUID is known."""
        guids = self.fabric.guids
        return [(guids[name], name) for _, names in self.tiers for name in names if name in guids]

    def render_template(self, template: str, **values: object) -> str:
        """Fill a template of the target with names of the cluster and the fabric, and further values."""
        return render_template(f"infiniband/{template}", name=self.plan.name, fabric=self.fabric.name, **values)


def _render_files(plan: Plan, fabric: FabricPlan) -> Iterator[tuple[str, File | str]]:
    """Yield the files of the declared subnet manager; they do not start the other kind."""
    subnet = _Subnet(plan, fabric)
    manager = subnet.manager
    yield from _RENDERERS[manager.kind](subnet)
    top = subnet.tiers[-1][1]
    yield (
        "GUIDE.md",
        subnet.render_template(
            "GUIDE.md.j2",
            folder=f"{_OPENSM_DIRECTORY}/{fabric.name}",
            hosts=f"{_HOST_DIRECTORY}/{fabric.name}",
            engine=manager.engines[0],
            subnets=count_subnets(fabric),
            unit=format_manager_unit(fabric),
            roots=bool(subnet.root_guids),
            manager=manager.kind,
            switches=list_manager_switches(fabric),
            missing=sum(name not in fabric.guids for name in top) if fabric.guids else 0,
            ufm=_UFM_DIRECTORY,
            standbys=manager.standbys,
            m_key=manager.m_key,
            divided=has_tenant_hosts(manager),
            apart=has_isolated_tenants(manager),
            managers=list_manager_hosts(fabric),
            clients=_list_addressed_hosts(plan, fabric),
            node=find_manager_node(plan, fabric),
            nvidia_switches=list_nvidia_switches(fabric),
            split_ports=list_split_ports(plan, fabric),
        ),
    )


def _render_opensm_files(subnet: _Subnet) -> Iterator[tuple[str, File | str]]:
    """Yield a folder for /etc/opensm; hosts differ in priority, and in the port that the script detects."""
    folder = f"{_OPENSM_DIRECTORY}/{subnet.fabric.name}"
    priorities = {"opensm.conf": _MASTER} | ({"opensm-standby.conf": _STANDBY} if subnet.manager.standbys else {})
    for path, priority in priorities.items():
        yield (
            path,
            subnet.render_template(
                "opensm.conf.j2",
                folder=folder,
                engines=(*subnet.manager.engines, "no_fallback"),
                nvidia=False,
                roots=bool(subnet.root_guids),
                names=bool(subnet.named_guids),
                priority=priority,
            ),
        )
    yield "partitions.conf", render_partitions(subnet.plan, subnet.fabric)
    yield from _render_guid_files(subnet, "")
    yield from render_manager(subnet.plan, subnet.fabric, subnet.manager.m_key, folder)


def _render_ufm_files(subnet: _Subnet) -> Iterator[tuple[str, File | str]]:
    """Yield additions to UFM's files: UFM generates opensm.conf and partitions.conf."""
    tiers, has_sharp = subnet.tiers, subnet.manager.has_sharp
    yield (
        "ufm/opensm.conf",
        subnet.render_template(
            "opensm.conf.j2",
            folder=_UFM_DIRECTORY,
            engines=subnet.manager.engines,
            nvidia=True,
            roots=bool(subnet.root_guids),
            names=bool(subnet.named_guids),
            sharp=has_sharp,
            policy=len(tiers) > 1,
        ),
    )
    yield "ufm/gv.cfg", subnet.render_template("gv.cfg.j2", sharp=has_sharp)
    yield "ufm/partitions.conf.user_ext", render_partitions(subnet.plan, subnet.fabric)
    yield from _render_guid_files(subnet, "ufm/")
    if len(tiers) > 1:
        yield (
            "ufm/pgrp_policy.conf",
            subnet.render_template("pgrp_policy.conf.j2", regexp=f"{subnet.fabric.name}-{tiers[-1][0]}-.*"),
        )


def _render_switch_files(subnet: _Subnet) -> Iterator[tuple[str, File | str]]:
    """Yield the commands for each switch that runs the subnet manager; they differ in name and priority."""
    for number, switch in enumerate(list_manager_switches(subnet.fabric)):
        priority = _STANDBY if number else _MASTER
        yield f"switch/{switch}.txt", subnet.render_template("switch.txt.j2", switch=switch, priority=priority)


_RENDERERS = {"opensm": _render_opensm_files, "nvidia": _render_ufm_files, "switch": _render_switch_files}


def _render_guid_files(subnet: _Subnet, folder: str) -> Iterator[tuple[str, str]]:
    if subnet.root_guids:
        yield f"{folder}root-guids.conf", "".join(f"{guid}\n" for guid in subnet.root_guids)
    if subnet.named_guids:
        yield f"{folder}node-name-map", "".join(f'{guid} "{name}"\n' for guid, name in subnet.named_guids)
