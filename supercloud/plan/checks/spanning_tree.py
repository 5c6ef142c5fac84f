"""Checks of bridged networks: links that the spanning tree blocks because another path leads to the switch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...catalog import Catalog
from ...errors import Finding
from ...spec import Fabric as Declared
from ...topology import Fabric as Wiring
from ..build.fabric.joins import list_joined, select_top_switches
from ..build.fabric.roles import is_routed
from ..model.plan import FabricPlan, Plan
from .rebuild import rebuild_fabric, replan

__all__ = ["CHECKS"]

# Settings with which no link is blocked, tried in this order: one pair of leaves and nothing above it, a
# spine at which all uplinks of a leaf, or of a pair, are one bundle, or routing instead of bridging.
_SUGGESTIONS: tuple[dict[str, Any], ...] = (
    {"tiers": 1, "peer_links": 2, "spines": None},
    {"spines": 1},
    {"kind": "roce"},
)


class _Bridge(NamedTuple):
    """A switch, or the two of a pair, which act as one."""

    fabric: str
    tier: str
    number: int


@dataclass
class _BridgeDomain:
    """Switches that bridge, and the links between any two of them: a bundle each."""

    bundles: dict[frozenset[_Bridge], dict[str, int]] = field(default_factory=dict)
    """Two bridges -> links of each fabric between them."""

    def add_link(self, fabric: str, left: _Bridge, right: _Bridge) -> None:
        if left != right:
            found = self.bundles.setdefault(frozenset((left, right)), {})
            found[fabric] = found.get(fabric, 0) + 1

    def list_blocked(self, root: _Bridge) -> dict[str, int]:
        """Fabric -> links that are not on the shortest path from a switch to the root (IEEE 802.1D)."""
        near: dict[_Bridge, list[_Bridge]] = {}
        for one, other in (sorted(pair) for pair in self.bundles):
            near.setdefault(one, []).append(other)
            near.setdefault(other, []).append(one)
        kept: set[frozenset[_Bridge]] = set()
        seen, waiting = {root}, deque([root])
        while waiting:
            place = waiting.popleft()
            for other in sorted(near.get(place, [])):
                if other not in seen:
                    seen.add(other)
                    kept.add(frozenset((place, other)))
                    waiting.append(other)
        blocked: dict[str, int] = {}
        for pair, links in self.bundles.items():
            if pair not in kept and pair <= seen:
                for fabric, count in links.items():
                    blocked[fabric] = blocked.get(fabric, 0) + count
        return blocked


def network_blocked(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Links between switches of bridged networks that carry no traffic, which is not obvious from the spec."""
    hints: dict[str, _Cure] = {}
    for index, item in enumerate(plan.spec.fabrics):
        found = _blocked(plan, item.name)
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
            hints[upper].tell(upper, item.name),
        )


class _Blocked(NamedTuple):
    """By network: links between switches, and those that carry no traffic."""

    way: list[str]
    """From the requested network up to the topmost one."""
    links: dict[str, int]
    blocked: dict[str, int]


def _blocked(plan: Plan, name: str) -> _Blocked | None:
    """The blocked links of all networks that are bridged with one; None if that is not bridged."""
    declared = {item.name: item for item in plan.spec.fabrics}
    fabrics = {
        item.name: item
        for item in plan.fabrics
        if item.tiers and item.kind != "infiniband" and not is_routed(item.kind, item.role)
    }
    if name not in fabrics:
        return None
    way = list_joined([declared[item] for item in fabrics], name)
    domain = _build_domain(fabrics, declared, way[-1])
    links: dict[str, int] = {}
    for bundle in domain.bundles.values():
        for fabric, count in bundle.items():
            links[fabric] = links.get(fabric, 0) + count
    return _Blocked(way, links, domain.list_blocked(_find_bridge(declared[way[-1]], fabrics[way[-1]], -1, 0)))


def _build_domain(fabrics: dict[str, FabricPlan], declared: dict[str, Declared], top: str) -> _BridgeDomain:
    """The network and all networks connected to it."""
    domain, names = _BridgeDomain(), [top]
    for name in names:  # grows in the loop
        fabric, wiring = fabrics[name], fabrics[name].wiring
        assert isinstance(wiring, Wiring)
        tiers = {tier.name: position for position, tier in enumerate(fabric.tiers)}
        for group in wiring.link_groups:
            if group.source_kind in tiers and group.target_kind in tiers:
                columns = group.build_columns()
                low, high = tiers[group.source_kind], tiers[group.target_kind]
                for one, other in zip(columns.source.tolist(), columns.target.tolist(), strict=True):
                    domain.add_link(
                        name,
                        _find_bridge(declared[name], fabric, low, one),
                        _find_bridge(declared[name], fabric, high, other),
                    )
        for other_name, other in fabrics.items():
            join = declared[other_name].joins
            if join and join.fabric == name and other_name not in names:
                names.append(other_name)
                switches = select_top_switches(fabric, other.tiers[0].count * join.links)
                for link, switch in enumerate(switches.tolist()):
                    domain.add_link(
                        other_name,
                        _find_bridge(declared[other_name], other, 0, link // join.links),
                        _find_bridge(declared[name], fabric, -1, switch),
                    )
    return domain


def _find_bridge(declared: Declared, fabric: FabricPlan, tier: int, index: int) -> _Bridge:
    of = fabric.tiers[tier]
    paired = declared.peer_links and of.name == "leaf" and index // 2 * 2 + 1 < of.count
    return _Bridge(fabric.name, of.name, index // 2 * 2 if paired else index)


class _Cure(NamedTuple):
    """Settings of a network with which no link is blocked; None if none of the known ones can be planned."""

    settings: dict[str, Any] | None
    had_spines: bool

    def tell(self, network: str, place: str) -> str:
        """The hint of a finding at the network ``place``."""
        settings, of = self.settings, f" on {network}" if network != place else ""
        if settings is None:
            return (
                f"neither one pair of leaves, nor one spine, nor kind: roce can be planned for {network} with its "
                "other settings"
            )
        text = " and ".join(f"{key}: {value}" for key, value in settings.items() if value)
        if "kind" in settings:
            return f"set {text}{of}, which is routed and uses every link"
        alone = ", which leaves no spare spine" if settings["spines"] else ", and omit spines" * self.had_spines
        return f"set {text}{of}{alone}"


def _suggest_change(plan: Plan, catalog: Catalog, name: str) -> _Cure:
    """Settings with which no link is blocked in the plan of the changed spec."""
    index = next(index for index, item in enumerate(plan.spec.fabrics) if item.name == name)
    declared = plan.spec.fabrics[index]
    for settings in _SUGGESTIONS:
        changed = declared.model_copy(update=settings)
        if rebuild_fabric(plan, catalog, changed) is None:
            continue  # much faster than a whole plan
        fabrics = tuple(changed if item is declared else item for item in plan.spec.fabrics)
        found, errors = replan(plan, catalog, plan.spec.model_copy(update={"fabrics": fabrics}))
        blocked = None if errors else _blocked(found, name)
        if not errors and not (blocked and blocked.blocked):
            return _Cure(settings, declared.spines is not None)
    return _Cure(None, declared.spines is not None)


CHECKS = (network_blocked,)
