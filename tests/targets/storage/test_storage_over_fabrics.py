"""Names of servers and of interfaces over the networks that storage uses."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from storage_plans import EVERY, STORAGE_FABRIC, build_plan

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Plan
from supercloud.primitives.bundle import Bundle
from supercloud.targets import render


def test_servers_on_a_fabric_have_names_of_that_fabric(catalog: Catalog) -> None:
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["storage"]}]
    over = {"fabric": "storage", "interface": None}
    made = render(build_plan(catalog, EVERY[0] | over, pools=pools, fabrics=[STORAGE_FABRIC]), "storage")
    assert "scratch-mds-0001-storage@o2ib0:scratch-mds-0002-storage@o2ib0:/scratch" in made["scratch/fstab"]
    assert 'networks="o2ib0(storage0,storage1)"' in made["scratch/lnet.conf"], "multi-rail over both ports of a server"
    own = EVERY[0] | {"fabric": "storage", "interface": "ibs3"}
    made = render(build_plan(catalog, own, pools=pools, fabrics=[STORAGE_FABRIC]), "storage")
    assert 'networks="o2ib0(ibs3)"' in made["scratch/lnet.conf"]
    weka = render(build_plan(catalog, EVERY[1] | over, pools=pools, fabrics=[STORAGE_FABRIC]), "storage")
    assert (
        "net=storage0,net=storage1," in weka["fast/client-fstab.sh"]
        and "--net storage0 storage1 " in weka["fast/backend.sh"]
    )


BRIDGED = {
    "name": "in-band",
    "kind": "ethernet",
    "shape": "rail-optimized",
    "switch": "nvidia-sn4600c",
    "peer_links": 2,
    "leaf_up": 4,
    "spines": 2,
}


ROCE = STORAGE_FABRIC | {"kind": "roce", "switch": "nvidia-sn5600"}


def render_over(catalog: Catalog, network: dict[str, Any], **store: Any) -> tuple[Plan, Bundle]:
    """A Lustre and a WEKA file system whose interfaces are not declared, over one network."""
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 8, "fabrics": [network["name"]]}]
    stores = [item | {"capacity": "200 TiB", "tier": "good", "interface": None} | store for item in EVERY[:2]]
    plan = build_plan(catalog, *stores, pools=pools, fabrics=[network])
    return plan, render(plan, "storage")


def test_storage_over_bridged_ethernet_uses_the_bond(catalog: Catalog) -> None:
    """The files named eth0, while bond.sh of the same hosts makes a bond of their links."""
    plan, made = render_over(catalog, BRIDGED)
    scripts = [text for path, text in render(plan, "ethernet").items() if path.endswith("/bond.sh")]
    (bond,) = {line.partition("=")[2] for text in scripts for line in text.splitlines() if line.startswith("bond=")}
    assert f'networks="tcp0({bond})"' in made["scratch/lnet.conf"]
    assert f"net={bond},_netdev" in made["fast/client-fstab.sh"] and f" --net {bond} " in made["fast/backend.sh"]
    assert "eth0" not in "".join(made.values())


def define_interfaces(plan: Plan, fabric: str) -> dict[str, set[str]]:
    """Prefix of host names -> the interfaces that ipoib.sh of the fabric makes there."""
    script = render(plan, "infiniband")[f"{fabric}/ipoib.sh"]
    cases = re.findall(r"^(\S+)-\+\(\[0-9\]\)\)\n.*?ports=\((.*?)\n    \) ;;", script, re.MULTILINE | re.DOTALL)
    return {prefix: set(re.findall(r'"(\w+) ', ports)) for prefix, ports in cases}


def test_hosts_with_fewer_ports_are_given_no_interfaces_that_they_lack(catalog: Catalog) -> None:
    """Servers have two ports on a fabric of one rail, nodes one: LNet on a node failed for want of storage1."""
    plan, made = render_over(catalog, STORAGE_FABRIC | {"rails": 1}, fabric="storage")
    defined = define_interfaces(plan, "storage")
    assert defined["train"] == {"storage0"} and defined["scratch-oss"] == {"storage0", "storage1"}
    files = {
        "scratch/lnet.conf": "train",
        "scratch/lnet-mds.conf": "scratch-mds",
        "scratch/lnet-oss.conf": "scratch-oss",
    }
    for path, prefix in files.items():
        (names,) = re.findall(r'networks="o2ib0\((.*)\)"', made[path])
        assert set(names.split(",")) == defined[prefix], path
    assert "net=storage0,_netdev" in made["fast/client-fstab.sh"]
    assert " --net storage0 storage1 --" in made["fast/backend.sh"], "WEKA's servers use both of their ports"
    assert "copy `lnet-mds.conf` on `scratch-mds-[0001-0002]`, `lnet-oss.conf` on" in made["INSTALL.md"]


@pytest.mark.parametrize("fabric", [STORAGE_FABRIC, ROCE])
def test_the_operator_of_weka_uses_ports_of_the_fabric(catalog: Catalog, fabric: dict[str, Any]) -> None:
    """It got the subnets of the in-band network, and used those ports."""
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 8, "fabrics": ["storage"]}]
    kubernetes = {"kind": "kubernetes", "version": "1.35"}
    over = EVERY[1] | {"fabric": "storage", "interface": None}
    plan = build_plan(catalog, over, pools=pools, fabrics=[fabric], scheduler=kubernetes)
    assert plan.networks
    ports = [str(item.block) for item in plan.networks.subnets if item.fabric == "storage" and item.role == "rail"]
    for item in yaml.safe_load_all(render(plan, "storage")["fast/operator.yaml"]):
        assert item["spec"]["network"]["deviceSubnets"] == ports


def test_servers_use_all_routed_ports_if_nodes_have_fewer(catalog: Catalog) -> None:
    """Half of the servers' network was unused: their files had only the interfaces of nodes."""
    _, made = render_over(catalog, ROCE | {"rails": 1}, fabric="storage")
    assert (
        " --net storage0 storage1 --" in made["fast/backend.sh"]
        and "net=storage0,_netdev" in made["fast/client-fstab.sh"]
    )
    assert 'o2ib0(storage0)"' in made["scratch/lnet.conf"]
    assert 'o2ib0(storage0,storage1)"' in made["scratch/lnet-oss.conf"]


def test_servers_have_a_bond_where_nodes_have_one_link(catalog: Catalog) -> None:
    """The interface of the nodes is unknown, that of the servers is not."""
    single = {"name": "in-band", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn4600c", "rails": 1}
    plan, made = render_over(catalog, single)
    (finding, _) = [item for item in plan.findings if item.check == "storage-interfaces"]
    assert finding.problem.startswith("unknown interface names of clients on in-band")
    assert "(bond0)" in made["scratch/lnet-oss.conf"] and "options lnet" not in made["scratch/lnet.conf"]
    assert " --net bond0 " in made["fast/backend.sh"] and "# no line" in made["fast/fstab"]


def test_weka_in_several_subnets_requires_gateways(catalog: Catalog) -> None:
    """Each port is a /31: without a gateway a client reaches no backend (docs.weka.io, mount options)."""
    routed, _ = render_over(catalog, ROCE, fabric="storage")
    (warning,) = [item for item in routed.findings if item.check == "storage-gateway"]
    assert (warning.level, warning.path) == ("warning", "storage[1].fabric"), "the WEKA store, not Lustre"
    assert "net=<interface>/<address>/31/<gateway>" in warning.hint and "--gateway" in warning.hint
    assert "use an InfiniBand fabric" in warning.hint
    bridged, _ = render_over(catalog, BRIDGED)
    (warning,) = [item for item in bridged.findings if item.check == "storage-gateway"]
    assert "the servers of fast are in a subnet of their own" in warning.problem and "hosts/subnets.csv" in warning.hint
    plan, _ = render_over(catalog, STORAGE_FABRIC, fabric="storage")
    assert not [item for item in plan.findings if item.check == "storage-gateway"]


def test_storage_behind_a_router_is_limited_by_its_links(catalog: Catalog) -> None:
    """Servers for 375 GB/s were ordered behind links of 25 GB/s, of which one carries traffic."""
    few, _ = render_over(catalog, BRIDGED | {"external_links": 2})
    (warning,) = [item for item in few.findings if item.check == "storage-router"]
    assert warning.path == "fabrics[0].external_links" and "1 of 2 external links of" in warning.problem
    for network, store in ((BRIDGED, {}), (STORAGE_FABRIC, {"fabric": "storage"})):
        plan, _ = render_over(catalog, network, **store)
        assert not [item for item in plan.findings if item.check == "storage-router"]


def test_storage_over_roce_uses_the_interface_names_of_the_devices(catalog: Catalog, tmp_path: Path) -> None:
    plan, made = render_over(catalog, ROCE, fabric="storage")
    assert 'networks="o2ib0(storage0,storage1)"' in made["scratch/lnet.conf"]
    assert (
        " --net storage0 storage1 " in made["fast/backend.sh"]
        and "net=storage0,net=storage1," in made["fast/client-fstab.sh"]
    )
    (note,) = {item.problem for item in plan.findings if item.check == "storage-interfaces"}
    assert "flash-24" in note and "dgx-h100" not in note and "roce-rails.sh" in note
    script = render(plan, "roce")["storage/nodes/train/roce-rails.sh"]
    for device, interface in (("mlx5_7", "ens7f0"), ("mlx5_1", "ens1f0")):
        (tmp_path / "sys/class/infiniband" / device / "device/net" / interface).mkdir(parents=True)
        (tmp_path / "sys/class/net" / interface).mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ip").write_text(f'#!/bin/sh\necho "$@" >>"{tmp_path}/calls"\n')
    (tmp_path / "bin/ip").chmod(0o755)
    (tmp_path / "rails.sh").write_text(script)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "DESTDIR": str(tmp_path)}
    subprocess.run(["bash", tmp_path / "rails.sh", "networkd", "train-0001"], env=environment, capture_output=True)
    assert (tmp_path / "calls").read_text().splitlines() == [
        "link set dev ens7f0 down",
        "link set dev ens7f0 name storage0",
        "link set dev ens1f0 down",
        "link set dev ens1f0 name storage1",
    ]


def test_files_with_names_of_hosts_need_the_addresses_of_the_interfaces(catalog: Catalog) -> None:
    """Storage Scale's files have names on the network: their addresses are set by ipoib.sh, as those of the others."""
    stores = [item | {"fabric": "storage", "interface": None, "servers": {"machine": "flash-24"}} for item in EVERY[:3]]
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["storage"]}]
    plan = build_plan(catalog, *stores, pools=pools, fabrics=[STORAGE_FABRIC])
    found = [(item.level, item.path) for item in plan.findings if item.check == "storage-interfaces"]
    assert found == [("note", "storage[0]"), ("note", "storage[1]"), ("note", "storage[2]")]


@pytest.mark.parametrize("fabrics", [[], [BRIDGED | {"role": "management", "switch": "nvidia-sn2201"}]])
def test_unknown_interfaces_are_not_guessed(catalog: Catalog, tmp_path: Path, fabrics: list[dict[str, Any]]) -> None:
    """Where nothing of the plan gives a name, the scripts stop and say so."""
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 8, "fabrics": [item["name"] for item in fabrics]}]
    stores = [item | {"capacity": "200 TiB", "tier": "good", "interface": None} for item in EVERY[:2]]
    plan = build_plan(catalog, *stores, pools=pools, fabrics=fabrics)
    found = [(item.level, item.path) for item in plan.findings if item.check == "storage-interfaces"]
    assert found == [("warning", "storage[0].interface"), ("warning", "storage[1].interface")]
    made = render(plan, "storage")
    assert "eth0" not in "".join(made.values()) and "options lnet" not in made["scratch/lnet.conf"]
    assert all(line.startswith("#") for line in made["fast/fstab"].splitlines())
    (tmp_path / "backend.sh").write_text(made["fast/backend.sh"])
    done = subprocess.run(["bash", tmp_path / "backend.sh"], capture_output=True, text=True)
    assert done.returncode == 1 and "set storage[1].interface" in done.stderr
    (install,) = [line for line in made["scratch/lnet.conf"].splitlines() if line.startswith("install lnet ")]
    done = subprocess.run(["sh", "-c", install.removeprefix("install lnet ")], capture_output=True, text=True)
    assert done.returncode == 1 and "set storage[0].interface" in done.stderr


def name_server_devices(plan: Plan) -> Plan:
    """The plan as if the catalog had the devices of the servers."""
    (fabric,) = plan.fabrics
    services = tuple(replace(item, devices=("mlx5_0", "mlx5_2")) for item in fabric.services)
    return replace(plan, fabrics=(replace(fabric, services=services),))


def test_scale_uses_rdma_over_the_fabric(catalog: Catalog) -> None:
    """Servers and clients use it; RoCE needs the connection manager, plain Ethernet has none of it."""
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["storage"]}]
    roce = STORAGE_FABRIC | {"kind": "roce", "switch": "nvidia-sn5600"}
    for fabric, manager in ((STORAGE_FABRIC, ""), (roce, ",verbsRdmaCm=enable")):
        plan = build_plan(catalog, EVERY[2] | {"fabric": "storage"}, pools=pools, fabrics=[fabric])
        made = render(plan, "storage")
        settings = f"verbsRdma=enable,verbsRdmaSend=yes{manager},verbsPorts="
        assert f"mmchconfig '{settings}mlx5_7/1 mlx5_1/1' -N train.clients\n" in made["proj/clients.sh"]
        assert "verbs" not in made["proj/create.sh"] and "# without RDMA: the devices" in made["proj/create.sh"]
        (problem,) = [item.problem for item in plan.findings if item.check == "storage-interfaces"]
        assert problem.endswith("and proj does not use RDMA")
        known = render(name_server_devices(plan), "storage")["proj/create.sh"]
        assert f"mmchconfig '{settings}mlx5_0/1 mlx5_2/1' -N all\n" in known
    assert "verbs" not in render(build_plan(catalog, EVERY[2]), "storage")["proj/create.sh"]
