"""Launch templates on AWS: every network card, each way to get machines, disks, images, metadata."""

from __future__ import annotations

import pytest
from offline.graph import Graph
from programs import SPECS, build_small_spec, get_launch_template, record_small_spec, record_spec

import supercloud as sc

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning"),
]
LAUNCH = "aws:ec2/launchTemplate:LaunchTemplate"
HOST = "aws:ec2/instance:Instance"
P5 = {"name": "train", "machine": "p5.48xlarge", "nodes": 4, "fabrics": ["compute"]}
EFA = [{"name": "compute", "kind": "efa"}]


def list_cards(found: Graph, key: str) -> list[tuple[int, int, str]]:
    listed = get_launch_template(found, key)["networkInterfaces"]
    return [(item["networkCardIndex"], item["deviceIndex"], item["interfaceType"]) for item in listed]


@pytest.mark.parametrize(
    "region, machines",
    [
        # (machine, its EFAs, all its interfaces); the first card of p6-b300 has no EFA
        (
            "us-east-1",
            [
                ("p5.48xlarge", 32, 33),
                ("p5en.48xlarge", 16, 17),
                ("p6-b200.48xlarge", 8, 9),
                ("p6-b300.48xlarge", 16, 17),
            ],
        ),
        ("us-east-2", [("trn2.48xlarge", 16, 17), ("p4d.24xlarge", 4, 5)]),
    ],
)
def test_every_network_card_of_a_machine_is_used(region: str, machines: list[tuple[str, int, int]]) -> None:
    site = {"kind": "aws", "region": region, "zones": [f"{region}a"]}
    pools = [
        {"name": f"pool{index}", "machine": row[0], "nodes": 4, "initial": 0, "fabrics": [f"compute{index}"]}
        for index, row in enumerate(machines)
    ]
    fabrics = [{"name": f"compute{index}", "kind": "efa"} for index in range(len(machines))]
    found = record_small_spec(pools=pools, fabrics=fabrics, site=site)
    for index, (machine, efas, all_interfaces) in enumerate(machines):
        listed = get_launch_template(found, f"pool{index}-on-demand")["networkInterfaces"]
        seen = [(item["networkCardIndex"], item["deviceIndex"], item["interfaceType"]) for item in listed]
        assert len(seen) == len({(card, device) for card, device, _ in seen}) == all_interfaces, machine
        assert seen[0][:2] == (0, 0) and seen[0][2] in ("interface", "efa")
        fast = [card for card, _, kind in seen if kind.startswith("efa")]
        assert len(fast) == len(set(fast)) == efas, machine
        assert all(item.get("associatePublicIpAddress") in (None, "false") for item in listed)
        assert all(item["securityGroups"] == ["prod-cluster-sg-id"] for item in listed)


def test_a_machine_without_a_fabric_has_one_interface() -> None:
    template = get_launch_template(record_small_spec(), "cpu-on-demand")
    assert "networkInterfaces" not in template
    assert template["vpcSecurityGroupIds"] == ["prod-cluster-sg-id"]


BLOCK, RESERVED = "cr-0123456789abcdef0", "cr-0fedcba9876543210"
ODCR = "arn:aws:resource-groups:us-east-1:123456789012:group/odcr"
WAYS = [
    # (way, its market, its reservation, whether a placement group goes with it)
    ({"kind": "reservation", "id": RESERVED}, None, {"capacityReservationId": RESERVED}, False),
    ({"kind": "reservation-group", "id": ODCR}, None, {"capacityReservationResourceGroupArn": ODCR}, False),
    (
        {"kind": "capacity-block", "id": BLOCK},
        {"marketType": "capacity-block"},
        {"capacityReservationId": BLOCK},
        False,
    ),
    (
        {"kind": "spot", "max_price": "40 USD/h"},
        {"marketType": "spot", "spotOptions": {"maxPrice": "40.0000"}},
        None,
        True,
    ),
    ({"kind": "on-demand"}, None, None, True),
]


def test_each_kind_of_capacity_has_its_resources() -> None:
    found = record_small_spec(pools=[{**P5, "capacity": [way for way, *_ in WAYS]}], fabrics=EFA)
    plan = sc.resolve(
        sc.ClusterSpec.model_validate(
            build_small_spec(pools=[{**P5, "capacity": [way for way, *_ in WAYS]}], fabrics=EFA)
        )
    )
    assert plan.cloud is not None
    placed = set()
    for group, (way, market, target, near) in zip(plan.cloud.groups, WAYS, strict=True):
        template = get_launch_template(found, group.key)
        assert template.get("instanceMarketOptions") == market, way
        assert template.get("capacityReservationSpecification", {}).get("capacityReservationTarget") == target, way
        assert bool(template.get("placement")) == near, way
        placed |= {f"prod-{group.key}-placement"} if near else set()
    groups = found.of_type("aws:ec2/placementGroup:PlacementGroup")
    assert {group.name: group.inputs["strategy"] for group in groups} == dict.fromkeys(placed, "cluster")


@pytest.mark.parametrize("name", SPECS)
def test_machines_have_encrypted_disks_and_sessions_for_their_metadata(name: str) -> None:
    found = record_spec(name)
    for entry in found.of_type(LAUNCH):
        if entry.name.endswith("-image"):
            assert set(entry.inputs) == {"imageId", "tags"}
            continue
        assert entry.inputs["metadataOptions"]["httpTokens"] == "required"
        assert all(item["ebs"]["encrypted"] == "true" for item in entry.inputs["blockDeviceMappings"])
    for entry in found.of_type(HOST):
        assert entry.inputs["metadataOptions"]["httpTokens"] == "required"
        assert entry.inputs["rootBlockDevice"]["encrypted"] is True
    assert all(entry.inputs["encrypted"] is True for entry in found.of_type("aws:ebs/volume:Volume"))
    assert all(entry.inputs["encrypted"] is True for entry in found.of_type("aws:efs/fileSystem:FileSystem"))


@pytest.mark.parametrize("key, readable", [("team", "enabled"), ("cost center", "disabled"), ("a/b", "disabled")])
def test_instances_start_with_any_tag_keys(key: str, readable: str) -> None:
    found = record_small_spec(tags={key: "x"})
    assert get_launch_template(found, "cpu-on-demand")["metadataOptions"]["instanceMetadataTags"] == readable
    assert found.one(HOST, "prod-ctl1").inputs["metadataOptions"]["instanceMetadataTags"] == readable


def test_images_can_be_specified_by_identifier() -> None:
    found = record_small_spec(
        site={
            "kind": "aws",
            "region": "us-east-1",
            "zones": ["us-east-1a"],
            "images": {"slurm-cpu-x86": "ami-0123456789abcdef0"},
        }
    )
    assert get_launch_template(found, "cpu-on-demand")["imageId"] == "ami-0123456789abcdef0"
    host = found.one(HOST, "prod-ctl1")
    assert host.inputs["ami"] == "ami-0123456789abcdef0" and "launchTemplate" not in host.inputs
