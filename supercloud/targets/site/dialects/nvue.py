"""Cumulus Linux: patches for ``nv config patch``, a QoS patch for each tier, and one for each switch."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.build.network.vlans import PEER_VLAN
from ....plan.model.bridges import BridgedNetwork, BridgeSwitch
from ....plan.model.network import SwitchRun, Underlay
from ....primitives.templates import render_template
from ..head import format_release_header
from .base import BridgedFiles, Files, RoutedFiles, SwitchDialect
from .views import SwitchView

__all__ = ["DIALECT"]

# NVIDIA reserves 44:38:39:ff:00:00 to 44:38:39:ff:ff:ff for pairs.
_PAIR_MAC_FORMAT = "44:38:39:ff:{:02x}:{:02x}"


def render_routed_switch(switch: SwitchView, underlay: Underlay) -> Files:
    """Render the files of one switch of a routed fabric."""
    assert switch.run.network_os is not None, "a plan with errors is not rendered"
    first = format_release_header(switch.name, "#", switch.run.network_os)
    text = render_template(
        "dialects/nvue/routed.yaml.j2", head=first, view=switch, underlay=underlay, mtu=underlay.qos_policy.mtu
    )
    return {f"{switch.name}.yaml": text}


def render_routed_tier(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> Files:
    """Render the common files of all switches of a tier of a routed fabric."""
    assert run.network_os is not None, "a plan with errors is not rendered"
    tier, policy = run.tier.name, underlay.qos_policy
    text = render_template(
        "dialects/nvue/qos.yaml.j2",
        head=format_release_header(f"{underlay.fabric} {tier}", "#", run.network_os),
        policy=policy,
        mtu=policy.mtu,
        ecn=policy.ecn[tier],
        ports=ports,
        robustness=max(1, round(policy.detection.to("ms") / policy.poll.to("ms"))),
    )
    return {"qos.yaml": text}


def render_bridged_switch(switch: BridgeSwitch, network: BridgedNetwork) -> Files:
    """Render the patch of one switch of a bridged network."""
    mac = _PAIR_MAC_FORMAT.format(*divmod(switch.pair, 256))
    assert switch.run.network_os is not None, "a plan with errors is not rendered"
    first = format_release_header(switch.name, "#", switch.run.network_os)
    text = render_template("dialects/nvue/bridged.yaml.j2", head=first, view=switch, peer_vlan=PEER_VLAN, pair_mac=mac)
    return {f"{switch.name}.yaml": text}


DIALECT = SwitchDialect(
    routed=RoutedFiles(
        render_switch=render_routed_switch,
        render_tier=render_routed_tier,
        load_template="dialects/nvue/load-routed.md.j2",
    ),
    bridged=BridgedFiles(render_switch=render_bridged_switch, load_template="dialects/nvue/load-bridged.md.j2"),
    templates=("dialects/nvue/routed.yaml.j2", "dialects/nvue/qos.yaml.j2", "dialects/nvue/bridged.yaml.j2"),
)
