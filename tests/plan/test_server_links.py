"""Ports of storage servers and services have unique addresses wherever cables end, and growth moves none."""

from __future__ import annotations

import ipaddress
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from samples import ROOT

from supercloud.plan.build.fabric.service_links import build_service_links
from supercloud.plan.build.network.server_links import ServerEnd, iter_server_ends
from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.document import build_document
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import render

CATALOG = ROOT / "examples" / "07-storage" / "catalog"
STORAGE = {"name": "storage", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}
FAST = {"machine": "flash-24", "throughput": {"read": "45 GB/s", "write": "30 GB/s"}}


def build_store(name: str, kind: str = "nfs", **more: Any) -> dict[str, Any]:
    count = {"weka": 10, "lustre": 4, "object": 4}.get(kind, 1)
    return {
        "name": name,
        "kind": kind,
        "capacity": "100 TiB",
        "mount": f"/{name}",
        "fabric": "storage",
        "servers": FAST | {"count": count},
    } | more


STORES = [build_store("fast", "weka"), build_store("big", "lustre"), build_store("home")]


def build_plan(folder: Path, nodes: int = 64, stores: Any = STORES, fabric: Any = None, **more: Any) -> Plan:
    spec = {
        "name": "pod1",
        "catalog": str(CATALOG),
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": [{"name": "train", "machine": "dgx-h100", "nodes": nodes, "fabrics": ["storage"]}],
        "fabrics": [STORAGE | (fabric or {})],
        "storage": stores,
    } | more
    (folder / "cluster.yaml").write_text(yaml.safe_dump(spec))
    return resolve(load(folder / "cluster.yaml"))


def list_ends(plan: Plan, name: str = "storage") -> list[ServerEnd]:
    assert plan.networks and not plan.errors, plan.errors
    fabric = next(item for item in plan.fabrics if item.name == name)
    return list(iter_server_ends(fabric, plan.networks.list_servers(name)))


SHAPES: dict[str, dict[str, Any]] = {
    "rails": {},
    "two planes": {"planes": 2},
    "fat tree": {"shape": "fat-tree"},
    "clos": {"shape": "clos", "su": 8, "racks_per_pod": 4},
    "small leaves": {"leaf_down": 8, "leaf_up": 16},
    "oversubscribed": {"oversubscription": {"leaf": 2.0}},
    "services besides": {
        "services": [
            {"name": "appliance", "count": 6, "links": 4},
            {"name": "half", "count": 5, "links": 1, "speed": "200 Gb/s"},
        ]
    },
    "small network": {"subnet": "172.20.0.0/20"},
}


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_every_port_has_a_separate_link(tmp_path: Path, shape: str) -> None:
    plan = build_plan(tmp_path, fabric=SHAPES[shape])
    found = list_ends(plan)
    assert plan.networks
    (underlay,) = plan.networks.underlays
    fabric = plan.fabrics[0]
    links = build_service_links(fabric)
    assert links is not None and len(found) == sum(service.links for service in fabric.services)
    taken = [address for end in found for address in (end.address, end.gateway)]
    assert len(set(taken)) == len(taken) == 2 * len(found)
    for end in found:
        low, high = map(ipaddress.ip_address, (end.gateway, end.address))
        assert int(low) % 2 == 0 and int(high) == int(low) + 1
        assert low in underlay.server_blocks[end.plane] and low in end.links.blocks[end.plane]
        assert underlay.get_switch_run("leaf").find_position(end.leaf)[0] == end.plane
    rails = [underlay.rails.get_leaf_block(leaf) for leaf in range(underlay.get_switch_run("leaf").tier.count)]
    blocks = sorted([*rails, *(block for links in underlay.servers for block in links.blocks)])
    assert all(not one.overlaps(other) for one, other in zip(blocks, blocks[1:], strict=False))
    assert all(block.subnet_of(underlay.block) for block in blocks)
    used = {subnet.name: subnet.hosts for subnet in plan.networks.subnets if subnet.role == "rail"}
    assert sum(used.values()) == 2 * (underlay.rails.node_links.count + len(found))


def test_cables_and_switches_agree_on_connected_hosts(tmp_path: Path) -> None:
    from supercloud.plan.build.cabling.cables import build_cable_table

    plan = build_plan(tmp_path, fabric=SHAPES["services besides"] | {"os": "frr"})
    table = build_cable_table(plan, plan.fabrics[0])
    one, other = table.get_device_names("source"), table.get_device_names("target")
    cabled = {(host, leaf) for host, leaf in zip(one, other, strict=True) if not host.startswith(("train", "storage"))}
    configured = set()
    bundle = render(plan, "roce")
    for path, text in bundle.items():
        if path.endswith("frr.conf") and "/leaf/" in path:
            leaf = path.split("/")[2]
            words = [line.split()[1] for line in text.splitlines() if line.startswith(" description")]
            configured |= {(word, leaf) for word in words if not word.startswith(("train", "storage"))}
    assert configured == cabled and len(cabled) > 40
    assert "permit 172." in next(text for path, text in bundle.items() if path.endswith("leaf-001/frr.conf"))


@pytest.mark.slow
@pytest.mark.parametrize("change", ["nodes", "servers", "store", "service", "first role"])
def test_growth_renumbers_no_server(tmp_path: Path, change: str) -> None:
    services = [{"name": "appliance", "count": 6, "links": 2}]
    before = build_plan(tmp_path, 60, fabric={"services": services})
    kinds: dict[str, Any] = {
        "nodes": {"nodes": 300},
        "servers": {"stores": [build_store("fast", "weka", servers=FAST | {"count": 16}), *STORES[1:]]},
        "store": {"stores": [*STORES, build_store("more", "object", mount=None)]},
        "service": {"fabric": {"services": [*services, {"name": "login", "count": 2}]}},
        "first role": {"stores": [STORES[0], STORES[1] | {"metadata": FAST | {"count": 6}}, STORES[2]]},
    }
    after = build_plan(tmp_path, **({"nodes": 60, "fabric": {"services": services}} | kinds[change]))
    there = {end.name: (end.address, end.gateway) for end in list_ends(after)}
    assert before.networks and after.networks and len(there) >= len(list_ends(before))
    for end in list_ends(before):
        assert there[end.name] == (end.address, end.gateway), (change, end.name)
    addresses = {group.name: [group.addresses[index] for index in range(group.count)] for group in after.servers}
    for group in before.servers:
        assert addresses[group.name][: group.count] == [group.addresses[index] for index in range(group.count)]
    (one,), (other,) = before.networks.underlays, after.networks.underlays
    for node in (0, 31, 59):
        assert [link.address for link in one.rails.iter_links(node)] == [
            link.address for link in other.rails.iter_links(node)
        ]


@pytest.mark.slow
def test_names_addresses_and_variables_reach_the_files(tmp_path: Path) -> None:
    plan = build_plan(tmp_path)
    bundle = render(plan, "hosts")
    rows = [line.split() for line in bundle["hosts"].splitlines()[3:]]
    names = {row[2]: row[0] for row in rows}
    assert len(names) == len(rows) == len({row[0] for row in rows})
    for end in list_ends(plan):
        assert names[end.name] == end.address
    assert {"fast-backend-0001-storage", "fast-backend-0001-storage-2", "big-mds-0001-storage"} <= set(names)
    assert names["bmc-fast-backend-0010"].startswith("100.")
    known = bundle["dhcp-hosts"]
    assert f"fast-backend-0001,{names['fast-backend-0001']}\n" in known and "bmc-home-nfs-0001," in known
    groups = yaml.safe_load(bundle["inventory.yaml"])["all"]["children"]["storage"]["children"]
    output = groups["storage_fast_backend"]["vars"]
    assert output["storage_name"] == "{{ inventory_hostname }}-storage" and output["storage_ports"] == 2
    block = ipaddress.ip_network(output["storage_cidrs"][0])
    assert ipaddress.ip_address(names["fast-backend-0010-storage-2"]) in block
    published = {item["name"]: item for item in build_document(plan).model_dump()["networks"]["servers"]}
    first = published["storage/fast-backend"]
    assert first["first_address"] == names["fast-backend-0001-storage"] and first["step"] == 2
    last = ipaddress.ip_address(first["first_address"]) + 9 * first["step"] + first["port_step"]
    assert str(last) == names["fast-backend-0010-storage-2"]


@pytest.mark.slow
def test_scripts_of_servers_set_the_addresses_of_the_plan(tmp_path: Path) -> None:
    plan = build_plan(tmp_path, fabric={"planes": 2})
    bundle = render(plan, "roce")
    tables: dict[str, set[str]] = {}
    for links in plan.networks.list_servers("storage") if plan.networks else ():
        script = tmp_path / f"{links.name}.sh"
        script.write_text(bundle[f"storage/servers/{links.name}/roce-rails.sh"])
        for server in (0, len(links.hosts) - 1):
            host = links.format_host_name(server)
            out = subprocess.run(["bash", str(script), "show", host], capture_output=True, text=True, check=True).stdout
            lines = [(int(row[0]), int(row[1]), row[3], row[5]) for row in map(str.split, out.splitlines())]
            assert lines == [
                (end.plane, end.port, f"{end.address}/31", end.gateway) for end in list_ends(plan) if end.host == host
            ]
            tables["server"] = {row.split()[-1] for row in out.splitlines()}
        refused = subprocess.run(["bash", str(script), "show", "nobody"], capture_output=True, text=True)
        assert refused.returncode == 2 and str(links.hosts) in refused.stderr
        assert "nccl.conf" not in " ".join(path for path in bundle if "/servers/" in path)


@pytest.mark.slow
def test_flat_rails_of_infiniband_have_addresses_for_servers(tmp_path: Path) -> None:
    fabric = {"kind": "infiniband", "switch": "nvidia-qm9700"}
    plan = build_plan(tmp_path, fabric=fabric)
    found = list_ends(plan)
    assert plan.networks and len({end.address for end in found}) == len(found) > 20
    rails = [subnet for subnet in plan.networks.subnets if subnet.role == "rail"]
    assert len(rails) == 2
    for end in found:
        (rail,) = [subnet for subnet in rails if ipaddress.ip_address(end.address) in subnet.block]
        assert rail.name == f"storage-rail{end.port % 2}"
        assert ipaddress.ip_address(end.address) > rail.block.network_address + 2 * 64
    grown = {end.name: end.address for end in list_ends(build_plan(tmp_path, 200, fabric=fabric))}
    assert all(grown[end.name] == end.address for end in found)


@pytest.mark.slow
def test_hosts_on_infiniband_compute_their_addresses(tmp_path: Path) -> None:
    plan = build_plan(
        tmp_path,
        300,
        fabric={
            "kind": "infiniband",
            "switch": "nvidia-qm9700",
            "services": [{"name": "wide", "count": 3, "links": 5}],
        },
    )
    assert plan.networks
    script = tmp_path / "ipoib.sh"
    script.write_text(render(plan, "infiniband")["storage/ipoib.sh"])

    def list_addresses(host: str) -> list[str]:
        out = subprocess.run(["bash", str(script), "show", host], capture_output=True, text=True, check=True).stdout
        return [line.split()[2] for line in out.splitlines()]

    of: dict[str, list[str]] = {}
    for end in list_ends(plan):
        of.setdefault(end.host, []).append(end.address)
    for host, addresses in of.items():
        assert [item.partition("/")[0] for item in list_addresses(host)] == addresses
    rails = [subnet.block for subnet in plan.networks.subnets if subnet.role == "rail"]
    for host, place in (("train-0001", 1), ("train-0250", 250), ("train-0251", 257), ("train-0300", 306)):
        assert list_addresses(host) == [f"{rail.network_address + place}/{rail.prefixlen}" for rail in rails]
    taken = [address for addresses in of.values() for address in addresses]
    taken += [item.partition("/")[0] for host in plan.pools[0].hosts.slice(0, 20) for item in list_addresses(host)]
    assert len(set(taken)) == len(taken)
    for host in ("train-0301", "nobody", "big-oss-0005", "train-2-0001"):
        refused = subprocess.run(["bash", str(script), "show", host], capture_output=True, text=True)
        assert refused.returncode == 2 and "is not a host of storage" in refused.stderr
    shellcheck = Path(sys.executable).with_name("shellcheck")
    checked = subprocess.run([str(shellcheck), str(script)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.slow
def test_bridged_networks_have_in_band_addresses_and_no_routed_links(tmp_path: Path) -> None:
    from samples import EXAMPLES  # 07 has all four networks

    plan = resolve(load(next(path for path in EXAMPLES if path.parent.name == "07-storage")))
    assert plan.networks and not plan.networks.underlays
    assert not {subnet.fabric for subnet in plan.networks.subnets} & {"in-band", "management"}
    names = [line.split()[-1] for line in render(plan, "hosts")["hosts"].splitlines()[3:]]
    assert "home-nfs-0001" in names and "home-nfs-0001-in-band" not in names
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 8, "fabrics": ["storage", "in-band"]}]
    bridged = {
        "name": "in-band",
        "kind": "ethernet",
        "shape": "fat-tree",
        "switch": "nvidia-sn4600c",
        "qos": {"dscp": 24},
    }
    changed = build_plan(tmp_path, pools=pools, fabrics=[STORAGE, bridged])
    assert [item.path for item in changed.findings if item.check == "network-unused"] == ["fabrics[1].qos"]


@pytest.mark.slow
def test_a_name_that_dns_does_not_allow_is_reported(tmp_path: Path) -> None:
    plan = build_plan(tmp_path, stores=[build_store("a" * 38)], fabric={})
    assert not [item for item in plan.errors if item.check == "network-names"]
    long = "fabric-for-storage-of-the-whole-house"
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 8, "fabrics": [long]}]
    plan = build_plan(
        tmp_path,
        stores=[build_store("a" * 38, fabric=long)],
        pools=pools,
        fabrics=[STORAGE | {"name": long, "role": "storage"}],
    )
    (finding,) = [item for item in plan.errors if item.check == "network-names"]
    assert finding.path == "fabrics[0].name" and "DNS supports 63" in finding.problem


@pytest.mark.parametrize("subnet, message", [("172.20.0.0/24", "has space for 0 rails"), ("172.20.0.0/23", "rails of")])
def test_a_subnet_too_small_for_servers_is_an_error(tmp_path: Path, subnet: str, message: str) -> None:
    plan = build_plan(tmp_path, fabric={"subnet": subnet})
    (finding,) = [item for item in plan.errors if item.check == "network-size"]
    assert finding.path == "fabrics[0].subnet" and message in finding.problem
