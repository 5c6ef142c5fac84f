"""``supercloud init``: a first spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from ..errors import InputError, OutputError, UnknownName
from .output import note, result

if TYPE_CHECKING:
    from ..catalog import Catalog, Machine

EPILOG = "Example: supercloud init cluster.yaml --machine dgx-b200 --nodes 32 · next: supercloud plan cluster.yaml"

_NOTHING = dict.fromkeys(
    ("location", "region", "domain", "capacity", "example", "fabric", "shape", "switch", "cooling")
)


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
    from ..primitives.templates import fill
    from ..spec.loader import loads

    facts = Catalog.default()
    of = facts.machine(machine)  # says the nearest name where there is none
    where = of.provider
    for flag, given, fits in (("--location", location, where == "onprem"), ("--region", region, where != "onprem")):
        if given and not fits:
            raise InputError(f"{flag} {given} does not go with {machine}: it is a machine of {where}")
    own = _NOTHING | (_onprem(facts, of, location) if where == "onprem" else _cloud(facts, of, region))
    text = fill("init/cluster.yaml.j2", name=name, machine=machine, nodes=nodes, provider=where, scheduler=scheduler,
                version=facts.names(scheduler)[-1], **own)  # fmt: skip
    loads(text, str(file))  # a name or location that makes no valid spec is refused here, with the place
    if file.exists() and not force:
        raise OutputError(f"{file} is there already; choose another name, or use --force to overwrite it")
    file.write_text(text, encoding="utf-8")
    result(str(file))
    note(f"next: supercloud plan {file}")


def _onprem(facts: Catalog, machine: Machine, location: str | None) -> dict[str, Any]:
    adapter = next((item for item in machine.adapters if item.role == "compute"), None)
    kind = adapter and {"infiniband": "infiniband", "vpi": "infiniband", "ethernet": "roce"}.get(adapter.kind)
    made = "infiniband" if kind == "infiniband" else "ethernet"
    switches = [item.name for item in map(facts.switch, facts.names("switches"))
                if adapter and item.kind == made and item.radix(adapter.speed)]  # fmt: skip
    methods = machine.heat.methods
    return {
        "location": location or "stockholm",
        "fabric": kind if switches else None,
        "shape": "rail-optimized",
        "switch": min(switches, default=None),
        "cooling": methods[0] if methods and methods[0] != "air" else None,
    }


def _cloud(facts: Catalog, machine: Machine, region: str | None) -> dict[str, Any]:
    from ..catalog import Prices, Provider, Region

    known_cloud = machine.provider in facts.names("providers")
    provider = cast(Provider, facts.get("providers", machine.provider)) if known_cloud else None
    instance, kinds = machine.instance, machine.capacity_kinds
    regions = [item.name for item in facts.all("regions")
               if isinstance(item, Region) and item.provider == machine.provider]  # fmt: skip
    if region is not None and regions and region not in regions:
        raise UnknownName(f"region of {machine.provider}", region, regions)
    if region is None:
        sellers = [
            item.name for item in facts.all("regions")
            if isinstance(item, Region) and item.provider == machine.provider
            and (machine.accelerators is None or (instance and instance.family in (item.families or ())))
        ]  # fmt: skip
        prices = cast(Prices, facts.get("prices", machine.name)) if machine.name in facts.names("prices") else None
        known = [(price.price, name) for name in sellers if prices and (price := prices.at(name, "on-demand"))]
        if not sellers:
            why = provider.unlisted.get(instance.family, "") if provider and instance else ""
            raise InputError(f"no region is known to sell {machine.name}{why and ': ' + why}; say --region")
        region = min(known)[1] if known else min(sellers)
    ways = provider.capacity if provider and "on-demand" not in kinds else ()
    way = next((item for item in ways if item.kind in kinds), None)
    fabric = next((item.kind for item in machine.adapters if item.role == "compute"), None)
    return {
        "region": region,
        "fabric": fabric,
        "domain": machine.domain_nodes if instance and instance.domains else None,
        "capacity": way and way.kind,
        "example": way and way.id_example,
    }
