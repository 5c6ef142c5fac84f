"""``supercloud init``: a first spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast

import typer

from ..errors import InputError, OutputError, UnknownName
from .output import note, result

if TYPE_CHECKING:
    from ..catalog import Catalog, Machine
    from ..errors import Finding
    from ..plan.model.plan import Plan

EPILOG = "Example: supercloud init cluster.yaml --machine dgx-b200 --nodes 32 · next: supercloud plan cluster.yaml"

_NOTHING = dict.fromkeys(
    ("location", "region", "domain", "capacity", "example", "fabric", "shape", "switch", "cooling", "rack",
     "rack_nodes", "manager")
)  # fmt: skip


def init(
    file: Annotated[Path, typer.Argument(help="File to write.")] = Path("cluster.yaml"),
    name: Annotated[str, typer.Option(help="Name of the cluster.")] = "pod1",
    machine: Annotated[str, typer.Option(help="Machine of the catalog, or of a cloud.")] = "dgx-h100",
    nodes: Annotated[int, typer.Option(min=1, help="How many of them.")] = 16,
    location: Annotated[str | None, typer.Option(help="Where it stands, on-prem (else stockholm).")] = None,
    region: Annotated[str | None, typer.Option(help="Region of a cloud (else the cheapest that sells it).")] = None,
    scheduler: Annotated[Literal["slurm", "kubernetes"], typer.Option(help="What starts its jobs.")] = "slurm",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a first spec with comments, ready to plan."""
    from ..catalog import Catalog
    from ..primitives.output import write_file

    facts = Catalog.default()
    of = facts.machine(machine)  # says the nearest name where there is none
    where = of.provider
    for flag, given, fits in (("--location", location, where == "onprem"), ("--region", region, where != "onprem")):
        if given and not fits:
            raise InputError(f"{flag} {given} does not go with {machine}: it is a machine of {where}")
    fixed = {"name": name, "machine": machine, "nodes": nodes, "provider": where, "scheduler": scheduler,
             "version": facts.names(scheduler)[-1]}  # fmt: skip
    ways = list_ways(facts, of, location, region)
    text, open_points = write_smallest_without_errors([fixed | way for way in ways], str(file), facts)
    if file.exists() and not force:
        raise OutputError(f"{file} is there already; choose another name, or use --force to overwrite it")
    write_file(file, text)
    result(str(file))
    if open_points:
        note(open_points)
    note(f"next: supercloud plan {file}")


def list_ways(facts: Catalog, machine: Machine, location: str | None, region: str | None) -> list[dict[str, Any]]:
    """What is written besides name and number, one way for each switch that fits. Raises InputError where no
    region is known."""
    return _onprem(facts, machine, location) if machine.provider == "onprem" else [_cloud(facts, machine, region)]


def write_smallest_without_errors(ways: list[dict[str, Any]], file: str, facts: Catalog) -> tuple[str, str]:
    """The text of the way whose plan has no error and the fewest warnings, then cables between its switches, then the
    fewest switches and links, and what it leaves open; of equal ones the first. Raises InputError where every plan has
    an error.

    Hosts of an InfiniBand subnet manager have ports where that takes no more switches; else the plan warns of it, and
    says what it takes.

    A name or a location that makes no valid spec is refused with the place of it.
    """
    from ..plan.publish.open_points import describe_open

    refusals: list[str] = []
    found: list[_Written] = []
    for manager in (True, False) if any(way["manager"] for way in ways) else (False,):
        for way in ways:
            written = _write(way | {"manager": manager}, file, facts)
            if not written.plan.errors:
                found.append(written)
                continue
            first = written.plan.errors[0]
            switch = f"{way['switch']}: " if way["switch"] else ""
            refusals.append(f"{switch}{first.problem}; {first.hint}")
    if found:
        best = _with_fewer_in_a_rack(min(found, key=_rank), file, facts)
        return best.text, describe_open(best.plan)
    more = f" (and so {len(refusals) - 1} other switches)" if len(refusals) > 1 else ""
    raise InputError(f"{ways[0]['nodes']} × {ways[0]['machine']} make no cluster by default: {refusals[0]}{more}")


class _Written(NamedTuple):
    """A spec that could be written, and its plan."""

    way: dict[str, Any]
    text: str
    plan: Plan


def _write(way: dict[str, Any], file: str, facts: Catalog) -> _Written:
    from ..plan.resolve import resolve
    from ..primitives.templates import fill
    from ..spec.loader import loads

    text = fill("init/cluster.yaml.j2", **way)
    return _Written(way, text, resolve(loads(text, file), facts))


def _with_fewer_in_a_rack(written: _Written, file: str, facts: Catalog) -> _Written:
    """The same with as many nodes in a rack as leave the fewest warnings, where there are any about the hall."""
    groups = [group.nodes_per_rack for group in written.plan.facility.racks] if written.plan.facility else []
    if not written.way["rack"] or not any(item.path.startswith("facility") for item in _warnings(written.plan)):
        return written
    fewer = (_write(written.way | {"rack_nodes": nodes}, file, facts) for nodes in range(max(groups) - 1, 0, -1))
    return min((written, *(item for item in fewer if not item.plan.errors)), key=lambda item: len(_warnings(item.plan)))


def _warnings(plan: Plan) -> list[Finding]:
    return [item for item in plan.findings if item.level == "warning"]


def _rank(written: _Written) -> tuple[int, ...]:
    """Warnings, whether a link lacks a cable, and switches; then whether hosts of a subnet manager lack ports; links.

    Only a design whose links all have a kind of cable is preferred for its cables: where the cages of the machine are
    not known, nothing says that its nodes can be joined to a switch made for their speed.
    """
    from ..plan.build.cabling.unknown import count_unknown_links

    plan = written.plan
    others = [item for item in _warnings(plan) if item.check not in ("subnet-manager-port", "cable-uplinks")]
    unknown = (item for fabric in plan.fabrics if fabric.tiers for item in count_unknown_links(plan, fabric))
    uncabled = any(not item.services for item in unknown)
    switches, links = _count_switches_and_links(plan)
    return len(others), uncabled, switches, not written.way["manager"], links


def _count_switches_and_links(plan: Plan) -> tuple[int, int]:
    """Switches and links of all fabrics together."""
    return (
        sum(tier.count for fabric in plan.fabrics for tier in fabric.tiers),
        sum(sum(fabric.cables.values()) for fabric in plan.fabrics),
    )


def _onprem(facts: Catalog, machine: Machine, location: str | None) -> list[dict[str, Any]]:
    """Ways to build it: one for each switch that has ports of the adapters' speed."""
    adapter = next((item for item in machine.adapters if item.role == "compute"), None)
    kind = adapter and {"infiniband": "infiniband", "vpi": "infiniband", "ethernet": "roce"}.get(adapter.kind)
    made = "infiniband" if kind == "infiniband" else "ethernet"
    switches = sorted(item.name for item in map(facts.switch, facts.names("switches"))
                      if adapter and item.kind == made and item.radix(adapter.speed))  # fmt: skip
    methods = machine.heat.methods
    same = _NOTHING | {
        "location": location or "stockholm",
        "fabric": kind if switches else None,
        "shape": "rail-optimized",
        "cooling": methods[0] if methods and methods[0] != "air" else None,
        "rack": _rack(facts, machine),
        "manager": bool(switches) and kind == "infiniband",
    }
    return [same | {"switch": switch} for switch in switches] or [same]


def _rack(facts: Catalog, machine: Machine) -> str | None:
    """A rack for machines, switches and servers that hang on cords: one of no maker where there is one, and the
    smallest that holds the nodes the reference architecture shows. None where a machine's size is not known."""
    from ..catalog import Rack

    shown = machine.scalable_unit.nodes_per_rack if machine.scalable_unit else ()
    least = 0 if machine.rack else (machine.body.units or 0) * max(shown, default=1)
    if machine.rack is None and machine.body.units is None:
        return None
    fitting = [item for item in map(facts.rack, facts.names("racks"))
               if isinstance(item, Rack) and "ac" in item.feeds and item.units >= least]  # fmt: skip
    best = min(fitting, key=lambda item: (item.vendor is not None, item.units, item.name), default=None)
    return best.name if best else None


def _cloud(facts: Catalog, machine: Machine, region: str | None) -> dict[str, Any]:
    from ..catalog import Prices, Provider, Region
    from ..catalog.sellers import select_regions
    from ..plan.build.fabric.roles import FITS

    known_cloud = machine.provider in facts.names("providers")
    provider = cast(Provider, facts.get("providers", machine.provider)) if known_cloud else None
    instance, kinds = machine.instance, machine.capacity_kinds
    regions = [item.name for item in facts.all("regions")
               if isinstance(item, Region) and item.provider == machine.provider]  # fmt: skip
    if region is not None and regions and region not in regions:
        raise UnknownName(f"region of {machine.provider}", region, regions)
    if region is None:
        sellers = select_regions(facts, machine)
        prices = cast(Prices, facts.get("prices", machine.name)) if machine.name in facts.names("prices") else None
        known = [(price.price, name) for name in sellers if prices and (price := prices.at(name, "on-demand"))]
        if not sellers:
            why = provider.unlisted.get(instance.family, "") if provider and instance else ""
            raise InputError(f"no region is known to sell {machine.name}{why and ': ' + why}; say --region")
        region = min(known)[1] if known else min(sellers)
    ways = provider.capacity if provider and "on-demand" not in kinds else ()
    way = next((item for item in ways if item.kind in kinds), None)
    adapter = next((item.kind for item in machine.adapters if item.role == "compute"), None)
    fabric = adapter if adapter in FITS else next((kind for kind, fits in FITS.items() if adapter in fits), None)
    return _NOTHING | {
        "region": region,
        "fabric": fabric,
        "domain": machine.domain_nodes if instance and instance.domains else None,
        "capacity": way and way.kind,
        "example": way and way.id_example,
    }
