"""Checks of networks."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ...topology import Fabric as Wiring
from ..model import Plan


def _place(plan: Plan, name: str) -> str:
    return f"fabrics[{[fabric.name for fabric in plan.spec.fabrics].index(name)}]"


def fabric_unused(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A fabric no pool uses."""
    used = {name for pool in plan.spec.pools for name in pool.fabrics}
    for index, fabric in enumerate(plan.spec.fabrics):
        if fabric.name not in used:
            yield Finding(
                "fabric-unused",
                "warning",
                f"fabrics[{index}]",
                f"no pool uses fabric {fabric.name}",
                "add it to 'fabrics' of a pool, or remove it",
            )


def fabric_rails_disjoint(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Rails that meet nowhere in the fabric."""
    for fabric in plan.fabrics:
        if isinstance(fabric.wiring, Wiring) and fabric.wiring.rails_are_disjoint and fabric.rails > 1:
            yield Finding(
                "fabric-rails-disjoint",
                "note",
                _place(plan, fabric.name),
                f"the {fabric.rails} rails of "
                f"{fabric.name} do not meet: traffic between them goes through a node's scale-up links",
                "set pod: su to join them in the spines",
            )


def fabric_split_domain(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Leaves whose node groups cut through scale-up domains."""
    for fabric in plan.fabrics:
        if not isinstance(fabric.wiring, Wiring) or not fabric.tiers or fabric.shape != "rail-optimized":
            continue
        group = fabric.wiring.levels[0]
        for name in fabric.pools:
            domain = plan.pool(name).machine.domain_nodes
            if domain > 1 and group.size % domain and domain % group.size:
                yield Finding(
                    "fabric-split-domain",
                    "warning",
                    _place(plan, fabric.name),
                    f"leaves take {group.size} nodes, "
                    f"scale-up domains of pool {name} have {domain}: some are split over leaves",
                    f"set leaf_down to a multiple of {domain}",
                )
