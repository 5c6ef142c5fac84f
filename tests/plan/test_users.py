"""Accounts of users: from the spec or a file of its own, with all problems at once and where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from supercloud.errors import Finding, SpecError
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import render

ADA = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILk2NHE91yzeJqjN0ZydwoKHdXVz9S4UV5nQlWu5XPyN ada"
GRACE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSKLpMX3J7KcWO5TdtEodfvTzVwfDcTpizXFTJSQ4gF grace"
PRIVATE = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW"


def plan_users(folder: Path, users: Any, *, is_apart: bool = False, **more: Any) -> Plan:
    """The plan of a small cluster; ``is_apart``: with the users in a file of their own."""
    spec: dict[str, Any] = {
        "name": "small",
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": [{"name": "cpu", "machine": "m6i.8xlarge", "nodes": 2, "capacity": [{"kind": "on-demand"}]}],
        "users": "users.yaml" if is_apart else users,
        **more,
    }
    (folder / "users.yaml").write_text(yaml.safe_dump(users, sort_keys=False))
    (folder / "cluster.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
    return resolve(load(folder / "cluster.yaml"))


def list_findings(plan: Plan) -> list[Finding]:
    return [finding for finding in plan.findings if finding.check.startswith("user")]


WRONG = [
    {"name": "ada", "uid": 2001, "keys": [ADA]},
    {"name": "ada", "uid": 2002, "keys": [GRACE]},
    {"name": "bob", "uid": 2001, "keys": [ADA.replace("ssh-ed25519", "ssh-rsa", 1)]},
    {"name": "cy", "uid": 999, "keys": [f"-----BEGIN OPENSSH PRIVATE KEY----- {PRIVATE}"]},
    {"name": "di", "uid": 64030, "keys": [ADA]},
    {"name": "ed", "uid": 65534, "gid": 100},
    {"name": "slurm", "uid": 2003, "keys": [PRIVATE]},
    {"name": "fay", "uid": 1000, "keys": ["ssh-ed25519"]},
]
FOUND = [
    ("user-duplicate", "users[1].name", "duplicate user 'ada', first in users[0]"),
    ("user-duplicate", "users[2].uid", "bob and ada have the UID 2001"),
    ("user-key", "users[2].keys[0]", "the type is ssh-rsa, the data is of a key of another type"),
    ("user-number", "users[3].uid", "the UID 999 belongs to the distribution's own accounts"),
    ("user-key", "users[3].keys[0]", "a private key, which is not shown"),
    ("user-number", "users[4].uid", "the UID 64030 belongs to the user slurm of every machine"),
    ("user-key", "users[4].keys[0]", "di and ada have the same key"),
    ("user-number", "users[5].uid", "the UID 65534 belongs to"),
    ("user-number", "users[5].gid", "the GID 100 belongs to"),
    ("user-key", "users[5]", "ed has no key"),
    ("user-name", "users[6].name", "'slurm' is an account or a group of machines"),
    ("user-key", "users[6].keys[0]", "a private key, which is not shown"),
    ("user-number", "users[7].uid", "the UID 1000 belongs to the user of the image"),
    ("user-key", "users[7].keys[0]", "no data"),
]


@pytest.mark.parametrize("is_apart", [False, True])
def test_all_problems_are_reported_at_once_with_their_lines(tmp_path: Path, is_apart: bool) -> None:
    found = list_findings(plan_users(tmp_path, WRONG, is_apart=is_apart))
    for check, path, message in FOUND:
        assert any((item.check, item.path) == (check, path) and message in item.problem for item in found), message
    assert len(found) == len(FOUND)
    assert not [item for item in found if PRIVATE[:12] in str(item)]
    file = tmp_path / ("users.yaml" if is_apart else "cluster.yaml")
    lines = file.read_text().splitlines()
    for item in found:
        assert item.file == str(file)
        field = item.path.partition(".")[2].partition("[")[0] or "name"
        assert field in lines[item.line - 1] or lines[item.line - 1].lstrip().startswith("-"), item


def test_a_spec_with_a_private_key_in_a_wrong_place_does_not_show_it(tmp_path: Path) -> None:
    block = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PRIVATE}\n-----END OPENSSH PRIVATE KEY-----\n"
    for users in (
        [{"name": "ada", "uid": 2001, "keys": [block]}],
        [{"name": "ada", "uid": 2001, "keys": PRIVATE}],
        [PRIVATE],
        [{"name": PRIVATE, "uid": PRIVATE}],
    ):
        with pytest.raises(SpecError) as caught:
            plan_users(tmp_path, users)
        assert "a private key, which is not shown" in str(caught.value) and PRIVATE[:12] not in str(caught.value)
        shown = " ".join(map(str, plan_users(tmp_path, users, is_apart=True).errors))
        assert PRIVATE[:12] not in shown
        assert "a private key, which is not shown" in shown or "is not a list of users" in shown


@pytest.mark.parametrize(
    "text, message",
    [
        (None, "file not found"),
        ("users: []", "is not a list of users"),
        ("", "is not a list of users"),
        ("- {name: ada}", "'uid' is missing"),
        ("- {name: ada, uid: 2001, key: x}", "unknown field 'key'"),
        ("- {name: Ada, uid: 2001}", "'Ada'"),
        ("- {name: ada, uid: 2001, uid: 2002}", "duplicate key 'uid'"),
        ("- {name: ada, uid: [", ""),
        ("- SECRET", "is not a list of users"),  # another file, whose content is not shown
        ("- {token: SECRET}", "is not a list of users"),
        ("[SECRET, {name: deploy}]", "is not a list of users"),
    ],
)
def test_a_wrong_file_of_users_is_an_error(tmp_path: Path, text: str | None, message: str) -> None:
    plan_users(tmp_path, [])
    (tmp_path / "users.yaml").unlink()
    if text is not None:
        (tmp_path / "users.yaml").write_text(text)
    spec = tmp_path / "cluster.yaml"
    spec.write_text(spec.read_text().replace("users: []", "users: users.yaml"))
    found = [item for item in resolve(load(spec)).errors if item.check == "users-file"]
    assert found and message in str(found[0]) and "SECRET" not in "".join(map(str, found))


def test_accounts_and_tenants_belong_together(tmp_path: Path) -> None:
    users = [{"name": "ada", "uid": 2001, "keys": [ADA]}, {"name": "bob", "uid": 2002, "keys": [GRACE]}]
    users.append({"name": "ops", "uid": 2003, "keys": [GRACE.replace("grace", "ops")], "administrator": True})
    found = list_findings(plan_users(tmp_path, users[:2], tenants=[{"name": "llm", "users": ["ada", "eve"]}]))
    assert [(item.level, item.path) for item in found] == [
        ("warning", "tenants[0].users[1]"),
        ("warning", "users[1].name"),
    ]
    assert "uid: 2003" in found[0].hint and "llm" in found[1].hint
    (note,) = list_findings(plan_users(tmp_path, [], tenants=[{"name": "llm", "users": ["ada"]}]))
    assert note.level == "note" and note.path == "users"
    found = list_findings(plan_users(tmp_path, users, tenants=[{"name": "llm", "users": ["ada", "bob"]}]))
    assert [item.check for item in found] == ["user-key"], "an administrator needs no tenant"


def test_users_without_effect_are_reported(tmp_path: Path) -> None:
    users = [{"name": "ada", "uid": 2001, "keys": [ADA]}]
    machine = [{"name": "train", "machine": "dgx-h100", "nodes": 2}]
    (found,) = list_findings(
        plan_users(tmp_path, users, site={"kind": "onprem", "location": "stockholm"}, pools=machine)
    )
    assert found.check == "user-support" and "on-prem" in found.problem


def test_the_archive_has_every_account_and_group_once(tmp_path: Path) -> None:
    users = [
        {"name": "ada", "uid": 2001, "gid": 3000, "keys": [f"  {ADA.replace(' ', '   ')}"], "shell": "/bin/zsh"},
        {"name": "bob", "uid": 2002, "keys": [GRACE], "administrator": True},
        {"name": "eve", "uid": 2003, "gid": 2002},
        {"name": "fay", "uid": 2004, "gid": 3000},
    ]
    found = render(plan_users(tmp_path, users), "users")
    assert [line for line in found["users.txt"].splitlines() if not line.startswith("#")] == [
        "ada 2001 3000 /bin/zsh no",
        "bob 2002 2002 /bin/bash yes",
        "eve 2003 2002 /bin/bash no",
        "fay 2004 3000 /bin/bash no",
    ]
    assert [line for line in found["groups.txt"].splitlines() if not line.startswith("#")] == [
        "2002 bob",
        "3000 group-3000",
    ]
    assert found["keys/ada"] == f"{ADA}\n" and found["keys/eve"] == ""
    assert {line.split("  ")[1] for line in found["SHA256SUMS"].splitlines()} == set(found) - {"SHA256SUMS"}


@pytest.mark.parametrize("is_first", [True, False])
def test_a_group_has_the_name_of_the_user_whose_number_it_has(tmp_path: Path, is_first: bool) -> None:
    users = [
        {"name": "ada", "uid": 2001},
        {"name": "bob", "uid": 2002, "gid": 2001},
        {"name": "cy", "uid": 2003, "gid": 5000},
    ]
    bundle = render(plan_users(tmp_path, users if is_first else users[::-1]), "users")
    groups = [line for line in bundle["groups.txt"].splitlines() if not line.startswith("#")]
    assert sorted(groups) == ["2001 ada", "5000 group-5000"]
