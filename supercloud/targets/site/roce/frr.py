"""FRR on Linux: routing in one file for each switch, quality of service in one script for each tier.

This dialect is the reference for the others: the project's tests run its routing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.model.network import SwitchRun, Underlay
from ....primitives.bundle import File
from ....primitives.templates import render_template
from ..head import format_header
from .switches import SwitchView

__all__ = ["render_switch", "render_routing", "render_tier"]


def render_routing(switch: SwitchView, underlay: Underlay, has_addresses: bool = True) -> str:
    """Render frr.conf of a switch; ``has_addresses``: FRR also sets the ports' addresses."""
    return render_template(
        "roce/frr.conf.j2",
        head=format_header(switch.name, "!"),
        view=switch,
        underlay=underlay,
        addresses=has_addresses,
    )


def render_switch(switch: SwitchView, underlay: Underlay) -> dict[str, File | str]:
    """Render the files of one switch."""
    return {f"{switch.name}/frr.conf": render_routing(switch, underlay)}


def render_tier(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> dict[str, File | str]:
    """Render the common files of all switches of a tier."""
    tier = run.tier.name
    text = render_template(
        "roce/frr-qos.sh.j2",
        head=format_header(f"{underlay.fabric} {tier}", "#"),
        contract=underlay.qos_policy,
        ecn=underlay.qos_policy.ecn[tier],
        ports=ports,
        megabits=round(underlay.speed.to("Gb/s") * 1000),
    )
    return {"qos.sh": File(text, executable=True)}
