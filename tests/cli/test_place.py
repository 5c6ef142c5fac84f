"""What ``place`` and ``why-not`` print, on a cluster and on a fleet."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import EXAMPLES

from supercloud.cli.place import _format_domains
from supercloud.jobs.fleet.observations import NodeState
from supercloud.jobs.fleet.state import Cluster
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load

Cli = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.slow

CLUSTER = """
name: {name}
site: {{kind: onprem, location: {place}}}
scheduler: {{kind: slurm, version: "25.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: {nodes}, fabrics: [compute]}}]
fabrics: [{{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}}]
storage: [{{name: scratch, kind: nfs, capacity: 100 TiB, throughput: {{write: 10 GB/s}}, mount: /scratch}}]
"""
FLEET = """
name: company
clusters:
  - {spec: north.yaml, prices: {train: 60 USD/h}, egress: 20 USD}
  - {spec: south.yaml, prices: {train: 40 USD/h}}
data: [{name: corpus, size: 300 TB, at: [north/scratch]}]
"""
JOB = """
name: pretrain
command: [train]
parallelism: {tensor: 8, pipeline: 4, data: 16}
model: {parameters: 70e9, layers: 80, hidden: 8192, heads: 64, kv_heads: 8, sequence: 8192, shard: gradients}
time_limit: 24 h
checkpoint: {path: /scratch/a}
place: {data: [corpus]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, place, nodes in (("north", "stockholm", 127), ("south", "madrid", 256)):
        (tmp_path / f"{name}.yaml").write_text(CLUSTER.format(name=name, place=place, nodes=nodes))
    (tmp_path / "fleet.yaml").write_text(FLEET)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "supercloud", *words], cwd=folder, capture_output=True, text=True, timeout=60
    )


def test_place_explains_its_decision(folder: Path) -> None:
    result = run(folder, "place", "job.yaml", "--on", "fleet.yaml", "--explain")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "south: 64 nodes of pool train, 8 × h100-sxm each, within one fabric"
    assert "takes    32 of su1, 32 of su2" in lines
    assert "tensor   64 groups of 8, each fits one node, spans 1 at most, 1 on average" in lines
    assert "pipeline 128 groups of 4, each fits one su, spans 1 at most, 1 on average" in lines
    assert "data     32 groups of 16, each fits one fabric, spans 2 at most, 2 on average" in lines
    assert "price    2560.00 USD/h, and 6000.00 USD to move corpus" in lines
    assert any(line.startswith("memory   ") for line in lines)
    assert any(line.startswith("save     every ") for line in lines)
    assert any(line.startswith("other    north/train: 64 nodes of pool train") and "price" in line for line in lines)
    alone = run(folder, "place", "job.yaml", "--on", "south.yaml")
    assert alone.returncode == 2 and "'corpus' is not a storage of south" in alone.stdout


def test_place_explains_why_other_pools_do_not_fit(folder: Path) -> None:
    (folder / "large.yaml").write_text(JOB.replace("data: 16", "data: 40"))
    result = run(folder, "place", "large.yaml", "--on", "fleet.yaml", "--explain")
    assert "other    north/train: 1280 accelerators are 160 nodes, the pool has 127" in result.stdout.splitlines()


def test_place_prints_json(folder: Path) -> None:
    data = json.loads(run(folder, "place", "job.yaml", "--on", "fleet.yaml", "--json").stdout)
    assert (data["cluster"], data["moved"], data["nodes"]) == ("south", ["corpus"], 64)
    assert {span["axis"]: span["worst"] for span in data["spans"]} == {"tensor": 1, "pipeline": 1, "data": 2}


def test_why_not_asks_every_cluster(folder: Path) -> None:
    (folder / "large.yaml").write_text(JOB.replace("data: 16", "data: 40"))
    result = run(folder, "why-not", "large.yaml", "--on", "fleet.yaml")
    lines = result.stdout.splitlines()
    assert "1280 accelerators are 160 nodes, the pool has 127" in lines[0] and lines[0].startswith("north/train")
    assert lines[1].startswith("south/train") and "fits" in lines[1]
    one = run(folder, "why-not", "large.yaml", "--on", "fleet.yaml", "--pool", "north/train", "--json")
    north = json.loads(one.stdout)["north/train"]
    assert north["suggestion"] == "set parallelism.data to 31: 992 accelerators" and not north["fits"]
    assert north["change"]["parallelism.data"] == 31 and one.returncode == 0


def test_a_job_without_a_placement_is_exit_code_2(folder: Path) -> None:
    (folder / "huge.yaml").write_text(JOB.replace("data: 16", "data: 400"))
    result = run(folder, "place", "huge.yaml", "--on", "fleet.yaml")
    assert result.returncode == 2 and "no pool of company fits" in result.stderr
    line = 1 + (folder / "huge.yaml").read_text().splitlines().index(JOB.strip().splitlines()[2].replace("16", "400"))
    assert f"(huge.yaml:{line}" in result.stdout
    assert f"(huge.yaml:{line}" in run(folder, "why-not", "huge.yaml", "--on", "fleet.yaml").stdout
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["north/train", "south/train"]


def test_many_domains_are_summarized() -> None:
    few = tuple((f"su{n}", 2) for n in range(1, 4))
    assert list(_format_domains(few)) == ["2 of su1", "2 of su2", "2 of su3"]
    many = (*((f"su{n}", 2) for n in range(1, 65)), ("su65", 1), ("su66", 2))
    assert list(_format_domains(many)) == ["2 each of 64: su1 to su64", "1 of su65", "2 of su66"]


def test_a_job_that_waits_is_told_apart_from_one_that_starts(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plan = resolve(load(EXAMPLES[0]))
    now = time.time()
    busy = [NodeState(host, in_use=8, busy_until=now + 7200) for host in plan.pools[0].hosts]
    free = [NodeState(host) for host in plan.pools[0].hosts]
    job = tmp_path / "job.yaml"
    job.write_text("{name: j, command: [x], accelerators: {type: h100, count: 8}}")
    found = []
    for states in (free, busy):
        observed = Cluster.from_plan(plan).with_observations(states, now)
        monkeypatch.setattr("supercloud.cli.place.load_destination", lambda path, live, observed=observed: observed)
        found.append(cli("place", job, "--on", EXAMPLES[0], "--live")[1].strip())
    assert "wait" not in found[0] and found[1] == f"{found[0]}; waits for nodes that are in use, up to 2.0 h"
