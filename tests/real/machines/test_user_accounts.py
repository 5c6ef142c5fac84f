"""Accounts of users on booted machines: the rendered steps create, change and lock them, and sshd follows."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from real.machines.machines import Machine, Machines

from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec
from supercloud.targets import render

ENV = """\
ROLE='{role}'
CLUSTER='users'
HOST=''
GROUP=''
POOL=''
ACCOUNTING='no'
LOGINS='{logins}'
STATE_DISK=''
"""
CLOUD = 'cloud_fetch() { cp "/bucket/$1" "$2"; }\n'
PACKAGES = "openssh-server openssh-client sudo"
ADA: dict[str, Any] = {"name": "ada", "uid": 2001}
ROOT: dict[str, Any] = {"name": "ops.root", "uid": 2002, "administrator": True}


@dataclass
class Site:
    """Machines, the keys of people on one of them, and the list of users that is published."""

    one: Machine
    folder: Path
    keys: dict[str, str]
    """Public keys by the name of their file on the machine."""

    def publish(self, machine: Machine, users: list[dict[str, Any]], mount: str = "/fsx") -> None:
        """The bundles as the boot script expects them."""
        plan = resolve(ClusterSpec.model_validate(build_spec(users, mount)))
        assert not plan.errors, plan.errors
        for target in ("boot", "settings", "users"):
            render(plan, target).write(self.folder / machine.name / target, force=True)
        machine.copy_in(self.folder / machine.name / "boot", "/opt/supercloud/boot")
        machine.copy_in(self.folder / machine.name / "settings", "/opt/supercloud/settings")
        machine.run("rm -rf /bucket/users; mkdir -p /bucket/users")
        machine.copy_in(self.folder / machine.name / "users", "/bucket/fresh")
        machine.run("tar -czf /bucket/users/users.tar.gz -C /bucket/fresh . && rm -rf /bucket/fresh")

    def log_in(self, name: str, command: str = "id -un", key: str = "") -> subprocess.CompletedProcess[str]:
        options = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o LogLevel=ERROR"
        options += " -o IdentitiesOnly=yes"
        return self.one.run(
            ["bash", "-c", f'ssh {options} -i /root/{key or name} {name}@localhost "$1"', "-", command], check=False
        )


def create_key(machine: Machine, name: str) -> str:
    machine.run(f"ssh-keygen -q -t ed25519 -N '' -C {name} -f /root/{name}")
    return machine.run(f"cat /root/{name}.pub").stdout.strip()


def build_spec(users: list[dict[str, Any]], mount: str) -> dict[str, Any]:
    return {
        "name": "users",
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": [{"name": "cpu", "machine": "m6i.8xlarge", "nodes": 2}],
        "storage": [{"name": "shared", "kind": "nfs", "capacity": "1 TiB", "mount": mount}],
        "users": users,
    }


def prepare(machine: Machine, role: str, logins: str = "users") -> None:
    machine.run(f"apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q {PACKAGES}", timeout=900)
    machine.run("mkdir -p /etc/supercloud /opt/supercloud /var/log/supercloud /bucket && systemctl start ssh")
    machine.run("cat >/etc/supercloud/env", input=ENV.format(role=role, logins=logins))
    machine.run("cat >/opt/supercloud/cloud.sh", input=CLOUD)


def apply(machine: Machine, *steps: str, check: bool = True) -> str:
    words = ["env", "BOOT_PAUSE=0", "/opt/supercloud/boot/boot.sh", *(steps or ("logins", "homes"))]
    done = machine.run(words, check=check)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines() as group:
        yield group


@pytest.fixture(scope="module")
def site(machines: Machines, tmp_path_factory: pytest.TempPathFactory) -> Site:
    one = machines.boot("login", 11)
    prepare(one, "login")
    keys = {name: create_key(one, name) for name in ("ada", "ops.root", "stranger", "image")}
    return Site(one, tmp_path_factory.mktemp("bundles"), keys)


def test_users_log_in_with_their_keys_and_nothing_else(site: Site) -> None:
    ada, root = site.keys["ada"], site.keys["ops.root"]
    site.publish(site.one, [ADA | {"keys": [ada], "shell": "/bin/zsh"}, ROOT | {"keys": [root], "gid": 3000}])
    output = apply(site.one)
    assert "creating ada with UID 2001" in output and "no /bin/zsh, using /bin/bash" in output
    assert site.log_in("ada", "id -u; id -g; pwd; stat -c %a .; ls -A").stdout.split() == [
        *("2001", "2001", "/home/ada", "700"),
        *(".bash_logout", ".bashrc", ".profile"),
    ]
    assert site.log_in("ops.root", "sudo -n id -u; id -gn").stdout.split() == ["0", "group-3000"]
    assert site.log_in("ada", "sudo -n id -u").returncode != 0
    assert site.log_in("ada", key="stranger").returncode != 0
    # nobody but root changes which keys are accepted
    assert "Permission denied" in site.log_in("ada", "echo >>/etc/ssh/authorized_keys.d/ada").stderr
    assert "creating" not in apply(site.one), "a second run changes nothing"


def test_changes_are_applied_and_removed_users_are_locked(site: Site) -> None:
    old, new, root = (site.keys[name] for name in ("ada", "stranger", "ops.root"))
    site.log_in("ada", "mkdir -p .ssh && cat >.ssh/authorized_keys <<<'" + old + "'; echo mine >file")
    site.publish(site.one, [ADA | {"keys": [new], "administrator": True}, ROOT | {"keys": [root], "gid": 3000}])
    apply(site.one, "changes", "homes")
    assert site.log_in("ada", "sudo -n id -u", key="stranger").stdout.strip() == "0"

    site.publish(site.one, [ROOT | {"keys": [root], "gid": 3000, "administrator": False}])
    output = apply(site.one, "changes", "homes")
    assert "ada is not in the list of users any more: locking it" in output
    assert site.log_in("ada").returncode and site.log_in("ada", key="stranger").returncode
    assert site.one.run("cat /home/ada/file; id -u ada; id -nG ada").stdout.split() == ["mine", "2001", "ada"]
    assert site.log_in("ops.root", "sudo -n id -u").returncode and not site.log_in("ops.root").returncode
    assert not site.one.run("cat /etc/sudoers.d/supercloud-administrators", check=False).stdout
    assert "locking" not in apply(site.one, "changes")

    site.publish(site.one, [ADA | {"keys": [new]}])
    assert "unlocking" in apply(site.one, "changes", "homes")
    assert site.log_in("ada", "cat file", key="stranger").stdout == "mine\n"
    assert site.log_in("ops.root").returncode


def test_accounts_of_others_are_not_taken_over(site: Site) -> None:
    site.one.run("useradd --uid 2500 service; useradd --uid 2600 bob")
    key = site.keys["stranger"]
    users = [
        ADA | {"keys": [key]},
        {"name": "cy", "uid": 2500, "keys": [key]},
        {"name": "bob", "uid": 2601, "keys": [key]},
    ]
    users[1]["administrator"] = users[2]["administrator"] = True
    site.publish(site.one, users)
    output = apply(site.one)
    assert (
        "cy: not created: the UID 2500 belongs to service" in output
        and "bob: left unchanged: it has the UID 2600" in output
    )
    names = "getent passwd cy; id -u bob; id -nG bob; ls /etc/ssh/authorized_keys.d; ls /home"
    assert site.one.run(names, check=False).stdout.split() == ["2600", "bob", "ada", "ada", "ops.root"]
    assert "bob" not in site.one.run("cat /etc/sudoers.d/supercloud-administrators", check=False).stdout
    # where jobs of cy would run as service, nothing runs
    site.one.run("sed -i 's/login/compute/' /etc/supercloud/env")
    output = apply(site.one, check=False)
    assert "FAILED logins: the UID 2500 of cy belongs to service" in output
    site.one.run("sed -i 's/compute/login/' /etc/supercloud/env; userdel service; userdel bob")


def test_a_file_system_at_home_hides_no_key_and_may_refuse_root(site: Site) -> None:
    one, key, image = site.one, site.keys["stranger"], site.keys["image"]
    one.run(
        "useradd --uid 1000 --create-home --shell /bin/bash --password '*' image; mkdir -p /etc/cloud /home/image/.ssh"
    )
    one.run(f"echo '{image}' >/home/image/.ssh/authorized_keys; chown -R image: /home/image")
    one.run(
        "printf 'system_info:\\n  default_user:\\n    name: image\\n    lock_passwd: true\\n' >/etc/cloud/cloud.cfg"
    )
    site.publish(one, [ADA | {"keys": [key]}, {"name": "eve", "uid": 2003, "keys": [key]}], mount="/home")
    apply(one, "logins")
    assert "homes are made when it is" in apply(one, "homes")
    one.run("mount -t tmpfs tmpfs /home && mount -o remount,ro /home")
    assert "another one makes the home of eve" in apply(one, "homes")
    assert site.log_in("image").stdout == "image\n" and site.log_in("ada", key="stranger").stdout == "ada\n"
    one.run("mount -o remount,rw /home")
    assert "made /home/eve" in apply(one, "changes", "homes")
    assert site.log_in("image", "pwd").stdout == "/home/image\n"
    assert site.log_in("eve", "pwd; stat -c '%a %U' .", key="stranger").stdout.split() == ["/home/eve", "700", "eve"]
    assert not one.run("ls -A /home | grep supercloud", check=False).stdout
    one.run("umount -l /home; rm /etc/cloud/cloud.cfg")


def test_a_timer_applies_changes(site: Site) -> None:
    key = site.keys["stranger"]
    apply(site.one, "renewal")
    assert "supercloud-users.timer" in site.one.run("systemctl list-timers --no-pager").stdout
    site.publish(site.one, [ADA | {"keys": [key]}, {"name": "new", "uid": 2004, "keys": [key]}])
    site.one.run("systemctl start supercloud-users.service")
    assert site.log_in("new", key="stranger").stdout == "new\n"


def test_only_administrators_log_in_to_a_controller_beside_login_hosts(site: Site) -> None:
    key = site.keys["stranger"]
    site.one.run("sed -i \"s/LOGINS=.*/LOGINS='administrators'/; s/login/controller/\" /etc/supercloud/env")
    site.publish(site.one, [ADA | {"keys": [key]}, ROOT | {"keys": [key]}])
    site.one.run(f"install -d -o ada /home/ada/.ssh; echo '{key}' >/home/ada/.ssh/authorized_keys")
    apply(site.one)
    assert site.log_in("ada", key="stranger").returncode
    assert site.log_in("ops.root", key="stranger").stdout == "ops.root\n"
    assert site.one.run("id -u ada").stdout == "2001\n"
    site.one.run("sed -i \"s/LOGINS=.*/LOGINS='users'/; s/controller/login/\" /etc/supercloud/env")
    apply(site.one)
    assert site.log_in("ada", key="stranger").stdout == "ada\n"
