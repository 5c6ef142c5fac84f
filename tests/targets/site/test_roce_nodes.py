"""Scripts of nodes on a RoCE fabric: addresses, routes and names of interfaces."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec
from roce_plans import build_plan
from samples import ROOT

from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import render
from supercloud.targets.site.roce.nodes import list_reachable_blocks

pytestmark = pytest.mark.slow


def test_nodes_compute_the_addresses_of_the_plan(tmp_path: Any) -> None:
    for plan in (
        build_plan("frr"),
        build_plan("frr", planes=2),
        resolve(load(ROOT / "examples/04-roce-24k/cluster.yaml")),
    ):
        assert plan.networks is not None
        (underlay,) = plan.networks.underlays
        script = tmp_path / "rails.sh"
        script.write_text(render(plan, "roce")["compute/nodes/train/roce-rails.sh"])
        hosts = list(plan.pools[0].hosts)
        for node in (0, 1, len(hosts) // 2 + 1, len(hosts) - 1):
            out = subprocess.run(["bash", str(script), "show", hosts[node]], capture_output=True, text=True, check=True)
            lines = [(int(item[0]), int(item[1]), item[3], item[5]) for item in map(str.split, out.stdout.splitlines())]
            assert lines == [
                (link.plane, link.nic, f"{link.address}/31", link.gateway) for link in underlay.rails.iter_links(node)
            ]
        for stranger in ("train-9999", "train-2-0001"):
            refused = subprocess.run(["bash", str(script), "show", stranger], capture_output=True, text=True)
            assert refused.returncode == 2 and str(plan.pools[0].hosts) in refused.stderr


def test_missing_interfaces_get_no_address(tmp_path: Any) -> None:
    """The file of the first interface was written before the script ended at /proc/sys."""
    script = tmp_path / "rails.sh"
    script.write_text(render(build_plan("frr"), "roce")["compute/nodes/train/roce-rails.sh"])
    environment = {"PATH": "/usr/bin:/bin", "DESTDIR": str(tmp_path)}
    done = subprocess.run(
        ["bash", str(script), "networkd", "train-0001"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1 and "rail0 does not exist" in done.stderr, done.stderr
    assert "rail7" in done.stderr, "all that are missing are named at once"
    assert list(tmp_path.iterdir()) == [script]


def run_rails(tmp_path: Path, script: str, how: str, host: str) -> None:
    """Run roce-rails.sh below a folder; ``ip`` records its arguments in ``calls``."""
    names = re.findall(r'^ +"\d+ \d+ (\S+) ', script, re.M)
    for folder in (
        "etc/systemd/network",
        "bin",
        *(f"sys/class/net/{name}" for name in names),
        *(f"proc/sys/net/ipv4/conf/{name}" for name in names),
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for program in ("ip", "networkctl"):
        (tmp_path / "bin" / program).write_text(f'#!/bin/sh\necho "{program} $@" >>"{tmp_path}/calls"\n')
        (tmp_path / "bin" / program).chmod(0o755)
    (tmp_path / "rails.sh").write_text(script)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "DESTDIR": str(tmp_path)}
    done = subprocess.run(["bash", tmp_path / "rails.sh", how, host], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("planes", [1, 2])
def test_programs_without_a_bound_address_reach_the_fabric(planes: int, tmp_path: Path) -> None:
    """Its block was in the tables of single addresses only: clients of storage went to the in-band router."""
    plan = build_plan("frr", planes=planes)
    assert plan.networks is not None
    (underlay,) = plan.networks.underlays
    assert not underlay.wiring.has_disjoint_rails
    script = render(plan, "roce")["compute/nodes/train/roce-rails.sh"]
    run_rails(tmp_path, script, "ip", "train-0001")
    calls = (tmp_path / "calls").read_text().splitlines()
    links = list(underlay.rails.iter_links(0))
    names = re.findall(r'^ +"\d+ \d+ (\S+) ', script, re.M)
    wanted = []
    for plane in range(planes):
        hops = "".join(
            f" nexthop via {link.gateway} dev {name}"
            for link, name in zip(links, names, strict=True)
            if link.plane == plane
        )
        wanted += [f"ip route replace {block}{hops}" for block in list_reachable_blocks(underlay, plane)]
    assert [call for call in calls if call.startswith("ip route") and " table " not in call] == wanted
    run_rails(tmp_path, script, "networkd", "train-0001")
    for link, name in zip(links, names, strict=True):
        routes = (tmp_path / f"etc/systemd/network/50-roce-{name}.network").read_text().split("[Route]")[1:]
        (spread,) = [route for route in routes if "MultiPathRoute" in route]
        assert spread.count("MultiPathRoute=") == len(links) / planes and "Table=" not in spread
        (alone,) = [route for route in routes if "Metric=" in route and "Table=" not in route]  # while one is down
        assert f"Destination={list_reachable_blocks(underlay, link.plane)[0]}\n" in alone
        (closed,) = [route for route in routes if "Type=unreachable" in route]  # what is bound takes no other link
        assert f"Destination={underlay.block}\n" in closed and "Table=" in closed
    ignored = list((tmp_path / "proc/sys/net/ipv4/conf").glob("*/ignore_routes_with_linkdown"))
    assert len(ignored) == len(links)  # or a link without a carrier would keep its share of them
    assert "ip route get <another's address>" in render(plan, "roce")["INSTALL.md"]


def test_programs_must_bind_an_address_if_rails_are_disjoint(tmp_path: Path) -> None:
    fabric = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600", "pod": "rail"}
    plan = plan_spec(pools=build_pools("dgx-h100", 16), fabrics=[fabric])
    assert plan.networks is not None and plan.networks.underlays[0].wiring.has_disjoint_rails
    bundle = render(plan, "roce")
    run_rails(tmp_path, bundle["compute/nodes/train/roce-rails.sh"], "ip", "train-0001")
    calls = (tmp_path / "calls").read_text().splitlines()
    assert not [call for call in calls if call.startswith("ip route") and " table " not in call]
    assert "bind the address" in bundle["INSTALL.md"] and "ip route get" not in bundle["INSTALL.md"]
