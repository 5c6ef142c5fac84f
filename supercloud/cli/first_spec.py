"""The first spec that ``supercloud init`` writes: the alternatives for a machine, and the best of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from ..catalog import Machine, Prices, Provider, Rack, Region, Switch
from ..catalog.slurm_packages import SlurmPackages
from ..errors import InputError, UnknownNameError
from .output import print_note

if TYPE_CHECKING:
    from ..catalog import Catalog
    from ..catalog.machine import Adapter
    from ..catalog.provider import CapacityRule
    from ..errors import Finding
    from ..plan.model.plan import Plan

__all__ = ["compute_default_nodes", "list_spec_options", "render_best_spec", "select_version"]

_EMPTY_VALUES = dict.fromkeys(
    (
        "location",
        "region",
        "domain",
        "capacity",
        "example",
        "fabric",
        "shape",
        "switch",
        "cooling",
        "rack",
        "rack_nodes",
        "manager",
    )
)


def compute_default_nodes(machine: Machine, ways: Sequence[Mapping[str, Any]], usual: int) -> int:
    """Whole racks of a machine that is sold as a rack, else the usual number; with InfiniBand one less, so that leaves
    keep ports for the subnet manager.
    """
    if machine.rack:
        return machine.rack.nodes
    return usual - 1 if ways[0]["manager"] else usual


def select_version(catalog: Catalog, scheduler: str, site: str) -> str:
    """The newest release. Of Slurm: in a cloud the one in the package archive of the provider's images, on-prem the
    newest one in a released distribution.
    """
    if scheduler == "slurm":
        images = catalog.get(Provider, site).images if site in catalog.list_names("providers") else ()
        found = [image.slurm for image in images if image.slurm]
        if found:
            return min(found)
        packages = [catalog.get(SlurmPackages, name) for name in catalog.list_names("slurm-packages")]
        released = [release for item in packages for release in item.list_released()]
        if released:
            return max(released)
    return str(catalog.list_names(scheduler)[-1])


def _explain_version(catalog: Catalog, values: Mapping[str, Any]) -> str:
    """Why a spec for a cloud has a release of which ``check`` warns; empty if it does not."""
    if values["scheduler"] != "slurm" or values["provider"] == "onprem":
        return ""
    if catalog.get_slurm_release(values["version"]).abilities.topology_yaml:
        return ""
    return "that of the provider's images; 'check' warns of its topology, newer ones need your own image"


def list_spec_options(
    catalog: Catalog, machine: Machine, location: str | None, region: str | None
) -> list[dict[str, Any]]:
    """The fields in addition to name and node count, one alternative per suitable switch. Raises InputError if no
    region is known.
    """
    return (
        _list_onprem_options(catalog, machine, location)
        if machine.provider == "onprem"
        else [_build_cloud_option(catalog, machine, region)]
    )


def render_best_spec(options: list[dict[str, Any]], file: str, catalog: Catalog) -> tuple[str, str]:
    """The text of the alternative whose plan has no error and, in this order: the fewest warnings, cables between its
    switches, the fewest switches, the fewest links, and its open points; the first of equals. Raises InputError if
    every plan has an error.

    Hosts of an InfiniBand subnet manager get ports if that takes no more switches; otherwise the plan warns of it and
    states what it requires.

    A name or a location that makes the spec invalid is rejected with its path.
    """
    from ..plan.publish.open_points import describe_open_points

    refusals: list[str] = []
    found: list[_SpecCandidate] = []
    for manager in (True, False) if any(way["manager"] for way in options) else (False,):
        for way in options:
            written = _render_candidate(way | {"manager": manager}, file, catalog)
            if not written.plan.errors:
                found.append(written)
                continue
            first = written.plan.errors[0]
            switch = f"{way['switch']}: " if way["switch"] else ""
            refusals.append(f"{switch}{first.problem}; {first.hint}")
    if found:
        best = _reduce_nodes_per_rack(min(found, key=_compute_rank), file, catalog)
        return best.text, describe_open_points(best.plan)
    more = f" (likewise with {len(refusals) - 1} other switches)" if len(refusals) > 1 else ""
    raise InputError(
        f"{options[0]['nodes']} × {options[0]['machine']} cannot be built with defaults: {refusals[0]}{more}"
    )


class _SpecCandidate(NamedTuple):
    """A spec that could be written, and its plan."""

    values: dict[str, Any]
    text: str
    plan: Plan


def _render_candidate(values: dict[str, Any], file: str, catalog: Catalog) -> _SpecCandidate:
    from ..plan.resolve import resolve
    from ..primitives.templates import render_template
    from ..spec.loader import loads

    text = render_template("init/cluster.yaml.j2", **values, version_note=_explain_version(catalog, values))
    return _SpecCandidate(values, text, resolve(loads(text, file), catalog))


def _reduce_nodes_per_rack(candidate: _SpecCandidate, file: str, catalog: Catalog) -> _SpecCandidate:
    """The same spec with the number of nodes per rack that has the fewest warnings, if there are warnings about the
    hall.
    """
    groups = [group.nodes_per_rack for group in candidate.plan.facility.racks] if candidate.plan.facility else []
    if not candidate.values["rack"] or not any(
        item.path.startswith("facility") for item in _list_warnings(candidate.plan)
    ):
        return candidate
    fewer = (
        _render_candidate(candidate.values | {"rack_nodes": nodes}, file, catalog)
        for nodes in range(max(groups) - 1, 0, -1)
    )
    return min(
        (candidate, *(item for item in fewer if not item.plan.errors)), key=lambda item: len(_list_warnings(item.plan))
    )


def _list_warnings(plan: Plan) -> list[Finding]:
    return [item for item in plan.findings if item.level == "warning"]


def _compute_rank(candidate: _SpecCandidate) -> tuple[int, ...]:
    """Number of warnings; whether a link has no cable; switches; whether hosts of a subnet manager have no ports;
    links.

    A design is preferred for its cables only if every link has a known kind of cable: if the cages of the machine
    are unknown, no data shows that its nodes can be connected to a switch of that speed.
    """
    from ..plan.build.cabling.unknown import count_unknown_links

    plan = candidate.plan
    others = [item for item in _list_warnings(plan) if item.check not in ("subnet-manager-port", "cable-uplinks")]
    unknown = (item for fabric in plan.fabrics if fabric.tiers for item in count_unknown_links(plan, fabric))
    uncabled = any(not item.has_service_end for item in unknown)
    switches, links = _count_switches_and_links(plan)
    return len(others), uncabled, switches, not candidate.values["manager"], links


def _count_switches_and_links(plan: Plan) -> tuple[int, int]:
    """Switches and links of all fabrics together."""
    return (
        sum(tier.count for fabric in plan.fabrics for tier in fabric.tiers),
        sum(sum(fabric.link_counts.values()) for fabric in plan.fabrics),
    )


def _list_onprem_options(catalog: Catalog, machine: Machine, location: str | None) -> list[dict[str, Any]]:
    """Alternatives: one for each switch with ports of the adapters' speed."""
    adapter = _find_compute_adapter(machine)
    kind = adapter and {"infiniband": "infiniband", "vpi": "infiniband", "ethernet": "roce"}.get(adapter.kind)
    switches = _list_switches(catalog, "infiniband" if kind == "infiniband" else "ethernet", adapter)
    methods = machine.heat.methods
    same = _EMPTY_VALUES | {
        "location": location or "stockholm",
        "fabric": kind if switches else None,
        "shape": "rail-optimized",
        "cooling": methods[0] if methods and methods[0] != "air" else None,
        "rack": _select_rack(catalog, machine),
        "manager": bool(switches) and kind == "infiniband",
    }
    return [same | {"switch": switch} for switch in switches] or [same]


def _find_compute_adapter(machine: Machine) -> Adapter | None:
    return next((item for item in machine.adapters if item.role == "compute"), None)


def _list_switches(catalog: Catalog, kind: str, adapter: Adapter | None) -> list[str]:
    """Names of the switches of a kind with ports of the adapter's speed, sorted; none without an adapter."""
    if adapter is None:
        return []
    return sorted(
        item.name for item in catalog.iter_entries(Switch) if item.kind == kind and item.find_radix(adapter.speed)
    )


def _select_rack(catalog: Catalog, machine: Machine) -> str | None:
    """A rack for machines, switches and servers with power cords: vendor-neutral if available, and the smallest that
    holds the nodes of the reference architecture. None if the machine's size is unknown.
    """
    shown = machine.scalable_unit.nodes_per_rack if machine.scalable_unit else ()
    least = 0 if machine.rack else (machine.body.units or 0) * max(shown, default=1)
    if machine.rack is None and machine.body.units is None:
        return None
    fitting = [
        item
        for item in catalog.iter_entries(Rack)
        if isinstance(item, Rack) and "ac" in item.feeds and item.units >= least
    ]
    best = min(fitting, key=lambda item: (item.vendor is not None, item.units, item.name), default=None)
    return best.name if best else None


def _check_region(catalog: Catalog, provider: str, region: str | None) -> None:
    """Refuse a region that the provider does not have; the catalog may lack the regions of a provider."""
    providers = {item.name: item.provider for item in catalog.iter_entries(Region) if isinstance(item, Region)}
    regions = [name for name, owner in providers.items() if owner == provider]
    if region is None or region in regions:
        return
    if regions:
        raise UnknownNameError(f"region of {provider}", region, regions)
    if region in providers:
        raise InputError(f"--region {region} is a region of {providers[region]}; the machine is sold by {provider}")
    print_note(f"--region {region} was not checked: the catalog has no regions of {provider}")


def _build_cloud_option(catalog: Catalog, machine: Machine, region: str | None) -> dict[str, Any]:
    known_cloud = machine.provider in catalog.list_names("providers")
    provider = catalog.get(Provider, machine.provider) if known_cloud else None
    _check_region(catalog, machine.provider, region)
    capacity = _find_reserved_capacity(provider, machine)
    return _EMPTY_VALUES | {
        "region": region or _select_region(catalog, machine, provider),
        "fabric": _find_cloud_fabric(machine),
        "domain": machine.domain_nodes if machine.instance and machine.instance.domains else None,
        "capacity": capacity and capacity.kind,
        "example": capacity and capacity.id_example,
    }


def _select_region(catalog: Catalog, machine: Machine, provider: Provider | None) -> str:
    """The cheapest region that offers a machine, the first by name if prices are unknown. Raises InputError if no
    region is known.
    """
    from ..catalog.sellers import select_regions

    sellers = select_regions(catalog, machine)
    if not sellers:
        why = provider.unlisted.get(machine.instance.family, "") if provider and machine.instance else ""
        raise InputError(f"no known region offers {machine.name}{why and ': ' + why}; specify --region")
    prices = catalog.get(Prices, machine.name) if machine.name in catalog.list_names("prices") else None
    known = [(price.price, name) for name in sellers if prices and (price := prices.find_price(name, "on-demand"))]
    return min(known)[1] if known else min(sellers)


def _find_reserved_capacity(provider: Provider | None, machine: Machine) -> CapacityRule | None:
    """The first kind of capacity with which a machine is available; None if on-demand is one of them."""
    if provider is None or "on-demand" in machine.capacity_kinds:
        return None
    return next((item for item in provider.capacity if item.kind in machine.capacity_kinds), None)


def _find_cloud_fabric(machine: Machine) -> str | None:
    """The kind of fabric of a machine's compute adapters: their own if it is one, else the first they can join."""
    from ..plan.build.fabric.roles import can_join_fabric
    from ..spec.fabric import FabricKind

    adapter = _find_compute_adapter(machine)
    if adapter is None:
        return None
    fitting = [kind for kind in get_args(FabricKind) if can_join_fabric(adapter, kind)]
    return adapter.kind if adapter.kind in fitting else next(iter(fitting), None)
