"""FRR on Linux: routing in one file for each switch, quality of service in one script for each tier.

This dialect is the reference for the others: the project's tests run its routing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.model.bridges import BridgedNetwork, BridgeSwitch
from ....plan.model.network import SwitchRun, Underlay
from ....primitives.bundle import File
from ....primitives.templates import render_template
from ..head import format_header
from .base import BridgedFiles, Files, RoutedFiles, SwitchDialect
from .views import SwitchView

__all__ = ["DIALECT", "render_routing"]


def render_routing(switch: SwitchView, underlay: Underlay, has_addresses: bool = True) -> str:
    """Render frr.conf of a switch; ``has_addresses``: FRR also sets the ports' addresses."""
    return render_template(
        "dialects/frr/frr.conf.j2",
        head=format_header(switch.name, "!"),
        view=switch,
        underlay=underlay,
        addresses=has_addresses,
    )


def render_routed_switch(switch: SwitchView, underlay: Underlay) -> Files:
    """Render the files of one switch of a routed fabric."""
    return {f"{switch.name}/frr.conf": render_routing(switch, underlay)}


def render_routed_tier(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> Files:
    """Render the common files of all switches of a tier of a routed fabric."""
    tier = run.tier.name
    text = render_template(
        "dialects/frr/qos.sh.j2",
        head=format_header(f"{underlay.fabric} {tier}", "#"),
        policy=underlay.qos_policy,
        ecn=underlay.qos_policy.ecn[tier],
        ports=ports,
        megabits=round(underlay.speed.to("Gb/s") * 1000),
    )
    return {"qos.sh": File(text, executable=True)}


def render_bridged_switch(switch: BridgeSwitch, network: BridgedNetwork) -> Files:
    """Render a bridge of the Linux kernel."""
    text = render_template("dialects/frr/bridge.sh.j2", head=format_header(switch.name, "#"), view=switch)
    return {f"{switch.name}.sh": File(text, executable=True)}


DIALECT = SwitchDialect(
    routed=RoutedFiles(
        render_switch=render_routed_switch,
        render_tier=render_routed_tier,
        load_template="dialects/frr/load-routed.md.j2",
    ),
    bridged=BridgedFiles(render_switch=render_bridged_switch, load_template="dialects/frr/load-bridged.md.j2"),
    templates=("dialects/frr/frr.conf.j2", "dialects/frr/qos.sh.j2", "dialects/frr/bridge.sh.j2"),
)
