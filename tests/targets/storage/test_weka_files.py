"""WEKA: docs.weka.io (mount), weka-operator doc/cluster-provisioning.md and doc/api_dump."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from storage_plans import EVERY, build_plan

from supercloud.catalog import Catalog
from supercloud.plan.model.storage import WekaDesign
from supercloud.primitives.bundle import Bundle
from supercloud.targets import render


def test_drives_of_a_backend_are_divided_among_its_containers(bundle: Bundle, tmp_path: Path) -> None:
    """24 drives are two containers of WEKA: 19 and 5, each drive used once. A stand-in replaces weka."""
    (tmp_path / "weka").write_text(
        "#!/bin/bash\n"
        'case "$*" in *"container --output id,hostname"*) printf "1 a\\n2 b\\n3 a\\n4 b\\n" ;;\n'
        '*"drive add"*) echo "$@" >>"$LOG" ;; esac\n'
    )
    (tmp_path / "weka").chmod(0o755)
    (tmp_path / "cluster.sh").write_text(bundle["fast/cluster.sh"])
    log = tmp_path / "log"
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LOG": str(log)}
    subprocess.run(["bash", tmp_path / "cluster.sh"], check=True, env=path)
    given = {words[3]: words[4:] for line in log.read_text().splitlines() if (words := line.split())}
    assert {name: len(drives) for name, drives in given.items()} == {"1": 19, "2": 19, "3": 5, "4": 5}
    assert sorted(given["1"] + given["3"]) == sorted(f"/dev/nvme{number}n1" for number in range(24))


LSCPU = {
    # two sockets of four cores of two threads, numbered as the systems of most vendors do: threads last
    "threads last": ([(cpu, cpu % 8, cpu % 8 // 4) for cpu in range(16)], ["7", "3"]),
    # cores of both sockets alternate
    "interleaved": ([(cpu, cpu, cpu % 2) for cpu in range(8)], ["7", "6"]),
    # one socket: the last two cores
    "one socket": ([(cpu, cpu, 0) for cpu in range(4)], ["3", "2"]),
}


@pytest.mark.parametrize("system", LSCPU)
def test_clients_of_weka_use_the_cores_that_slurm_reserves(bundle: Bundle, tmp_path: Path, system: str) -> None:
    """slurm.schedmd.com/core_spec.html: the last core of the last socket first, then the last cores of others."""
    rows, cores = LSCPU[system]
    text = "# CPU,Core,Socket\n" + "".join(f"{cpu},{core},{socket}\n" for cpu, core, socket in rows)
    (tmp_path / "lscpu").write_text(f"#!/bin/sh\ncat <<'E'\n{text}E\n")
    (tmp_path / "lscpu").chmod(0o755)
    (tmp_path / "client-fstab.sh").write_text(bundle["fast/client-fstab.sh"])
    made = subprocess.run(
        ["bash", tmp_path / "client-fstab.sh"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.findall(r"core=(\d+)", made.stdout) == cores


# -- WEKA: docs.weka.io (mount), weka-operator doc/cluster-provisioning.md and doc/api_dump ---------------------------

CLUSTER = {
    "template",
    "image",
    "imagePullSecret",
    "driversDistService",
    "nodeSelector",
    "dynamicTemplate",
    "redundancyLevel",
    "stripeWidth",
    "hotSpare",
    "leadershipRaftSize",
    "bucketRaftSize",
    "network",
}


TEMPLATE = {"computeContainers", "driveContainers", "computeCores", "driveCores", "numDrives"}


CLIENT = {
    "image",
    "imagePullSecret",
    "driversDistService",
    "portRange",
    "nodeSelector",
    "wekaSecretRef",
    "targetCluster",
    "coresNum",
    "network",
}


def test_weka_clusters_and_mounts_are_rendered(bundle: Bundle, catalog: Catalog) -> None:
    line = bundle["fast/client-fstab.sh"].splitlines()[-1]
    assert re.fullmatch(r'echo "[\w.,-]+/fast /fast wekafs \${options}(net=\w+,)+_netdev 0 0"', line)
    design = build_plan(catalog, EVERY[1]).storage[0].design
    assert isinstance(design, WekaDesign)
    script = bundle["fast/cluster.sh"]
    assert f"--data-drives={design.data} --parity-drives={design.parity}" in script
    assert script.count("/dev/nvme") == design.drives and f"hot-spare {design.spares}" in script


@pytest.mark.parametrize("capacity", ["1 PiB", "10 PiB"])
def test_weka_is_mounted_on_kubernetes(catalog: Catalog, capacity: str) -> None:
    plan = build_plan(catalog, EVERY[1] | {"capacity": capacity}, scheduler={"kind": "kubernetes", "version": "1.35"})
    cluster, client = yaml.safe_load_all(render(plan, "storage")["fast/operator.yaml"])
    assert (cluster["kind"], client["kind"]) == ("WekaCluster", "WekaClient")
    assert {cluster["apiVersion"], client["apiVersion"]} == {"weka.weka.io/v1alpha1"}
    spec = cluster["spec"]
    assert set(spec) <= CLUSTER and set(spec["dynamicTemplate"]) == TEMPLATE and set(client["spec"]) <= CLIENT
    drives = spec["dynamicTemplate"]["driveContainers"]
    assert drives >= 5 and 3 <= spec["stripeWidth"] <= 16 and spec["redundancyLevel"] in (2, 4)
    assert ("leadershipRaftSize" in spec) == (drives > 10)
    assert drives <= 20 or (spec["redundancyLevel"], spec["stripeWidth"]) == (4, 16)
    assert client["spec"]["targetCluster"]["name"] == cluster["metadata"]["name"]


def test_weka_uses_a_new_folder_for_resource_files(bundle: Bundle, tmp_path: Path) -> None:
    """backend.sh runs as root: its files for containers are in a folder that it has just created."""
    script = bundle["fast/backend.sh"]
    assert "/tmp" not in script and "folder=$(mktemp -d /root/" in script
    (tmp_path / "backend.sh").write_text(script.replace("/root/", f"{tmp_path}/"))
    for name, text in {
        "weka": 'case "$*" in *resources-path*) echo "$5" >>"$LOG" ;; esac\n',
        "resources_generator.py": 'touch "$3/drives0.json" "$3/compute0.json"\n',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}")
        (tmp_path / name).chmod(0o755)
    log = tmp_path / "log"
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LOG": str(log)}
    subprocess.run(["bash", tmp_path / "backend.sh"], check=True, env=environment, cwd=tmp_path)
    places = [Path(line) for line in log.read_text().split()]
    assert [place.name for place in places] == ["drives0.json", "compute0.json"]
    assert not places[0].parent.exists(), "the folder is gone afterwards"


@pytest.mark.parametrize("refused", [False, True])
def test_weka_replaces_the_default_password(bundle: Bundle, tmp_path: Path, refused: bool) -> None:
    (tmp_path / "weka").write_text(
        '#!/bin/bash\necho "$@" >>"$LOG"; case "$*" in "user passwd"*) exit $REFUSED ;; esac\n'
    )
    (tmp_path / "weka").chmod(0o755)
    (tmp_path / "cluster.sh").write_text(bundle["fast/cluster.sh"])
    log = tmp_path / "log"
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LOG": str(log), "REFUSED": str(int(refused))}
    done = subprocess.run(["bash", tmp_path / "cluster.sh"], env=environment, capture_output=True, text=True)
    create, wait, change, *others = log.read_text().splitlines()
    assert create.startswith("cluster create ") and wait == "user login admin admin"
    assert change == "user passwd --username admin --current-password admin", "the new one is on no command line"
    assert bool(others) != refused, "nothing is made of a cluster that anybody may change"
    assert not others or others[0] == "user login admin", "its session ended with the password"
    assert done.returncode == int(refused) and ("still the default" in done.stderr) == refused
