"""A machine on which an image is built, as a folder: rendered programs run in it, with commands that are scripts."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.bundle import Bundle
from supercloud.spec import ClusterSpec
from supercloud.targets import render

# Every command adds a line to $SAID. What is installed is a file in $STATE, or a program in $BIN.
COMMANDS = {
    "uname": 'case $1 in -m) echo "${MACHINE:-x86_64}" ;; *) echo 6.8.0-1 ;; esac',
    "modinfo": '[ -e "$STATE/$1" ]',
    "modprobe": '[ -e "$STATE/$2" ]',
    "systemctl": 'echo "systemctl $*" >>"$SAID"',
    "mk-build-deps": 'echo "mk-build-deps $*" >>"$SAID"',
    "debuild": """echo "debuild $*" >>"$SAID"
[ ! -e "$STATE/no-build" ] || { echo "undefined reference"; exit 2; }
for name in slurm-smd{,-client,-slurmctld,-slurmdbd,-slurmd,-libpam-slurm-adopt,-sackd,-torque}; do
    echo "$name" >"../${name}_25.11.2-1_amd64.deb"
done""",
    "curl": """url=${@: -1}
echo "curl $url" >>"$SAID"
while [ "$1" != --output ]; do shift; done
case $url in *.tar.gz) cp "$STATE/${url##*/}" "$2" ;; *) echo key >"$2" ;; esac""",
    "make": """echo "make ${*/*\\/tests/tests}" >>"$SAID"
[ ! -e "$STATE/no-tests" ] || { echo "nccl.h: no such function"; exit 2; }
mkdir -p "$2/build"
for name in all_reduce all_gather; do echo tests >"$2/build/${name}_perf"; done""",
    "apt-get": """shown=()
for word; do case $word in -* | DPkg*) ;; *) shown+=("${word##*/}") ;; esac; done
echo "apt-get ${shown[*]}" >>"$SAID"
[ "$1" = install ] || exit 0
program() { printf '#!/bin/bash\\n%s\\n' "$2" >"$BIN/$1"; chmod +x "$BIN/$1"; }
for word; do
    if [ -e "$STATE/lacks" ] && [[ $word == *"$(cat "$STATE/lacks")"* ]]; then
        echo "E: Unable to locate package $word" >&2; exit 100
    fi
    case $word in
    *slurmctld*) for name in slurmctld slurmd sinfo; do program $name "echo slurm ${RELEASE:-25.11}.2"; done ;;
    lustre*) touch "$STATE/lustre" ;;
    nfs-common) program mount.nfs : ;;
    driver*) touch "$STATE/nvidia" ;;
    dcgm*) program dcgmi : ;;
    enroot*) program enroot : ;;
    esac
done""",
}


@cache
def build_plan(version: str = "25.11", arm: bool = False, image: str = "", auth: str = "munge") -> Plan:
    """A cluster with nodes with and without accelerators, and two kinds of file systems."""
    own: dict[str, Any] = {"images": {"slurm-nvidia-x86": {"id": image, "root": "/dev/xvda"}}} if image else {}
    declared = ClusterSpec.model_validate(
        {
            "name": "trainer",
            "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"], **own},
            "scheduler": {"kind": "slurm", "version": version, "auth": auth},
            "pools": [
                {"name": "train", "machine": "p5.48xlarge", "nodes": 4, "fabrics": ["compute"]},
                {"name": "prepare", "machine": "m7g.2xlarge" if arm else "m6i.8xlarge", "nodes": 2},
            ],
            "fabrics": [{"name": "compute", "kind": "efa"}],
            "storage": [
                {"name": "scratch", "kind": "lustre", "capacity": "4800 GiB", "mount": "/fsx"},
                {"name": "home", "kind": "nfs", "capacity": "1 TiB", "mount": "/home"},
            ],
        }
    )
    found = resolve(declared)
    assert not found.errors, found.errors
    return found


def compute_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pack(files: dict[str, str], mode: str = "w:gz") -> bytes:
    """An archive of programs and texts."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode=mode) as tar:  # type: ignore[call-overload]
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text.encode()), 0o755
            tar.addfile(info, io.BytesIO(text.encode()))
    return raw.getvalue()


def pack_packages(*names: str) -> bytes:
    files = {f"{name}_25.11.2-1_amd64.deb": name for name in names}
    sums = "".join(f"{compute_digest(text.encode())}  {name}\n" for name, text in files.items())
    return pack({**files, "SHA256SUMS": sums})


INSTALLER = pack(
    {
        "aws-efa-installer/efa_installer.sh": """#!/bin/bash
echo "efa_installer.sh $*" >>"$SAID"
[ ! -e "$STATE/no-efa" ] || { echo "the kernel is not supported"; exit 1; }
mkdir -p "$IMAGE_ROOT/opt/amazon/efa/bin"
printf '#!/bin/bash\\n' >"$IMAGE_ROOT/opt/amazon/efa/bin/fi_info"
chmod +x "$IMAGE_ROOT/opt/amazon/efa/bin/fi_info"
touch "$STATE/efa"
"""
    }
)
TESTS = pack({"nccl-tests-2.17.6/Makefile": "all:"})
PACKAGES = pack_packages(
    *("slurm-smd", "slurm-smd-client", "slurm-smd-slurmctld", "slurm-smd-slurmdbd", "slurm-smd-slurmd"),
    *("slurm-smd-libpam-slurm-adopt", "slurm-smd-sackd"),
)


@dataclass
class Machine:
    """A folder with the commands, and the files of one rendering."""

    folder: Path
    bundle: Bundle = field(default_factory=lambda: render(build_plan(), "images"))

    def __post_init__(self) -> None:
        for name in (
            "bin",
            "state",
            "root/etc",
            "root/usr/include",
            "root/usr/local/cuda/bin",
            "root/opt/amazon/openmpi/bin",
        ):
            (self.folder / name).mkdir(parents=True)
        for name, text in COMMANDS.items():
            path = self.folder / "bin" / name
            path.write_text(f"#!/bin/bash\n{text}\n")
            path.chmod(0o755)
        (self.folder / "root/etc/os-release").write_text('ID=ubuntu\nVERSION_ID="24.04"\n')
        (self.folder / "state/efa.tar.gz").write_bytes(INSTALLER)
        (self.folder / "state/tests.tar.gz").write_bytes(TESTS)
        (self.folder / "root/usr/include/nccl.h").touch()
        for name in ("usr/local/cuda/bin/nvcc", "opt/amazon/openmpi/bin/mpirun"):
            (self.folder / "root" / name).touch(mode=0o755)
        (self.folder / "packages.tar.gz").write_bytes(PACKAGES)
        self.bundle.write(self.folder / "images")

    @property
    def inputs(self) -> dict[str, str]:
        """Values of all inputs."""
        return {
            "DRIVER_PACKAGES": "driver-580",
            "FABRIC_INSTALLER": "https://example.com/efa.tar.gz",
            "FABRIC_INSTALLER_SHA256": compute_digest(INSTALLER),
            "SLURM_PACKAGES": str(self.folder / "packages.tar.gz"),
            "MONITORING_PACKAGES": "dcgm",
            "TESTS_SOURCE": "https://example.com/tests.tar.gz",
            "TESTS_SHA256": compute_digest(TESTS),
            "CONTAINER_PACKAGES": "enroot enroot+caps",
        }

    def run(self, program: str, *words: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the bundle with these variables only."""
        environment = {
            "PATH": f"{self.folder / 'bin'}:{os.defpath}",
            "BIN": str(self.folder / "bin"),
            "STATE": str(self.folder / "state"),
            "SAID": str(self.folder / "said"),
            "IMAGE_ROOT": str(self.folder / "root"),
            "BOOT_PAUSE": "0",
            **inputs,
        }
        script = self.folder / "images" / program
        return subprocess.run(
            ["bash", script, *words], env=environment, cwd=self.folder, capture_output=True, text=True
        )

    def install(self, *words: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run ``install.sh`` of the image for nodes with accelerators."""
        return self.run("slurm-nvidia-x86/install.sh", *words, **inputs)

    @property
    def said(self) -> list[str]:
        """Commands that were run, without lists of packages."""
        path = self.folder / "said"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.strip() for line in lines if line.strip() != "apt-get update"]
