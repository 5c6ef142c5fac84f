"""Regions in which a cloud sells a machine: by its list of families, or by its prices."""

from __future__ import annotations

from .machine import Machine
from .price import Prices
from .reader import Catalog
from .region import Region

__all__ = ["select_regions"]


def select_regions(catalog: Catalog, machine: Machine) -> list[str]:
    """Regions of the machine's provider that are known to sell it, by name.

    Regions that list its family, and regions with a price for it: a list of families may be older
    than the prices. Machines without accelerators are sold in every region.
    """
    family = machine.instance.family if machine.instance else None
    priced: set[str] = set()
    if machine.name in catalog.list_names("prices"):
        priced = {item.region for item in catalog.get(Prices, machine.name).prices}
    regions = list(catalog.iter_entries(Region))
    return sorted(
        item.name
        for item in regions
        if item.provider == machine.provider
        and (machine.accelerators is None or item.name in priced or (family and family in (item.families or ())))
    )
