"""Cumulus Linux: patches for ``nv config patch``, a QoS patch for each tier, and one for each switch."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.model.network import SwitchRun, Underlay
from ....primitives.bundle import File
from ....primitives.templates import render_template
from ..head import format_release_header
from .switches import SwitchView

__all__ = ["render_switch", "render_tier"]


def render_switch(switch: SwitchView, underlay: Underlay) -> dict[str, File | str]:
    """Render the files of one switch."""
    assert switch.run.network_os is not None, "a plan with errors is not rendered"
    first = format_release_header(switch.name, "#", switch.run.network_os)
    text = render_template("roce/nvue.yaml.j2", head=first, view=switch, underlay=underlay, mtu=underlay.qos_policy.mtu)
    return {f"{switch.name}.yaml": text}


def render_tier(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> dict[str, File | str]:
    """Render the common files of all switches of a tier."""
    assert run.network_os is not None, "a plan with errors is not rendered"
    tier, contract = run.tier.name, underlay.qos_policy
    text = render_template(
        "roce/nvue-qos.yaml.j2",
        head=format_release_header(f"{underlay.fabric} {tier}", "#", run.network_os),
        contract=contract,
        mtu=contract.mtu,
        ecn=contract.ecn[tier],
        ports=ports,
        robustness=max(1, round(contract.detection.to("ms") / contract.poll.to("ms"))),
    )
    return {"qos.yaml": text}
