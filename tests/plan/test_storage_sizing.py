"""Storage servers are as many as reference tables, capacity and checkpoints require, by manual calculation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan.sized_storage import GIVES, build_storage, list_storage_checks, plan_storage
from plan.test_resolve import build_pools

from supercloud.catalog import Catalog
from supercloud.plan.model.storage import LustreDesign, ScaleDesign, WekaDesign
from supercloud.primitives.quantity import Rate, Size

# RA-11333-001 V11, table 6: tier, units -> read, write in GB/s
TABLE_6 = {
    ("good", 1): (15, 7),
    ("good", 4): (60, 30),
    ("better", 1): (40, 20),
    ("better", 4): (160, 80),
    ("best", 1): (125, 62),
    ("best", 4): (500, 250),
}


@pytest.mark.parametrize("tier, units", TABLE_6)
def test_servers_provide_the_throughput_of_the_tiers(catalog: Catalog, tier: str, units: int) -> None:
    read, write = TABLE_6[tier, units]
    store = {"tier": tier, "servers": {"machine": "flash-24", "throughput": GIVES}}
    (item,) = plan_storage(catalog, store, nodes=32 * units).storage
    assert (item.read, item.write) == (Rate(f"{read} GB/s"), Rate(f"{write} GB/s"))
    assert item.design and item.design.read and item.design.read >= item.read
    assert item.design.write and item.write and item.design.write >= item.write
    need = max(-(-read // 45), -(-write // 30), 2)
    assert item.design.servers == need + need % 2  # in pairs


def test_lustre_matches_a_manual_calculation(catalog: Catalog) -> None:
    # one server: 24 drives = 2 groups of 8 + 2 and 4 spare; 8 x 15.36 TB x 0.95 = 116.736 TB a target
    item = build_storage(catalog, capacity="10 PiB", tier="best")
    design = item.design
    assert isinstance(design, LustreDesign)
    assert (design.data, design.parity, design.targets_per_server) == (8, 2, 2)
    assert design.target_size == Size("116.736 TB") and design.decided_by == "capacity"
    # 11258.999 TB / 233.472 TB = 48.2, so 49, and 50 in pairs
    assert design.servers == 50 and design.usable_capacity == Size("11673.6 TB")
    assert [group.count for group in item.servers] == [2, 50]
    assert design.metadata_size == Size("116.736 TB")  # 1 % of the capacity is more than the inodes take


def test_metadata_matches_the_example_of_the_manual(catalog: Catalog) -> None:
    # Lustre manual 2.2: 500 TB of 5 MB files = 100 M inodes, 2 KiB each, doubled: «400 GiB», or «1200 GiB»
    store = {"servers": {"machine": "flash-24", "count": 2}, "average_file": "5 MB"}
    design = build_storage(catalog, **store).design
    assert isinstance(design, LustreDesign)
    inodes = design.usable_capacity.base / Size("5 MB").base
    assert design.inodes == -(-design.usable_capacity.base // Size("5 MB").base)
    for inode, printed in ((2048, 400), (6144, 1200)):
        gib = inode * 2 * 100e6 / 2**30
        assert printed * 0.93 < gib < printed * 1.01
    assert design.metadata_size >= Size.from_base(int(inodes) * 4096)
    small = build_storage(catalog, **store, data_on_metadata=True).design
    assert isinstance(small, LustreDesign) and small.metadata_size.base >= 5 * design.metadata_size.base


def test_checkpoint_sizes_match_the_reference(catalog: Catalog) -> None:
    # 14 bytes a parameter: 405 G -> 5.67 TB, 70 G -> 0.98 TB, 1 T -> 14 TB
    for parameters, size in ((405e9, "5.67 TB"), (70e9, "0.98 TB"), (1e12, "14 TB")):
        item = build_storage(catalog, checkpoint={"parameters": parameters, "stall": "10 s", "keep": 3})
        assert item.checkpoint and item.checkpoint.size == Size(size) and item.checkpoint.kept_size == Size(size) * 3
        assert item.checkpoint.write == Rate.from_base(Size(size).base * 8 / 10)
    # during training it may use half of the write throughput
    item = build_storage(catalog, checkpoint={"parameters": 405e9, "interval": "1890 s"})
    assert item.checkpoint and item.checkpoint.write == Rate("6 GB/s")


def test_a_checkpoint_raises_the_throughput_of_a_tier(catalog: Catalog) -> None:
    item = build_storage(catalog, tier="best", checkpoint={"parameters": 405e9, "stall": "15 s"})
    assert item.write == Rate("378 GB/s") and item.basis.endswith("write by checkpoints")
    assert item.design and item.design.decided_by == "write" and item.design.servers == 14  # 378 / 30 = 12.6, in pairs


def test_weka_matches_a_manual_calculation(catalog: Catalog) -> None:
    item = build_storage(catalog, kind="weka", capacity="1 PiB", tier="good")
    design = item.design
    assert isinstance(design, WekaDesign)
    # 8 at least; stripe 5 + 2 with one spare: 8 x 368.64 TB x 5/7 x 7/8 x 0.9 = 1658.88 TB
    assert (design.servers, design.data, design.parity, design.spares) == (8, 5, 2, 1)
    assert design.usable_capacity == Size("1658.88 TB") and design.decided_by == "minimum"
    # 64 cores: 1 system, 24 drives, 1 front end, 38 compute; 1.4 GiB for each process but those that compute, whose
    # 53.2 GiB are less than 368.64 TB / 4000 = 92.16 GB
    assert (design.drive_cores, design.frontend_cores, design.compute_cores) == (24, 1, 38)
    assert design.hugepages and design.hugepages.to("GB") == pytest.approx(25 * 1.4 * 1.073741824 + 92.16)
    many = build_storage(catalog, kind="weka", capacity="10 PiB", tier="good").design
    assert isinstance(many, WekaDesign) and many.servers > 20 and (many.data, many.parity) == (16, 4)
    assert many.usable_capacity >= Size("10 PiB")


def test_storage_scale_matches_a_manual_calculation(catalog: Catalog) -> None:
    design = build_storage(catalog, kind="storage-scale", capacity="1 PiB", tier="good").design
    assert isinstance(design, ScaleDesign)
    # 23 data drives, two copies: 176.64 TB a server; 1125.9 / 176.64 = 6.4
    assert (design.servers, design.copies, design.quorum) == (7, 2, 3) and design.usable_capacity == Size("1236.48 TB")


def test_without_a_measurement_ports_are_the_reported_bound(catalog: Catalog) -> None:
    plan = plan_storage(catalog, {"tier": "best", "servers": {"machine": "flash-24"}})
    (item,) = plan.storage
    assert (
        item.design
        and item.design.throughput_basis == "ports"
        and item.design.read == Rate("800 Gb/s") * item.design.servers
    )
    assert "storage-server-throughput-unknown" in list_storage_checks(plan)
    fast = {"machine": "flash-24", "throughput": {"read": "500 GB/s", "write": "500 GB/s"}}
    (item,) = plan_storage(catalog, {"tier": "best", "servers": fast}).storage
    assert item.design and item.design.read == Rate("800 Gb/s") * item.design.servers  # never more than the ports


def test_servers_are_hosts_that_no_pool_renumbers(catalog: Catalog) -> None:
    store = {"capacity": "2 PiB", "servers": {"machine": "flash-24"}}
    plan = plan_storage(catalog, store)
    assert [str(group.hosts) for group in plan.servers] == ["scratch-mds-[0001-0002]", "scratch-oss-[0001-0010]"]
    assert str(plan.servers[1].addresses) == "10.255.254.[1-10]"
    more = [
        *build_pools("dgx-h100", 127),
        {"name": "extra", "machine": "dgx-h100", "nodes": 64, "fabrics": ["compute"]},
    ]
    assert plan_storage(catalog, store, pools=more).servers == plan.servers
    blocks = {int(pool.addresses.block.broadcast_address) for pool in plan.pools}
    assert max(blocks) < int(plan.servers[0].addresses.block.network_address)


def test_storage_without_machines_is_not_sized_and_reported(catalog: Catalog) -> None:
    plan = plan_storage(catalog, {"tier": "best", "capacity": "1 PiB"})
    assert plan.servers == () and plan.storage[0].design is None
    (finding,) = [finding for finding in plan.findings if finding.check == "storage-servers"]
    assert finding.level == "note" and "servers: {machine" in finding.hint


@pytest.mark.exhaustive
@pytest.mark.slow
@given(
    st.sampled_from(["lustre", "weka", "storage-scale", "nfs", "object"]),
    st.integers(1, 4000),
    st.sampled_from(["good", "better", "best"]),
)
def test_planned_servers_provide_the_requested_capacity_and_throughput(kind: str, tebibytes: int, tier: str) -> None:
    overlay = CATALOG
    store: dict[str, Any] = {
        "kind": kind,
        "capacity": f"{tebibytes} TiB",
        "tier": tier,
        "servers": {"machine": "flash-24", "throughput": GIVES},
    }
    plan = plan_storage(overlay, store, nodes=32)
    (item,) = plan.storage
    design = item.design
    assert design and item.capacity and item.read and item.write and design.read and design.write
    assert design.usable_capacity >= item.capacity and design.read >= item.read and design.write >= item.write
    assert design.servers >= design.min_servers
    assert not {"storage-capacity", "storage-server-throughput", "storage-minimum"} & set(list_storage_checks(plan))


CATALOG = Catalog()


@pytest.fixture(autouse=True, scope="module")
def _overlay(catalog: Catalog) -> None:
    CATALOG._layers = catalog._layers
