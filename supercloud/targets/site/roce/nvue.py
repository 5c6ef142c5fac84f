"""Cumulus Linux: patches for ``nv config patch``, one of quality of service for each tier, one for each switch."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.network.model import SwitchRun, Underlay
from ....primitives.bundle import File
from ....primitives.templates import fill
from ..head import head
from .switches import SwitchView

__all__ = ["own", "shared"]


def own(view: SwitchView, underlay: Underlay) -> dict[str, File | str]:
    """What differs from switch to switch."""
    return {
        f"{view.name}.yaml": fill(
            "roce/nvue.yaml.j2", head=head(view.name, "#"), view=view, underlay=underlay, mtu=underlay.lossless.mtu
        )
    }


def shared(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> dict[str, File | str]:
    """What all switches of a tier have in common."""
    tier, contract = run.tier.name, underlay.lossless
    text = fill(
        "roce/nvue-qos.yaml.j2",
        head=head(f"{underlay.fabric} {tier}", "#"),
        contract=contract,
        mtu=contract.mtu,
        ecn=contract.ecn[tier],
        ports=ports,
        robustness=max(1, round(contract.detection.to("ms") / contract.poll.to("ms"))),
    )
    return {"qos.yaml": text}
