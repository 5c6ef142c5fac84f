"""Checks of the modules in cages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...catalog import Catalog, Transceiver
from ...errors import Finding
from ...primitives.quantity import Rate
from ..build.cabling.cabled import get_cable_protocol
from ..build.fabric.roles import find_adapter
from ..model.plan import FabricPlan, Plan

__all__ = ["CHECKS"]


@dataclass(frozen=True)
class _SingleLinks:
    """Links of which each has a separate cage."""

    path: str
    owner: str
    """Pool or service."""
    cage: str
    speed: Rate
    fabric: FabricPlan
    further: str = ""
    """Where else than at ``path`` the form of the cage can be set."""


def cable_twin_port(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Links with a separate cage whose modules are made for several links, although there are cages for one."""
    modules = tuple(catalog.iter_entries(Transceiver))
    for place in _iter_single_links(plan):
        fitting = _select_modules(modules, get_cable_protocol(place.fabric), place.speed)
        own = [item for item in fitting if place.cage in item.cages]
        if not own or any(item.links == 1 for item in own):
            continue
        optics = {item.optic for item in own}
        others = {form for item in fitting if item.links == 1 and item.optic in optics for form in item.cages}
        if others:
            forms = sorted(others, key=lambda form: (not form.startswith(place.cage), form))
            yield Finding(
                "cable-twin-port",
                "warning",
                place.path,
                f"each link of {place.owner} to {place.fabric.name} has a separate {place.cage} cage, whose module "
                f"({own[0].name}) is made for {own[0].links} links: one module per link would be ordered",
                f"set cage: {' or '.join(forms)}, the form of adapters with one port{place.further}, or suppress this "
                "with a reason",
            )


def _select_modules(modules: Iterable[Transceiver], network: str, speed: Rate) -> list[Transceiver]:
    """Modules for machines on a network at this speed."""
    return [
        item for item in modules if network in item.networks and item.speed == speed and item.side in (None, "machine")
    ]


def _iter_single_links(plan: Plan) -> Iterator[_SingleLinks]:
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name and item.tiers), None)
        if fabric is None or fabric.speed is None:
            continue
        places = {item.name: f"fabrics[{index}].services[{at}].cage" for at, item in enumerate(declared.services)}
        places[f"{fabric.name}-manager"] = f"fabrics[{index}].manager.cage"
        yield from _iter_service_links(fabric, fabric.speed, places)
        yield from _iter_pool_links(plan, fabric, fabric.speed)


def _iter_service_links(fabric: FabricPlan, speed: Rate, places: Mapping[str, str]) -> Iterator[_SingleLinks]:
    for service in fabric.services:
        if service.name in places and service.cage and service.cable is None and service.split == 1:
            path = places[service.name]
            yield _SingleLinks(path, service.name, service.cage, service.speed or speed, fabric)


def _iter_pool_links(plan: Plan, fabric: FabricPlan, speed: Rate) -> Iterator[_SingleLinks]:
    for index, pool in enumerate(plan.pools):
        if pool.name not in fabric.pools:
            continue
        adapter = find_adapter(pool.machine, fabric.role, fabric.kind)
        if adapter and adapter.cage and adapter.cage_links == 1:
            own_speed = fabric.pool_speeds.get(pool.name) or speed
            further = " in a catalog overlay (adapters), or cage_links"
            yield _SingleLinks(f"pools[{index}].machine", pool.name, adapter.cage, own_speed, fabric, further)


CHECKS = (cable_twin_port,)
