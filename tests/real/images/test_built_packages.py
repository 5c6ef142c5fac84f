"""``build-slurm.sh`` on a bare machine: packages of the real source of Slurm, which the image then installs.

The source is that of Debian's package: its archive of the release as SchedMD published it, which has the description
of packages (``debian/``) that Debian does not use. The build takes many minutes of processor time.
"""

from __future__ import annotations

import hashlib
import lzma
import re
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from image_roots import CPU, build_plan
from real.machines.machines import Machine, Machines, get_cache_folder
from test_bare_images import PUBLISHED, list_packages, list_steps

from supercloud.targets import render

pytestmark = pytest.mark.extended
RELEASE, SUITE = "24.11", "trixie"
MIRROR = "http://deb.debian.org/debian"
SCRIPT = f"/root/images/{CPU}/install.sh"


def fetch_source() -> tuple[Path, str]:
    """The archive of the release, kept in the cache, and its digest in the index of Debian's archive."""
    with urllib.request.urlopen(f"{MIRROR}/dists/{SUITE}/main/source/Sources.xz", timeout=300) as response:
        index = lzma.decompress(response.read()).decode()
    entry = next(part for part in index.split("\n\n") if part.startswith("Package: slurm-wlm\n"))
    found = re.search(rf"^ ([0-9a-f]{{64}}) \d+ (slurm-wlm_{RELEASE}\.\S+\.orig\.tar\.\S+)$", entry, re.M)
    folder = re.search(r"^Directory: (\S+)$", entry, re.M)
    assert found and folder, entry
    path = get_cache_folder().parent / "images" / found[2]
    if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != found[1]:
        path.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(f"{MIRROR}/{folder[1]}/{found[2]}", timeout=300) as response:
            path.write_bytes(response.read())
    return path, found[1]


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    with Machines() as machines:
        yield machines


def boot(machines: Machines, name: str, number: int, folder: Path) -> Machine:
    """A bare machine with the rendered images of a release that its archive does not have."""
    render(build_plan(RELEASE), "images").write(folder / "images")
    machine = machines.boot(name, number)
    machine.run(f"apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q {PUBLISHED}", timeout=900)
    machine.copy_in(folder / "images", "/root/images")
    return machine


@pytest.fixture(scope="module")
def packages(machines: Machines, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that ``build-slurm.sh`` writes on a machine of its own."""
    source, digest = fetch_source()
    folder = tmp_path_factory.mktemp("built")
    builder = boot(machines, "builder", 10, folder)
    builder.copy_in(source, "/root/source")
    wrong = builder.run("/root/images/build-slurm.sh source " + "0" * 64, check=False)
    assert f"FAILED source: the SHA-256 digest of source is {digest}, not 000" in wrong.stderr
    builder.run(f"/root/images/build-slurm.sh source {digest}", timeout=7200)
    shutil.copy(builder.root / "root" / "packages.tar.gz", folder)
    machines.stop(builder)
    return folder / "packages.tar.gz"


def test_built_packages_are_installed_on_another_machine(machines: Machines, packages: Path, tmp_path: Path) -> None:
    machine = boot(machines, "host", 11, tmp_path)
    refused = machine.run([SCRIPT], check=False)
    assert "FAILED inputs: set these variables in the environment: SLURM_PACKAGES (" in refused.stderr
    machine.copy_in(packages, "/root/")
    inputs = {"SLURM_PACKAGES": "/root/packages.tar.gz"}
    machine.run([SCRIPT], env=inputs, timeout=1800)
    assert machine.run("slurmd -V").stdout.startswith(f"slurm {RELEASE}.")
    machine.run([SCRIPT, "check"])
    for name in ("slurmctld", "slurmdbd", "slurmd", "munge"):
        assert machine.run(["systemctl", "is-enabled", name], check=False).stdout == "disabled\n", name
    before = list_packages(machine)
    again = machine.run([SCRIPT])  # what is installed needs no input
    assert "slurm: already installed" in list_steps(again.stdout) and list_packages(machine) == before
