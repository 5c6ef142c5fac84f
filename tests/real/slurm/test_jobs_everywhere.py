"""The same job files on this machine, on Slurm here and on Slurm through ssh, both releases; nodes die under them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from answers import clear, hosts, job
from bundles import written
from conftest import CACHE
from installed import Slurm
from lab import Lab
from ssh_lab import start_sshd

SPEC = """\
name: pod
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "VERSION"}
pools: [{name: train, machine: dgx-h100, nodes: 4}]
tenants: [{name: llm, users: [lab]}]
"""
NODES = "train-[0001-0004]"
QUICK = ("SlurmdTimeout=6", "AuthInfo=cred_expire=5", "KillWait=2", "MinJobAge=60")
WAYS: dict[str, list[str]] = {
    "local": ["--engine", "local"],
    "slurm": ["--engine", "slurm"],
    "ssh": ["--engine", "slurm", "--via", "ssh:login"],
}
EVERYWHERE = pytest.mark.parametrize("way", WAYS)
ON_SLURM = pytest.mark.parametrize("way", ["slurm", "ssh"])


@pytest.fixture(scope="module", params=["2205", "new"])
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    slurm: Slurm = request.getfixturevalue(f"slurm_{request.param}")
    release = ".".join(f"{part:02d}" for part in slurm.release)
    cluster = written(SPEC.replace("VERSION", release), tmp_path_factory.mktemp("pod"))
    with Lab(cluster.folder, slurm.rootfs, QUICK) as lab:
        lab.put("/home/lab/cluster.yaml", cluster.spec.read_text())
        lab.start()
        lab.wait_nodes(NODES, 4)
        start_sshd(lab, slurm, CACHE)
        yield lab


@pytest.fixture(autouse=True)
def _idle(lab: Lab) -> Iterator[None]:
    yield
    clear(lab)
    lab.wait_nodes(NODES, 4)


def submit(lab: Lab, way: str, text: str, *options: str) -> int:
    lab.put("/home/lab/job.yaml", text)
    words = ["submit", "/home/lab/job.yaml", "--on", "/home/lab/cluster.yaml", *WAYS[way], *options]
    return int(lab.supercloud(*words).stdout)


def wait(lab: Lab, number: int, timeout: float = 120) -> str:
    return lab.supercloud("wait", str(number), timeout=timeout, check=False).stdout.strip()


def logs(lab: Lab, number: int) -> str:
    return lab.supercloud("logs", str(number)).stdout


def record(lab: Lab, number: int) -> dict[str, Any]:
    rows = json.loads(lab.supercloud("jobs", "--json", "--limit", "1000").stdout)
    return next(row for row in rows if row["id"] == number)


TWO_NODES = """\
name: two
command: [sh, -c, 'echo "rank $RANK of $WORLD_SIZE, node $NODE_RANK of $NNODES, sees $CUDA_VISIBLE_DEVICES: $1"', sh,
          "$(touch /home/lab/hacked) 'quoted' \\"twice\\" \\\\ ; touch /home/lab/hacked"]
accelerators: {count: 16}
env: {V: "$(touch /home/lab/hacked)`touch /home/lab/hacked`"}
time_limit: 5 min
tenant: llm
"""


@EVERYWHERE
def test_the_same_file_runs_alike(lab: Lab, way: str) -> None:
    number = submit(lab, way, TWO_NODES)
    assert wait(lab, number).startswith("COMPLETED")
    said = """$(touch /home/lab/hacked) 'quoted' "twice" \\ ; touch /home/lab/hacked"""
    # this machine shares its eight accelerators out among the two nodes that it plays
    sees = ["0,1,2,3", "4,5,6,7"] if way == "local" else ["0,1,2,3,4,5,6,7"] * 2
    assert sorted(logs(lab, number).splitlines()) == [
        f"rank {rank} of 2, node {rank} of 2, sees {sees[rank]}: {said}" for rank in range(2)
    ]
    assert lab.run("ls /home/lab/hacked", check=False).returncode != 0
    if way == "ssh":
        assert lab.run("ls -d /home/lab/.supercloud/slurm/*/log").stdout, "log and script are on the login node"


@EVERYWHERE
def test_exit_codes_are_tried_again_by_rule(lab: Lab, way: str) -> None:
    text = """\
name: retry
command: [sh, -c, 'echo "epoch $SUPERCLOUD_EPOCH"; [ "$SUPERCLOUD_EPOCH" -ge 3 ] || exit 42; exit 3']
retries: 5
retry_rules: [{exit_codes: [42, 43], action: retry}]
tenant: llm
"""
    number = submit(lab, way, text)
    assert wait(lab, number, 180) == "FAILED: ended with exit code 3"
    assert [line for line in logs(lab, number).splitlines() if line.startswith("epoch")] == [
        "epoch 1", "epoch 2", "epoch 3"]  # fmt: skip


@EVERYWHERE
def test_an_array(lab: Lab, way: str) -> None:
    text = """\
name: array
script: |
  echo "task $SUPERCLOUD_ARRAY_INDEX of $SUPERCLOUD_ARRAY_COUNT"
  [ $SUPERCLOUD_ARRAY_INDEX != 2 ] || exit 5
array: 4
tenant: llm
"""
    number = submit(lab, way, text)
    assert wait(lab, number) == "FAILED: 1 of 4 tasks: ended with exit code 5"
    said = sorted(line for line in logs(lab, number).splitlines() if line.startswith("task"))
    assert said == [f"task {index} of 4" for index in range(4)]
    fine = submit(lab, way, text.replace("exit 5", "true"))
    assert wait(lab, fine).startswith("COMPLETED")


@EVERYWHERE
def test_one_after_the_other(lab: Lab, way: str) -> None:
    first = submit(lab, way, "{name: first, command: [sh, -c, sleep 4; date +%s%N], tenant: llm}")
    second = submit(lab, way, f"{{name: second, command: [date, +%s%N], tenant: llm, after: ['{first}']}}")
    assert wait(lab, second).startswith("COMPLETED")
    assert int(logs(lab, first)) < int(logs(lab, second))
    bad = submit(lab, way, "{name: bad, command: [sh, -c, sleep 3; exit 1], tenant: llm}")
    never = submit(lab, way, f"{{name: never, command: [echo, no], tenant: llm, after: ['{bad}']}}")
    assert wait(lab, never).split(":")[0] in ("FAILED", "CANCELLED") and not logs(lab, never)


@EVERYWHERE
def test_secrets_go_by_name_alone(lab: Lab, way: str) -> None:
    lab.run("mkdir -p -m 700 .config/supercloud/secrets; (umask 077; printf 'hunter2 $x\\n' "
            ">.config/supercloud/secrets/token); echo open >.config/supercloud/secrets/loose; "
            "chmod 644 .config/supercloud/secrets/loose", user="lab", cwd="/home/lab")  # fmt: skip
    text = """\
name: secret
command: [sh, -c, 'printf %s "$T" | sha256sum']
tenant: llm
secrets: [{env: T, name: token}]
"""
    number = submit(lab, way, text)
    assert wait(lab, number).startswith("COMPLETED")
    assert logs(lab, number).split()[0] == lab.run("printf 'hunter2 $x' | sha256sum").stdout.split()[0]
    kept = lab.run("grep -rls hunter2 /home/lab /var/spool --include=* 2>/dev/null || true").stdout.split()
    assert kept == ["/home/lab/.config/supercloud/secrets/token"]
    loose = submit(lab, way, text.replace("name: token", "name: loose"))
    assert wait(lab, loose).startswith("FAILED")


LONG = """\
name: long
script: |
  next=$("$SUPERCLOUD_COMMIT" latest)
  echo "epoch $SUPERCLOUD_EPOCH from ${next##*/} on $(uname -n)"
  mkdir -p "$SUPERCLOUD_CHECKPOINT/new.$SUPERCLOUD_EPOCH"
  "$SUPERCLOUD_COMMIT" commit step "$SUPERCLOUD_CHECKPOINT/new.$SUPERCLOUD_EPOCH"
  if [ "$SUPERCLOUD_EPOCH" = 1 ]; then sleep 600; fi
accelerators: {type: h100, count: 8}
checkpoint: {path: /home/lab/ckpt-WAY}
time_limit: 20 min
tenant: llm
retries: 1
"""


@ON_SLURM
def test_a_node_dies_and_the_work_goes_on_from_its_checkpoint(lab: Lab, way: str) -> None:
    number = submit(lab, way, LONG.replace("WAY", way))
    lab.wait_for("the first checkpoint", lambda: "step" in logs(lab, number), timeout=60, interval=0.5)
    (victim,) = hosts(job(lab, record(lab, number)["ref"])["NodeList"])
    lab.kill_node(victim)
    assert wait(lab, number, timeout=240) == "COMPLETED"
    said = [line for line in logs(lab, number).splitlines() if line.startswith("epoch")]
    assert [line.split(" on ")[0] for line in said] == [
        "epoch 1 from ", "epoch 2 from 0000000001-00000001-step"]  # fmt: skip
    assert victim not in said[1] and record(lab, number)["tries"] == 2
    lab.start_nodes(victim)
    lab.wait_nodes(NODES, 4)


@ON_SLURM
def test_a_submission_that_is_killed_is_neither_lost_nor_doubled(lab: Lab, way: str) -> None:
    lab.put("/home/lab/job.yaml", "{name: killed, command: ['true'], tenant: llm}")
    words = " ".join(["submit", "/home/lab/job.yaml", "--on", "/home/lab/cluster.yaml", *WAYS[way]])
    before = ran(lab)
    script = f"""
        for n in $(seq 12); do
            {lab.product.command} {words} --key killed-{way}-$n >/dev/null 2>&1 & pid=$!
            sleep 0.$((RANDOM % 90 + 10)); sleep 0.$((RANDOM % 9)); kill -9 $pid; wait $pid
            for ssh in $(pgrep -u lab -x ssh); do kill -9 $ssh; done
        done 2>/dev/null; true
    """
    lab.run(script, user="lab", timeout=120, env={"SUPERCLOUD_STATE": "/home/lab/supercloud-state"}, cwd="/home/lab")

    def settled() -> bool:
        rows = json.loads(lab.supercloud("jobs", "--json", "--limit", "1000", timeout=120).stdout)
        mine = [row for row in rows if row["key"].startswith(f"killed-{way}-")]
        return all(row["state"] == "COMPLETED" for row in mine) and bool(mine)

    lab.wait_for("all that were recorded have run", settled, timeout=120, interval=1)
    rows = json.loads(lab.supercloud("jobs", "--json", "--limit", "1000").stdout)
    mine = [row for row in rows if row["key"].startswith(f"killed-{way}-")]
    lab.wait_for("the accounts have them all", lambda: ran(lab) - before >= len(mine), interval=1)
    time.sleep(2)  # and no more of them
    assert ran(lab) - before == len(mine)


def ran(lab: Lab) -> int:
    return int(lab.run("sacct -n -X -a -S now-1hours --name=killed | wc -l").stdout)


def test_one_list_shows_them_all(lab: Lab) -> None:
    numbers = {way: submit(lab, way, f"{{name: on-{way}, command: ['true'], tenant: llm}}") for way in WAYS}
    for number in numbers.values():
        assert wait(lab, number).startswith("COMPLETED")
    lines = lab.supercloud("jobs", "--limit", "3").stdout.splitlines()
    assert [line.split()[1:5] for line in lines[1:]] == [
        ["on-ssh", "COMPLETED", "1", "slurm"], ["on-slurm", "COMPLETED", "1", "slurm"],
        ["on-local", "COMPLETED", "1", "local"]]  # fmt: skip


@pytest.mark.parametrize("text, said", [
    ("{name: a, command: [a], tenant: llm, accelerators: {count: 33}}", "train"),
    ("{name: a, command: [a], tenant: nobody}", "nobody"),
    ("{name: 'a;b', command: [a]}", "name"),
])  # fmt: skip
def test_bad_jobs_never_reach_it(lab: Lab, tmp_path: Path, text: str, said: str) -> None:
    lab.put("/home/lab/job.yaml", text)
    words = ["submit", "/home/lab/job.yaml", "--on", "/home/lab/cluster.yaml", *WAYS["ssh"]]
    done = lab.supercloud(*words, check=False)
    assert done.returncode == 2 and said in done.stderr
