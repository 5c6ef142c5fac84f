"""No pod of a tenant reaches a machine, a switch or a service of the site: network policies, evaluated."""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Iterator
from typing import Any

import pytest
from kube_specs import ELSEWHERE, EXAMPLES, VARIANTS, build_plan

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets.schedulers.kubernetes import tenants

Json = dict[str, Any]
OUTSIDE = ("1.1.1.1", "203.0.113.7", "8.8.8.8")
NEVER = (
    "169.254.169.254",
    "169.254.170.23",
    "169.254.169.123",
    "169.254.1.1",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fe80::1",
    "fc00::1",
    "2001:db8::1",
)
NAMES = {53}
ANYWHERE = ({"ipBlock": {"cidr": "0.0.0.0/0"}}, {"ipBlock": {"cidr": "::/0"}})

ALL: dict[str, Json | None] = {path.parent.name: None for path in EXAMPLES}
ALL |= {"onprem": {}, **VARIANTS, **ELSEWHERE}


def build_named_plan(name: str) -> Plan:
    if ALL[name] is None:
        return resolve(load(next(path for path in EXAMPLES if path.parent.name == name)))
    return build_plan(ALL[name])


class Rules:
    """What the policies of a namespace let its pods send to addresses."""

    def __init__(self, items: list[Json]):
        policies = [item["spec"] for item in items if item["kind"] == "NetworkPolicy"]
        assert any(item["podSelector"] == {} and "Egress" in item["policyTypes"] for item in policies), "all is open"
        self.peers = [
            (to["ipBlock"], frozenset(port["port"] for port in rule.get("ports", ())))
            for item in policies
            for rule in item.get("egress", ())
            for to in rule.get("to", ANYWHERE)
            if "ipBlock" in to
        ]

    def ports(self, block: str) -> set[int]:
        """The ports of some address of a block that are open, 0 for all of them."""
        found: set[int] = set()
        asked = ipaddress.ip_network(block)
        for peer, ports in self.peers:
            cidr = ipaddress.ip_network(peer["cidr"])
            if cidr.version != asked.version or not cidr.overlaps(asked):
                continue
            left = [asked] if asked.subnet_of(cidr) else [cidr]  # type: ignore[arg-type]
            for text in peer.get("except", ()):
                left = [part for one in left for part in _subtract(one, ipaddress.ip_network(text))]
            if left:
                found |= ports or {0}
        return found


def _subtract(block: Any, hole: Any) -> list[Any]:
    if not block.overlaps(hole):
        return [block]
    return [] if block.subnet_of(hole) else list(block.address_exclude(hole))


def iter_site_blocks(plan: Plan) -> Iterator[tuple[str, str]]:
    """All devices with an address in a plan."""
    if plan.site.kind == "onprem":
        yield "cluster", plan.network.cidr
        for pool in plan.pools:
            yield pool.name, str(pool.addresses.block)
        for host in plan.scheduler.controllers:
            yield host.name, f"{host.address}/32"
        for group in plan.servers:
            yield group.name, str(group.addresses.block)
    if plan.networks:
        for subnet in plan.networks.subnets:
            yield subnet.name, str(subnet.block)
        for run in plan.networks.bmcs:
            yield f"BMCs of {run.group}", f"{run.addresses[0]}/32"
        for machines in plan.networks.machines:
            if machines.addresses:
                yield machines.name, f"{machines.addresses[0]}/32"
        for switches in plan.networks.switches:
            for index in (0, switches.tier.count - 1):
                yield switches.format_name(index), f"{switches.get_management_address(index)}/32"
                if switches.loopbacks:
                    yield f"loopback of {switches.format_name(index)}", f"{switches.get_loopback(index)}/32"
        for link in plan.networks.servers:
            yield link.name, f"{link.get_address(0, 0)}/32"
        for underlay in plan.networks.underlays:
            yield underlay.fabric, str(underlay.block)
    if plan.cloud:
        for text in plan.cloud.network.cidrs:
            yield "range of the cloud's network", text
        for cloud_subnet in plan.cloud.network.subnets:
            if cloud_subnet.cidr:
                yield cloud_subnet.key, cloud_subnet.cidr
    if plan.site.kind != "onprem" and not (plan.cloud and plan.cloud.network.cidrs):  # a network of others
        for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"):
            yield "private addresses", text
    yield from (("link-local or IPv6", text) for text in NEVER)
    yield "link-local", "169.254.0.0/16"


def check(plan: Plan) -> None:
    assert not plan.errors
    for name, items in tenants.build_files(plan).items():
        rules = Rules(items)
        opened = {f"{what}: {block}" for what, block in iter_site_blocks(plan) if rules.ports(block) - NAMES}
        assert not opened, name
        assert all(rules.ports(address) == {0} for address in OUTSIDE), "the policy closes everything"


@pytest.mark.parametrize("name", ALL)
def test_tenants_reach_no_network_of_the_plan(name: str) -> None:
    check(build_named_plan(name))


@pytest.mark.parametrize("seed", range(12))
def test_tenants_reach_no_network_of_a_random_plan(seed: int) -> None:
    """Wherever the networks lie: public address space and addresses outside of the declared ranges included."""
    pick = random.Random(seed)
    spaces = [
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "130.237.0.0/16",
        "198.18.0.0/15",
        "25.0.0.0/8",
    ]
    cidr, fabrics, management = pick.sample(spaces, 3)
    kind, switch = pick.choice([("infiniband", "nvidia-qm9700"), ("roce", "nvidia-sn5600")])
    own = pick.choice([{}, {"subnet": "141.20.0.0/16"}])
    controllers = [{"name": f"cp{number}", "address": f"192.0.2.{number + 10}"} for number in range(3)]
    scheduler: Json = {"kind": "kubernetes", "version": "1.36"}
    if pick.random() < 0.5:
        scheduler["controllers"] = controllers
    storage = [{"name": "data", "kind": "object", "servers": {"machine": "dgx-h100", "count": 4}}]
    check(
        build_plan(
            {
                "network": {"cidr": cidr, "fabrics": fabrics, "management": management},
                "fabrics": [{"name": "compute", "kind": kind, "shape": "rail-optimized", "switch": switch, **own}],
                "pools": [
                    {"name": "train", "machine": "dgx-h100", "nodes": pick.randint(4, 130), "fabrics": ["compute"]}
                ],
                "storage": storage,
                "scheduler": scheduler,
            }
        )
    )


AWS = VARIANTS["aws"]


@pytest.mark.parametrize(
    "network",
    [
        {"cidr": "172.30.0.0/16"},
        {"cidr": "10.8.0.0/16", "cidrs": ["100.64.0.0/16"]},
        {"cidr": "10.0.0.0/22"},
        {
            "id": "vpc-0123456789abcdef0",
            "subnets": [
                {"id": "subnet-0123456789abcdef0", "zone": "us-east-1a"},
                {"id": "subnet-0123456789abcdef1", "zone": "us-east-1b"},
            ],
        },
    ],
    ids=["declared", "several", "small", "existing"],
)
def test_tenants_on_aws_reach_no_range_of_the_network(network: Json) -> None:
    """The ranges are those of the plan, added ones too; in an existing network, all private ranges."""
    plan = build_plan(AWS | {"network": network})
    for items in tenants.build_files(plan).values():
        rules = Rules(items)
        assert not {f"{what}: {block}" for what, block in iter_site_blocks(plan) if rules.ports(block) - NAMES}
        assert rules.ports("1.1.1.1") == {0}


@pytest.mark.parametrize(
    "name, blocks",
    [
        ("gke", ["34.118.224.0/20"]),
        ("aks", ["168.63.129.16/32"]),
        ("aws", ["10.100.0.0/16", "172.20.0.0/16"]),
    ],
)
def test_tenants_reach_no_local_service_of_the_provider(name: str, blocks: list[str]) -> None:
    for items in tenants.build_files(build_named_plan(name)).values():
        assert not [block for block in blocks if Rules(items).ports(block) - NAMES]


def test_the_rules_are_evaluated_as_kubernetes_does() -> None:
    """A block that is left out in part is open in the other part: without this, the tests above could not fail."""
    spec = {
        "podSelector": {},
        "policyTypes": ["Egress"],
        "egress": [
            {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}]},
            {"to": [{"ipBlock": {"cidr": "10.0.0.10/32"}}], "ports": [{"protocol": "UDP", "port": 53}]},
        ],
    }
    rules = Rules([{"kind": "NetworkPolicy", "spec": spec}])
    assert rules.ports("10.1.0.0/16") == set() and rules.ports("10.0.0.10/32") == {53}
    assert rules.ports("8.0.0.0/6") == {0, 53} and rules.ports("fe80::1/128") == set()
    with pytest.raises(AssertionError, match="all is open"):
        Rules([])
