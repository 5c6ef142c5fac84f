"""Who is root on FSx for OpenZFS: the controller, which makes homes, and no other machine of a Slurm cluster."""

from __future__ import annotations

import pytest
from offline.graph import Graph
from programs import record_small_spec

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning"),
]
OPENZFS = "aws:fsx/openZfsFileSystem:OpenZfsFileSystem"
INTERFACE = "aws:ec2/networkInterface:NetworkInterface"
HOST = "aws:ec2/instance:Instance"
HOME = {"name": "home", "kind": "nfs", "capacity": "1 TiB", "mount": "/home", "throughput": {"read": "160 MB/s"}}
LOGIN = {"kind": "slurm", "version": "25.11", "login": {"count": 1, "public": True}}
ROOT, OTHERS = ["rw", "crossmnt", "no_root_squash"], ["rw", "crossmnt", "root_squash"]


def list_clients(found: Graph) -> list[tuple[str, list[str]]]:
    listed = found.one(OPENZFS).inputs["rootVolumeConfiguration"]["nfsExports"]["clientConfigurations"]
    return [(item["clients"], item["options"]) for item in listed]


def test_only_the_controller_is_root_on_homes() -> None:
    found = record_small_spec(storage=[HOME], scheduler=LOGIN)
    assert list_clients(found) == [("prod-ctl1-interface-privateIp", ROOT), ("*", OTHERS)]
    controller, login = (found.one(HOST, f"prod-{name}").inputs for name in ("ctl1", "login"))
    assert controller["primaryNetworkInterface"] == {"networkInterfaceId": "prod-ctl1-interface-id"}
    assert not {"subnetId", "vpcSecurityGroupIds"} & controller.keys()  # AWS rejects them with an interface
    assert "primaryNetworkInterface" not in login and login["subnetId"]
    interface = found.one(INTERFACE).inputs
    assert interface["securityGroups"] == ["prod-cluster-sg-id"]
    assert interface["subnetId"] == "prod-private-us-east-1a-id"


def test_file_systems_share_the_interface_of_the_controller() -> None:
    found = record_small_spec(storage=[HOME, HOME | {"name": "shared", "mount": "/shared"}])
    assert len(found.of_type(INTERFACE)) == 1 and len(found.of_type(OPENZFS)) == 2
    for system in found.of_type(OPENZFS):
        listed = system.inputs["rootVolumeConfiguration"]["nfsExports"]["clientConfigurations"]
        assert [item["clients"] for item in listed] == ["prod-ctl1-interface-privateIp", "*"]


@pytest.mark.parametrize("storage", [[], [{"name": "home", "kind": "nfs", "product": "efs", "mount": "/home"}]])
def test_without_openzfs_controllers_get_their_address_with_the_machine(storage: list[object]) -> None:
    found = record_small_spec(storage=storage)
    assert not found.of_type(INTERFACE)
    assert found.one(HOST, "prod-ctl1").inputs["subnetId"] == "prod-private-us-east-1a-id"


def test_pods_are_root_in_the_directories_of_their_tenant() -> None:
    found = record_small_spec(
        storage=[HOME],
        scheduler={"kind": "kubernetes", "version": "1.35"},
        site={"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a", "us-east-1b"]},
    )
    assert list_clients(found) == [("*", ROOT)]
