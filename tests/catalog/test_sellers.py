"""A region sells a machine where its family is listed, or where the provider asks a price for it."""

from __future__ import annotations

import pytest

from supercloud.catalog import Catalog, Machine, Prices, Region
from supercloud.catalog.sellers import select_regions


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load_default()


@pytest.mark.slow
def test_every_region_with_a_price_sells_the_machine(catalog: Catalog) -> None:
    asked = 0
    for name in set(catalog.list_names("prices")) & set(catalog.list_names("machines")):
        machine = catalog.get(Machine, name)
        prices = {item.region for item in catalog.get(Prices, name).prices}
        ours = {item.name for item in catalog.iter_entries(Region) if item.provider == machine.provider}
        assert prices & ours <= set(select_regions(catalog, machine)), name
        asked += bool(prices & ours)
    assert asked > 50


def test_an_unlisted_family_is_sold_where_it_has_a_price(catalog: Catalog) -> None:
    assert select_regions(catalog, catalog.get(Machine, "g7.12xlarge")) == ["us-east-1"]


def test_a_listed_family_is_sold_there_without_a_price(catalog: Catalog) -> None:
    machine = catalog.get(Machine, "p5.48xlarge")
    listed = {
        item.name for item in catalog.iter_entries(Region) if item.provider == "aws" and "P5" in (item.families or ())
    }
    assert listed and listed <= set(select_regions(catalog, machine))
