"""The servers' side of a RoCE fabric: storage servers and services, with an address on every port.

They are few, and their cables are spread over leaves and planes, so that the script lists them.
"""

from __future__ import annotations

from ....plan.build.network.adapter_qos import format_servers_key
from ....plan.build.network.server_links import iter_server_ends
from ....plan.model.addressed_links import ServerLinks
from ....plan.model.network import Underlay
from ....plan.model.plan import Plan
from ....primitives.bundle import File
from ....primitives.templates import render_template
from ..head import format_header
from .nodes import build_common_values, select_interface_prefix
from .qos import render_qos_files

__all__ = ["render_server_files", "format_server_interface"]


def format_server_interface(underlay: Underlay, port: int) -> str:
    """Return the name of a server's interface if its RDMA device is not in the catalog."""
    return f"{select_interface_prefix(underlay)}{port}"


def render_server_files(plan: Plan, underlay: Underlay, group: ServerLinks) -> dict[str, File | str]:
    """Render scripts and unit of one group's machines."""
    fabric = next(item for item in plan.fabrics if item.name == underlay.fabric)
    devices = fabric.services[group.service].devices
    ends: dict[str, list[str]] = {}
    for end in iter_server_ends(fabric, (group,)):
        name, device = (
            format_server_interface(underlay, end.port),
            devices[end.port] if end.port < len(devices) else "-",
        )
        link = f"{end.plane} {end.port} {name} {device} {end.address} {end.gateway}"
        ends.setdefault(end.host, []).append(link)
    values = build_common_values(plan, underlay) | {
        "head": format_header(f"{underlay.fabric} on {group.name}", "#"),
        "group": group,
        "machine": fabric.services[group.service].product or group.name,
        "ends": ends,
        "devices": list(devices[: group.ports]),
    }
    return {
        "roce-rails.sh": File(render_template("roce/roce-rails-servers.sh.j2", **values), executable=True),
        **render_qos_files(underlay.adapter_tools.get(format_servers_key(group.name)), underlay, values),
    }
