"""Bridged networks: links that the spanning tree blocks, as there is another way to the switch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...catalog import Catalog
from ...errors import Finding
from ...spec import Fabric as Declared
from ...topology import Fabric as Wiring
from ..fabric.joins import list_joined
from ..fabric.roles import is_routed
from ..model import FabricPlan, Plan
from .rebuild import rebuild

__all__ = ["CHECKS"]

# What may be declared so that no link is blocked, tried in this order: one pair of leaves and nothing above it, or a
# spine at which all uplinks of a leaf, or of a pair, are one bundle.
_CURES: tuple[dict[str, Any], ...] = ({"tiers": 1, "peer_links": 2, "spines": None}, {"spines": 1})


class _Place(NamedTuple):
    """A switch, or the two of a pair, which act as one."""

    fabric: str
    tier: str
    number: int


@dataclass
class _Domain:
    """Switches that bridge, and the links between any two of them: a bundle each."""

    bundles: dict[frozenset[_Place], dict[str, int]] = field(default_factory=dict)
    """Two places -> links of each fabric between them."""

    def add(self, fabric: str, one: _Place, other: _Place) -> None:
        if one != other:
            found = self.bundles.setdefault(frozenset((one, other)), {})
            found[fabric] = found.get(fabric, 0) + 1

    def list_blocked(self, root: _Place) -> dict[str, int]:
        """Fabric -> links that are not on the shortest way from a switch to the root (IEEE 802.1D)."""
        near: dict[_Place, list[_Place]] = {}
        for one, other in (sorted(pair) for pair in self.bundles):
            near.setdefault(one, []).append(other)
            near.setdefault(other, []).append(one)
        kept: set[frozenset[_Place]] = set()
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
    """Links between switches of bridged networks that carry nothing, which the spec does not show."""
    declared = {item.name: item for item in plan.spec.fabrics}
    fabrics = {item.name: item for item in plan.fabrics
               if item.tiers and item.kind != "infiniband" and not is_routed(item.kind, item.role)}  # fmt: skip
    for index, item in enumerate(plan.spec.fabrics):
        if item.name not in fabrics:
            continue
        way = list_joined([declared[name] for name in fabrics], item.name)
        last = way[-1]
        domain = _domain(fabrics, declared, last)
        links = sum(found.get(item.name, 0) for found in domain.bundles.values())
        blocked = domain.list_blocked(_place(declared[last], fabrics[last], -1, 0)).get(item.name, 0)
        if not blocked:
            continue
        tops = fabrics[way[min(1, len(way) - 1)]].tiers[-1]
        yield Finding(
            "network-blocked", "note", f"fabrics[{index}]",
            f"{blocked} of {links} links between switches of {item.name} carry nothing: switches have links to "
            f"{tops.count} {tops.name} switches which are no pair, and the spanning tree leaves one way open",
            _cure(plan, catalog, fabrics, declared, item),
        )  # fmt: skip


def _domain(fabrics: dict[str, FabricPlan], declared: dict[str, Declared], last: str) -> _Domain:
    """The network and all that join it."""
    domain, names = _Domain(), [last]
    for name in names:  # grows
        fabric, wiring = fabrics[name], fabrics[name].wiring
        assert isinstance(wiring, Wiring)
        tiers = {tier.name: position for position, tier in enumerate(fabric.tiers)}
        for group in wiring.link_groups:
            if group.source_kind in tiers and group.target_kind in tiers:
                columns = group.columns()
                low, high = tiers[group.source_kind], tiers[group.target_kind]
                for one, other in zip(columns.source.tolist(), columns.target.tolist(), strict=True):
                    domain.add(name, _place(declared[name], fabric, low, one),
                               _place(declared[name], fabric, high, other))  # fmt: skip
        for other_name, other in fabrics.items():
            join = declared[other_name].joins
            if join and join.fabric == name and other_name not in names:
                names.append(other_name)
                for link in range(other.tiers[0].count * join.links):
                    domain.add(other_name, _place(declared[other_name], other, 0, link // join.links),
                               _place(declared[name], fabric, -1, link % fabric.tiers[-1].count))  # fmt: skip
    return domain


def _place(declared: Declared, fabric: FabricPlan, tier: int, index: int) -> _Place:
    of = fabric.tiers[tier]
    paired = declared.peer_links and of.name == "leaf" and index // 2 * 2 + 1 < of.count
    return _Place(fabric.name, of.name, index // 2 * 2 if paired else index)


def _cure(
    plan: Plan, catalog: Catalog, fabrics: dict[str, FabricPlan], declared: dict[str, Declared], item: Declared
) -> str:  # fmt: skip
    """What leaves no link blocked, where it can be built; it is the topmost network that has to change."""
    top = declared[item.joins.fabric] if item.joins else item
    for settings in _CURES:
        changed = top.model_copy(update=settings)
        found = rebuild(plan, catalog, changed)
        if found is None:
            continue
        tried = _domain(fabrics | {top.name: found}, declared | {top.name: changed}, top.name)
        if tried.list_blocked(_place(changed, found, -1, 0)):
            continue
        text = " and ".join(f"{key}: {value}" for key, value in settings.items() if value)
        alone = (
            ", which leaves no spare spine" if settings["spines"] else ", and leave spines out" if top.spines else ""
        )
        return f"set {text}{f' on {top.name}' * (top is not item)}{alone}"
    return (
        f"declare {top.name} with kind: roce, which is routed and uses every link, or with switches of which one joins "
        "all leaves"
    )


CHECKS = (network_blocked,)
