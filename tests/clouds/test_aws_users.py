"""Users on AWS: an object of their own in the bucket, and the command with which they log in."""

from __future__ import annotations

from typing import Any

import pytest
from answers import EXISTING
from offline.graph import Graph
from offline.recorder import record
from programs import build_program, build_small_spec

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILk2NHE91yzeJqjN0ZydwoKHdXVz9S4UV5nQlWu5XPyN ada"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSKLpMX3J7KcWO5TdtEodfvTzVwfDcTpizXFTJSQ4gF grace"
ADA = {"name": "ada", "uid": 2001, "keys": [KEY]}
GRACE = {"name": "grace", "uid": 2002, "keys": [OTHER], "administrator": True}
PUBLIC = {"kind": "slurm", "version": "25.11", "login": {"count": 1, "public": True}}


def record_users(*users: dict[str, Any], access: bool = True, scheduler: Any = PUBLIC, **args: Any) -> Graph:
    network = {"access": ["203.0.113.0/24"]} if access else {}
    spec = build_small_spec(users=list(users), scheduler=scheduler, network=network)
    return record(build_program(spec=spec, **args), invokes=EXISTING)


def find_changes(one: Graph, two: Graph) -> set[tuple[str, str]]:
    """Type and name of resources of the cloud that differ in any way."""
    assert set(one) == set(two)
    return {(entry.type, entry.name) for urn, entry in one.items() if entry.custom and entry != two[urn]}


@pytest.mark.slow
def test_a_changed_list_of_users_changes_one_object() -> None:
    none, one, both = record_users(), record_users(ADA), record_users(ADA, GRACE)
    changed = {("aws:s3/bucketObjectv2:BucketObjectv2", "prod-users-bundle")}
    assert find_changes(one, both) == find_changes(none, one) == changed
    assert find_changes(both, record_users(ADA, GRACE | {"administrator": False})) == changed
    assert one.one("aws:s3/bucketObjectv2:BucketObjectv2", "prod-users-bundle").inputs["key"] == "users/users.tar.gz"
    assert not [entry for entry in one.values() if KEY.split()[1] in str(entry.inputs)], "keys are only in the archive"


@pytest.mark.slow
def test_the_printed_command_is_one_that_works() -> None:
    def print_login(*users: dict[str, Any], **more: Any) -> tuple[str, str]:
        exports = record_users(*users, **more).exports
        return exports["commands"]["login"], exports["hosts"]["login"]

    command, address = print_login(ADA)
    assert command == f"ssh ada@{address}"
    command, address = print_login(ADA, GRACE)
    assert command == f"ssh USER@{address}"
    command, address = print_login(ssh_key="mine")
    assert command == f"ssh {address}"
    session = "aws ssm start-session --region us-east-1 --target prod-login-id"
    private = {"kind": "slurm", "version": "25.11", "login": {"count": 1}}
    assert print_login()[0] == session, "nobody has a key"
    assert print_login({"name": "ada", "uid": 2001})[0] == session
    assert print_login(ADA, scheduler=private)[0] == session, "it has no public address"
    assert print_login(ADA, access=False)[0] == session, "no address may reach it"
