"""INSTALL.md of Slurm: packages, users, files and folders of each host."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from slurm_plans import RELEASES, VARIANTS, build_plan, build_variant

from supercloud.targets import render


@pytest.mark.parametrize("state", ["IDLE", "IDLE+DRAIN", "IDLE+NOT_RESPONDING", "UNKNOWN"])
def test_install_shows_why_a_node_is_not_idle(tmp_path: Path, state: str) -> None:
    """A node that its health check had drained passed, and one that never came up ended without a word."""
    guide = render(build_plan("25.11"), "slurm")["INSTALL.md"]
    assert "/dev/nvidia0 to /dev/nvidia7 exist" in guide and "subnet manager (compute)" in guide
    block = next(item for item in re.findall(r"```sh\n(.*?)```", guide, re.S) if "restart slurmd\n" in item)
    reason = "Reason=adapter mlx5_0: link is INIT"
    tools = {
        "systemctl": "",
        "journalctl": "",
        "hostname": "echo train-0001",
        "sinfo": f"echo '{reason}'",
        "scontrol": f"printf 'NodeName=train-0001\\n   State={state} Weight=1\\n   {reason}\\n'",
        "sleep": "exit 1" if state == "IDLE" else "kill $PPID",
        "timeout": 'shift; exec "$@"',
    }
    for name, text in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", block], capture_output=True, text=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}
    )
    assert (done.returncode == 0) == (state == "IDLE")
    assert (reason in done.stderr) == (state != "IDLE")


def test_files_in_etc_slurm_belong_to_root() -> None:
    """The programs in /etc/slurm run as root: they belong to root; no other user can read new keys."""
    guide = render(build_variant("22.05", "two-controllers"), "slurm")["INSTALL.md"]
    assert "cp -a" not in guide and "sackd" not in guide
    installs = [line for line in guide.splitlines() if line.startswith("install ") and line.endswith("/etc/slurm/")]
    assert installs and all("-o root -g root" in line or "slurmdbd.conf" in line for line in installs)
    made = re.split(r"```", guide)
    for block in made:
        if "/dev/urandom" in block or "openssl req" in block:
            assert block.index("umask 077") < min(block.find(word) % 10**9 for word in ("/dev/urandom", "openssl req"))


def test_the_configuration_step_keeps_a_database_on_another_host(tmp_path: Path) -> None:
    """Repeated after a change of the spec, it overwrote host and password: slurmdbd looked for the database locally."""
    files = render(build_variant("25.11", "two-controllers"), "slurm")
    blocks = re.findall(r"```sh\n(.*?)```", files["INSTALL.md"], re.S)
    (block,) = [item for item in blocks if "slurmdbd.conf /etc/slurm/" in item]
    etc, root = tmp_path / "etc/slurm", tmp_path / "root/slurm"
    for folder in (etc, root):
        folder.mkdir(parents=True)
    (root / "slurmdbd.conf").write_text(files["slurmdbd.conf"])
    (etc / "database.conf").write_text("StorageHost=db1\nStorageUser=site\nStoragePass=secret\n")
    here = block.replace("-o slurm -g slurm ", "").replace("/etc/slurm", str(etc)).replace("/root/slurm", str(root))
    for _ in range(2):
        subprocess.run(["bash", "-ec", here], check=True)
        written = etc.joinpath("slurmdbd.conf").read_text().splitlines()
        assert [line for line in written if line.startswith(("StorageHost", "StorageUser", "StoragePass"))] == [
            "StorageHost=db1",
            "StorageUser=site",
            "StoragePass=secret",
        ]


@pytest.mark.parametrize("release", RELEASES)
def test_install_names_packages_that_the_release_has(release: str) -> None:
    """Names of Debian where a suite has the release, else files that its source makes."""
    declared = build_plan(release, scheduler={"auth": "slurm"} if release >= "23.11" else {})
    guide = render(declared, "slurm")["INSTALL.md"]
    installed = [line for line in guide.splitlines() if "apt-get install" in line]
    family = {"22.05": "debian", "24.11": "debian", "26.05": "debian", "23.02": None}.get(release, "schedmd")
    for line in installed:
        assert ("slurm-smd" in line) == (family == "schedmd") and (" slurm-client " in line) == (family != "schedmd")
        assert family != "schedmd" or f"/root/slurm-packages/slurm-smd_{release}.*.deb" in line
    assert ("No Debian release has" in guide) == (family != "debian")
    # commands and slurmdbd do not answer before they are configured
    assert (
        guide.count(f"\ndpkg-query -W {'slurm-smd-client' if family == 'schedmd' else 'slurm-client'} | grep -F ") == 2
    )
    for program in ("slurmctld", "slurmd"):
        assert f"\n{program} -V | grep -F ' {release}.'\n" in guide
    # with auth/slurm commands of hosts without a daemon are signed by sackd
    login = [line for line in installed if "ca-certificates" in line]
    assert all(("sackd" in line) == (release >= "23.11") for line in login) and login
    assert ("systemctl restart sackd" in guide) == (release >= "23.11")


def test_install_creates_the_user_slurm_before_the_packages() -> None:
    guide = render(build_plan("25.11"), "slurm")["INSTALL.md"]
    assert guide.index("useradd --system --uid 64030 --gid 64030 ") < guide.index("apt-get install")
    assert '[ "$(id -u slurm):$(id -g slurm)" = 64030:64030 ] ||' in guide
    assert "useradd --system --no-create-home slurm\n" not in guide


def test_install_creates_folders_before_daemons_start() -> None:
    guide = render(build_variant("22.05", "tenants"), "slurm")["INSTALL.md"]
    folders = guide.index("install -d -o slurm -g slurm -m 755 /var/log/slurm")
    assert "On **every host**:" in guide[folders - 250 : folders]
    for daemon in ("slurmdbd", "slurmctld", "slurmd"):
        assert folders < guide.index(f"systemctl enable {daemon} ")


@pytest.mark.parametrize("name", VARIANTS)
def test_every_block_of_install_names_its_hosts(name: str) -> None:
    guide = render(build_variant("25.11", name), "slurm")["INSTALL.md"]
    lines = guide.splitlines()
    fences = [number for number, line in enumerate(lines) if line.startswith("```")][::2]
    assert fences and all(re.fullmatch(r"On \*\*.+\*\*:", lines[number - 2]) for number in fences)


_HOST = """
command_not_found_handle() { cat >/dev/null; }  # daemons, package managers and other hosts
install() { [ "$1" != -d ] || mkdir -p "${@: -1}"; }
openssl() { local word; for word; do [[ $word != */slurm-keys/* ]] || : >"$word"; done; }
id() { echo 64030; }
getent() { :; }
set -e
"""


@pytest.mark.slow
@pytest.mark.parametrize("mask", ["022", "077"])
def test_blocks_of_install_run_in_one_shell_leave_files_that_daemons_read(mask: str, tmp_path: Path) -> None:
    """A umask for keys is not kept: MariaDB would silently skip its file. Paths are below a temporary folder."""
    guide = render(build_variant("25.11", "tenants"), "slurm")["INSTALL.md"]
    script = "".join(re.findall(r"^```sh\n(.*?)^```$", guide, re.M | re.S))
    script = re.sub(r"(?<![\w.$}*])/(?=(etc|root|var|usr/local|usr/sbin)/)", f"{tmp_path}/", script)
    for folder in (
        "root/slurm",
        "etc/mysql/mariadb.conf.d",
        "etc/default",
        "etc/nginx/conf.d",
        "etc/cron.d",
        "etc/slurm",
        "etc/pam.d",
        "bin",
    ):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("awk", "cat", "chmod", "dd", "mkdir", "mv", "rm"):
        found = shutil.which(name)
        assert found
        (tmp_path / "bin" / name).symlink_to(found)
    for file in ("root/login-hosts", "etc/hosts", "etc/slurm/accounts.sh", "etc/slurm/health-check.sh"):
        (tmp_path / file).write_text("#!/bin/bash\n")
        (tmp_path / file).chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", "-c", f"umask {mask}{_HOST}{script}umask"],
        capture_output=True,
        text=True,
        env={"PATH": f"{tmp_path}/bin"},
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"0{mask}"
    assert (tmp_path / "etc/mysql/mariadb.conf.d/90-slurm.cnf").stat().st_mode & 0o777 == 0o644
    keys = list((tmp_path / "root/slurm-keys").iterdir())
    assert keys and all(key.stat().st_mode & 0o077 == 0 for key in keys)
