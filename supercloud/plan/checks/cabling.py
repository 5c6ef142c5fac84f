"""Checks of cables. The cables of a fabric are built only where the spec restricts their kinds."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog, Switch
from ...errors import Finding, InputError
from ..build.cabling.mixed_optics import find_mixed_ports
from ..build.cabling.unknown import count_unknown_links
from ..build.fabric.cabling_parts import CablingParts
from ..model.plan import FabricPlan, Plan

__all__ = ["CHECKS"]


def _iter_planned_fabrics(plan: Plan) -> Iterator[tuple[str, FabricPlan]]:
    for index, item in enumerate(plan.spec.fabrics):
        fabric = next((fabric for fabric in plan.fabrics if fabric.name == item.name), None)
        if fabric is not None:
            yield f"fabrics[{index}]", fabric


def cable_reach(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Cables longer than any of the allowed kinds, and ports that would get two cables."""
    spots = None
    for path, fabric in _iter_planned_fabrics(plan):
        declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
        special = declared.cabling or declared.peer_links or declared.exits or declared.joins
        upper = {item.name for item in plan.fabrics if item.tiers and item.name != fabric.name}
        if not special or not fabric.tiers or (declared.joins and declared.joins.fabric not in upper):
            continue  # an unknown network in ``joins`` is reported where it is declared
        import numpy as np

        from ..build.cabling.cables import build_cable_table
        from ..build.cabling.choice import list_joining_cables
        from ..build.cabling.ends import DeviceLocator

        spots = spots or DeviceLocator(plan)
        try:
            table = build_cable_table(plan, fabric, spots)
        except InputError as error:
            problem, _, hint = str(error).removeprefix(f"{path}: ").partition("; ")
            yield Finding("cable-reach", "error", path, problem, hint or "use larger switches, or fewer links")
            continue
        media = declared.cabling.media if declared.cabling else ()
        short = (table.kind_index < 0) & ~np.isnan(table.length)
        if media and short.any():
            worst = int(np.argmax(np.where(short, table.length, -1)))
            sides = (
                (table.links.source_set, table.links.source, table.links.source_port),
                (table.links.target_set, table.links.target, table.links.target_port),
            )
            ends = [(table.devices[int(of[worst])], int(device[worst]), int(port[worst])) for of, device, port in sides]
            known = list_joining_cables(fabric, declared, ends[0][0], ends[1][0], ends[0][2], ends[1][2])
            speed = ends[0][0].link_speed or fabric.speed
            if not known:  # the length is not the problem
                cages = " and ".join(
                    f"{item.form_factors[port] or 'an unknown cage type'} of {item.model}" for item, _, port in ends
                )
                yield Finding(
                    "cable-unknown",
                    "warning",
                    f"{path}.cabling.media",
                    f"{int(short.sum())} of {table.count} links of {fabric.name} have no cable: the catalog has no "
                    f"{' and no '.join(media)} that joins {cages} at {speed}",
                    "allow another kind, or add the cable to a catalog overlay",
                )
                continue
            reach = max(item.lengths[-1] if item.lengths else item.reach for item in known)
            labels = " to ".join(item.format_label(device, port) for item, device, port in ends)
            yield Finding(
                "cable-reach",
                "error",
                f"{path}.cabling.media",
                f"{int(short.sum())} of {table.count} links of {fabric.name} are longer than {', '.join(media)} "
                f"reaches ({reach} at {speed}): the longest is {table.length[worst]:.1f} m, from {labels}",
                "allow a kind that reaches further, or move the racks of switches closer",
            )


def cable_mixed_optic(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A splitter and a straight fibre in the two ports of one module, which supports two of the same kind only.

    NVIDIA, MMA4Z00-NS400-T, connectivity scenarios: both fibres of a twin-port module are straight or splitters.
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
                f"{many} and straight fibres would share modules, which support only two of one kind; the first is in "
                f"port {port + 1} of {leaves[leaf]}",
                "use fewer nodes, full-speed links, or a cable with fixed ends",
            )


def _find_service_path(plan: Plan, path: str, fabric: FabricPlan, name: str) -> str:
    """Path where a service is declared; storage servers are declared in their fabric."""
    declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
    if name == f"{fabric.name}-manager":
        return f"{path}.manager"
    position = next((index for index, item in enumerate(declared.services) if item.name == name), None)
    return path if position is None else f"{path}.services[{position}]"


def cable_mismatch(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Cables selected by name that do not fit or are too short."""
    spots = None
    for path, fabric in _iter_planned_fabrics(plan):
        declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
        cabling = declared.cabling
        named = [key for key in ("nodes", "uplinks", "peers") if cabling and getattr(cabling, key)]
        if not fabric.tiers or not (named or any(item.cable for item in fabric.services)):
            continue
        import numpy as np

        from ..build.cabling.cabled import network_of
        from ..build.cabling.cables import build_cable_table
        from ..build.cabling.choice import find_named_cable
        from ..build.cabling.ends import DeviceLocator

        spots = spots or DeviceLocator(plan)
        try:
            table = build_cable_table(plan, fabric, spots)
        except InputError:
            continue  # reported by cable-reach
        parts = fabric.cabling_parts
        if not isinstance(parts, CablingParts):
            continue
        for pair in np.unique(table.links.source_set * len(table.devices) + table.links.target_set):
            near, far = (table.devices[number] for number in divmod(int(pair), len(table.devices)))
            service = next((item for item in fabric.services if item.name == near.kind), None)
            cable = find_named_cable(declared, parts, service, near.kind, far.kind)
            rows = np.flatnonzero(
                (table.links.source_set * len(table.devices) + table.links.target_set == pair) & (table.kind_index < 0)
            )
            if cable is None or not len(rows):
                continue
            key = "nodes" if near.kind == "node" else "peers" if near.kind == far.kind else "uplinks"
            place = f"{path}.cabling.{key}"
            if service:
                place = f"{_find_service_path(plan, path, fabric, near.kind)}.cable"
            cages = [
                item.form_factors[int(port[rows[0]])] or "an unknown cage type"
                for item, port in ((near, table.links.source_port), (far, table.links.target_port))
            ]
            longest = float(np.nanmax(table.length[rows], initial=0.0))
            reach = cable.lengths[-1] if cable.lengths else cable.reach
            problem = (
                f"{cable.name} does not join {cages[0]} of {near.model} and {cages[1]} of {far.model} on "
                f"{network_of(fabric)} at {service.speed if service else near.link_speed or fabric.speed}"
            )
            if longest > float(reach.base):
                problem = f"{len(rows)} links are longer than {cable.name} ({reach}): the longest is {longest:.1f} m"
            yield Finding(
                "cable-mismatch",
                "error",
                place,
                problem,
                "select another cable, or remove the name to select one automatically",
            )


def cable_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Links for which the catalog has no cable, so that the bill of material lists none.

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
        missing = (
            [item for item in count_unknown_links(plan, fabric) if item.is_between_switches]
            if native > fabric.speed
            else []
        )
        if not missing:
            continue
        switch = fabric.tiers[0].switch
        others = sorted(
            item.name
            for item in catalog.iter_entries(Switch)
            if item.kind == switch.kind and item.modes and item.modes[0].speed == fabric.speed
        )
        yield Finding(
            "cable-uplinks",
            "warning",
            path,
            f"{sum(item.count for item in missing)} links of {fabric.name} between switches run at {fabric.speed} like "
            f"its nodes, in ports of {native}: " + "; ".join(f"{item.description}: {item.reason}" for item in missing),
            (
                f"use switches with ports of {fabric.speed} ({', '.join(others[:4])})"
                if others
                else f"use nodes with adapters of {native}"
            )
            + ", or add a suitable cable to a catalog overlay",
        )


CHECKS = (cable_mixed_optic, cable_mismatch, cable_reach, cable_unknown, cable_uplinks)
