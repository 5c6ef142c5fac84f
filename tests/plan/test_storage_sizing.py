"""Storage servers are as many as reference tables, capacity and checkpoints ask for, by numbers made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from plan.test_resolve import train

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Plan, StoragePlan
from supercloud.plan.model.storage import LustreDesign, ScaleDesign, WekaDesign
from supercloud.plan.resolve import resolve
from supercloud.primitives.quantity import Rate, Size
from supercloud.spec.loader import loads
from supercloud.targets import render

SERVER = """\
name: flash-24
title: Storage server with 24 NVMe drives, declared for tests
source: [declared for tests]
vendor: any
provider: onprem
cpu: {arch: x86_64, sockets: 2, cores_per_socket: 32, threads_per_core: 2}
memory: 512 GB
adapters:
  - {role: storage, kind: vpi, count: 2, speed: 400 Gb/s}
  - {role: in-band, kind: ethernet, count: 2, speed: 100 Gb/s}
disks: [{role: scratch, kind: nvme, count: 24, size: 15.36 TB}]
power: 1.6 kW
body: {units: 2, weight: 40 kg}
"""
GIVES = {"read": "45 GB/s", "write": "30 GB/s"}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("overlay")
    (folder / "machines").mkdir()
    (folder / "machines" / "flash-24.yaml").write_text(SERVER)
    small = SERVER.replace("flash-24", "flash-4").replace("count: 24", "count: 4").replace("512 GB", "4 GB")
    (folder / "machines" / "flash-4.yaml").write_text(small)
    bare = SERVER.replace("flash-24", "bare").replace("disks:", "# disks:")
    (folder / "machines" / "bare.yaml").write_text(bare)
    return Catalog([Path(folder)])


def planned(catalog: Catalog, *stores: dict[str, Any], nodes: int = 127, **changes: Any) -> Plan:
    spec = {
        "name": "pod1",
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "22.05"},
        "pools": train("dgx-h100", nodes),
        "fabrics": [{"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}],
        "storage": [{"name": "scratch", "kind": "lustre", "mount": "/scratch"} | store for store in stores],
    } | changes
    return resolve(loads(yaml.safe_dump(spec)), catalog)


def stored(catalog: Catalog, **store: Any) -> StoragePlan:
    (item,) = planned(catalog, {"servers": {"machine": "flash-24", "throughput": GIVES}} | store).storage
    return item


def checks(plan: Plan) -> dict[str, str]:
    return {finding.check: finding.problem for finding in plan.findings if finding.check.startswith("storage")}


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
def test_tiers_are_those_of_the_table_and_the_servers_give_them(catalog: Catalog, tier: str, units: int) -> None:
    read, write = TABLE_6[tier, units]
    store = {"tier": tier, "servers": {"machine": "flash-24", "throughput": GIVES}}
    (item,) = planned(catalog, store, nodes=32 * units).storage
    assert (item.read, item.write) == (Rate(f"{read} GB/s"), Rate(f"{write} GB/s"))
    assert item.design and item.design.read and item.design.read >= item.read
    assert item.design.write and item.write and item.design.write >= item.write
    need = max(-(-read // 45), -(-write // 30), 2)
    assert item.design.servers == need + need % 2  # in pairs


def test_lustre_by_hand(catalog: Catalog) -> None:
    # one server: 24 drives = 2 groups of 8 + 2 and 4 spare; 8 x 15.36 TB x 0.95 = 116.736 TB a target
    item = stored(catalog, capacity="10 PiB", tier="best")
    design = item.design
    assert isinstance(design, LustreDesign)
    assert (design.data, design.parity, design.targets_per_server) == (8, 2, 2)
    assert design.target_size == Size("116.736 TB") and design.decided_by == "capacity"
    # 11258.999 TB / 233.472 TB = 48.2, so 49, and 50 in pairs
    assert design.servers == 50 and design.usable_capacity == Size("11673.6 TB")
    assert [group.count for group in item.servers] == [2, 50]
    assert design.metadata_size == Size("116.736 TB")  # 1 % of the capacity is more than the inodes take


def test_metadata_of_the_manuals_example(catalog: Catalog) -> None:
    # Lustre manual 2.2: 500 TB of 5 MB files = 100 M inodes, 2 KiB each, doubled: «400 GiB», or «1200 GiB»
    store = {"servers": {"machine": "flash-24", "count": 2}, "average_file": "5 MB"}
    design = stored(catalog, **store).design
    assert isinstance(design, LustreDesign)
    inodes = design.usable_capacity.base / Size("5 MB").base
    assert design.inodes == -(-design.usable_capacity.base // Size("5 MB").base)
    for inode, printed in ((2048, 400), (6144, 1200)):
        gib = inode * 2 * 100e6 / 2**30
        assert printed * 0.93 < gib < printed * 1.01
    assert design.metadata_size >= Size.from_base(int(inodes) * 4096)
    small = stored(catalog, **store, data_on_metadata=True).design
    assert isinstance(small, LustreDesign) and small.metadata_size.base >= 5 * design.metadata_size.base


def test_checkpoints_of_the_reference(catalog: Catalog) -> None:
    # 14 bytes a parameter: 405 G -> 5.67 TB, 70 G -> 0.98 TB, 1 T -> 14 TB
    for parameters, size in ((405e9, "5.67 TB"), (70e9, "0.98 TB"), (1e12, "14 TB")):
        item = stored(catalog, checkpoint={"parameters": parameters, "stall": "10 s", "keep": 3})
        assert item.checkpoint and item.checkpoint.size == Size(size) and item.checkpoint.kept_size == Size(size) * 3
        assert item.checkpoint.write == Rate.from_base(Size(size).base * 8 / 10)
    # beside training it may take half of the write throughput
    item = stored(catalog, checkpoint={"parameters": 405e9, "interval": "1890 s"})
    assert item.checkpoint and item.checkpoint.write == Rate("6 GB/s")


def test_a_checkpoint_raises_what_a_tier_asks(catalog: Catalog) -> None:
    item = stored(catalog, tier="best", checkpoint={"parameters": 405e9, "stall": "15 s"})
    assert item.write == Rate("378 GB/s") and item.basis.endswith("write by checkpoints")
    assert item.design and item.design.decided_by == "write" and item.design.servers == 14  # 378 / 30 = 12.6, in pairs


def test_weka_by_hand(catalog: Catalog) -> None:
    item = stored(catalog, kind="weka", capacity="1 PiB", tier="good")
    design = item.design
    assert isinstance(design, WekaDesign)
    # 8 at least; stripe 5 + 2 with one spare: 8 x 368.64 TB x 5/7 x 7/8 x 0.9 = 1658.88 TB
    assert (design.servers, design.data, design.parity, design.spares) == (8, 5, 2, 1)
    assert design.usable_capacity == Size("1658.88 TB") and design.decided_by == "minimum"
    # 64 cores: 1 system, 24 drives, 1 front end, 38 compute; 1.4 GiB for each process but those that compute, whose
    # 53.2 GiB are less than 368.64 TB / 4000 = 92.16 GB
    assert (design.drive_cores, design.frontend_cores, design.compute_cores) == (24, 1, 38)
    assert design.hugepages and design.hugepages.to("GB") == pytest.approx(25 * 1.4 * 1.073741824 + 92.16)
    many = stored(catalog, kind="weka", capacity="10 PiB", tier="good").design
    assert isinstance(many, WekaDesign) and many.servers > 20 and (many.data, many.parity) == (16, 4)
    assert many.usable_capacity >= Size("10 PiB")


def test_storage_scale_by_hand(catalog: Catalog) -> None:
    design = stored(catalog, kind="storage-scale", capacity="1 PiB", tier="good").design
    assert isinstance(design, ScaleDesign)
    # 23 data drives, two copies: 176.64 TB a server; 1125.9 / 176.64 = 6.4
    assert (design.servers, design.copies, design.quorum) == (7, 2, 3) and design.usable_capacity == Size("1236.48 TB")


def test_without_a_measurement_ports_are_the_bound_and_it_is_said(catalog: Catalog) -> None:
    plan = planned(catalog, {"tier": "best", "servers": {"machine": "flash-24"}})
    (item,) = plan.storage
    assert (
        item.design
        and item.design.throughput_basis == "ports"
        and item.design.read == Rate("800 Gb/s") * item.design.servers
    )
    assert "storage-server-throughput-unknown" in checks(plan)
    fast = {"machine": "flash-24", "throughput": {"read": "500 GB/s", "write": "500 GB/s"}}
    (item,) = planned(catalog, {"tier": "best", "servers": fast}).storage
    assert item.design and item.design.read == Rate("800 Gb/s") * item.design.servers  # never more than the ports


def test_servers_are_hosts_of_the_plan_and_no_pool_renumbers_them(catalog: Catalog) -> None:
    store = {"capacity": "2 PiB", "servers": {"machine": "flash-24"}}
    plan = planned(catalog, store)
    assert [str(group.hosts) for group in plan.servers] == ["scratch-mds-[0001-0002]", "scratch-oss-[0001-0010]"]
    assert str(plan.servers[1].addresses) == "10.255.254.[1-10]"
    more = [*train("dgx-h100", 127), {"name": "extra", "machine": "dgx-h100", "nodes": 64, "fabrics": ["compute"]}]
    assert planned(catalog, store, pools=more).servers == plan.servers
    blocks = {int(pool.addresses.block.broadcast_address) for pool in plan.pools}
    assert max(blocks) < int(plan.servers[0].addresses.block.network_address)


def test_without_machines_nothing_is_sized_and_it_is_said(catalog: Catalog) -> None:
    plan = planned(catalog, {"tier": "best", "capacity": "1 PiB"})
    assert plan.servers == () and plan.storage[0].design is None
    (finding,) = [finding for finding in plan.findings if finding.check == "storage-servers"]
    assert finding.level == "note" and "servers: {machine" in finding.hint


BAD = {
    "storage-minimum": ({"kind": "weka", "servers": {"machine": "flash-24", "count": 5}}, "3 too few"),
    "storage-capacity": ({"capacity": "10 PiB", "servers": {"machine": "flash-24", "count": 4}}, "PB short"),
    "storage-server-throughput": (
        {"tier": "best", "servers": {"machine": "flash-24", "count": 2, "throughput": GIVES}},
        "410 GB/s less than the required 500 GB/s",
    ),
    "storage-checkpoint": (
        {
            "throughput": {"read": "90 GB/s", "write": "60 GB/s"},
            "servers": {"machine": "flash-24"},
            "checkpoint": {"parameters": 405e9, "stall": "15 s"},
        },
        "318 GB/s more than the 60 GB/s",
    ),
    "storage-checkpoint-need": ({"checkpoint": {"parameters": 405e9}}, "one of 'stall' and 'interval'"),
    "storage-throughput-low": ({"throughput": {"read": "20 GB/s", "write": "30 GB/s"}}, "40 GB/s less than"),
    "storage-memory": (
        {"servers": {"machine": "flash-4", "count": 2}, "protection": {"data": 1, "parity": 1}},
        "GB less",
    ),
    "storage-limits": (
        {"servers": {"machine": "flash-24"}, "protection": {"data": 22, "parity": 2}, "capacity": "1 PiB"},
        "over the maximum of 256 TiB",
    ),
    "storage-servers": ({"servers": {"machine": "bare"}}, "and no count is set"),
    "storage-metadata": (
        {"capacity": "60 PiB", "servers": {"machine": "flash-24"}, "metadata": {"machine": "flash-4"}},
        "short of",
    ),
    "storage-value": ({"capacity": "-3 TB", "servers": {"machine": "flash-24"}}, "-3 TB is not above zero"),
    "storage-nfs": (
        {"kind": "nfs", "capacity": "1 PB", "servers": {"machine": "flash-24"}},
        "5 servers, but an export is on one server: clients mount the first, the others are standby; the first "
        "alone provides 245.8 TB of 1 PB",
    ),
    "storage-targets": (
        {"capacity": "1 PB", "servers": {"machine": "flash-24"}, "protection": {"data": 1, "parity": 1}},
        "12 object targets a server: 4 over the usual maximum of 8",
    ),
    "unknown-name": ({"servers": {"machine": "flash-25"}}, "flash-25"),
}


@pytest.mark.parametrize("check", sorted(BAD))
def test_bad_input_is_said_with_the_number_that_is_over_and_the_cure(catalog: Catalog, check: str) -> None:
    store, part = BAD[check]
    found = [finding for finding in planned(catalog, store).findings if finding.check == check]
    assert found and part in found[0].problem, [finding.problem for finding in found]
    assert found[0].hint and found[0].path.startswith("storage[0]")


def divided(catalog: Catalog, *stores: dict[str, Any], others: int = 300) -> Plan:
    """A pool of 27 nodes on the network of the stores, and another that is not, where there is one."""
    fabric = {"name": "storage", "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700"}
    pools = [{"name": "near", "machine": "dgx-h100", "nodes": 27, "fabrics": ["storage"]}]
    pools += [{"name": "far", "machine": "dgx-h100", "nodes": others}] * bool(others)
    return planned(catalog, *(store | {"fabric": "storage"} for store in stores), pools=pools, fabrics=[fabric])


SIZED: list[dict[str, Any]] = [
    {"kind": "lustre", "tier": "best", "capacity": "1 PiB", "servers": {"machine": "flash-24", "throughput": GIVES}},
    {
        "kind": "weka",
        "capacity": "1 PiB",
        "servers": {"machine": "flash-24", "throughput": {"read": "5 GB/s", "write": "4 GB/s"}},
    },
]


@pytest.mark.parametrize("store", SIZED, ids=["tier", "floor"])
def test_a_store_is_sized_for_its_clients_alone(catalog: Catalog, store: dict[str, Any]) -> None:
    """300 nodes that do not reach it took a store for 27 nodes from 6 servers to 32."""
    alone, beside = (divided(catalog, store, others=others).storage[0] for others in (0, 300))
    assert (beside.read, beside.write, beside.design) == (alone.read, alone.write, alone.design)
    assert [group.count for group in beside.servers] == [group.count for group in alone.servers]


def test_storage_scale_is_made_for_so_many_clients(catalog: Catalog) -> None:
    plan = divided(catalog, SIZED[0] | {"kind": "storage-scale"})
    script = render(plan, "storage").files["scratch/create.sh"].text
    assert f" -n {27 + plan.storage[0].servers[0].count} " in script


def test_only_clients_have_to_be_fed(catalog: Catalog) -> None:
    """Throughput is judged, and a tier recommended, by the pools that reach a store; so are numbers of clients."""
    lowest = divided(catalog, {"tier": "good"})
    enough = {"throughput": {"read": str(lowest.storage[0].read), "write": str(lowest.storage[0].write)}}
    assert "storage-throughput-low" not in checks(divided(catalog, enough))
    (low,) = [
        item
        for item in divided(catalog, enough | {"throughput": {"read": "1 GB/s", "write": "1 TB/s"}}).findings
        if item.check == "storage-throughput-low"
    ]
    assert low.problem.startswith("216 accelerators of near get 1 GB/s to read")
    # two stores, of which a pool reaches one: the other does not make up for what is lacking there
    rich = {"name": "rich", "mount": "/rich", "throughput": {"read": "1 TB/s", "write": "1 TB/s"}}
    poor = {"fabric": "storage", "throughput": {"read": "1 GB/s", "write": "1 TB/s"}}
    fabrics = [
        {"name": name, "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700", "role": role}
        for name, role in (("storage", "storage"), ("other", "compute"))
    ]
    pools = [
        {"name": name, "machine": "dgx-h100", "nodes": 32, "fabrics": networks}
        for name, networks in (("both", ["storage", "other"]), ("one", ["storage"]))
    ]
    plan = planned(catalog, poor, rich | {"fabric": "other"}, pools=pools, fabrics=fabrics)
    lacking = [item.problem for item in plan.findings if item.check == "storage-throughput-low"]
    assert len(lacking) == 1 and lacking[0].startswith("256 accelerators of one get 1 GB/s")
    tierless = planned(
        catalog,
        poor | {"throughput": None, "tier": "good"},
        fabrics=fabrics,
        pools=[
            pools[0] | {"fabrics": ["other"]},
            {"name": "login", "machine": "management-server", "nodes": 4, "fabrics": ["storage"]},
        ],
    )
    assert "its clients have no accelerators" in str([item.problem for item in tierless.errors])


@pytest.mark.parametrize("machine", ["dgx-h100", "dgx-gb200", "dgx-gb300"])
def test_only_tiers_of_the_reference_are_named(catalog: Catalog, machine: str) -> None:
    """For a GB300 'good' was refused by an error and recommended by a note, and no rate was low."""

    def look(more: str) -> Plan:
        return resolve(
            loads(f"""
name: one
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "25.11"}}
pools: [{{name: train, machine: {machine}, nodes: 36}}]
storage: [{{name: fast, kind: lustre, capacity: 1 PiB, mount: /fast{more}}}]
"""),
            catalog,
        )

    (unknown,) = [item.hint for item in look("").findings if item.check == "storage-throughput-unknown"]
    named = [tier for tier in ("good", "better", "best") if tier in unknown]
    for tier in ("good", "better", "best"):
        plan = look(f", tier: {tier}")
        refused = [item.hint for item in plan.errors if item.check == "storage-tier"]
        assert bool(refused) == (tier not in named) and (plan.storage[0].read is None) == bool(refused)
        assert refused in ([], [f"set tier to {' or '.join(named)}, or set 'throughput' instead"])
        assert "storage-throughput-unknown" not in checks(plan)
    (low, _) = [
        item
        for item in look(", throughput: {read: 1 GB/s, write: 1 GB/s}").findings
        if item.check == "storage-throughput-low"
    ]
    assert low.hint.endswith(f"set tier: {named[0]} instead of throughput")


@pytest.mark.parametrize(
    "asked",
    [{"throughput": {"read": "1 GB/s", "write": "1 GB/s"}}, {"throughput_per_tib": "1 GB/s", "capacity": "1 TiB"}],
)
def test_the_throughput_that_is_advised_is_enough(catalog: Catalog, asked: dict[str, Any]) -> None:
    """65 nodes are to read thirds of a GB/s: rounded down, what was advised was said to be too little."""

    def look(store: dict[str, Any]) -> tuple[list[str], list[str]]:
        plan = planned(catalog, store, pools=train("dgx-b200", 65))
        return [one.hint for one in plan.findings if one.check == "storage-throughput-low"], list(map(str, plan.errors))

    hints, errors = look(asked)
    (way,) = (name for name in asked if name.startswith("throughput"))
    assert len(hints) == 2 and not errors and all(f"set tier: good instead of {way}" in hint for hint in hints)
    read, write = (" ".join(hint.replace(",", "").split()[1:3]) for hint in hints)
    assert look({"throughput": {"read": read, "write": write}}) == ([], [])
    assert look({"tier": "good"}) == ([], [])


def test_a_file_system_that_writes_nothing_is_told_the_throughput_alone(catalog: Catalog) -> None:
    store = {"throughput": {"read": "1 GB/s", "write": "0 GB/s"}, "checkpoint": {"parameters": 1e9, "stall": "10 s"}}
    (finding,) = [item for item in planned(catalog, store).findings if item.check == "storage-checkpoint"]
    assert finding.hint.startswith("set throughput: {write: ")


@pytest.mark.parametrize("check", ["storage-capacity", "storage-server-throughput", "storage-minimum"])
def test_the_cure_cures(catalog: Catalog, check: str) -> None:
    store = dict(BAD[check][0])
    hints = [finding.hint for finding in planned(catalog, store).findings if finding.check == check]
    count = max(int(word.strip(",")) for hint in hints for word in hint.split() if word.strip(",").isdigit())
    store["servers"] = store["servers"] | {"count": count}
    assert check not in checks(planned(catalog, store))


@pytest.mark.parametrize(
    "kind, capacity",
    [
        ("lustre", "10 PiB"),
        ("weka", "10 PiB"),
        ("storage-scale", "5 PiB"),
        ("nfs", "5 PB"),
    ],
)
def test_the_servers_that_are_advised_are_the_fewest_that_do(catalog: Catalog, kind: str, capacity: str) -> None:
    """Usable space does not grow in proportion: spares of a stripe stay the same, and pairs come in twos."""

    def store(count: int) -> dict[str, Any]:
        return {"kind": kind, "capacity": capacity, "servers": {"machine": "flash-24", "count": count}}

    said = [item.hint for item in planned(catalog, store(8)).findings if item.check == "storage-capacity"]
    advised = int(said[0].split()[1])
    assert "storage-capacity" not in checks(planned(catalog, store(advised)))
    assert "storage-capacity" in checks(planned(catalog, store(advised - (2 if kind == "lustre" else 1))))


def test_no_room_for_servers(catalog: Catalog) -> None:
    tight = planned(catalog, {"servers": {"machine": "flash-24"}}, network={"cidr": "10.0.0.0/23"})
    assert any("no free block" in finding.problem for finding in tight.errors) and tight.servers == ()


@pytest.mark.slow
@given(
    st.sampled_from(["lustre", "weka", "storage-scale", "nfs", "object"]),
    st.integers(1, 4000),
    st.sampled_from(["good", "better", "best"]),
)
def test_servers_that_are_counted_hold_and_give_what_was_asked(kind: str, tebibytes: int, tier: str) -> None:
    overlay = CATALOG
    store: dict[str, Any] = {
        "kind": kind,
        "capacity": f"{tebibytes} TiB",
        "tier": tier,
        "servers": {"machine": "flash-24", "throughput": GIVES},
    }
    plan = planned(overlay, store, nodes=32)
    (item,) = plan.storage
    design = item.design
    assert design and item.capacity and item.read and item.write and design.read and design.write
    assert design.usable_capacity >= item.capacity and design.read >= item.read and design.write >= item.write
    assert design.servers >= design.min_servers
    assert not {"storage-capacity", "storage-server-throughput", "storage-minimum"} & set(checks(plan))


CATALOG = Catalog()


@pytest.fixture(autouse=True, scope="module")
def _overlay(catalog: Catalog) -> None:
    CATALOG._layers = catalog._layers


@pytest.mark.parametrize("kind", ["lustre", "weka", "storage-scale", "nfs", "object"])
@pytest.mark.parametrize("way", ["data", "parity", "spares", "copies"])
def test_absurd_protection_is_answered_at_once(catalog: Catalog, kind: str, way: str) -> None:
    store = {"kind": kind, "capacity": "1 EiB", "servers": {"machine": "flash-24"}, "protection": {way: 10_000_000}}
    assert planned(catalog, store).storage[0].name == "scratch"
