"""Jobs through a real slurmrestd of the newest release, with a token of Slurm's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from answers import clear
from bundles import written
from installed import Slurm
from lab import Lab

SPEC = """\
name: pod
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "VERSION"}
pools: [{name: train, machine: dgx-h100, nodes: 4}]
tenants: [{name: llm, users: [lab]}]
"""
NODES = "train-[0001-0004]"
KEY = "/etc/slurm/jwt_hs256.key"
OVERLAY = ("AuthAltTypes=auth/jwt", f"AuthAltParameters=jwt_key={KEY}")
URL = "http://127.0.0.1:6820"


@pytest.fixture(scope="module")
def lab(slurm_new: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    release = ".".join(f"{part:02d}" for part in slurm_new.release)
    cluster = written(SPEC.replace("VERSION", release), tmp_path_factory.mktemp("rest"))
    with Lab(cluster.folder, slurm_new.rootfs, OVERLAY) as lab:
        lab.put("/home/lab/cluster.yaml", cluster.spec.read_text())
        lab.run(f"dd if=/dev/urandom of={KEY} bs=32 count=1 status=none; chown slurm {KEY}; chmod 600 {KEY}")
        lab.run("cat >>/etc/slurm/slurmdbd.conf", input="\n".join([*OVERLAY, ""]))
        lab.start()
        lab.wait_nodes(NODES, 4)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "slurmrestd", "-a", "rest_auth/jwt",
                   "127.0.0.1:6820"]  # fmt: skip
        lab.spawn("slurmrestd", command, env={"SLURM_JWT": "daemon"})
        lab.wait_for("slurmrestd answers", lambda: lab.run(f"curl -s -o /dev/null {URL}/openapi", check=False)
                     .returncode == 0)  # fmt: skip
        yield lab


@pytest.fixture
def token(lab: Lab) -> dict[str, str]:
    said = lab.run("scontrol token username=lab lifespan=3600").stdout.strip()
    return {"SLURM_JWT": said.partition("=")[2]}


@pytest.fixture(autouse=True)
def _idle(lab: Lab) -> Iterator[None]:
    yield
    clear(lab)
    lab.wait_nodes(NODES, 4)


def submit(lab: Lab, token: dict[str, str], text: str) -> int:
    lab.put("/home/lab/job.yaml", text)
    words = ["submit", "/home/lab/job.yaml", "--on", "/home/lab/cluster.yaml", "--engine", "slurm", "--via", URL]
    return int(lab.supercloud(*words, env=token).stdout)


def wait(lab: Lab, token: dict[str, str], number: int) -> str:
    return lab.supercloud("wait", str(number), timeout=120, check=False, env=token).stdout.strip()


def record(lab: Lab, token: dict[str, str], number: int) -> dict[str, Any]:
    rows = json.loads(lab.supercloud("jobs", "--json", env=token).stdout)
    return next(row for row in rows if row["id"] == number)


def test_a_job_of_two_nodes(lab: Lab, token: dict[str, str]) -> None:
    text = """\
name: two
command: [sh, -c, 'echo "rank $RANK of $WORLD_SIZE sees $CUDA_VISIBLE_DEVICES"']
accelerators: {count: 16}
time_limit: 5 min
tenant: llm
"""
    number = submit(lab, token, text)
    assert wait(lab, token, number) == "COMPLETED"
    said = sorted(lab.supercloud("logs", str(number), env=token).stdout.splitlines())
    assert said == [f"rank {rank} of 2 sees 0,1,2,3,4,5,6,7" for rank in range(2)]


def test_a_job_that_fails_an_array_and_an_order(lab: Lab, token: dict[str, str]) -> None:
    bad = submit(lab, token, "{name: bad, command: [sh, -c, sleep 2; exit 3], tenant: llm}")
    text = "{name: array, command: [sh, -c, 'exit $SUPERCLOUD_ARRAY_INDEX'], array: 3, tenant: llm}"
    array = submit(lab, token, text)
    first = submit(lab, token, "{name: first, command: [sleep, '3'], tenant: llm}")
    second = submit(lab, token, f"{{name: second, command: ['true'], tenant: llm, after: ['{first}']}}")
    assert wait(lab, token, bad) == "FAILED: ended with exit code 3"
    assert wait(lab, token, array).startswith("FAILED: 2 of 3 tasks")
    assert wait(lab, token, second) == "COMPLETED"


def test_cancel_and_a_refusal(lab: Lab, token: dict[str, str]) -> None:
    number = submit(lab, token, "{name: long, command: [sleep, '600'], tenant: llm}")
    lab.wait_for("it runs", lambda: record(lab, token, number)["state"] == "RUNNING", interval=0.5)
    lab.supercloud("cancel", str(number), env=token)
    assert wait(lab, token, number) == "CANCELLED: cancelled"
    lab.put("/home/lab/job.yaml", "{name: high, command: ['true'], tenant: llm}")
    words = ["submit", "/home/lab/job.yaml", "--on", "/home/lab/cluster.yaml", "--engine", "slurm", "--via", URL]
    done = lab.supercloud(*words, env={"SLURM_JWT": "x.y.z"}, check=False)
    assert done.returncode == 1 and "slurm" in done.stderr.lower()
