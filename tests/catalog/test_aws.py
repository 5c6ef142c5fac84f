"""The catalog of AWS: traps that have bitten others, and rules every file keeps."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from itertools import pairwise

import pytest

from supercloud.catalog import Accelerator, Catalog, Machine, Prices, Provider, Region, StorageService


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture(scope="module")
def aws(catalog: Catalog) -> Provider:
    return catalog.get(Provider, "aws")


def list_machines(catalog: Catalog) -> list[Machine]:
    return [item for item in catalog.iter_entries(Machine) if item.provider == "aws"]


def list_fast_cards(machine: Machine) -> list[tuple[int, int]]:
    assert machine.instance is not None
    return [
        (card, item.device)
        for item in machine.instance.layout
        for card in item.iter_cards()
        if item.kind.startswith("efa")
    ]


def test_every_machine_is_an_instance_with_its_required_fields(catalog: Catalog) -> None:
    found = list_machines(catalog)
    assert len(found) > 100
    for item in found:
        instance = item.instance
        assert instance is not None, item.name
        assert item.memory and instance.vcpus and item.capacity_kinds
        if item.cpu:
            assert (item.cpu.threads, item.cpu.arch) == (instance.vcpus, instance.arch), item.name


def test_interface_layouts_follow_the_network_cards(catalog: Catalog) -> None:
    for item in list_machines(catalog):
        assert item.instance is not None
        places = [(card, row.device) for row in item.instance.layout for card in row.iter_cards()]
        assert len(places) == len(set(places)), item.name
        cards = [card for card, _ in list_fast_cards(item)]
        assert len(cards) == len(set(cards)), f"{item.name}: two EFA on one card"
        if places:
            first = item.instance.layout[0]
            assert (first.first, first.device, first.address) == (0, 0, True), item.name
            assert first.kind != "efa-only", f"{item.name}: a primary interface cannot be efa-only"
        adapters = [adapter.count for adapter in item.adapters if adapter.kind == "efa"]
        assert (adapters or [0]) == [len(cards)], item.name
        if item.instance.interfaces and places:
            assert len(places) <= item.instance.interfaces, item.name
        if item.instance.cards:
            assert all(card < item.instance.cards for card, _ in places), item.name


def test_numbers_of_a_machine_are_consistent(catalog: Catalog) -> None:
    for item in list_machines(catalog):
        instance = item.instance
        assert instance is not None
        on_card = Counter(card for row in instance.layout for card in row.iter_cards())
        per_card = -(-instance.interfaces // (instance.cards or 1)) if instance.interfaces else None
        assert per_card is None or max(on_card.values(), default=0) <= per_card, item.name
        for adapter in item.adapters:
            most = instance.network
            assert most is None or adapter.speed.base * adapter.count <= most.base, (item.name, adapter.role)
        assert (instance.arch == "aarch64") == any(item.name.startswith(name) for name in ("m7g.", "p6e-")), item.name


def test_larger_sizes_of_a_family_have_at_least_as_much(catalog: Catalog) -> None:
    """Memory, disks and addresses grow with the vCPUs of a family: what breaks that is a slip of the pen."""
    families: dict[tuple[str, int], list[Machine]] = {}
    for item in list_machines(catalog):
        assert item.instance is not None
        count = item.accelerators.count if item.accelerators else 0
        families.setdefault((item.instance.family, count), []).append(item)
    for (name, _), members in families.items():
        members.sort(key=lambda item: (item.instance.vcpus if item.instance else 0, item.name))
        for small, large in pairwise(members):
            assert small.memory and large.memory and small.memory <= large.memory, name
            disks = [sum(disk.count * disk.size.base for disk in item.disks) for item in (small, large)]
            assert not disks[1] or disks[0] <= disks[1], (small.name, large.name)
            assert small.instance and large.instance
            rates = [item.network for item in (small.instance, large.instance)]
            assert None in rates or rates[0] <= rates[1], (small.name, large.name)  # type: ignore[operator]


def test_disks_are_known_for_all_sizes_of_a_family_or_none(catalog: Catalog) -> None:
    known: dict[str, set[bool]] = {}
    for item in list_machines(catalog):
        assert item.instance is not None
        known.setdefault(item.instance.family, set()).add(bool(item.disks))
    assert {name for name, found in known.items() if len(found) > 1} == {"G7e"}


@pytest.mark.parametrize(
    "name, cards",
    [
        ("p4d.24xlarge", range(4)),
        ("p5.48xlarge", range(32)),
        ("p5en.48xlarge", range(16)),
        ("p5.4xlarge", range(1)),
        ("p6-b200.48xlarge", range(8)),
        ("p6-b300.48xlarge", range(1, 17)),
        ("p6e-gb200.36xlarge", (1, 5, 9, 13)),
        ("g5.4xlarge", ()),
        ("g5.8xlarge", range(1)),
        ("dl1.24xlarge", ()),
    ],
)
def test_efa_is_on_the_documented_cards(catalog: Catalog, name: str, cards: object) -> None:
    assert [card for card, _ in list_fast_cards(catalog.get(Machine, name))] == list(cards)  # type: ignore[call-overload]


def test_facts_without_a_source_are_absent(catalog: Catalog) -> None:
    assert "p5e.48xlarge" not in catalog.list_names("prices")
    assert "p6e-gb300.36xlarge" not in catalog.list_names("machines")
    assert not [name for name in catalog.list_names("machines") if name.startswith("trn3")]
    assert set(catalog.get(Provider, "aws").unsourced) == {"p6e-gb300", "trn3"}
    prices = catalog.get(Prices, "p5.48xlarge")
    assert prices.find_price("sa-east-1", "on-demand") is None and prices.find_price("us-east-1", "spot") is None


def test_prices_refer_to_known_machines_and_regions(catalog: Catalog) -> None:
    regions = set(catalog.list_names("regions"))
    for name in catalog.list_names("prices"):
        found = catalog.get(Prices, name)
        assert name in catalog.list_names("machines")
        keys = [(row.region, row.kind) for row in found.prices]
        assert len(keys) == len(set(keys)) and {region for region, _ in keys} <= regions
        assert all(row.price.to("USD/h") > 0 for row in found.prices)
    p5 = catalog.get(Prices, "p5.48xlarge").find_price("us-east-1", "on-demand")
    assert p5 is not None and (p5.price.to("USD/h"), p5.date) == (55.04, "2026-07-20")


def test_domains_have_the_documented_sizes(catalog: Catalog) -> None:
    gb200, trn2u = (catalog.get(Machine, name) for name in ("p6e-gb200.36xlarge", "trn2u.48xlarge"))
    assert gb200.instance and [item.nodes for item in gb200.instance.domains] == [9, 18]
    assert trn2u.instance and [item.nodes for item in trn2u.instance.domains] == [4]
    assert gb200.instance.arch == "aarch64" and gb200.adapters[0].count * gb200.adapters[0].speed.to("Gb/s") == 1600


def test_trainium2_has_the_memory_of_the_neuron_documentation(catalog: Catalog) -> None:
    memory = catalog.get(Accelerator, "trainium2").memory
    assert memory is not None and memory.to("GiB") == 96


def test_regions_list_known_zones_and_families(catalog: Catalog, aws: Provider) -> None:
    families = {item.instance.family for item in list_machines(catalog) if item.instance and item.accelerators}
    ours = [catalog.get(Region, name) for name in catalog.list_names("regions")]
    ours = [region for region in ours if region.provider == "aws"]
    assert len(ours) == 39
    listed = {family for region in ours for family in region.families or ()}
    listed |= {family for region in ours for zone in region.local_zones for family in zone.families}
    assert listed <= families
    assert families - listed <= set(aws.unlisted)
    for region in ours:
        assert region.zones and all(re.fullmatch(rf"{region.name}[a-f]", zone) for zone in region.zones)
        assert list(region.zones) == sorted(set(region.zones))
        assert not region.title.startswith("AWS " + region.name)


def test_network_rules_are_consistent(aws: Provider) -> None:
    rule = aws.network
    rooms = [ipaddress.IPv4Network(text) for text in rule.ranges]
    assert {ipaddress.IPv4Network(text) for text in rule.secondary} == set(rooms)
    for spares in rule.secondary.values():
        nets = [ipaddress.IPv4Network(text) for text in spares]
        assert all(any(net.subnet_of(room) for room in rooms) and net.prefixlen >= rule.largest for net in nets)
        assert len(nets) + 1 <= aws.limits["network-cidrs"].value


def test_every_family_is_sold_in_a_region_or_marked_as_unlisted(catalog: Catalog, aws: Provider) -> None:
    virginia = catalog.get(Region, "us-east-1")
    assert virginia.families and "P5" in virginia.families and "P5e" not in virginia.families
    assert not set(aws.unlisted) & set(virginia.families)


def test_capacity_rules_match_the_documentation(aws: Provider) -> None:
    block, reservation = aws.find_capacity_rule("capacity-block"), aws.find_capacity_rule("reservation")
    assert block and (block.placement, block.price) == ("refused", "capacity-block") and block.reason
    assert reservation and (reservation.placement, reservation.price) == ("allowed", "on-demand")
    assert aws.find_capacity_rule("flex-start") is None and aws.cannot["capacity:flex-start"]
    for rule in aws.capacity:
        assert rule.id_pattern is None or re.compile(rule.id_pattern)


def test_defaults_exist(catalog: Catalog, aws: Provider) -> None:
    defaults = aws.defaults
    names = [
        defaults.controller,
        defaults.controller_large,
        defaults.login,
        defaults.database,
        defaults.system,
        *defaults.backend.values(),
    ]
    for name in (*names, *defaults.arm.values()):
        assert catalog.get(Machine, name).provider == "aws"
    assert set(defaults.arm) >= {*names[:5]}
    for kind, name in defaults.storage.items():
        assert kind in catalog.get(StorageService, name).kinds


def test_images_are_unique(aws: Provider) -> None:
    keys = [image.key for image in aws.images]
    assert len(keys) == len(set(keys))
    what = [(image.scheduler, image.arch, image.accelerator) for image in aws.images]
    assert len(what) == len(set(what))


@pytest.mark.parametrize(
    "kind, name, good",
    [
        ("bucket", "data--ol-s3", False),
        ("bucket", "data--x-s3", False),
        ("bucket", "10.0.0.1", False),
        ("bucket", "lake-an", False),
        ("bucket", "lake-123456789012-us-west-2-an", True),
        ("bucket", "lake-ban", True),
        ("security-group", "sg-mine", False),
        ("security-group", "mine", True),
        ("launch-template", "ab", False),
        ("kubernetes-cluster", "_c", False),
        ("node-group", "-n", False),
        ("database", "1db", False),
        ("database", "a--b", False),
        ("tag-key", "k" * 127, True),
        ("tag-key", "k" * 128, False),
        ("tag-key", "aws:k", False),
        ("tag-key", "équipe 1", True),
        ("tag-value", "", True),
        ("tag-key", "a;b", False),
        ("log-group", "/slurm/c", True),
        ("role", "r" * 65, False),
    ],
)
def test_names_are_accepted_or_rejected(aws: Provider, kind: str, name: str, good: bool) -> None:
    assert (aws.names[kind].find_problem(name) == "") is good


def test_every_name_rule_accepts_short_names_and_has_a_maximum(aws: Provider) -> None:
    for kind, rule in aws.names.items():
        assert rule.find_problem("abc") == "", kind
        assert rule.find_problem("x" * (rule.max + 1))


def test_an_isolated_network_has_ten_endpoints(aws: Provider) -> None:
    found = aws.network.closed_endpoints["all"] | aws.network.closed_endpoints["kubernetes"]
    assert len(found) == 10 and set(found.values()) == {"interface"}


def test_lustre_offers_the_documented_throughput(catalog: Catalog) -> None:
    service = catalog.get(StorageService, "fsx-lustre")
    second = service.find_deployment("PERSISTENT_2")
    assert second and [rate.to("MB/s") for rate in second.per_tib] == [125, 250, 500, 1000]
    assert service.fabric
    steps = {text: size.to("GiB") for text, size in service.fabric.steps.items()}
    assert steps == {"125 MB/s": 38400, "250 MB/s": 19200, "500 MB/s": 9600, "1000 MB/s": 4800}
    first = service.find_deployment("SCRATCH_1")
    assert first and not first.linked
    assert service.find_deployment("PERSISTENT_9") is None


def test_reading_one_machine_reads_no_other() -> None:
    catalog = Catalog()
    catalog.get(Machine, "p5.48xlarge")
    assert len(catalog._read) == 1
