"""Rendered images for the distribution of a booted machine, and packages that stand for those of vendors.

The archives of NVIDIA and AWS are not reachable from every test machine. For what they have, a package is built that
contains what ``install.sh`` looks for and nothing else: a kernel module with the name of the driver, ``nvcc``,
``nccl.h``, ``dcgmi``, ``enroot``. The tests of accelerators are a program of MPI that is built in their place.
Everything else (Slurm, MUNGE, clients of file systems, compilers, MPI) comes from the distribution.
"""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec

STAND_INS = ("driver", "fabric", "monitoring", "tests", "containers")
"""Parts of an image whose packages only their vendors distribute."""
CPU, GPU = "slurm-cpu-x86", "slurm-nvidia-x86"
_MODULE = 'static const char name[] __attribute__((section(".modinfo"), used)) = "name={}";\n'
_PROGRAM = "#!/bin/sh\nexit 0\n"
_TOOLKIT: Mapping[str, str] = {"/usr/local/cuda/bin/nvcc": _PROGRAM, "/usr/include/nccl.h": ""}
_TESTS = {
    "Makefile": (
        "build/all_reduce_perf: all_reduce.c\n"
        "\ttest '$(MPI)' = 1 && test -x $(CUDA_HOME)/bin/nvcc && test -e $(NCCL_HOME)/include/nccl.h\n"
        "\tmkdir -p build && $(CC) -I$(MPI_HOME)/include $< -L$(MPI_HOME)/lib -lmpi -o $@\n"
    ),
    "all_reduce.c": (
        "#include <mpi.h>\n#include <stdio.h>\n"
        "int main(int argc, char **argv) {\n"
        "  int rank, sum = 0;\n"
        "  MPI_Init(&argc, &argv);\n"
        "  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
        "  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);\n"
        '  if (rank == 0) printf("sum %d\\n", sum);\n'
        "  return MPI_Finalize();\n"
        "}\n"
    ),
}


def build_plan(version: str, system: tuple[str, str] = ("debian", "12"), slurm: str | None = None) -> Plan:
    """A cluster whose published images are of ``system``, with ``slurm`` in its package archive."""
    declared: dict[str, Any] = {
        "name": "bare",
        "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
        "scheduler": {"kind": "slurm", "version": version},
        "pools": [
            {"name": "train", "machine": "p5.48xlarge", "nodes": 2, "fabrics": ["compute"]},
            {"name": "prepare", "machine": "m6i.8xlarge", "nodes": 2},
        ],
        "fabrics": [{"name": "compute", "kind": "efa"}],
        "storage": [{"name": "home", "kind": "nfs", "capacity": "1 TiB", "mount": "/home"}],
    }
    plan = resolve(ClusterSpec.model_validate(declared))
    assert not plan.errors and plan.cloud is not None, plan.errors
    changed = {"distribution": system[0], "release": system[1], "slurm": slurm}
    images = tuple(image.model_copy(update=changed) for image in plan.cloud.published_images)
    return replace(plan, cloud=replace(plan.cloud, published_images=images))


def build_package(folder: Path, name: str, files: Mapping[str, str | bytes]) -> Path:
    """A Debian package with programs and other files, by their paths."""
    root = folder / name
    for path, content in files.items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        target.chmod(0o755)
    (root / "DEBIAN").mkdir(parents=True)
    lines = {"Package": name, "Version": "1", "Architecture": "all", "Maintainer": "lab", "Description": "stands in"}
    (root / "DEBIAN" / "control").write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    if any(path.startswith("/lib/modules/") for path in files):
        script = root / "DEBIAN" / "postinst"
        script.write_text('#!/bin/sh\ndepmod "$(uname -r)"\n')
        script.chmod(0o755)
    package = folder / f"{name}.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", root, package], check=True, capture_output=True)
    return package


def build_module(folder: Path, name: str, kernel: str) -> dict[str, bytes]:
    """A file that ``modinfo`` reads as a kernel module of this kernel; it cannot be loaded."""
    source, module = folder / f"{name}.c", folder / f"{name}.ko"
    source.write_text(_MODULE.format(name))
    subprocess.run(["gcc", "-c", "-o", module, source], check=True)
    return {f"/lib/modules/{kernel}/updates/{name}.ko": module.read_bytes()}


def build_stand_ins(folder: Path, kernel: str) -> dict[str, Path]:
    """A package for each vendor's software, by the part of the image."""
    return {
        "driver": build_package(folder, "lab-driver", {**build_module(folder, "nvidia", kernel), **_TOOLKIT}),
        "monitoring": build_package(folder, "lab-dcgm", {"/usr/bin/dcgmi": _PROGRAM}),
        "containers": build_package(folder, "lab-enroot", {"/usr/bin/enroot": _PROGRAM}),
    }


def build_tests(folder: Path) -> tuple[Path, str]:
    """An archive like that of the source of NCCL tests, and its digest."""
    archive = folder / "tests.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for name, text in _TESTS.items():
            path = folder / name
            path.write_text(text)
            tar.add(path, f"nccl-tests-2.17.6/{name}")
    return archive, hashlib.sha256(archive.read_bytes()).hexdigest()


def build_fabric_installer(folder: Path, kernel: str) -> tuple[Path, str]:
    """An archive like that of the EFA installer, whose script installs a package, and its digest."""
    module = build_module(folder, "efa", kernel)
    package = build_package(folder, "lab-efa", {**module, "/opt/amazon/efa/bin/fi_info": _PROGRAM})
    script = folder / "efa_installer.sh"
    script.write_text('#!/bin/bash\nset -e\ncd "$(dirname "$0")"\napt-get install -y -q ./lab-efa.deb\n')
    script.chmod(0o755)
    archive = folder / "aws-efa-installer.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for path in (script, package):
            tar.add(path, f"aws-efa-installer/{path.name}")
    return archive, hashlib.sha256(archive.read_bytes()).hexdigest()
