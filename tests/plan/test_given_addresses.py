"""Addresses of hosts that exist: they are in every file, and those that cannot be are reported with their place."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from plan.network_plans import get_networks
from plan.test_resolve import plan_spec

from supercloud.errors import InputError, SpecError
from supercloud.plan.model.plan import Plan
from supercloud.primitives.address_lists import GivenAddresses, parse_address_list
from supercloud.primitives.addresses import AddressRun, Block, allocate_blocks
from supercloud.spec.loader import load
from supercloud.targets import render

SUBNET = "10.1.4.0/22"
ADDRESSES = "10.1.4.240-10.1.5.18,10.1.4.9"


def build_pool(addresses: Any, nodes: int, name: str = "train", **more: Any) -> dict[str, Any]:
    given = {"subnet": SUBNET, "addresses": addresses} | more
    return {"name": name, "machine": "dgx-h100", "nodes": nodes, "hosts": {"in_band": given}}


def plan_pools(*pools: dict[str, Any], **more: Any) -> Plan:
    return plan_spec(pools=list(pools), fabrics=[], storage=[], tenants=[], **more)


@pytest.mark.parametrize(
    "text, count, folded",
    [
        ("10.1.4.11-10.1.4.74", 64, "10.1.4.[11-74]"),
        ("10.1.4.250-10.1.5.3,10.1.4.9", 11, "10.1.4.[250-255],10.1.5.[0-3],10.1.4.9"),
        ("10.1.4.9, 10.1.4.7", 2, "10.1.4.9,10.1.4.7"),
    ],
)
def test_lists_keep_their_order(text: str, count: int, folded: str) -> None:
    numbers = parse_address_list(text, 100)
    run = AddressRun(Block(SUBNET), 0, len(numbers), GivenAddresses.from_addresses(numbers))
    assert (len(numbers), str(run)) == (count, folded)
    assert [int(Block(f"{run[index]}/32").network_address) for index in range(count)] == numbers
    assert all(run[index] in run for index in range(count)) and "10.1.4.1" not in run
    part = run.slice(1, count)
    assert part[0] == run[1] and run[0] not in part and run[count - 1] in part


@pytest.mark.parametrize(
    "text, reason",
    [
        ("10.1.4.300", "is not an IPv4 address or a range"),
        ("10.1.4.9-7", "is not an IPv4 address or a range"),
        ("10.1.4.9-10.1.4.7", "ends before it begins"),
        ("10.0.0.0-10.255.0.0", "more than 100 addresses"),
        ("", "is not an IPv4 address or a range"),
    ],
)
def test_wrong_lists_are_rejected(text: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        parse_address_list(text, 100)
    assert reason in str(error.value)


def test_a_list_has_an_address_per_node(tmp_path: Path) -> None:
    spec = {"name": "a", "site": {"kind": "onprem", "location": "stockholm"}}
    spec |= {"scheduler": {"kind": "slurm", "version": "25.11"}, "pools": [build_pool("10.1.4.1-10.1.4.3", 4)]}
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump(spec))
    with pytest.raises(SpecError) as error:
        load(tmp_path / "cluster.yaml")
    (found,) = error.value.findings
    assert (found.path, found.hint) == ("pools[0].hosts.in_band.addresses", "list 4 addresses")
    assert "3 addresses, but the pool has 4 nodes" in found.problem and found.line > 1


def test_files_have_the_addresses() -> None:
    pool = build_pool("10.1.4.11-10.1.4.14", 4, gateway="10.1.4.1")
    pool["hosts"] |= {"names": "gpu[1-4]", "bmc": {"subnet": "172.20.0.0/24", "addresses": "172.20.0.1-172.20.0.4"}}
    other = build_pool(["10.1.4.31", "10.1.4.33"], 2, "dev")
    plan = plan_pools(pool, other, {"name": "more", "machine": "dgx-h100", "nodes": 2})
    assert not plan.errors
    assert "NodeName=gpu[1-4] NodeAddr=10.1.4.[11-14]" in render(plan, "slurm")["slurm.conf"]
    assert "NodeAddr=10.1.4.31,10.1.4.33" in render(plan, "slurm")["slurm.conf"]
    hosts = render(plan, "hosts").files
    texts = "\n".join(item if isinstance(item, str) else item.text for item in hosts.values())
    assert "10.1.4.12" in texts and "172.20.0.2" in texts and "10.1.4.33" in texts
    subnets = {item.name: item for item in get_networks(plan).subnets}
    assert str(subnets["in-band-train"].block) == SUBNET and subnets["in-band-train"].gateway == "10.1.4.1"
    assert subnets["in-band-train"].hosts == 6 and "in-band-dev" not in subnets
    assert subnets["bmc-train"].gateway == "172.20.0.254"
    assert not subnets["in-band-more"].block.overlaps(Block(SUBNET))


@pytest.mark.parametrize(
    "pools, path, problem",
    [
        (
            [build_pool("10.2.0.1-10.2.0.2", 2)],
            "addresses",
            "10.2.0.1 is not an address for hosts in 10.1.4.0-10.1.7.255",
        ),
        ([build_pool("10.1.4.0-10.1.4.1", 2)], "addresses", "10.1.4.0 is not an address for hosts"),
        ([build_pool("10.1.4.254", 1)], "addresses", "10.1.4.254 is the gateway of the subnet"),
        ([build_pool("10.1.4.9", 1, gateway="10.1.9.1")], "addresses", "the gateway 10.1.9.1 is not in 10.1.4.0/22"),
        ([build_pool("10.1.4.9,10.1.4.9", 2)], "addresses", "10.1.4.9 is also an address of train"),
        ([build_pool("10.1.4.9", 1, "dev"), build_pool("10.1.4.9", 1)], "addresses", "is also an address of dev"),
        ([build_pool("100.64.0.9", 1, subnet="100.64.0.0/10")], "subnet", "overlaps 100.64."),
    ],
)
def test_addresses_that_cannot_be_are_reported(pools: list[dict[str, Any]], path: str, problem: str) -> None:
    plan = plan_pools(*pools)
    found = [item for item in plan.findings if item.check == "given-addresses"]
    assert found[0].path == f"pools[{len(pools) - 1}].hosts.in_band.{path}" and problem in found[0].problem


def test_a_subnet_must_be_a_network() -> None:
    plan = plan_pools(build_pool("10.1.4.9", 1, subnet="10.1.4.9/22"))
    assert [item.path for item in plan.errors] == ["pools[0].hosts.in_band.subnet"]


def test_the_address_of_a_controller_is_not_that_of_a_node() -> None:
    scheduler = {"kind": "slurm", "version": "25.11", "controllers": [{"name": "head", "address": "10.1.4.12"}]}
    plan = plan_pools(build_pool("10.1.4.11-10.1.4.14", 4), scheduler=scheduler)
    (found,) = [item for item in plan.findings if item.check == "service-hosts"]
    assert "10.1.4.12 is the address of one of train-[0001-0004]" in found.problem


def test_blocks_that_are_taken_are_skipped() -> None:
    blocks = allocate_blocks("10.0.0.0/16", {"a": 200, "b": 200}, [Block("10.0.0.0/20"), Block("10.0.64.0/18")])
    assert all(
        not block.overlaps(Block(taken)) for block in blocks.values() for taken in ("10.0.0.0/20", "10.0.64.0/18")
    )
    with pytest.raises(InputError, match="too few"):
        allocate_blocks("10.0.0.0/24", {"a": 1}, [Block("10.0.0.128/25")])


def test_a_subnet_of_management_ports_is_not_in_the_in_band_network() -> None:
    pool = {"name": "train", "machine": "dgx-h100", "nodes": 2}
    pool["hosts"] = {"bmc": {"subnet": "10.9.0.0/24", "addresses": "10.9.0.1-10.9.0.2"}}
    (found,) = plan_pools(pool).errors
    assert (found.check, found.path) == ("network-overlap", "pools[0].hosts.bmc.subnet")
    assert not plan_pools(pool, network={"cidr": "10.1.0.0/16"}).errors


def test_the_domain_of_a_node_has_the_addresses(tmp_path: Path) -> None:
    pool = {"name": "train", "machine": "dgx-gb200", "nodes": 36, "reserve": {"cores": 2}}
    pool["hosts"] = {"names": "n[1-36]", "in_band": {"subnet": SUBNET, "addresses": ADDRESSES, "gateway": "10.1.4.1"}}
    plan = plan_pools(pool, scheduler={"kind": "slurm", "version": "26.05"})
    file = tmp_path / "imex.sh"
    file.write_text(render(plan, "slurm").files["imex-config.sh"].text)  # type: ignore[union-attr]
    for host, first in (("n1", 0), ("n36", 18)):
        found = subprocess.run(["bash", file, "show", host], capture_output=True, text=True, check=True).stdout.split()
        assert found == [plan.pools[0].addresses[number] for number in range(first, first + 18)]
