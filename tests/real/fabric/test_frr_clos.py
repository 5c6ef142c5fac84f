"""The rendered FRR configuration with real daemons: every loopback over all equal paths, and the loss of a spine.

Two underlays run: the two planes of rails of the example, and a small Clos of three tiers with two pods. The expected
routes are computed from the wiring of the plan.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import frr_lab
import frr_tools
import pytest

import supercloud as sc
from supercloud.plan.model.plan import Plan
from supercloud.primitives.nodes import HostSet
from supercloud.targets.site.roce.nodes import has_joined_rails

ROOT = Path(__file__).resolve().parents[3]

CLOS = """\
name: clos
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-h100, nodes: 8, fabrics: [compute]}]
fabrics:
  - name: compute
    kind: roce
    shape: clos
    switch: lab-8
    os: frr
    rails: 1
    su: 2
    leaf_up: 3
    racks_per_pod: 2
"""
STORAGE = """\
catalog: catalog
storage:
  - {name: fast, kind: lustre, capacity: 50 TB, mount: /fast, fabric: compute, servers: {machine: lab-store, count: 2}}
  - {name: slow, kind: nfs, capacity: 50 TB, mount: /slow, fabric: compute, servers: {machine: lab-half, count: 2}}
"""
STORE = """\
name: {name}
title: A storage server for the laboratory
source: [this test]
vendor: Lab
provider: onprem
cpu: {{arch: x86_64, sockets: 2, cores_per_socket: 32, threads_per_core: 2}}
memory: 512 GB
adapters: [{{role: storage, kind: ethernet, count: {count}, speed: {speed} Gb/s, cage: qsfp112}}]
disks: [{{role: scratch, kind: nvme, count: 24, size: 15.36 TB}}]
power: 1.6 kW
body: {{units: 2, weight: 40 kg}}
heat: {{methods: [air]}}
"""
SWITCH = """\
name: lab-8
title: Eight ports for the laboratory
source: [this test]
vendor: Lab
kind: ethernet
cages: 8
modes: [{ports: 8, speed: 400 Gb/s}]
"""


@pytest.fixture(scope="module", autouse=True)
def _parts() -> None:
    frr_tools.install_debian_packages(
        ("/usr/lib/frr/bgpd", "frr"), ("ip", "iproute2"), ("ping", "iputils-ping"), ("sysctl", "procps")
    )


@pytest.fixture(scope="module")
def clos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[frr_lab.Lab]:
    folder = tmp_path_factory.mktemp("clos")
    (folder / "catalog" / "switches").mkdir(parents=True)
    (folder / "catalog" / "switches" / "lab-8.yaml").write_text(SWITCH)
    yield from _start_lab(_add_storage(folder, CLOS), [0, 3, 7])


@pytest.fixture(scope="module")
def planes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[frr_lab.Lab]:
    folder = tmp_path_factory.mktemp("planes") / "spec"
    shutil.copytree(ROOT / "examples/06-roce-small", folder)
    yield from _start_lab(_add_storage(folder, (folder / "cluster.yaml").read_text()), [0, 15])


def _add_storage(folder: Path, spec: str) -> Plan:
    """Add storage servers: two with a port of full speed to each of two leaves, two with one port of a splitter."""
    (folder / "catalog" / "machines").mkdir(parents=True, exist_ok=True)
    for name, count, speed in (("lab-store", 2, 400), ("lab-half", 1, 200)):
        text = STORE.format(name=name, count=count, speed=speed)
        (folder / "catalog" / "machines" / f"{name}.yaml").write_text(text)
    (folder / "cluster.yaml").write_text(spec + STORAGE)
    return sc.resolve(sc.load(folder / "cluster.yaml"))


def _start_lab(plan: Plan, nodes: list[int]) -> Iterator[frr_lab.Lab]:
    assert not plan.errors, plan.errors
    assert plan.networks is not None
    hosts = list(HostSet(tuple(pool.hosts for pool in plan.pools)))
    with frr_lab.start_lab(plan, plan.networks.underlays[0], {hosts[node]: node for node in nodes}) as lab:
        bundle = sc.render(plan, "roce")
        fabric = lab.underlay.fabric
        for name in lab.nodes:  # the script of the nodes sets their addresses and routes
            script = lab.folder / f"{name}.sh"
            script.write_text(bundle[f"{fabric}/nodes/{plan.pools[0].name}/roce-rails.sh"])
            lab.run_in(name, "bash", str(script), "ip", name)
        for end in lab.ends:  # as does the script of the servers
            script = lab.folder / f"{end.host}.sh"
            if not script.exists():
                script.write_text(bundle[f"{fabric}/servers/{end.links.name}/roce-rails.sh"])
                lab.run_in(end.host, "bash", str(script), "ip", end.host)
        yield lab


RANK = {"leaf": 0, "spine": 1, "core": 2}


def compute_distances(lab: frr_lab.Lab, other: str, without: str) -> tuple[dict[str, int], dict[str, int]]:
    """Distances to a switch from all others: downwards only, and upwards first. A path never goes down and up again,
    because the spines of a pod share an AS number and so reject each other's routes.
    """
    links = {
        name: {peer.switch for peer in view.peer_ports} - {without}
        for name, view in lab.views.items()
        if name != without
    }
    rank = {name: RANK[view.run.tier.name] for name, view in lab.views.items()}
    down, edge = {other: 0}, [other]
    while edge:
        higher = {peer: down[name] + 1 for name in edge for peer in links[name] if rank[peer] > rank[name]}
        edge = [name for name in higher if name not in down]
        down |= {name: higher[name] for name in edge}
    up = dict(down)
    for name in sorted(links, key=lambda item: -rank[item]):
        ways = [up[peer] + 1 for peer in links[name] if rank[peer] > rank[name] and peer in up]
        if ways:
            up[name] = min([*ways, up.get(name, 99)])
    return down, up


def count_paths(lab: frr_lab.Lab, one: str, down: dict[str, int], up: dict[str, int], without: str) -> int:
    """The number of links of a switch that begin a shortest path, by the graph of the plan."""
    if one not in up:
        return 0
    rank = {name: RANK[view.run.tier.name] for name, view in lab.views.items()}
    return sum(
        1
        for peer in lab.views[one].peer_ports
        if peer.switch != without and (up if rank[peer.switch] > rank[one] else down).get(peer.switch) == up[one] - 1
    )


def count_next_hops(lab: frr_lab.Lab, name: str, prefix: str) -> int:
    """The number of next hops of a route in the kernel."""
    found = json.loads(lab.run_in(name, "ip", "-j", "route", "show", prefix) or "[]")
    if not found:
        return 0
    return len(found[0]["nexthops"]) if "nexthops" in found[0] else 1


def find_wrong_routes(lab: frr_lab.Lab, without: str = "") -> list[str]:
    """Loopbacks whose number of next hops on a switch is not that of the wiring."""
    wrong = []
    distances = {other: compute_distances(lab, other, without) for other in lab.views if other != without}
    for one in distances:
        routes = {
            item["dst"]: len(item.get("nexthops", [0]))
            for item in json.loads(lab.run_in(one, "ip", "-j", "route", "show", "table", "main"))
        }
        for other, (down, up) in distances.items():
            if other != one:
                wanted = count_paths(lab, one, down, up, without)
                found = routes.get(lab.views[other].loopback, 0)
                if found != wanted:
                    wrong.append(f"{one} to {other}: {found} next hops, not {wanted}")
    return wrong


def find_closed_sessions(lab: frr_lab.Lab) -> list[str]:
    """Sessions that are not established."""
    wrong = []
    for name in lab.views:
        peers = json.loads(lab.run_vtysh(name, "show bgp ipv4 unicast summary json"))["peers"]
        if len(peers) != len(lab.views[name].peer_ports):
            wrong.append(f"{name}: {len(peers)} sessions")
        wrong += [f"{name} {port}: {peer['state']}" for port, peer in peers.items() if peer["state"] != "Established"]
    return wrong


@pytest.mark.parametrize("which", ["clos", "planes"])
def test_every_loopback_is_reached_over_all_paths(which: str, request: pytest.FixtureRequest) -> None:
    lab = request.getfixturevalue(which)
    frr_lab.wait_until_right("every session is up", lambda: find_closed_sessions(lab)[:5])
    took = frr_lab.wait_until_right("every loopback is reached over all paths", lambda: find_wrong_routes(lab)[:5])
    print(
        f"{which}: {len(lab.views)} switches, "
        f"{sum(len(view.peer_ports) for view in lab.views.values()) // 2} links, {took:.1f} s"
    )


@pytest.mark.parametrize("which", ["clos", "planes"])
def test_a_node_reaches_every_rail_of_another(which: str, request: pytest.FixtureRequest) -> None:
    lab = request.getfixturevalue(which)
    rails = lab.underlay.rails
    nodes = list(lab.nodes.items())
    (one, first), (_, last) = nodes[0], nodes[-1]
    frr_lab.wait_until_right("all routes exist", lambda: find_wrong_routes(lab)[:5])
    for here in rails.iter_links(first):
        for there in rails.iter_links(last):
            if here.plane == there.plane and (lab.underlay.wiring.tiers[0].count > 8 or here.nic == there.nic):
                lab.run_in(one, "ping", "-c1", "-W2", "-I", here.address, there.address)
    if lab.underlay.wiring.planes > 1:  # planes are not connected
        here, there = rails.build_link(first, 0, 0), rails.build_link(last, 0, 1)
        with pytest.raises(AssertionError):
            lab.run_in(one, "ping", "-c1", "-W1", "-I", here.address, there.address)


def find_wrong_server_routes(lab: frr_lab.Lab, without: str = "") -> list[str]:
    """Ports of storage servers whose number of next hops on a leaf is not that of the wiring."""
    wrong = []
    leaves = {view.index: name for name, view in lab.views.items() if view.run.tier.name == "leaf"}
    distances = {leaf: compute_distances(lab, leaves[leaf], without) for leaf in {end.leaf for end in lab.ends}}
    for one in leaves.values():
        routes = {
            item["dst"]: len(item.get("nexthops", [0]))
            for item in json.loads(lab.run_in(one, "ip", "-j", "route", "show", "table", "main"))
        }
        for end in lab.ends:
            if leaves[end.leaf] != one:
                wanted = count_paths(lab, one, *distances[end.leaf], without)
                found = routes.get(f"{end.gateway}/31", 0)
                if found != wanted:
                    wrong.append(f"{one} to {end.name} {end.address}: {found} next hops, not {wanted}")
    return wrong


@pytest.mark.parametrize("which", ["clos", "planes"])
def test_a_storage_server_is_reached_over_all_paths(which: str, request: pytest.FixtureRequest) -> None:
    lab = request.getfixturevalue(which)
    assert len(lab.ends) == 4 * 2 + 2 and {end.lane for end in lab.ends} == {0, 1, 2}
    frr_lab.wait_until_right("every server's port is reached over all paths", lambda: find_wrong_server_routes(lab)[:5])
    hosts = {line.split()[2]: line.split()[0] for line in sc.render(lab.plan, "hosts")["hosts"].splitlines()[3:]}
    rails = lab.underlay.rails
    for name, node in lab.nodes.items():
        for end in lab.ends:
            assert hosts[end.name] == end.address
            here = next(link for link in rails.iter_links(node) if link.plane == end.plane)
            lab.run_in(name, "ping", "-c1", "-W2", "-I", here.address, end.address)
            lab.run_in(end.host, "ping", "-c1", "-W2", "-I", end.address, here.address)
            if has_joined_rails(lab.underlay):  # without a source address, as storage clients connect
                lab.run_in(name, "ping", "-c1", "-W2", end.address)
                lab.run_in(end.host, "ping", "-c1", "-W2", here.address)
    others = [end for end in lab.ends if end.plane == lab.ends[0].plane and end.host != lab.ends[0].host]
    for end in others:  # servers also copy to each other
        lab.run_in(lab.ends[0].host, "ping", "-c1", "-W2", "-I", lab.ends[0].address, end.address)


@pytest.mark.parametrize("which", ["clos", "planes"])
def test_leaves_announce_one_prefix(which: str, request: pytest.FixtureRequest) -> None:
    lab = request.getfixturevalue(which)
    leaves = [view for view in lab.views.values() if view.prefix]
    seen = json.loads(lab.run_in(leaves[0].name, "ip", "-j", "route", "show", "proto", "bgp"))
    far = {item["dst"] for item in seen}
    for leaf in leaves[1:]:
        if leaf.run.find_position(leaf.index)[0] == 0:
            assert str(leaf.prefix) in far
            assert not any(f"{node.address}/31" in far for node in leaf.host_ports if node.host not in lab.servers)


def test_the_fabric_survives_the_loss_of_a_spine(clos: frr_lab.Lab) -> None:
    frr_lab.wait_until_right("all routes exist", lambda: find_wrong_routes(clos)[:5])
    nodes = list(clos.nodes.items())
    (one, first), (_, last) = nodes[0], nodes[-1]
    here, there = clos.underlay.rails.build_link(first, 0), clos.underlay.rails.build_link(last, 0)
    spine = next(name for name, view in clos.views.items() if view.run.tier.name == "spine")
    before = count_next_hops(clos, clos.views[get_first_leaf(clos)].name, clos.views[get_last_leaf(clos)].loopback)
    pinging = subprocess.Popen(
        [
            "ip",
            "netns",
            "exec",
            clos.tag + one,
            "ping",
            "-i",
            "0.2",
            "-c",
            "60",
            "-W",
            "1",
            "-I",
            here.address,
            there.address,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    clos.stop_switch(spine)

    def find_wrong() -> list[str]:
        return (find_wrong_routes(clos, without=spine) + find_wrong_server_routes(clos, without=spine))[:5]

    frr_lab.wait_until_right("routes avoid the spine", find_wrong)
    after = count_next_hops(clos, get_first_leaf(clos), clos.views[get_last_leaf(clos)].loopback)
    clos.start_switch(spine)
    frr_lab.wait_until_right(
        "routes over the spine exist again", lambda: (find_wrong_routes(clos) + find_wrong_server_routes(clos))[:5]
    )
    out, _ = pinging.communicate(timeout=60)
    received = int(out.split(" received")[0].split(", ")[-1])
    assert (before, after) == (3, 2)
    assert received >= 54, out[-300:]


def get_first_leaf(lab: frr_lab.Lab) -> str:
    return next(name for name, view in lab.views.items() if view.run.tier.name == "leaf")


def get_last_leaf(lab: frr_lab.Lab) -> str:
    return [name for name, view in lab.views.items() if view.run.tier.name == "leaf"][-1]
