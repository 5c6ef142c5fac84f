"""Checks of bridged networks: links that the spanning tree blocks because another path leads to the switch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...catalog import Catalog
from ...errors import Finding
from ...spec import Fabric as Declared
from ...topology import Fabric as Wiring
from ..build.fabric.roles import is_routed
from ..build.fabric.upstream import list_upstream, select_top_switches
from ..model.plan import FabricPlan, Plan
from .bridge_domain import BridgeDomain
from .rebuild import rebuild_fabric, replan, skip_in_trials

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CHECKS"]

# Settings with which no link is blocked, tried in this order: one pair of leaves and nothing above it, or a
# spine at which all uplinks of a leaf, or of a pair, are one bundle. With fewer uplinks a spine has ports for more
# leaves. Routing is not among them: hosts have their addresses from bridged subnets.
_SUGGESTIONS: tuple[dict[str, Any], ...] = (
    {"tiers": 1, "peer_links": 2, "spines": None},
    {"spines": 1},
    *({"spines": 1, "leaf_up": uplinks} for uplinks in (16, 8, 4, 2, 1)),
)


@skip_in_trials
def network_blocked(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Links between switches of bridged networks that carry no traffic, which is not obvious from the spec."""
    hints: dict[str, _Change] = {}
    for index, item in enumerate(plan.spec.fabrics):
        found = _find_blocked_links(plan, item.name)
        if not found or not found.blocked.get(item.name):
            continue
        upper = found.way[min(1, len(found.way) - 1)]
        tops = next(fabric for fabric in plan.fabrics if fabric.name == upper).tiers[-1]
        if upper not in hints:
            hints[upper] = _suggest_change(plan, catalog, upper)
        yield Finding(
            "network-blocked",
            "note",
            f"fabrics[{index}]",
            f"{found.blocked[item.name]} of {found.links[item.name]} links between switches of {item.name} carry "
            f"no traffic: switches have links to {tops.count} {tops.name} switches that are not a pair, and the "
            "spanning tree leaves one path active",
            hints[upper].describe(upper, item.name),
        )


class _Blocked(NamedTuple):
    """By network: links between switches, and those that carry no traffic."""

    way: list[str]
    """From the requested network up to the topmost one."""
    links: dict[str, int]
    blocked: dict[str, int]


def _find_blocked_links(plan: Plan, name: str) -> _Blocked | None:
    """The blocked links of all networks that are bridged with one; None if that is not bridged."""
    declared = {item.name: item for item in plan.spec.fabrics}
    fabrics = {
        item.name: item
        for item in plan.fabrics
        if item.tiers and item.kind != "infiniband" and not is_routed(item.kind, item.role)
    }
    if name not in fabrics:
        return None
    way = list_upstream([declared[item] for item in fabrics], name)
    top = way[-1]
    domain = _build_domain(fabrics, declared, top)
    root = domain.get_first(top, fabrics[top].tiers[-1].name)
    return _Blocked(way, domain.count_links(), domain.count_blocked(root))


def _build_domain(fabrics: dict[str, FabricPlan], declared: dict[str, Declared], top: str) -> BridgeDomain:
    """The network and all networks connected to it."""
    import numpy as np  # planning alone does without

    domain = BridgeDomain({(name, tier.name): tier.count for name, item in fabrics.items() for tier in item.tiers})
    names = [top]

    def find_bridges(name: str, tier: str, switches: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bridges that switches are: the two of a pair act as one."""
        if tier == "leaf" and declared[name].peer_links:
            count = next(item.count for item in fabrics[name].tiers if item.name == tier)
            switches = np.where(switches // 2 * 2 + 1 < count, switches // 2 * 2, switches)
        return domain.get_first(name, tier) + switches

    for name in names:  # grows in the loop
        fabric, wiring = fabrics[name], fabrics[name].wiring
        assert isinstance(wiring, Wiring)
        tiers = {tier.name for tier in fabric.tiers}
        for group in wiring.link_groups:
            if group.source_kind in tiers and group.target_kind in tiers:
                columns = group.build_columns()
                low = find_bridges(name, group.source_kind, columns.source)
                domain.add_links(name, low, find_bridges(name, group.target_kind, columns.target))
        for other_name, other in fabrics.items():
            upstream = declared[other_name].upstream
            if upstream and upstream.fabric == name and other_name not in names:
                names.append(other_name)
                bottom = other.tiers[0]
                switches = select_top_switches(fabric, bottom.count * upstream.links)
                low = find_bridges(other_name, bottom.name, np.repeat(np.arange(bottom.count), upstream.links))
                domain.add_links(other_name, low, find_bridges(name, fabric.tiers[-1].name, switches))
    return domain


class _Change(NamedTuple):
    """Settings of a network with which no link is blocked; None if none of the known ones can be planned."""

    settings: dict[str, Any] | None
    had_spines: bool

    def describe(self, network: str, place: str) -> str:
        """The hint of a finding at the network ``place``."""
        settings, of = self.settings, f" on {network}" if network != place else ""
        if settings is None:
            return (
                f"neither one pair of leaves nor one spine can be planned for {network} with its other settings, also "
                "not with fewer uplinks per leaf (leaf_up)"
            )
        text = " and ".join(f"{key}: {value}" for key, value in settings.items() if value)
        alone = ", which leaves no spare spine" if settings["spines"] else ", and omit spines" * self.had_spines
        return f"set {text}{of}{alone}"


def _suggest_change(plan: Plan, catalog: Catalog, name: str) -> _Change:
    """Settings with which no link is blocked in the plan of the changed spec."""
    index = next(index for index, item in enumerate(plan.spec.fabrics) if item.name == name)
    declared = plan.spec.fabrics[index]
    for settings in _SUGGESTIONS:
        changed = declared.model_copy(update=settings)
        if rebuild_fabric(plan, catalog, changed) is None:
            continue  # much faster than a whole plan
        fabrics = tuple(changed if item is declared else item for item in plan.spec.fabrics)
        found, errors = replan(plan, catalog, plan.spec.model_copy(update={"fabrics": fabrics}))
        blocked = None if errors else _find_blocked_links(found, name)
        if not errors and not (blocked and blocked.blocked):
            return _Change(settings, declared.spines is not None)
    return _Change(None, declared.spines is not None)


CHECKS = (network_blocked,)
