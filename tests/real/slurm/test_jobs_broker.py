"""The broker over a fleet of real Slurm and this machine: work bursts, moves, and waits for its turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from answers import clear, sbatch, wait_job
from bundles import written
from installed import Slurm
from lab import Lab

SPEC = """\
name: NAME
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "VERSION"}
pools: [{name: train, machine: dgx-h100, nodes: 4}]
tenants: [{name: llm, users: [lab]}]
"""
FLEET = """\
name: company
clusters:
  - {spec: own.yaml, connect: {engine: slurm}, prices: {train: 10 USD/h}}
  - {spec: cloud.yaml, connect: {engine: local}, prices: {train: 90 USD/h}}
budgets: [{tenant: llm, per: day, limit: 1000 USD}]
"""
NODES = "train-[0001-0004]"


@pytest.fixture(scope="module", params=["2205", "new"])
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    slurm: Slurm = request.getfixturevalue(f"slurm_{request.param}")
    release = ".".join(f"{part:02d}" for part in slurm.release)
    cluster = written(SPEC.replace("VERSION", release).replace("NAME", "own"), tmp_path_factory.mktemp("own"))
    with Lab(cluster.folder, slurm.rootfs) as lab:
        for name in ("own", "cloud"):
            lab.put(f"/home/lab/{name}.yaml", SPEC.replace("VERSION", release).replace("NAME", name))
        lab.put("/home/lab/fleet.yaml", FLEET)
        lab.start()
        lab.wait_nodes(NODES, 4)
        yield lab


@pytest.fixture(autouse=True)
def _idle(lab: Lab) -> Iterator[None]:
    yield
    clear(lab)
    lab.wait_nodes(NODES, 4)


def submit(lab: Lab, text: str) -> int:
    lab.put("/home/lab/job.yaml", text)
    return int(lab.supercloud("submit", "/home/lab/job.yaml", "--on", "/home/lab/fleet.yaml").stdout)


def serve(lab: Lab, *options: str) -> str:
    return lab.supercloud("serve", "/home/lab/fleet.yaml", "--once", *options).stderr


def record(lab: Lab, number: int) -> dict[str, Any]:
    rows = json.loads(lab.supercloud("jobs", "--json", "--limit", "1000").stdout)
    return next(row for row in rows if row["id"] == number)


WORK = """\
name: work
command: [sh, -c, 'echo epoch $SUPERCLOUD_EPOCH']
accelerators: {count: 8}
tenant: llm
time_limit: 1 h
"""


def test_the_cheaper_place_first_and_a_burst_when_it_is_full(lab: Lab) -> None:
    others = sbatch(lab, "-A", "llm", "-N3", "--exclusive", "--gpus-per-node=8", "--wrap", "sleep 600")
    wait_job(lab, others, "RUNNING")
    one, two = submit(lab, WORK), submit(lab, WORK)
    assert record(lab, one)["state"] == "HELD"
    said = serve(lab)
    assert f"job {one} (work) goes to own" in said and f"job {two} (work) goes to cloud" in said
    for number in (one, two):
        assert lab.supercloud("wait", str(number), timeout=60).stdout.startswith("COMPLETED")
    rows = {number: record(lab, number) for number in (one, two)}
    assert [rows[number]["engine"] for number in (one, two)] == ["slurm", "local"]
    assert all(row["energy_kwh"] is not None and row["cost_usd"] is not None for row in rows.values())


def test_a_job_that_waits_in_slurm_is_taken_back_and_moves(lab: Lab) -> None:
    number = submit(lab, WORK)
    # the broker looks, then somebody else takes the nodes: the job waits in the queue
    partition = lab.run("sinfo -h -o %R | head -n 1").stdout.strip()
    lab.run(f"scontrol update PartitionName={partition} State=DOWN")
    assert "goes to own" in serve(lab)
    assert record(lab, number)["state"] == "QUEUED"
    ref = record(lab, number)["ref"]
    lab.wait_for("it has waited", lambda: "there is room on cloud" in serve(lab, "--move-after", "1"), interval=1)
    lab.wait_for("it is given away", lambda: "goes to cloud" in serve(lab), interval=1)
    assert lab.supercloud("wait", str(number), timeout=60).stdout.startswith("COMPLETED")
    row = record(lab, number)
    assert (row["engine"], row["launch"], row["tries"]) == ("local", 1, 1)
    assert lab.supercloud("logs", str(number)).stdout == "epoch 10001\n"
    assert lab.run(f"sacct -n -X -P -j {ref} -o State").stdout.startswith("CANCELLED")
    lab.run(f"scontrol update PartitionName={partition} State=UP")


def test_a_job_that_has_begun_is_not_taken_back(lab: Lab) -> None:
    number = submit(lab, WORK.replace("echo epoch $SUPERCLOUD_EPOCH", "sleep 8; echo through"))
    serve(lab)
    ref = record(lab, number)["ref"]
    wait_job(lab, ref, "RUNNING")
    lab.run(["scancel", "--state=PENDING", ref])  # what the broker says
    assert lab.supercloud("wait", str(number), timeout=60).stdout.startswith("COMPLETED")
    assert lab.supercloud("logs", str(number)).stdout == "through\n"


def test_the_broker_is_killed_and_another_goes_on(lab: Lab) -> None:
    numbers = [submit(lab, WORK) for _ in range(6)]
    script = f"""
        for n in $(seq 8); do
            {lab.product.command} serve /home/lab/fleet.yaml --every 0.2 >/dev/null 2>&1 & pid=$!
            sleep 0.$((RANDOM % 90 + 10)); sleep 0.$((RANDOM % 9)); kill -9 $pid; wait $pid
        done 2>/dev/null; true
    """
    lab.run(script, user="lab", timeout=120, env={"SUPERCLOUD_STATE": "/home/lab/supercloud-state"}, cwd="/home/lab")

    def through() -> bool:
        serve(lab)
        return all(record(lab, number)["state"] == "COMPLETED" for number in numbers)

    lab.wait_for("all are through", through, timeout=90, interval=1)
    assert all(lab.supercloud("logs", str(number)).stdout == "epoch 1\n" for number in numbers), "each ran once"
