"""Accounts of users on a machine that is a folder: the commands that are called. tests/real/machines has real ones."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from boot_machines import BootMachine, build_plan

from supercloud.plan.model.users import UserPlan

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILk2NHE91yzeJqjN0ZydwoKHdXVz9S4UV5nQlWu5XPyN ada"
ADA = UserPlan("ada", 2001, 2001, "ada", (KEY,), "/bin/bash", False)
OPS = UserPlan("ops", 2002, 3000, "group-3000", (KEY,), "/bin/bash", True)
# the databases are files in $CLOUD
GETENT = 'awk -F: -v key="$2" \'$1 == key || $3 == key\' "$CLOUD/$1" 2>/dev/null | grep . || exit 2'


def build_machine(folder: Path, key: str, *users: UserPlan) -> BootMachine:
    machine = BootMachine(folder, key, replace(build_plan(), users=users))
    machine.fake("getent", GETENT)
    for name in ("usermod", "gpasswd", "loginctl"):
        machine.fake(name)
    machine.fake("id", "exit 0")
    (machine.cloud / "group").write_text("sudo:x:27:\nada:x:2001:\ngroup-3000:x:3000:\n")
    (machine.root / "bin").mkdir()
    (machine.root / "bin/bash").touch(mode=0o755)
    return machine


def publish(machine: BootMachine, *users: UserPlan) -> None:
    machine.plan = replace(machine.plan, users=users)
    machine.publish()


@pytest.mark.slow
def test_accounts_are_made_with_the_numbers_and_keys_of_the_list(tmp_path: Path) -> None:
    machine = build_machine(tmp_path, "login", ADA, OPS)
    done = machine.steps("logins")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split(" --shell")[0] for line in machine.calls("useradd")] == [
        "--uid 2001 --gid 2001",
        "--uid 2002 --gid 3000",
    ]
    assert machine.calls("usermod") == ["--append --groups sudo ops"]
    keys = machine.root / "etc/ssh/authorized_keys.d"
    assert (keys / "ada").read_text() == f"{KEY}\n" and os.stat(keys / "ada").st_mode & 0o777 == 0o644
    rule = machine.root / "etc/sudoers.d/supercloud-administrators"
    assert rule.read_text() == "ops ALL=(ALL:ALL) NOPASSWD: ALL\n" and os.stat(rule).st_mode & 0o777 == 0o440
    conf = machine.root / "etc/ssh/sshd_config.d/01-supercloud-users.conf"
    assert conf.read_text() == "AuthorizedKeysFile .ssh/authorized_keys /etc/ssh/authorized_keys.d/%u\n"
    # the timer does nothing while the list is the same, and locks who is not in it any more
    machine.call_log.unlink()
    assert machine.steps("changes").returncode == 0 and not machine.calls("getent")
    (machine.cloud / "passwd").write_text(
        "ada:x:2001:2001::/home/ada:/bin/bash\nops:x:2002:3000::/home/ops:/bin/bash\n"
    )
    publish(machine, OPS)
    assert machine.steps("changes").returncode == 0
    assert "--lock --expiredate 1 ada" in machine.calls("usermod") and not (keys / "ada").exists()
    assert (keys / "ops").exists()


@pytest.mark.slow
def test_a_controller_beside_login_hosts_admits_administrators_only(tmp_path: Path) -> None:
    machine = build_machine(tmp_path, "ctl1", ADA, OPS)
    assert machine.steps("logins").returncode == 0
    assert [path.name for path in (machine.root / "etc/ssh/authorized_keys.d").iterdir()] == ["ops"]
    assert "DenyUsers ada\n" in (machine.root / "etc/ssh/sshd_config.d/01-supercloud-users.conf").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("key, code", [("login", 0), ("train-spot", 1)])
def test_a_uid_of_another_account_is_not_taken_over(tmp_path: Path, key: str, code: int) -> None:
    """Where jobs run they would be that account's: such a node does not join."""
    machine = build_machine(tmp_path, key, ADA)
    (machine.cloud / "passwd").write_text("service:x:2001:2001::/:/bin/sh\n")
    done = machine.steps("logins")
    assert done.returncode == code and "belongs to service on this machine" in done.stdout + done.stderr
    assert not machine.calls("useradd") and not (machine.root / "etc/ssh/authorized_keys.d/ada").exists()


@pytest.mark.slow
def test_without_the_list_accounts_stay_as_they_are(tmp_path: Path) -> None:
    machine = build_machine(tmp_path, "login", ADA)
    (machine.cloud / "bucket/users/users.tar.gz").unlink()
    done = machine.steps("logins", "changes", "homes")
    assert done.returncode == 0 and "accounts stay as they are" in done.stdout
    assert not machine.calls("useradd") and not machine.calls("usermod")


@pytest.mark.slow
@pytest.mark.parametrize("other", ["j-doe", "k.doe"])
def test_a_removed_user_is_locked_whatever_the_names_of_others(tmp_path: Path, other: str) -> None:
    """A dot in a name matched any character of another name: the account, its key and its membership in sudo stayed."""
    removed = UserPlan("j.doe", 2001, 2001, "j.doe", (KEY,), "/bin/bash", True)
    machine = build_machine(tmp_path, "login", removed)
    (machine.cloud / "group").write_text("sudo:x:27:\nj.doe:x:2001:\nother:x:2002:\n")
    assert machine.steps("logins").returncode == 0
    (machine.cloud / "passwd").write_text("j.doe:x:2001:2001::/home/j.doe:/bin/bash\n")
    machine.fake("id", "echo sudo")
    publish(machine, UserPlan(other, 2002, 2002, "other", (KEY,), "/bin/bash", False))
    assert machine.steps("changes").returncode == 0
    assert "--lock --expiredate 1 j.doe" in machine.calls("usermod") and "--delete j.doe sudo" in machine.calls(
        "gpasswd"
    )
    assert [path.name for path in (machine.root / "etc/ssh/authorized_keys.d").iterdir()] == [other]


@pytest.mark.slow
@pytest.mark.parametrize("has_module", [False, True])
def test_a_node_that_does_not_join_admits_no_users(tmp_path: Path, has_module: bool) -> None:
    """Users had accounts and keys on a node before it restricted SSH: for ever if a step between the two failed."""
    machine = build_machine(tmp_path, "train-spot", ADA, OPS)
    (machine.cloud / "group").write_text("sudo:x:27:\nada:x:2001:\ngroup-3000:x:3000:\nslurm:x:64030:\n")
    (machine.cloud / "passwd").write_text("slurm:x:64030:64030::/n:/n\n")
    pam = machine.root / "etc/pam.d/sshd"
    pam.parent.mkdir(parents=True)
    pam.write_text("@include common-account\n")
    conf = machine.root / "etc/ssh/sshd_config.d/00-supercloud.conf"
    machine.fake("sshd", f'echo "usepam yes"; cat {conf} 2>/dev/null; true')
    if has_module:
        module = machine.root / "usr/lib/x86_64-linux-gnu/security/pam_slurm_adopt.so"
        module.parent.mkdir(parents=True)
        module.touch()
    done = machine.begin(BOOT_WAIT="1")  # it has no accelerators
    assert done.returncode and "FAILED" in done.stdout + done.stderr
    assert (machine.root / "etc/ssh/authorized_keys.d/ada").exists(), "it failed after the accounts were made"
    if has_module:
        assert "pam_slurm_adopt.so action_generic_failure=deny" in pam.read_text()
    else:
        assert conf.read_text() == "AllowGroups root sudo wheel\n"
