"""Rendered exports with the parser of the NFS server, and every fstab with util-linux: the storage software of Debian.

Debian has no packages of the servers and clients of Lustre, WEKA, Storage Scale and MinIO: their files are checked
against their manuals in ``tests/targets/storage``.
"""

from __future__ import annotations

import ipaddress
import os
import subprocess
from pathlib import Path

import pytest
from samples import ROOT

from supercloud.plan.resolve import resolve
from supercloud.primitives.bundle import Bundle
from supercloud.spec.loader import load
from supercloud.targets import render

PACKAGES = ("nfs-kernel-server", "libtirpc3", "libevent-core-2.1-7")
# exportfs writes below /etc and /var: it runs in a separate mount namespace with an overlay over the host's files
PROGRAM = r"""
set -e
mount -t tmpfs none "$1" && mkdir "$1"/up "$1"/work "$1"/all
mount -t overlay none -o lowerdir=/,upperdir="$1"/up,workdir="$1"/work "$1"/all
mkdir -p "$1"/all/var/lib/nfs "$1"/all/etc "$1"/all/nfs
cp "$2" "$1"/all/etc/exports
cp -a "$3"/. "$1"/all/nfs/
sed -n 's/^\(\/[^ ]*\) .*/\1/p' "$2" | while read -r folder; do mkdir -p "$1/all$folder"; done
code=0
export LD_LIBRARY_PATH=/nfs/lib/x86_64-linux-gnu:/nfs/usr/lib/x86_64-linux-gnu
chroot "$1"/all /nfs/usr/sbin/exportfs -ra || code=$?
cat "$1"/all/var/lib/nfs/etab
exit $code
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.geteuid() != 0:
        pytest.fail("this test needs root: it mounts")
    folder = tmp_path_factory.mktemp("nfs")
    folder.chmod(0o755)
    subprocess.run(["apt-get", "download", "-q", *PACKAGES], cwd=folder, check=True, capture_output=True, timeout=1200)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder / "root"], check=True)
    return folder / "root"


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return render(resolve(load(ROOT / "examples" / "07-storage" / "cluster.yaml")), "storage")


def run_exportfs(exports: Path, installed: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    (tmp_path / "view").mkdir(exist_ok=True)
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", PROGRAM, "sh", tmp_path / "view", exports, installed],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_server_accepts_the_exports(bundle: Bundle, installed: Path, tmp_path: Path) -> None:
    (tmp_path / "exports").write_text(str(bundle["home/exports"]))
    done = run_exportfs(tmp_path / "exports", installed, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    plan = resolve(load(ROOT / "examples" / "07-storage" / "cluster.yaml"))
    (line,) = done.stdout.splitlines()
    folder, client = line.split("\t")
    network, options = client.split("(", 1)
    nodes = plan.pools[0].addresses.block
    services = ipaddress.ip_network((plan.scheduler.controllers[0].address, nodes.prefixlen), strict=False)
    assert [ipaddress.ip_network(network)] == list(ipaddress.collapse_addresses([nodes, services]))
    assert folder == "/export/home" and options.startswith("rw,sync,")
    assert ",root_squash," in client and ",no_subtree_check," in client


def test_a_wrong_option_is_refused(bundle: Bundle, installed: Path, tmp_path: Path) -> None:
    """This proves that the test above can fail."""
    (tmp_path / "exports").write_text(str(bundle["home/exports"]).replace("root_squash", "rot_squash"))
    done = run_exportfs(tmp_path / "exports", installed, tmp_path)
    assert done.returncode and 'unknown keyword "rot_squash"' in done.stderr


def test_every_fstab_is_valid(bundle: Bundle, tmp_path: Path) -> None:
    found = [path for path in bundle if path.endswith(("/fstab", "/client-fstab.sh"))]
    assert {path.split("/")[0] for path in found} == {"scratch", "fast", "home"}
    for path in found:
        file = tmp_path / path.replace("/", "-")
        text = str(bundle[path])
        if path.endswith(".sh"):  # prints the line for this host's cores
            text = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=120, check=True).stdout
        file.write_text(text)
        done = subprocess.run(["findmnt", "--verify", "--tab-file", file], capture_output=True, text=True, timeout=120)
        assert "parse error" not in done.stdout.replace("0 parse errors", ""), done.stdout
        lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
        columns = "SOURCE,TARGET,FSTYPE,OPTIONS"
        listed = subprocess.run(
            ["findmnt", "--fstab", "--tab-file", file, "--noheadings", "--raw", "--output", columns],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout.splitlines()
        assert listed == [" ".join(line.split()[:4]) for line in lines], path
