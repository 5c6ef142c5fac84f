"""Checks of the modules in cages."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog, Transceiver
from ...errors import Finding
from ...primitives.quantity import Rate
from ..build.cabling.cabled import network_of
from ..build.fabric.roles import find_adapter
from ..model.plan import FabricPlan, Plan

__all__ = ["CHECKS"]


def cable_twin_port(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Links with a separate cage whose modules are made for several links, although there are cages for one."""
    modules = tuple(catalog.iter_entries(Transceiver))
    for place, name, cage, speed, fabric, more in _single_links(plan):
        network = network_of(fabric)
        fitting = [
            item
            for item in modules
            if network in item.networks and item.speed == speed and item.side in (None, "machine")
        ]
        own = [item for item in fitting if cage in item.cages]
        if not own or any(item.links == 1 for item in own):
            continue
        optics = {item.optic for item in own}
        others = sorted(
            {form for item in fitting if item.links == 1 and item.optic in optics for form in item.cages},
            key=lambda form: (not form.startswith(cage), form),
        )
        if others:
            yield Finding(
                "cable-twin-port",
                "warning",
                place,
                f"each link of {name} to {fabric.name} has a separate {cage} cage, whose module ({own[0].name}) is "
                f"made for {own[0].links} links: one module per link would be ordered",
                f"set cage: {' or '.join(others)}, the form of adapters with one port{more}, or suppress this with a "
                "reason",
            )


def _single_links(plan: Plan) -> Iterator[tuple[str, str, str, Rate, FabricPlan, str]]:
    """Path, owner of the links, form of the cages, speed, fabric, and further fixes."""
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name and item.tiers), None)
        if fabric is None or fabric.speed is None:
            continue
        places = {item.name: f"fabrics[{index}].services[{at}].cage" for at, item in enumerate(declared.services)}
        places[f"{fabric.name}-manager"] = f"fabrics[{index}].manager.cage"
        for service in fabric.services:
            if service.name in places and service.cage and service.cable is None and service.split == 1:
                speed = service.speed or fabric.speed
                yield places[service.name], service.name, service.cage, speed, fabric, ""
        for at, pool in enumerate(plan.pools):
            speed = fabric.pool_speeds.get(pool.name) or fabric.speed
            adapter = find_adapter(pool.machine, fabric.role, fabric.kind) if pool.name in fabric.pools else None
            if adapter and adapter.cage and adapter.cage_links == 1:
                yield (
                    f"pools[{at}].machine",
                    pool.name,
                    adapter.cage,
                    speed,
                    fabric,
                    " in a catalog overlay (adapters), or cage_links",
                )


CHECKS = (cable_twin_port,)
