"""INSTALL.md: what is in the bundle, and in which order it is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.model import Plan
from ....plan.network.model import Underlay
from ....primitives.templates import fill

__all__ = ["install_text"]

_LOADED = {
    "sonic": "`breakout.sh`, then `config load` of both JSON files, `config save`; `frr.conf` to `/etc/sonic/frr/`",
    "eos": "`configure replace` with `qos.cfg` and `<switch>.cfg` put together",
    "nvue": "`nv config patch qos.yaml && nv config patch <switch>.yaml && nv config apply`",
    "frr": "`frr.conf` to `/etc/frr/`, with bgpd and bfdd on in `/etc/frr/daemons`; `qos.sh` at every boot",
}


def install_text(plan: Plan, underlays: Sequence[Underlay]) -> str:
    """How to load what was rendered, and how to see that it works."""
    return fill("roce/INSTALL.md.j2", plan=plan, underlays=underlays, loaded=_LOADED)
