"""Arista EOS: a configuration for each switch, and a QoS configuration for each tier, to be loaded first."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.build.network.trunks import PEER_CHANNEL
from ....plan.build.network.vlans import PEER_VLAN
from ....plan.model.bridges import BridgedNetwork, BridgeSwitch
from ....plan.model.network import SwitchRun, Underlay
from ....primitives.templates import render_template
from ..head import format_header
from .base import BridgedFiles, Files, RoutedFiles, SwitchDialect
from .views import SwitchView

__all__ = ["DIALECT"]


def render_routed_switch(switch: SwitchView, underlay: Underlay) -> Files:
    """Render the files of one switch of a routed fabric."""
    return {
        f"{switch.name}.cfg": render_template(
            "dialects/eos/routed.cfg.j2",
            head=format_header(switch.name, "!"),
            view=switch,
            underlay=underlay,
            gigabits=underlay.speed.to("Gb/s"),
        )
    }


def render_routed_tier(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> Files:
    """Render the common files of all switches of a tier of a routed fabric."""
    tier = run.tier.name
    text = render_template(
        "dialects/eos/qos.cfg.j2",
        head=format_header(f"{underlay.fabric} {tier}", "!"),
        policy=underlay.qos_policy,
        ecn=underlay.qos_policy.ecn[tier],
        ports=ports,
    )
    return {"qos.cfg": text}


def render_bridged_switch(switch: BridgeSwitch, network: BridgedNetwork) -> Files:
    """Render the configuration of one switch of a bridged network."""
    speed = network.fabric.speed
    text = render_template(
        "dialects/eos/bridged.cfg.j2",
        head=format_header(switch.name, "!"),
        view=switch,
        peer_vlan=PEER_VLAN,
        peer_channel=PEER_CHANNEL,
        gigabits=speed.to("Gb/s") if speed else 0,
    )
    return {f"{switch.name}.cfg": text}


DIALECT = SwitchDialect(
    routed=RoutedFiles(
        render_switch=render_routed_switch,
        render_tier=render_routed_tier,
        load_template="dialects/eos/load-routed.md.j2",
    ),
    bridged=BridgedFiles(render_switch=render_bridged_switch, load_template="dialects/eos/load-bridged.md.j2"),
    templates=("dialects/eos/routed.cfg.j2", "dialects/eos/qos.cfg.j2", "dialects/eos/bridged.cfg.j2"),
)
