"""The same job file on this machine, on Slurm directly and through SSH, and on Kubernetes: one list has all jobs.

The labs of both folders run together; a relay connects Slurm's login node with the API server.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from images_lab import IMAGE, load_plugin, make_image
from installed import Slurm
from jobs_lab import NODES, Jobs, start_cluster_lab
from layers import CACHE
from relay import open_relay
from ssh_lab import start_sshd

sys.path.append(str(Path(__file__).resolve().parents[1] / "kubernetes"))

from kube_world import World as Kubernetes  # noqa: E402

KUBE = """\
name: kube
site: {kind: onprem, location: stockholm}
scheduler: {kind: kubernetes, version: "1.36"}
pools: [{name: train, machine: dgx-h100, nodes: 4}]
tenants: [{name: llm, share: 1}]
"""
WAYS: dict[str, tuple[str, list[str]]] = {
    "local": ("pod", ["--engine", "local"]),
    "slurm": ("pod", ["--engine", "slurm"]),
    "ssh": ("pod", ["--engine", "slurm", "--via", "ssh:login"]),
    "kubernetes": ("kube", ["--engine", "kubernetes"]),
}
# A stand-in for apptainer that uses the folder of an image, because there is no registry.
APPTAINER = """\
#!/bin/bash
while [ $# -gt 0 ]; do
    case $1 in
    exec) shift ;;
    --bind | --pwd) shift 2 ;;
    docker://*) break ;;
    *) exit 64 ;;
    esac
done
folder=/images/$(printf %s "${1#docker://}" | tr /: __)
shift
exec /usr/local/bin/into --userspec="$(id -u):$(id -g)" "$folder" "$@"
"""
JOB = f"""\
name: same
command: [sh, -c, 'cat /etc/image; echo "rank $RANK of $WORLD_SIZE, epoch $SUPERCLOUD_EPOCH: $1"', sh,
          "$(touch /tmp/hacked) `id` 'a' \\"b\\" \\\\ $HOME ; exit"]
image: {IMAGE}
accelerators: {{type: h100, count: 16}}
env: {{V: "$(touch /tmp/hacked)"}}
time_limit: 10 min
tenant: llm
"""
FAILING = f"""\
name: fails
command: [sh, -c, 'echo "rank $RANK of $WORLD_SIZE"; i=0;
  while [ $RANK = 1 ] || [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3']
image: {IMAGE}
accelerators: {{type: h100, count: 16}}
tenant: llm
"""
SAID = """$(touch /tmp/hacked) `id` 'a' "b" \\ $HOME ; exit"""


@pytest.fixture(scope="module")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    with Kubernetes(KUBE, tmp_path_factory.mktemp("kube")) as started:
        yield started


@pytest.fixture(scope="module", params=[pytest.param("2205", marks=pytest.mark.extended), "new"])
def jobs(
    request: pytest.FixtureRequest, kubernetes: Kubernetes, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Jobs]:
    slurm: Slurm = request.getfixturevalue(f"slurm_{request.param}")
    folder = tmp_path_factory.mktemp("pod")
    port = urlsplit(kubernetes.lab.server).port
    assert port
    with start_cluster_lab(slurm, folder) as lab:
        load_plugin(lab, slurm, CACHE, folder)
        make_image(lab)
        lab.put("/usr/bin/apptainer", APPTAINER, 0o755)
        # apptainer needs a user namespace, which is not allowed below another root folder; this one uses setuid chroot
        lab.run("install -D -m 4755 $(command -v chroot) /usr/local/bin/into")
        lab.put("/home/lab/kube.yaml", KUBE)
        lab.put("/home/lab/kubeconfig", kubernetes.lab.kubeconfig.read_text())
        lab.start()
        lab.wait_nodes(NODES, 4)
        start_sshd(lab, slurm, CACHE)
        with open_relay(lab.pid, port):
            yield Jobs(lab, {"KUBECONFIG": "/home/lab/kubeconfig"})


def test_the_same_file_everywhere_is_one_list(jobs: Jobs) -> None:
    numbers = {way: jobs.submit(JOB, *words, on=on) for way, (on, words) in WAYS.items()}
    ended = jobs.wait(*numbers.values(), timeout=180)
    for way, number in numbers.items():
        assert ended[number].startswith("COMPLETED"), (way, ended)
        values = [line for line in jobs.read_logs(number).splitlines() if line.startswith(("tools", "rank"))]
        if way != "kubernetes":  # the output of its nodes is simulated; tests/real/kubernetes checks their environment
            assert sorted(set(values)) == [*(f"rank {rank} of 2, epoch 1: {SAID}" for rank in range(2)), "tools 1.2"]
        else:
            assert jobs.read_logs(number).splitlines() == ["hello", "loss 2.5"] * 2
    rows = [row for row in jobs.list_rows() if row["id"] in numbers.values()]
    assert [(row["engine"], row["name"], row["state"], row["tenant"]) for row in rows] == [
        (way.replace("ssh", "slurm"), "same", "COMPLETED", "llm") for way in reversed(WAYS)
    ]
    lines = jobs.lab.run_supercloud("jobs", "--limit", "4", env=jobs.env).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [str(number) for number in reversed(numbers.values())]
    assert jobs.lab.run("ls /tmp/hacked", check=False).returncode != 0


def test_one_task_that_fails_fails_the_job_everywhere(jobs: Jobs) -> None:
    """Its exit code is reported, not that of the other task, which is then ended; the output of both is kept."""
    numbers = {way: jobs.submit(FAILING, *words, on=on) for way, (on, words) in WAYS.items()}
    jobs.wait(*numbers.values(), timeout=180)
    for way, number in numbers.items():
        record = jobs.get_record(number)
        assert (record["state"], record["exit_code"]) == ("FAILED", 3), (way, record)
        lines = sorted(line for line in jobs.read_logs(number).splitlines() if line.startswith("rank"))
        if way != "kubernetes":
            assert lines == ["rank 0 of 2", "rank 1 of 2"], (way, jobs.read_logs(number))
