"""Arista EOS: a configuration for each switch, and a QoS configuration for each tier, to be loaded first."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.model.network import SwitchRun, Underlay
from ....primitives.bundle import File
from ....primitives.templates import render_template
from ..head import format_header
from .switches import SwitchView

__all__ = ["render_switch", "render_tier"]


def render_switch(switch: SwitchView, underlay: Underlay) -> dict[str, File | str]:
    """Render the files of one switch."""
    return {
        f"{switch.name}.cfg": render_template(
            "roce/eos.cfg.j2",
            head=format_header(switch.name, "!"),
            view=switch,
            underlay=underlay,
            gigabits=underlay.speed.to("Gb/s"),
        )
    }


def render_tier(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> dict[str, File | str]:
    """Render the common files of all switches of a tier."""
    tier = run.tier.name
    text = render_template(
        "roce/eos-qos.cfg.j2",
        head=format_header(f"{underlay.fabric} {tier}", "!"),
        contract=underlay.qos_policy,
        ecn=underlay.qos_policy.ecn[tier],
        ports=ports,
    )
    return {"qos.cfg": text}
