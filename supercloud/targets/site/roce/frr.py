"""FRR on Linux: routing in one file for each switch, quality of service in one script for each tier.

What the other dialects say in their own words is said here in the words of the reference: its routing is what runs in
the project's tests.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.model.network import SwitchRun, Underlay
from ....primitives.bundle import File
from ....primitives.templates import fill
from ..head import head
from .switches import SwitchView

__all__ = ["own", "routing", "shared"]


def routing(view: SwitchView, underlay: Underlay, addresses: bool = True) -> str:
    """frr.conf of a switch; ``addresses`` says whether FRR also gives the ports theirs."""
    return fill("roce/frr.conf.j2", head=head(view.name, "!"), view=view, underlay=underlay, addresses=addresses)


def own(view: SwitchView, underlay: Underlay) -> dict[str, File | str]:
    """What differs from switch to switch."""
    return {f"{view.name}/frr.conf": routing(view, underlay)}


def shared(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> dict[str, File | str]:
    """What all switches of a tier have in common."""
    tier = run.tier.name
    text = fill(
        "roce/frr-qos.sh.j2",
        head=head(f"{underlay.fabric} {tier}", "#"),
        contract=underlay.lossless,
        ecn=underlay.lossless.ecn[tier],
        ports=ports,
        megabits=round(underlay.speed.to("Gb/s") * 1000),
    )
    return {"qos.sh": File(text, executable=True)}
