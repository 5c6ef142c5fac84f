"""All files of the bundle: a folder per fabric, with a folder per tier, pool and group of servers."""

from __future__ import annotations

from collections.abc import Mapping

from ....plan.build.network.server_links import iter_server_ends
from ....plan.model.network import SwitchRun, Underlay
from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle
from ..dialects import Files, RoutedFiles, iter_switches, select_routed
from . import nodes
from .install import render_install_guide
from .servers import render_server_files

__all__ = ["list_used_ports", "render"]


def render(plan: Plan) -> Bundle:
    """Render every routed Ethernet fabric of a plan: switches, nodes, and instructions to load them."""
    files: Files = {}
    underlays = plan.networks.underlays if plan.networks else ()
    dialects = select_routed(plan, [run for underlay in underlays for run in underlay.switches])
    for underlay in underlays:
        files |= _render_switches(plan, underlay, dialects)
        for pool in plan.pools:
            if underlay.fabric in pool.fabrics:
                own = nodes.render_node_files(plan, underlay, pool)
                files |= {f"{underlay.fabric}/nodes/{pool.name}/{path}": file for path, file in own.items()}
        for group in underlay.servers:
            own = render_server_files(plan, underlay, group)
            files |= {f"{underlay.fabric}/servers/{group.name}/{path}": file for path, file in own.items()}
    files["INSTALL.md"] = render_install_guide(plan, underlays, dialects)
    return Bundle(files)


def _render_switches(plan: Plan, underlay: Underlay, dialects: Mapping[str, RoutedFiles]) -> Files:
    """Render the files that switches of a tier have in common, and those of each switch."""
    files: Files = {}
    for run in underlay.switches:
        assert run.network_os is not None, "a plan with errors is not rendered"
        ports = list_used_ports(plan, run, underlay)
        text = dialects[run.network_os.dialect].render_tier(run, underlay, ports)
        files |= {f"{underlay.fabric}/{run.tier.name}/{path}": file for path, file in text.items()}
    for view in iter_switches(plan, underlay):
        assert view.run.network_os is not None
        for path, file in dialects[view.run.network_os.dialect].render_switch(view, underlay).items():
            files[f"{underlay.fabric}/{view.run.tier.name}/{path}"] = file
    return files


def list_used_ports(plan: Plan, run: SwitchRun, underlay: Underlay) -> list[str]:
    """Return the used ports of a tier: the first ones down, those of servers on leaves, the last ones up.

    Ports may be split on some leaves only: their parts are in the file of the switch.
    """
    tier = run.tier
    fabric = next(item for item in plan.fabrics if item.name == underlay.fabric)
    served = {
        end.leaf_port for end in iter_server_ends(fabric, underlay.servers) if tier.name == "leaf" and not end.lane
    }
    used = dict.fromkeys([*range(tier.down), *sorted(served), *range(tier.radix - tier.up, tier.radix)])
    return [run.format_port_name(index) for index in used]
