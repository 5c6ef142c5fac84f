"""Cumulus Linux: patches for ``nv config patch``, one of quality of service for each tier, one for each switch."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.model.network import SwitchRun, Underlay
from ....primitives.bundle import File
from ....primitives.templates import fill
from ..head import release_head
from .switches import SwitchView

__all__ = ["own", "shared"]


def own(view: SwitchView, underlay: Underlay) -> dict[str, File | str]:
    """What differs from switch to switch."""
    assert view.run.system is not None, "a plan with errors is not rendered"
    first = release_head(view.name, "#", view.run.system)
    text = fill("roce/nvue.yaml.j2", head=first, view=view, underlay=underlay, mtu=underlay.lossless.mtu)
    return {f"{view.name}.yaml": text}


def shared(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> dict[str, File | str]:
    """What all switches of a tier have in common."""
    assert run.system is not None, "a plan with errors is not rendered"
    tier, contract = run.tier.name, underlay.lossless
    text = fill(
        "roce/nvue-qos.yaml.j2",
        head=release_head(f"{underlay.fabric} {tier}", "#", run.system),
        contract=contract,
        mtu=contract.mtu,
        ecn=contract.ecn[tier],
        ports=ports,
        robustness=max(1, round(contract.detection.to("ms") / contract.poll.to("ms"))),
    )
    return {"qos.yaml": text}
