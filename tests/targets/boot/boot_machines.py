"""A machine that is a folder: rendered programs run in it, against a provider and commands that are scripts."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import subprocess
import tarfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.bundle import Bundle
from supercloud.spec import ClusterSpec
from supercloud.targets import render
from supercloud.targets.boot import render_boot_bundle

VALUES = {
    "bucket": "state",
    "region": "us-east-1",
    "cluster": "trainer",
    "secret_auth": "auth",
    "secret_database": "database",
    "role_users": "users",
    "database_host": "db.internal",
    "state_device": "/dev/sdf",
    "source_scratch": "fs-1@tcp:/abcd",
    "source_home": "fs-2:/fsx",
}

# A provider whose cloud is the folder $CLOUD.
CLOUD = """
cloud_ready() { :; }
cloud_fetch() { cp "$CLOUD/bucket/$1" "$2"; }
cloud_secret() {
    [ -e "$CLOUD/secrets/$1" ] || return 1
    [ -s "$CLOUD/secrets/$1" ] || return 3
    cat "$CLOUD/secrets/$1"
}
cloud_fill() { cat >"$CLOUD/secrets/$1"; }
cloud_metadata() { cat "$CLOUD/metadata"; }
cloud_disk() { [ -e "$CLOUD/disk" ] && echo "$1"; }
cloud_size() { cat "$CLOUD/size-$1"; }
cloud_resize() {
    echo resize "$@" >>"$SAID"
    [ ! -e "$CLOUD/refuses-$1" ] || { echo none left; return 3; }
    echo "$2" >"$CLOUD/size-$1"
}
cloud_instances() { cat "$CLOUD/instances-$1"; }
cloud_domains() { cat "$CLOUD/domains-$1"; }
cloud_failed() { cat "$CLOUD/failed-$1" 2>/dev/null; }
cloud_refused() { cat "$CLOUD/refused-$1" 2>/dev/null; }
cloud_users() { echo users "$@" >>"$SAID"; }
cloud_credentials() { echo "credentials of $1 for $2"; }
cloud_terminate() { echo terminate "$@" >>"$SAID"; sed -i "/^$2 /d" "$CLOUD/instances-$1"; }
"""


# A controller that gives the key in $CLOUD/secrets/auth, answered by curl itself.
CONTROLLER = """out=/dev/null url=${@: -1}
while [ $# -gt 0 ]; do
    case $1 in -o) out=$2; shift ;; --data-binary) certificate=${2#@}; shift ;; esac
    shift
done
case $url in
*/confirm) printf 200 ;;
*/key)
    if [ -e "$CLOUD/given" ]; then echo "i-1 has it" >"$out"; printf 409
    elif [ -e "$CLOUD/secrets/auth" ]; then
        base64 -d "$CLOUD/secrets/auth" |
            openssl cms -encrypt -binary -outform DER -aes-256-cbc -out "$out" "$certificate"
        printf 200
    else echo "it has none" >"$out"; printf 503; fi ;;
*) exit 22 ;;
esac
"""

# What is encrypted is in base64: machines without openssl run these tests too; tests/real has the program itself.
OPENSSL = """operation="$*" input=/dev/stdin output=/dev/stdout
while [ $# -gt 0 ]; do
    case $1 in -in) input=$2 ;; -out) output=$2 ;; -keyout) echo private >"$2" ;; esac
    shift
done
case $operation in
"req "*) echo certificate >"$output" ;;
"cms -encrypt "*) base64 "$input" >"$output" ;;
"cms -decrypt "*) base64 -d "$input" >"$output" ;;
*) exit 1 ;;
esac
"""


@cache
def build_plan(version: str = "25.11", provider: str = "aws", **more: bool | str) -> Plan:
    """A cluster with two ways to get machines, three kinds of storage and tenants."""
    scheduler: dict[str, Any] = {"kind": "slurm", "version": version, "login": {"count": 2}, **more}
    declared = ClusterSpec.model_validate(
        {
            "name": "trainer",
            "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
            "scheduler": scheduler,
            "pools": [
                {
                    "name": "train",
                    "machine": "p5.48xlarge",
                    "nodes": 8,
                    "initial": 0,
                    "capacity": [{"kind": "spot"}, {"kind": "on-demand"}],
                },
                {
                    "name": "block",
                    "machine": "p5.48xlarge",
                    "nodes": 4,
                    "capacity": [{"kind": "capacity-block", "id": "cr-0123456789abcdef0", "zone": "us-east-1a"}],
                },
            ],
            "storage": [
                {"name": "scratch", "kind": "lustre", "capacity": "4800 GiB", "mount": "/fsx"},
                {"name": "home", "kind": "nfs", "capacity": "1 TiB", "mount": "/home"},
                {"name": "data", "kind": "object"},
            ],
        }
    )
    found = resolve(declared)
    assert not found.errors and found.cloud is not None, found.errors
    return replace(found, cloud=replace(found.cloud, provider=provider))


def fill_placeholders(text: str) -> str:
    """User-data with its placeholders put in."""
    return re.sub(r"@\{([a-z][a-z0-9_.-]*)\}", lambda hole: VALUES[hole[1]], text)


def archive(bundle: Bundle) -> bytes:
    """Files as a gzipped tar."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for path, file in bundle.files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(file.text.encode()), file.mode
            tar.addfile(member, io.BytesIO(file.text.encode()))
    return raw.getvalue()


def compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


SYSTEMCTL = """\
case $1 in
start | restart) touch "$CLOUD/active-${!#}" ;;
stop) shift; for unit; do rm -f "$CLOUD/active-$unit"; done ;;
is-active) [ -e "$CLOUD/active-${!#}" ] ;;
esac"""
"""Units that were started are active."""


class BootMachine:
    """One machine, its cloud, and what commands were called."""

    def __init__(self, folder: Path, key: str, plan: Plan):
        self.folder, self.root, self.cloud = folder, folder / "root", folder / "cloud"
        self.bin, self.call_log = folder / "bin", folder / "said"
        self.plan, self.slurm, self.boot = plan, render(plan, "slurm"), render_boot_bundle(plan, CLOUD)
        self.settings = render(plan, "settings")
        for path in (
            self.root,
            self.cloud / "bucket/boot",
            self.cloud / "bucket/settings",
            self.cloud / "bucket/slurm",
            self.cloud / "bucket/users",
            self.cloud / "secrets",
            self.bin,
        ):
            path.mkdir(parents=True)
        self.publish()
        self.start = folder / "user-data"
        self.start.write_text(fill_placeholders(self.boot[f"user-data/{key}.sh"]))
        (self.cloud / "secrets/auth").write_text(base64.b64encode(bytes(64)).decode())
        (self.cloud / "secrets/database").write_text("a" * 24)
        (self.cloud / "metadata").write_text(
            "id=i-1\ntype=p5\nzone=us-east-1a\naddress=10.0.0.9\nnetwork=nn-1 nn-2/3\n"
        )
        self.env = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "BOOT_ROOT": str(self.root),
            "CLOUD": str(self.cloud),
            "SAID": str(self.call_log),
            "BOOT_PAUSE": "0",
            "BOOT_TRIES": "2",
            "BOOT_WAIT": "1",
            "BOOT_JOIN": "2",
        }
        release = plan.scheduler.version
        for name in ("slurmctld", "slurmd", "slurmdbd", "sinfo"):
            self.fake(name, f"echo slurm {release}.3")
        for name in (
            "systemctl",
            "chown",
            "hostnamectl",
            "mount",
            "mount.nfs",
            "useradd",
            "modprobe",
            "groupadd",
            "sackd",
            "sacctmgr",
            "journalctl",
            "mkfs.ext4",
            "pam-auth-update",  # the real ones would change this host
            "usermod",
            "gpasswd",
            "loginctl",
            "sleep",
        ):
            self.fake(name)
        # as the real ones: without a configuration they do not say their release
        self.fake("slurmdbd", "exit 1")
        for name in ("sinfo", "sacctmgr"):
            self.fake(name, f'[ "$1" != -V ] || {{ grep -q ^Slurmctld "$SLURM_CONF" && echo slurm {release}.3; }}')
        self.fake("systemctl", SYSTEMCTL)
        self.fake("mountpoint", "exit 1")
        self.fake("mariadb", "cat >/dev/null")
        self.fake("mariadbd")
        self.fake("id")
        self.fake("getent", "echo slurm:x:64030:64030::/nonexistent:/usr/sbin/nologin")
        self.fake("hostname", "echo here")
        self.fake("blkid", "exit 2")
        self.fake("wipefs")
        self.fake("nft", 'cat >>"$SAID"')
        self.fake("visudo")
        self.fake("sshd", "echo allowgroups root")
        self.fake("curl", CONTROLLER)
        self.fake("openssl", OPENSSL)

    def publish(self) -> None:
        """All bundles as archives in the bucket."""
        (self.cloud / "bucket/boot/boot.tar.gz").write_bytes(archive(self.boot))
        (self.cloud / "bucket/slurm/slurm.tar.gz").write_bytes(archive(self.slurm))
        (self.cloud / "bucket/settings/settings.tar.gz").write_bytes(archive(self.settings))
        (self.cloud / "bucket/users/users.tar.gz").write_bytes(archive(render(self.plan, "users")))

    def fake(self, name: str, script: str = "") -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/bash\necho {name} "$@" >>"$SAID"\n{script}\n')
        path.chmod(0o755)

    def run(self, *command: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/bash", *command], env={**self.env, **env}, capture_output=True, text=True, timeout=60
        )

    def begin(self, **env: str) -> subprocess.CompletedProcess[str]:
        """The first start."""
        return self.run(self.start, **env)

    def steps(self, *names: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Some steps only, on a machine that has the bundle."""
        here = self.root / "opt/supercloud/boot"
        if not here.exists():
            self.boot.write(here)
            self.settings.write(self.root / "opt/supercloud/settings")
            (self.root / "etc/supercloud").mkdir(parents=True)
            text = self.start.read_text()
            (self.root / "etc/supercloud/env").write_text(text.split("<<'ENV'\n")[1].split("\nENV\n")[0] + "\n")
            (self.root / "opt/supercloud/cloud.sh").write_text(CLOUD)
            (self.root / "opt/supercloud/metadata.sh").symlink_to(here / "metadata.sh")
        return self.run(here / "boot.sh", *names, **env)

    @property
    def asked(self) -> list[str]:
        return self.call_log.read_text().splitlines() if self.call_log.exists() else []

    def calls(self, name: str) -> list[str]:
        """Arguments of each call of a command."""
        return [line.removeprefix(f"{name} ") for line in self.asked if line.startswith(f"{name} ")]
