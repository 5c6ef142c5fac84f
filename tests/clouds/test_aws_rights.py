"""Who may do what under Slurm on AWS: what a user who becomes able to speak for a machine would have."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from offline.graph import Graph
from offline.recorder import record
from programs import (
    SLURM,
    SPECS,
    build_program,
    build_small_spec,
    read_parts,
    read_statements,
    read_user_data,
    record_small_spec,
    record_spec,
)

from supercloud.targets.clouds.aws.iam import escape_wildcards

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
POLICY = "aws:iam/rolePolicy:RolePolicy"
ROLE = "aws:iam/role:Role"
HOST = "aws:ec2/instance:Instance"
TENANTS = [{"name": "llm", "share": 2}, {"name": "vision", "share": 1}]
DATA = [{"name": "data", "kind": "object"}]
READ, WRITE = "secretsmanager:GetSecretValue", "secretsmanager:PutSecretValue"


def read_permissions(found: Graph, role: str) -> dict[str, list[str]]:
    """Action -> resources, of all policies of a role."""
    rights: dict[str, list[str]] = {}
    for entry in found.of_type(POLICY):
        if entry.inputs["role"] == f"prod-{role}-role-name":
            for row in read_statements(entry):
                resources = row["Resource"] if isinstance(row["Resource"], list) else [row["Resource"]]
                for action in row["Action"]:
                    rights.setdefault(action, []).extend(resources)
    return rights


def get_profile(found: Graph, host: str) -> str:
    return str(found.one(HOST, f"prod-{host}").inputs["iamInstanceProfile"])


@pytest.mark.parametrize("name", SLURM)
def test_only_the_controller_can_read_the_key_of_the_daemons(name: str) -> None:
    found = record_spec(name)
    able = [
        entry.name
        for entry in found.of_type(POLICY)
        for row in read_statements(entry)
        if READ in row["Action"] and "prod-secret-auth-arn" in row["Resource"]
    ]
    assert able == ["prod-controller-policy"]
    for entry in found.values():
        if {"userData", "userDataBase64"} & set(entry.inputs):
            has_key = "SECRET_AUTH='prod-secret-auth-arn'" in read_user_data(entry)
            assert has_key == ("ROLE='controller'" in read_user_data(entry)), entry.urn


@pytest.mark.slow
def test_a_separate_database_host_has_its_password_and_no_permissions_of_the_controller() -> None:
    found = record_small_spec(scheduler={"kind": "slurm", "version": "25.11", "database": {"name": "dbd"}})
    own, controller = read_permissions(found, "database"), read_permissions(found, "controller")
    assert get_profile(found, "dbd") == "prod-database-profile-name"
    assert own[READ] == own[WRITE] == ["prod-secret-database-arn"]
    assert controller[READ] == controller[WRITE] == ["prod-secret-auth-arn"]
    assert not [action for action in own if action.startswith(("autoscaling:", "ec2:"))]


@pytest.mark.parametrize("name", SLURM)
def test_machines_have_no_access_to_data_buckets(name: str) -> None:
    found = record_spec(name)
    for role in ("controller", "login", "node"):
        rights = read_permissions(found, role)
        assert {action for action in rights if action.startswith("s3:")} == {"s3:GetObject", "s3:ListBucket"}
        assert rights["s3:GetObject"] == ["prod-bucket-state-arn/*"]
        assert rights["s3:ListBucket"] == ["prod-bucket-state-arn"]


@pytest.mark.slow
def test_users_have_access_to_the_folder_of_their_tenant_in_data_buckets() -> None:
    found = record_small_spec(storage=DATA, tenants=TENANTS)
    rows = {row["Action"][0]: row for row in read_statements(found.one(POLICY, "prod-users-policy"))}
    tenant = "${aws:PrincipalTag/tenant}"
    assert rows["s3:GetObject"]["Resource"] == [f"prod-bucket-data-arn/{tenant}/*"]
    assert rows["s3:ListBucket"]["Condition"] == {"StringLike": {"s3:prefix": [f"{tenant}/", f"{tenant}/*"]}}
    assert "state" not in str(rows)
    alone = {
        row["Action"][0]: row
        for row in read_statements(record_small_spec(storage=DATA).one(POLICY, "prod-users-policy"))
    }
    assert alone["s3:GetObject"]["Resource"] == ["prod-bucket-data-arn/*"] and "Condition" not in alone["s3:ListBucket"]


@pytest.mark.slow
def test_only_machines_with_users_can_assume_the_role_of_users() -> None:
    found = record_small_spec(storage=DATA, scheduler={"kind": "slurm", "version": "25.11", "login": {"count": 1}})
    trust: list[dict[str, Any]] = read_statements(found.one(ROLE, "prod-users-role"), "assumeRolePolicy")
    assert trust[0]["Principal"] == {"AWS": ["prod-login-role-arn", "prod-node-role-arn"]}
    assert trust[0]["Action"] == ["sts:AssumeRole"]
    assert read_permissions(found, "node")["sts:AssumeRole"] == ["prod-users-role-arn"]
    assert "sts:AssumeRole" not in read_permissions(found, "controller")
    given = record_node_role()
    assert (
        "arn:aws:iam::1:role/own"
        in read_statements(given.one(ROLE, "prod-users-role"), "assumeRolePolicy")[0]["Principal"]["AWS"]
    )


@pytest.mark.slow
def test_sessions_of_users_have_the_tag_of_a_tenant_and_no_other() -> None:
    """Other policies of the account may grant rights by tags of sessions."""
    found = record_small_spec(storage=DATA, tenants=TENANTS)
    trust = read_statements(found.one(ROLE, "prod-users-role"), "assumeRolePolicy")
    assert trust[0]["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert trust[0]["Condition"] == {
        "StringLike": {"aws:RequestTag/tenant": "?*"},
        "ForAllValues:StringEquals": {"aws:TagKeys": ["tenant"]},
    }


def record_node_role() -> Graph:
    return record(build_program(spec=build_small_spec(), node_role="arn:aws:iam::1:role/own"))


@pytest.mark.parametrize("name", SPECS)
def test_systems_manager_reads_no_parameters_of_the_account(name: str) -> None:
    found = record_spec(name)
    attached = [
        entry.inputs["policyArn"] for entry in found.of_type("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    ]
    assert not [arn for arn in attached if arn.endswith("AmazonSSMManagedInstanceCore")]
    actions = {action for entry in found.of_type(POLICY) for row in read_statements(entry) for action in row["Action"]}
    assert {"ssm:UpdateInstanceInformation", "ssmmessages:OpenDataChannel"} <= actions
    assert not {action for action in actions if "GetParameter" in action or "Inventory" in action}


@pytest.mark.parametrize("name", SPECS)
def test_responses_of_the_metadata_service_do_not_leave_the_machine(name: str) -> None:
    """Containers are one hop away; only if the spec allows it do they have the permissions of the machine."""
    hops = {"a2": 4}.get(name, 1)
    found = record_spec(name)
    machines = [entry.inputs["metadataOptions"] for entry in found.values() if "metadataOptions" in entry.inputs]
    assert machines and {options["httpPutResponseHopLimit"] for options in machines} == {hops}
    assert {options["httpTokens"] for options in machines} == {"required"}
    templates = [
        entry for entry in found.of_type("aws:ec2/launchTemplate:LaunchTemplate") if not entry.name.endswith("-image")
    ]
    assert all("metadataOptions" in entry.inputs for entry in templates)


@pytest.mark.slow
def test_the_controller_finds_logins_by_the_tag_of_groups() -> None:
    found = record_small_spec(scheduler={"kind": "slurm", "version": "25.11", "login": {"count": 2}})
    for host in ("login1", "login2"):
        assert found.one(HOST, f"prod-{host}").inputs["tags"]["supercloud:group"] == "login"


@pytest.mark.parametrize("name", SLURM)
def test_the_metadata_service_is_blocked_before_logins_are_possible(name: str, tmp_path: Path) -> None:
    """cloud-init runs a boothook before the SSH server starts; what it runs are the first lines of the script."""
    found = record_spec(name)
    machines = [entry for entry in found.values() if {"userData", "userDataBase64"} & set(entry.inputs)]
    for entry in machines:
        parts = read_parts(entry)
        assert [(name, kind) for name, (kind, _) in parts.items()] == [
            ("start.sh", "text/x-shellscript"),
            ("guard.sh", "text/cloud-boothook"),
        ]  # the script is stored first
        assert parts["guard.sh"][1].splitlines()[-1].endswith("/var/lib/cloud/instance/scripts/start.sh guard")
    start = tmp_path / "start.sh"
    start.write_text(read_parts(machines[0])["start.sh"][1])
    for program in ("nft", "systemctl"):
        (tmp_path / program).write_text(f'#!/bin/sh\necho {program} "$@" >>{tmp_path}/said\ncat >>{tmp_path}/said\n')
        (tmp_path / program).chmod(0o755)
    done = subprocess.run(
        ["bash", start, "guard"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "BOOT_ROOT": str(tmp_path)},
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr
    message = (tmp_path / "said").read_text()
    assert "ip daddr 169.254.169.254" in message and "ip6 daddr fd00:ec2::254" in message
    assert "enable -q supercloud-metadata" in message and not (tmp_path / "opt/supercloud/boot").exists()


def test_wildcards_of_a_user_are_escaped_in_statements() -> None:
    """Also where the finding that refuses them is accepted."""
    assert escape_wildcards("weka/install-1.2_(x).sh") == "weka/install-1.2_(x).sh"
    assert escape_wildcards("*/a?c/${aws:username}") == "${*}/a${?}c/${$}{aws:username}"
