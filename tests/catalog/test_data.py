"""Every file of the shipped catalog, and a few numbers that have bitten others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from samples import ROOT

import supercloud.catalog
from supercloud.catalog import KINDS, Accelerator, Catalog, Machine, Switch
from supercloud.catalog.price import Prices
from supercloud.catalog.provider import Provider
from supercloud.catalog.region import Region
from supercloud.primitives.quantity import Operations, Power, Rate, Size

DATA = Path(supercloud.catalog.__file__).with_name("data")
FILES = sorted(path for path in DATA.rglob("*") if path.is_file())
PRIVATE = ("../", "/tmp/", "/root/", "file://", f"{Path.home()}/", str(ROOT))


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog()


def read_accelerators(catalog: Catalog) -> dict[str, Accelerator]:
    return {name: catalog.get(Accelerator, name) for name in catalog.list_names("accelerators")}


def iter_machines(catalog: Catalog) -> Iterator[Machine]:
    return (catalog.get(Machine, name) for name in catalog.list_names("machines"))


def get_value(fact: BaseModel, place: str) -> Any:
    """The value at ``body.supplies``, or None; raises where the models know no such field."""
    value: Any = fact
    for part in place.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, BaseModel):
            assert part in type(value).model_fields, f"{place} is no field"
            value = getattr(value, part)
        else:
            return None
    return value


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_file_is_a_valid_entry(catalog: Catalog, path: Path) -> None:
    kind = path.parent.name
    assert kind in KINDS and path.suffix == ".yaml" and path.parent.parent == DATA
    fact = catalog.get_entry(kind, path.stem)
    assert fact.name == path.stem
    assert all(text.strip() for text in (fact.title, *fact.source))
    for place in fact.unverified:
        assert get_value(fact, place) not in (None, (), {}), f"{place} is called unverified but is not given"
    for place in fact.conflicts:
        get_value(fact, place)
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n") and not text.endswith("\n\n") and "\r" not in text and "\t" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    assert not [word for word in PRIVATE if word in text]


def test_every_kind_has_files(catalog: Catalog) -> None:
    empty = [kind for kind in KINDS if kind != "slurm" and not catalog.list_names(kind)]
    assert not empty


def test_names_and_aliases_are_unique(catalog: Catalog) -> None:
    names = [name for item in read_accelerators(catalog).values() for name in (item.name, *item.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "asked, meant", [("h100", "h100-sxm"), ("a100", "a100-80gb-sxm"), ("h200", "h200-sxm"), ("gh200", "gh200-96gb")]
)
def test_an_alias_finds_its_accelerator(catalog: Catalog, asked: str, meant: str) -> None:
    assert asked in catalog.get(Accelerator, meant).aliases


def test_successors_are_known_and_have_no_cycles(catalog: Catalog) -> None:
    everything = read_accelerators(catalog)
    done: set[str] = set()

    def walk(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, f"a circle: {' > '.join((*above, name))}"
        if name not in done:
            for below in everything[name].succeeds:
                assert everything[below].vendor == everything[name].vendor
                walk(below, (*above, name))
            done.add(name)

    for name in everything:
        walk(name, ())


def test_successors_have_at_least_the_values_of_their_predecessors(catalog: Catalog) -> None:
    everything = read_accelerators(catalog)
    for item in everything.values():
        for below in map(everything.__getitem__, item.succeeds):
            pairs: list[tuple[str, Any, Any]] = [
                ("memory", item.memory, below.memory),
                ("bandwidth", item.memory_bandwidth, below.memory_bandwidth),
                ("bf16", item.dense.get("bf16"), below.dense.get("bf16")),
            ]
            for what, mine, theirs in pairs:
                # an unknown rate would make the order a guess
                assert mine is not None and theirs is not None, f"{item.name} > {below.name}: {what} is not known"
                assert mine >= theirs, f"{item.name} > {below.name}: {what} {mine} < {theirs}"


def test_gres_types_do_not_mix_vendors(catalog: Catalog) -> None:
    for item in read_accelerators(catalog).values():
        detect = {"NVIDIA": "nvml", "AMD": "rsmi", "AWS": "nrt"}.get(item.vendor)
        assert item.autodetect == detect
        # an MI250X is two devices: Slurm counts them, and no file stands for one
        assert (item.gres is None) == (item.devices is None) or item.name == "mi250x"


def test_machines_refer_to_existing_entries(catalog: Catalog) -> None:
    known, racks = read_accelerators(catalog), catalog.list_names("racks")
    for machine in iter_machines(catalog):
        if machine.accelerators:
            assert machine.accelerators.type in known
            split = machine.accelerators.per_socket
            assert not split or sum(split) == machine.accelerators.count
            assert not split or (machine.cpu and len(split) == machine.cpu.sockets)
        if machine.rack:
            assert machine.rack.name in racks and machine.rack.nodes == machine.domain_nodes
        for adapter in machine.adapters:
            assert adapter.count % adapter.planes == 0
            assert len(adapter.devices) in (0, adapter.count)
        supplies = machine.body.supplies
        assert not supplies or supplies.needed <= supplies.count


def test_the_lower_bound_of_power_is_the_sum_of_the_accelerators(catalog: Catalog) -> None:
    for machine in iter_machines(catalog):
        if machine.power_floor:
            assert machine.accelerators
            tdp = catalog.get(Accelerator, machine.accelerators.type).tdp
            assert tdp and machine.power_floor == tdp * machine.accelerators.count
            assert not machine.power or machine.power >= machine.power_floor


def test_unknown_power_has_a_lower_bound(catalog: Catalog) -> None:
    ours = [item for item in iter_machines(catalog) if item.provider == "onprem" and item.accelerators]
    bare = [item.name for item in ours if not item.power and not item.power_floor]
    assert not bare


def test_switch_modes_do_not_exceed_the_capacity_of_the_switch(catalog: Catalog) -> None:
    for name in catalog.list_names("switches"):
        modes = catalog.get(Switch, name).modes
        speeds = [mode.speed for mode in modes]
        assert speeds == sorted(set(speeds), reverse=True)
        for first, second in pairwise(modes):
            assert second.speed * second.ports <= first.speed * first.ports


# -- numbers that have bitten others ----------------------------------------------------------------------------------


def test_compute_rates_exclude_sparsity(catalog: Catalog) -> None:
    for name in ("h100-sxm", "h200-sxm", "gh200-96gb"):
        dense = catalog.get(Accelerator, name).dense
        assert dense["bf16"] == Operations("989 TFLOPS") and dense["fp8"] == Operations("1979 TFLOPS")
        assert dense["int8"] == Operations("1979 TOPS")
    assert catalog.get(Accelerator, "l4").dense["bf16"] == Operations("121 TFLOPS")
    assert catalog.get(Accelerator, "gaudi3").dense["bf16"] == Operations("1677 TFLOPS")


def test_weak_or_unpublished_compute_rates_are_omitted(catalog: Catalog) -> None:
    assert (
        "int8" not in catalog.get(Accelerator, "b300").dense and "int8" not in catalog.get(Accelerator, "gb300").dense
    )
    assert not catalog.get(Accelerator, "cerebras-wse-3").dense and not catalog.get(Accelerator, "a10g").dense


def test_memory_as_sold_and_as_reported(catalog: Catalog) -> None:
    assert catalog.get(Accelerator, "b200").memory_reported == Size("183359 MiB")
    assert catalog.get(Accelerator, "b300").memory_reported == Size("275040 MiB")
    assert catalog.get(Accelerator, "trainium2").memory == Size("96 GiB")  # not the 512 GiB of an EC2 page
    for item in read_accelerators(catalog).values():
        # no driver reports more than is sold
        assert not (item.memory and item.memory_reported) or item.memory_reported <= item.memory


def test_link_rates_are_bytes_in_both_directions(catalog: Catalog) -> None:
    for name, bandwidth in (("a100-80gb-sxm", "600 GB/s"), ("h100-sxm", "900 GB/s"), ("gb200", "1800 GB/s")):
        link = catalog.get(Accelerator, name).scale_up
        assert link and link.bandwidth == Rate(bandwidth)


def test_a_dgx_h100_matches_its_data_sheet(catalog: Catalog) -> None:
    machine = catalog.get(Machine, "dgx-h100")
    assert machine.cpu and machine.cpu.threads == 224
    assert machine.accelerators and machine.accelerators.per_socket == (4, 4)
    assert [(item.role, item.count, item.speed) for item in machine.adapters[:2]] == [
        ("compute", 8, Rate("400 Gb/s")),
        ("storage", 2, Rate("400 Gb/s")),
    ]
    assert machine.power == Power("10.2 kW") and "power" in machine.conflicts


def test_a_gb200_tray_matches_its_data_sheet(catalog: Catalog) -> None:
    machine = catalog.get(Machine, "dgx-gb200")
    assert machine.cpu and (machine.cpu.arch, machine.cpu.threads) == ("aarch64", 144)
    assert machine.rack and machine.rack.power == Power("132 kW") and "rack.power" in machine.unverified
    unit = machine.scalable_unit
    assert unit and (unit.nodes, unit.leaf_down, unit.pod) == (144, 18, "rail")
    link = catalog.get(Accelerator, "gb200").scale_up
    assert link and link.max_domain == machine.domain_nodes * 4


def test_one_box_may_be_two_switches(catalog: Catalog) -> None:
    switch = catalog.get(Switch, "nvidia-q3200-ra")
    assert switch.chips == 2 and switch.find_radix(Rate("800 Gb/s")) == 36
    assert catalog.get(Switch, "nvidia-qm9700").find_radix(Rate("400 Gb/s")) == 64
    assert catalog.get(Switch, "nvidia-sn5600").find_radix(Rate("400 Gb/s")) == 128
    assert catalog.get(Switch, "arista-7800r4").modes == ()


def test_machines_of_google_have_memory_in_gibibytes(catalog: Catalog) -> None:
    """Google calls 2^30 bytes a GB: read as 10^9, an a3-highgpu-8g loses 128 GiB."""
    found = [item for item in iter_machines(catalog) if item.provider == "gcp" and item.memory]
    assert len(found) > 10
    assert not [item.name for item in found if not str(item.memory).endswith("iB")]
    assert catalog.get(Machine, "a3-highgpu-8g").memory == Size("1916928 MiB")


# What nvidia-smi prints for all of the memory: that of these is all they are sold with.
_ALL_REPORTED = {"a100-40gb-sxm", "a100-80gb-sxm"}


def test_reported_memory_is_slightly_less_than_nominal_memory(catalog: Catalog) -> None:
    """It decides whether a model fits. As much is the nominal size, more a wrong unit, a tenth less another product."""
    both = [item for item in read_accelerators(catalog).values() if item.memory and item.memory_reported]
    assert len(both) > 10
    for item in both:
        assert item.memory and item.memory_reported
        share = item.memory_reported.base / item.memory.base
        assert 0.9 <= share <= 1 and (share < 1) is (item.name not in _ALL_REPORTED), item.name


def test_reported_memory_has_a_driver_as_its_source(catalog: Catalog) -> None:
    """What a provider lists for its instances is the size that accelerators are sold by."""
    for item in read_accelerators(catalog).values():
        sources = [source for source in item.source if source.startswith("memory_reported:")]
        assert bool(sources) is (item.memory_reported is not None), item.name
        assert all("nvidia-smi" in source and "karpenter" not in source for source in sources), item.name
    assert catalog.get(Accelerator, "h200-sxm").memory_reported == Size("143771 MiB")
    assert catalog.get(Accelerator, "h100-sxm").memory_reported == Size("81559 MiB")


def test_nominal_memory_matches_the_largest_mig_profile(catalog: Catalog) -> None:
    """The memory of the largest MIG profile: GB of a vendor, read as GiB, are up to 7 % more."""
    for item in read_accelerators(catalog).values():
        whole = [profile.memory for profile in item.mig if profile.profile.startswith("7g.")]
        if whole and item.memory:
            assert abs(whole[0].base / item.memory.base - 1) < 0.025, item.name


def test_gb300_succeeds_b300(catalog: Catalog) -> None:
    """A job for b300 goes to gb300."""
    assert "b300" in catalog.get(Accelerator, "gb300").succeeds


def test_regions_with_a_price_sell_the_family(catalog: Catalog) -> None:
    """A price is proof that the machine is sold; families that no list has are named as such."""
    asked, unlisted = 0, catalog.get(Provider, "aws").unlisted
    for prices in catalog.iter_entries(Prices):
        machine = catalog.get(Machine, prices.name) if prices.name in catalog.list_names("machines") else None
        if machine is None or machine.instance is None or machine.accelerators is None:
            continue
        for entry in prices.prices:
            region = catalog.get(Region, entry.region)
            if region.families is not None:
                asked += 1
                family = machine.instance.family
                assert family in region.families or family in unlisted, f"{entry.region}: {prices.name}"
    assert asked > 50
