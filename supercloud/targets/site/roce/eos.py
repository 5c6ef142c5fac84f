"""Arista EOS: a configuration for each switch, and one of quality of service for each tier, to be loaded first."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.model.network import SwitchRun, Underlay
from ....primitives.bundle import File
from ....primitives.templates import fill
from ..head import head
from .switches import SwitchView

__all__ = ["own", "shared"]


def own(view: SwitchView, underlay: Underlay) -> dict[str, File | str]:
    """What differs from switch to switch."""
    return {
        f"{view.name}.cfg": fill(
            "roce/eos.cfg.j2",
            head=head(view.name, "!"),
            view=view,
            underlay=underlay,
            gigabits=underlay.speed.to("Gb/s"),
        )
    }


def shared(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> dict[str, File | str]:
    """What all switches of a tier have in common."""
    tier = run.tier.name
    text = fill(
        "roce/eos-qos.cfg.j2",
        head=head(f"{underlay.fabric} {tier}", "!"),
        contract=underlay.lossless,
        ecn=underlay.lossless.ecn[tier],
        ports=ports,
    )
    return {"qos.cfg": text}
