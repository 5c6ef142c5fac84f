"""Checks of cables. The cables of a fabric are built only where the spec restricts their kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...catalog import Catalog, Switch
from ...errors import Finding, InputError
from ...primitives.quantity import Rate
from ...spec import Fabric as Declared
from ..build.cabling.mixed_optics import find_mixed_ports
from ..build.cabling.unknown import count_unknown_links
from ..build.fabric.cabling_parts import CablingParts
from ..model.plan import FabricPlan, Plan, Service

if TYPE_CHECKING:
    from ..model.cables import CableTable
    from ..model.devices import DeviceSet

__all__ = ["CHECKS"]


def _iter_planned_fabrics(plan: Plan) -> Iterator[tuple[str, FabricPlan]]:
    for index, item in enumerate(plan.spec.fabrics):
        fabric = next((fabric for fabric in plan.fabrics if fabric.name == item.name), None)
        if fabric is not None:
            yield f"fabrics[{index}]", fabric


def _get_declaration(plan: Plan, fabric: FabricPlan) -> Declared:
    return next(item for item in plan.spec.fabrics if item.name == fabric.name)


@dataclass(frozen=True)
class _CabledFabric:
    """A fabric with its cables, or with the error for which it has none."""

    path: str
    fabric: FabricPlan
    declared: Declared
    cables: CableTable | InputError


@dataclass(frozen=True)
class _CableEnd:
    """A port at one end of a cable."""

    devices: DeviceSet
    device: int
    port: int

    @property
    def cage(self) -> str:
        """Form factor of the port."""
        return self.devices.form_factors[self.port] or "an unknown cage type"

    @property
    def label(self) -> str:
        """Device and port, as printed on the label of the cable."""
        return self.devices.format_label(self.device, self.port)


def _iter_cabled_fabrics(plan: Plan, is_checked: Callable[[Plan, FabricPlan], bool]) -> Iterator[_CabledFabric]:
    """The fabrics for which a check needs cables."""
    locator = None
    for path, fabric in _iter_planned_fabrics(plan):
        if not is_checked(plan, fabric):
            continue
        from ..build.cabling.cables import build_cable_table
        from ..build.cabling.ends import DeviceLocator

        locator = locator or DeviceLocator(plan)
        cables: CableTable | InputError
        try:
            cables = build_cable_table(plan, fabric, locator)
        except InputError as error:
            cables = error
        yield _CabledFabric(path, fabric, _get_declaration(plan, fabric), cables)


def _get_ends(cables: CableTable, row: int) -> tuple[_CableEnd, _CableEnd]:
    links = cables.links
    return (
        _CableEnd(cables.devices[int(links.source_set[row])], int(links.source[row]), int(links.source_port[row])),
        _CableEnd(cables.devices[int(links.target_set[row])], int(links.target[row]), int(links.target_port[row])),
    )


def _has_special_cables(plan: Plan, fabric: FabricPlan) -> bool:
    """Whether a fabric declares more than the usual links; an unknown network in ``upstream`` is reported where it is
    declared.
    """
    declared = _get_declaration(plan, fabric)
    if not fabric.tiers or not (
        declared.cabling or declared.peer_links or declared.external_links or declared.upstream
    ):
        return False
    upper = {item.name for item in plan.fabrics if item.tiers and item.name != fabric.name}
    return not declared.upstream or declared.upstream.fabric in upper


def cable_reach(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Cables longer than any of the allowed kinds, and ports that would get two cables."""
    for item in _iter_cabled_fabrics(plan, _has_special_cables):
        if isinstance(item.cables, InputError):
            problem, _, hint = str(item.cables).removeprefix(f"{item.path}: ").partition("; ")
            yield Finding("cable-reach", "error", item.path, problem, hint or "use larger switches, or fewer links")
        else:
            yield from _check_allowed_media(item, item.cables)


def _check_allowed_media(item: _CabledFabric, cables: CableTable) -> Iterator[Finding]:
    """Links that no cable of the allowed media connects: none fits their cages, or all are too short."""
    import numpy as np

    from ..build.cabling.choice import list_joining_cables

    media = item.declared.cabling.media if item.declared.cabling else ()
    short = (cables.kind_index < 0) & ~np.isnan(cables.length)
    if not media or not short.any():
        return
    worst = int(np.argmax(np.where(short, cables.length, -1)))
    near, far = _get_ends(cables, worst)
    known = list_joining_cables(item.fabric, item.declared, near.devices, far.devices, near.port, far.port)
    speed = near.devices.link_speed or item.fabric.speed
    affected = f"{int(short.sum())} of {cables.count} links of {item.fabric.name}"
    if not known:  # the length is not the problem
        cages = " and ".join(f"{end.cage} of {end.devices.model}" for end in (near, far))
        yield Finding(
            "cable-unknown",
            "warning",
            f"{item.path}.cabling.media",
            f"{affected} have no cable: the catalog has no {' and no '.join(media)} that joins {cages} at {speed}",
            "allow another kind, or add the cable to a catalog overlay",
        )
        return
    reach = max(cable.lengths[-1] if cable.lengths else cable.reach for cable in known)
    yield Finding(
        "cable-reach",
        "error",
        f"{item.path}.cabling.media",
        f"{affected} are longer than {', '.join(media)} reaches ({reach} at {speed}): the longest is "
        f"{cables.length[worst]:.1f} m, from {near.label} to {far.label}",
        "allow a kind that reaches further, or move the racks of switches closer",
    )


def cable_mixed_optic(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A splitter and a straight fiber in the two ports of one module, which supports two of the same kind only.

    NVIDIA, MMA4Z00-NS400-T, connectivity scenarios: both fibers of a twin-port module are straight or splitters.
    """
    for path, fabric in _iter_planned_fabrics(plan):
        found = find_mixed_ports(fabric)
        if not found:
            continue
        from ..build.fabric.device_names import list_switch_names

        leaves = list_switch_names(fabric.name, "leaf", fabric.count_switches("leaf"))
        for name, ports in found.items():
            leaf, port = ports[0]
            many = f"{len(ports)} splitters of {name}" if len(ports) > 1 else f"a splitter of {name}"
            yield Finding(
                "cable-mixed-optic",
                "warning",
                _find_service_path(plan, path, fabric, name),
                f"{many} and straight fibers would share modules, which support only two of one kind; the first is in "
                f"port {port + 1} of {leaves[leaf]}",
                "use fewer nodes, full-speed links, or a cable with fixed ends",
            )


def _has_chosen_cables(plan: Plan, fabric: FabricPlan) -> bool:
    """Whether the spec restricts the kinds of cable, so that a cage may have no optic for all its links."""
    return _has_named_cables(plan, fabric) or (bool(fabric.tiers) and bool(_get_declaration(plan, fabric).cabling))


def cable_mixed_cage(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Fibers of different optics in one cage, which the declared kinds of cable exclude from being equal."""
    for item in _iter_cabled_fabrics(plan, _has_chosen_cables):
        if isinstance(item.cables, InputError):  # reported by cable-reach
            continue
        from ..build.cabling.modules import find_mixed_cages

        rows = find_mixed_cages(item.cables)
        if not len(rows):
            continue
        near, far = _get_ends(item.cables, int(rows[0]))
        yield Finding(
            "cable-mixed-cage",
            "error",
            f"{item.path}.cabling",
            f"{len(rows)} fibers of {item.fabric.name} share a cage with a fiber that needs another transceiver, "
            f"the first from {near.label} to {far.label}",
            "select cables of one optic for all links that share cages, or do not select them by name",
        )


def _find_service_path(plan: Plan, path: str, fabric: FabricPlan, name: str) -> str:
    """Path where a service is declared; storage servers are declared in their fabric."""
    declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
    if name == f"{fabric.name}-manager":
        return f"{path}.manager"
    position = next((index for index, item in enumerate(declared.services) if item.name == name), None)
    return path if position is None else f"{path}.services[{position}]"


def _has_named_cables(plan: Plan, fabric: FabricPlan) -> bool:
    cabling = _get_declaration(plan, fabric).cabling
    named = bool(cabling and (cabling.nodes or cabling.uplinks or cabling.peers))
    return bool(fabric.tiers) and (named or any(item.cable for item in fabric.services))


def cable_mismatch(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Cables selected by name that do not fit or are too short."""
    for item in _iter_cabled_fabrics(plan, _has_named_cables):
        if not isinstance(item.cables, InputError):  # reported by cable-reach
            yield from _check_named_cables(plan, item, item.cables)


def _check_named_cables(plan: Plan, item: _CabledFabric, cables: CableTable) -> Iterator[Finding]:
    """Links without a cable between two sets of devices for which the spec selects one."""
    import numpy as np

    from ..build.cabling.choice import find_named_cable

    parts = item.fabric.cabling_parts
    if not isinstance(parts, CablingParts):
        return
    pairs = cables.links.source_set * len(cables.devices) + cables.links.target_set
    for pair in np.unique(pairs):
        near, far = (cables.devices[number].kind for number in divmod(int(pair), len(cables.devices)))
        service = next((service for service in item.fabric.services if service.name == near), None)
        cable = find_named_cable(item.declared, parts, service, near, far)
        rows = np.flatnonzero((pairs == pair) & (cables.kind_index < 0))
        if cable is None or not len(rows):
            continue
        key = "nodes" if near == "node" else "peers" if near == far else "uplinks"
        place = f"{item.path}.cabling.{key}"
        if service:
            place = f"{_find_service_path(plan, item.path, item.fabric, near)}.cable"
        longest = float(np.nanmax(cables.length[rows], initial=0.0))
        reach = cable.lengths[-1] if cable.lengths else cable.reach
        if longest > float(reach.base):
            problem = f"{len(rows)} links are longer than {cable.name} ({reach}): the longest is {longest:.1f} m"
        else:
            problem = _describe_misfit(cable.name, item.fabric, service, _get_ends(cables, int(rows[0])))
        yield Finding(
            "cable-mismatch",
            "error",
            place,
            problem,
            "select another cable, or remove the name to select one automatically",
        )


def _describe_misfit(cable: str, fabric: FabricPlan, service: Service | None, ends: tuple[_CableEnd, _CableEnd]) -> str:
    from ..build.cabling.cabled import get_cable_protocol

    near, far = ends
    speed = service.speed if service else near.devices.link_speed or fabric.speed
    return (
        f"{cable} does not join {near.cage} of {near.devices.model} and {far.cage} of {far.devices.model} on "
        f"{get_cable_protocol(fabric)} at {speed}"
    )


def cable_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Links for which the catalog has no cable, so that the bill of materials lists none.

    Where the spec allows some media only, ``cable_reach`` compares them with the length of each link.
    """
    for path, fabric in _iter_planned_fabrics(plan):
        declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
        if not fabric.tiers or (declared.cabling and declared.cabling.media):
            continue
        found = count_unknown_links(plan, fabric)
        if found:
            parts = "; ".join(f"{item.count} {item.description} ({item.reason})" for item in found)
            yield Finding(
                "cable-unknown",
                "note",
                path,
                f"{sum(item.count for item in found)} links of {fabric.name} have no matching cable in the catalog: "
                f"{parts}",
                "add the cables, their transceivers or the form of the cages to a catalog overlay",
            )


def cable_uplinks(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Links between switches that run at the speed of slower nodes in faster ports, and for which there is no cable.

    Both ends of such a link would have to be split, and the splitters of the catalog connect machines.
    """
    for path, fabric in _iter_planned_fabrics(plan):
        if not fabric.tiers or fabric.speed is None:
            continue
        native = min((tier.switch.modes[0].speed for tier in fabric.tiers), default=fabric.speed)
        if native <= fabric.speed:
            continue
        missing = [item for item in count_unknown_links(plan, fabric) if item.is_between_switches]
        if not missing:
            continue
        others = _list_native_switches(catalog, fabric.tiers[0].switch.kind, fabric.speed)
        change = (
            f"use switches with ports of {fabric.speed} ({', '.join(others[:4])})"
            if others
            else f"use nodes with adapters of {native}"
        )
        yield Finding(
            "cable-uplinks",
            "warning",
            path,
            f"{sum(item.count for item in missing)} links of {fabric.name} between switches run at {fabric.speed} like "
            f"its nodes, in ports of {native}: " + "; ".join(f"{item.description}: {item.reason}" for item in missing),
            f"{change}, or add a suitable cable to a catalog overlay",
        )


def _list_native_switches(catalog: Catalog, kind: str, speed: Rate) -> list[str]:
    """Names of the switches whose ports have this speed without splitting."""
    return sorted(
        item.name
        for item in catalog.iter_entries(Switch)
        if item.kind == kind and item.modes and item.modes[0].speed == speed
    )


CHECKS = (cable_mixed_cage, cable_mixed_optic, cable_mismatch, cable_reach, cable_unknown, cable_uplinks)
