"""Accounts of persons on a machine: made once, changed, locked, and never taken from somebody else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from boot_machines import BootMachine, build_plan

from supercloud.spec.user import User
from supercloud.targets import render

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSBrxxvtIjhB4H6Bwc8sKQ3TBXr2OZCeTWJbuI0l1"
ADA = User(name="ada", uid=20001, keys=(KEY,))
BOB = User(name="bob", uid=20002, administrator=True, shell="/bin/zsh")

pytestmark = pytest.mark.slow


class Login(BootMachine):
    """A login host whose accounts are the file ``passwd``, as useradd writes it."""

    def __init__(self, folder: Path, *users: User):
        super().__init__(folder, "login", replace(build_plan(), users=users))
        self.passwd = folder / "passwd"
        self.passwd.write_text("root:x:0:0::/root:/bin/sh\nadmin:x:1000:1000::/home/admin:/bin/sh\n")
        self.fake(
            "getent",
            f"[ $1 = passwd ] || {{ [ $2 = sudo ]; exit; }}\n"
            f"awk -F: -v key=\"$2\" '$1 == key || $3 == key {{ print; found = 1 }} END {{ exit !found }}' "
            f'"{self.passwd}"',
        )
        self.fake("useradd", f'echo "${{@: -1}}:x:$3:$3::/home/${{@: -1}}:/bin/sh" >>"{self.passwd}"')
        for name in ("groupadd", "usermod", "gpasswd", "chown"):
            self.fake(name)
        self.fake("visudo")
        self.keys = self.root / "etc/ssh/authorized_keys.d"

    def declare(self, *users: User) -> None:
        self.plan = replace(self.plan, users=users)
        render(self.plan, "settings").write(self.root / "opt/supercloud/settings")


def test_accounts_keys_and_homes_are_made_once(tmp_path: Path) -> None:
    login = Login(tmp_path, ADA, BOB)
    (login.root / "home").mkdir()
    done = login.steps("logins")
    assert done.returncode == 0, done.stdout + done.stderr
    calls = login.said.read_text()
    assert "groupadd -g 20001 ada\nuseradd -M -u 20001 -g ada -d /home/ada -s /bin/bash ada\n" in calls
    assert "usermod -p * -e  -s /bin/zsh bob\n" in calls and "usermod -aG sudo bob\n" in calls
    assert "usermod -aG sudo ada" not in calls
    assert (login.keys / "ada").read_text() == f"{KEY}\n" and (login.keys / "bob").read_text() == ""
    assert (login.root / "home/ada").stat().st_mode & 0o777 == 0o700
    rule = login.root / "etc/sudoers.d/supercloud-administrators"
    assert rule.read_text() == "bob ALL=(ALL:ALL) NOPASSWD: ALL\n"

    login.said.write_text("")
    assert login.steps("logins").returncode == 0
    assert "useradd" not in login.said.read_text() and "chown" not in login.said.read_text()


def test_a_removed_user_is_locked_and_a_former_administrator_loses_the_rights(tmp_path: Path) -> None:
    login = Login(tmp_path, ADA, BOB)
    assert login.steps("logins").returncode == 0
    login.declare(BOB.model_copy(update={"administrator": False}))
    login.said.write_text("")
    done = login.steps("logins")
    assert done.returncode == 0 and "ada is no longer declared" in done.stdout
    calls = login.said.read_text()
    assert "usermod -L -e 1 ada\n" in calls and "gpasswd -d bob sudo\n" in calls
    assert not (login.keys / "ada").exists() and (login.root / "home/ada").is_dir()
    assert not (login.root / "etc/sudoers.d/supercloud-administrators").exists()

    login.declare(ADA)
    login.said.write_text("")
    assert login.steps("logins").returncode == 0
    assert "usermod -p * -e  -s /bin/bash ada\n" in login.said.read_text()
    assert (login.keys / "ada").read_text() == f"{KEY}\n"


@pytest.mark.parametrize(
    "user, message",
    [
        (ADA.model_copy(update={"name": "admin"}), "admin has the number 1000 on this machine, not 20001"),
        (ADA.model_copy(update={"uid": 1000}), "the number 1000 of ada belongs to admin on this machine"),
    ],
)
def test_accounts_of_others_are_not_taken(tmp_path: Path, user: User, message: str) -> None:
    login = Login(tmp_path, user, BOB)
    done = login.steps("logins")
    assert done.returncode == 0 and message in done.stdout
    calls = login.said.read_text()
    assert "useradd -M -u 20002" in calls and calls.count("useradd") == 1 and calls.count("usermod -p") == 1
    assert not (login.keys / user.name).exists()


def test_a_home_that_cannot_be_made_does_not_end_the_boot(tmp_path: Path) -> None:
    login = Login(tmp_path, ADA)
    login.fake("chown", "echo Operation not permitted >&2; exit 1")
    done = login.steps("logins")
    assert done.returncode == 0 and "the home of ada cannot be made here: Operation not permitted" in done.stdout
    assert not (login.root / "home/ada").exists()


def test_keys_of_the_image_are_kept_outside_of_homes(tmp_path: Path) -> None:
    login = Login(tmp_path, ADA)
    for name in ("admin", "ada"):
        folder = login.root / "home" / name / ".ssh"
        folder.mkdir(parents=True)
        (folder / "authorized_keys").write_text(f"{KEY} {name}\n")
    done = login.steps("image_keys")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (login.keys / "admin").read_text() == f"{KEY} admin\n" and not (login.keys / "ada").exists()
    conf = (login.root / "etc/ssh/sshd_config.d/01-supercloud-keys.conf").read_text()
    assert conf == "AuthorizedKeysFile .ssh/authorized_keys /etc/ssh/authorized_keys.d/%u\n"
    login.fake("mountpoint")
    (login.root / "home/admin/.ssh/authorized_keys").write_text("of a shared file system\n")
    assert login.steps("image_keys").returncode == 0
    assert (login.keys / "admin").read_text() == f"{KEY} admin\n"
