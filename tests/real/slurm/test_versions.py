"""Clusters of other shapes: every bundle is loaded by a real controller and a real slurmd.

There are no accelerators: device files are created, and the tests prove that Slurm accepts and counts them.
Instances of MIG are detected by NVML, which is missing: slurmd reports that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from answers import list_by_name, list_hosts
from bundles import Declared, declare_text
from complaints import list_complaints
from installed import Slurm
from lab import Lab

HEAD = """\
name: shape
site: {kind: onprem, location: stockholm}
tenants: [{name: llm, users: [lab], share: 3}, {name: vision, borrow: false}]
scheduler: {kind: slurm, version: "VERSION"%s}
"""
FABRIC = """
fabrics:
  - {name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
"""
SHAPES = {
    "mig": HEAD % "" + "pools:\n"
    "  - {name: whole, machine: dgx-h100, nodes: 2}\n"
    "  - {name: cut, machine: dgx-h100, nodes: 2, slicing: {mig: {1g.10gb: 7}, accelerators: 4}}\n",
    "shards": HEAD % "" + "pools:\n"
    "  - {name: shared, machine: dgx-h100, nodes: 2, slicing: {shards: 4}}\n"
    "  - {name: partly, machine: dgx-h100, nodes: 2, slicing: {shards: 2, accelerators: 2}}\n",
    "amd": HEAD % "" + "pools: [{name: mi, machine: mi300x-8gpu, nodes: 4}]\n",
    "gaudi": HEAD % "" + "pools: [{name: gaudi, machine: gaudi3-8, nodes: 4}]\n",
    "cpu": HEAD % "" + "pools: [{name: cpu, machine: cpu-6740e, nodes: 4, reserve: {cores: 2, memory: 8 GiB}}]\n",
    "mixed": HEAD
    % """, partitions: [{name: train, pools: [big], default: true, exclusive: true, accounts: [llm]},
  {name: all, pools: [big, small, plain], max_time: 2 h, max_nodes: 4}, {name: plain, pools: [plain], priority: 9}]"""
    + FABRIC
    + "pools:\n"
    "  - {name: big, machine: dgx-h200, nodes: 40, spares: 2, fabrics: [compute], features: [fast]}\n"
    "  - {name: small, machine: dgx-a100, nodes: 3, hostname: old, reserve: {cores: 4, memory: 32 GiB}}\n"
    "  - {name: plain, machine: cpu-6740e, nodes: 2}\n",
    "bare": (HEAD % ", accounting: false").replace("tenants:", "tags: {} #")
    + "pools: [{name: train, machine: dgx-b200, nodes: 3}]\n",
    "nvl72": HEAD % "" + "pools: [{name: train, machine: dgx-gb300, nodes: 20}]\n",
}


@dataclass
class Loaded:
    shape: str
    slurm: Slurm
    cluster: Declared
    lab: Lab


@pytest.fixture(scope="module", params=[f"{shape}-{slurm}" for slurm in ("2205", "new") for shape in SHAPES])
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    """A cluster whose controller, database and accounts run."""
    shape, _, which = request.param.partition("-")
    slurm = request.getfixturevalue(f"slurm_{which}")
    release = ".".join(f"{part:02d}" for part in slurm.release)
    cluster = declare_text(SHAPES[shape].replace("VERSION", release), tmp_path_factory.mktemp(shape))
    with Lab(cluster.folder, slurm.rootfs) as lab:
        lab.start(nodes="")
        yield Loaded(shape, slurm, cluster, lab)


def list_gres(loaded: Loaded) -> dict[str, str]:
    """Node name -> Gres, of the first node of each pool."""
    nodes = list_by_name(loaded.lab, "node", "NodeName")
    first = [min(list_hosts(pool.hosts)) for pool in loaded.cluster.published.pools]
    return {name: nodes[name]["Gres"] for name in first}


def test_a_bundle_is_loaded_completely(loaded: Loaded) -> None:
    lab, published = loaded.lab, loaded.cluster.published
    nodes = list_by_name(lab, "node", "NodeName")
    assert len(nodes) == published.nodes
    assert set(list_by_name(lab, "partition", "PartitionName")) == set(published.scheduler.partitions)
    for pool in published.pools:
        assert list_hosts(pool.hosts) <= set(nodes)
    if published.scheduler.database:
        assert lab.run(["/etc/slurm/accounts.sh"]).returncode == 0
        assert lab.run(["/etc/slurm/accounts.sh"]).stdout == "nothing changed\n"
    assert not (found := list_complaints(lab)), "\n".join(found)


def test_slurmd_detects_what_the_controller_has_configured(loaded: Loaded) -> None:
    for name, gres in list_gres(loaded).items():
        done = loaded.lab.run(["slurmd", "-G", "-N", name], check=False)
        output = done.stdout + done.stderr
        if "g.10gb" in gres:
            assert re.search("(?i)nvml", output), output
            continue
        assert done.returncode == 0, output
        counted: dict[str, int] = {}
        for kind, count in re.findall(r"Gres Name=(gpu|shard)\b.*? Count=(\d+)", output):
            counted[kind] = counted.get(kind, 0) + int(count)
        values = {kind: int(count) for kind, count in re.findall(r"(gpu|shard)(?::[^:,(]+)?:(\d+)", gres)}
        assert counted == values


def test_a_misspelt_key_is_reported(slurm_2205: Slurm, tmp_path: Path) -> None:
    cluster = declare_text(SHAPES["bare"].replace("VERSION", "22.05"), tmp_path)
    with Lab(cluster.folder, slurm_2205.rootfs) as lab:
        lab.run("echo NoSuchKey=1 >>/etc/slurm/slurm.conf")
        assert "NoSuchKey" in lab.run("scontrol show hostnames a", check=False).stderr
