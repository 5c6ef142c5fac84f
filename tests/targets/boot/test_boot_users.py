"""Credentials of the cloud for users: who they are comes from sudo, what they are a member of from Slurm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from boot_machines import BootMachine, build_plan

SACCTMGR = """case $* in
*"show user "*) echo llm ;;
*"show associations user="*) printf 'llm\\nshared\\n' ;;
esac"""


@pytest.fixture
def login(tmp_path: Path) -> BootMachine:
    machine = BootMachine(tmp_path, "login", build_plan())
    machine.fake("sacctmgr", SACCTMGR)
    machine.fake("id", "echo alice")
    machine.steps("users")
    env = machine.root / "etc/supercloud/env"
    env.write_text(env.read_text().replace("TENANTS='no'", "TENANTS='yes'"))
    program = machine.root / "opt/supercloud/boot/credentials.sh"
    program.write_text(program.read_text().replace("PATH=/usr/local/sbin:", f"PATH={machine.bin}:"))
    return machine


def ask(machine: BootMachine, *tenant: str, uid: str = "1000") -> tuple[int, str]:
    done = machine.run(machine.root / "opt/supercloud/boot/credentials.sh", *tenant, SUDO_UID=uid)
    return done.returncode, done.stdout + done.stderr


def test_users_get_credentials_only_for_their_tenants(login: BootMachine) -> None:
    rule = login.root / "etc/sudoers.d/supercloud"
    assert rule.read_text().endswith("ALL ALL=(root:root) NOPASSWD: /opt/supercloud/boot/credentials.sh\n")
    assert os.stat(rule).st_mode & 0o777 == 0o440
    assert login.calls("visudo") == [f"-cqf {rule}.fresh"]
    assert ask(login) == (0, "credentials of llm for alice\n")
    assert ask(login, "shared") == (0, "credentials of shared for alice\n")
    code, message = ask(login, "vision")
    assert code == 1 and "alice is not a member of the tenant vision" in message


@pytest.mark.parametrize("tenant", ["l.*", "llm\nvision", "*", "llm --as", "../llm"])
def test_a_tenant_must_be_a_valid_name(login: BootMachine, tenant: str) -> None:
    code, message = ask(login, tenant)
    assert code == 1 and "credentials of" not in message


@pytest.mark.parametrize("uid", ["", "root", "1000 0", "-1"])
def test_the_user_is_identified_by_sudo(login: BootMachine, uid: str) -> None:
    code, message = ask(login, uid=uid)
    assert code == 1 and "call this with sudo" in message


def test_without_tenants_all_users_have_one_role(login: BootMachine) -> None:
    env = login.root / "etc/supercloud/env"
    env.write_text(env.read_text().replace("TENANTS='yes'", "TENANTS='no'"))
    assert ask(login) == (0, "credentials of  for alice\n")


def test_a_rule_that_sudo_rejects_is_removed(login: BootMachine) -> None:
    rule = login.root / "etc/sudoers.d/supercloud"
    rule.unlink()
    login.fake("visudo", "exit 1")
    done = login.steps("users")
    assert done.returncode == 1 and "FAILED users: sudo rejects" in done.stderr and not rule.exists()
