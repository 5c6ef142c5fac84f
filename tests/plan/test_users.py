"""Users of a cluster: from the spec or a file, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from supercloud.errors import Finding, SpecError
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSBrxxvtIjhB4H6Bwc8sKQ3TBXr2OZCeTWJbuI0l1 ada@laptop"
ADA = {"name": "ada", "uid": 20001, "keys": [KEY]}


def plan_users(folder: Path, *users: dict[str, Any], file: str | None = None, **changes: Any) -> Plan:
    spec: dict[str, Any] = {
        "name": "lab",
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": [{"name": "cpu", "machine": "m6i.8xlarge", "nodes": 2, "capacity": [{"kind": "on-demand"}]}],
        "tenants": [{"name": "llm", "users": ["ada"]}],
        "users": list(users),
        **changes,
    }
    if file is not None:
        (folder / "users.yaml").write_text(file)
        spec["users_file"] = "users.yaml"
    path = folder / "cluster.yaml"
    path.write_text(yaml.safe_dump(spec))
    return resolve(load(path))


def find(plan: Plan, check: str) -> list[Finding]:
    return [finding for finding in plan.findings if finding.check == check]


def test_users_come_from_the_spec_and_from_a_file(tmp_path: Path) -> None:
    plan = plan_users(
        tmp_path,
        ADA,
        file=f"users:\n  - {{name: bob, uid: 20002, keys: ['{KEY}'], administrator: true}}\n",
        tenants=[{"name": "llm", "users": ["ada", "bob"]}],
    )
    assert [(user.name, user.uid, user.administrator) for user in plan.users] == [
        ("ada", 20001, False),
        ("bob", 20002, True),
    ]
    assert not [finding for finding in plan.findings if finding.check.startswith("user")]


@pytest.mark.parametrize(
    "users, check, path, problem",
    [
        (
            [ADA, {"name": "eve", "uid": 20001}],
            "user-duplicate",
            "users[1].uid",
            "uid 20001 is declared 2 times (ada, eve)",
        ),
        ([{"name": "slurm", "uid": 20001}], "user-reserved", "users[0].name", "the name slurm belongs to"),
        ([{"name": "ada", "uid": 64030}], "user-reserved", "users[0].uid", "the number 64030 of ada is reserved"),
        ([{"name": "ada", "uid": 65534}], "user-reserved", "users[0].uid", "nobody"),
        ([{"name": "ada", "uid": 1000}], "user-reserved", "users[0].uid", "the first user of the image"),
        ([ADA, {"name": "eve", "uid": 20002}], "user-tenant", "users", "eve belongs to no tenant"),
        ([{"name": "ada", "uid": 20001}], "user-keys", "users", "ada has no public key"),
        ([{"name": "eve", "uid": 20002}], "user-account", "tenants[0].users", "ada of llm has no account"),
        ([], "user-account", "users", "no user has an account"),
    ],
)
def test_what_is_wrong_with_a_user_is_reported(
    tmp_path: Path, users: list[dict[str, Any]], check: str, path: str, problem: str
) -> None:
    (finding,) = find(plan_users(tmp_path, *users), check)
    assert finding.path == path and problem in finding.problem and finding.hint


def test_problems_of_a_file_have_its_lines(tmp_path: Path) -> None:
    text = (
        f"users:\n  - {{name: bob, uid: 999}}\n  - {{name: kim, uid: 20003, keys: ['{KEY[:-20]}']}}\n  - {{nam: x}}\n"
    )
    found = find(plan_users(tmp_path, ADA, file=text), "users-file")
    assert {finding.problem.split(": ")[0] for finding in found} == {"users.yaml:2", "users.yaml:3", "users.yaml:4"}
    (missing,) = find(plan_users(tmp_path, ADA, users_file="absent.yaml"), "users-file")
    assert "absent.yaml" in missing.problem and "users: [{name" in missing.hint


def test_a_private_key_is_not_repeated(tmp_path: Path) -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n"
    with pytest.raises(SpecError) as caught:
        plan_users(tmp_path, {**ADA, "keys": [key]})
    assert "this is a private key" in str(caught.value) and "b3BlbnNzaC1rZXk" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"scheduler": {"kind": "kubernetes", "version": "1.35"}},
        {
            "site": {"kind": "onprem", "location": "stockholm"},
            "pools": [{"name": "a", "machine": "dgx-h100", "nodes": 2}],
        },
    ],
)
def test_users_without_effect_are_reported(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert find(plan_users(tmp_path, ADA, **changes), "user-unused")
