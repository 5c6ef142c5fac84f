"""Faults of a cluster: a crashed node, a failing prolog, a missing accelerator."""

from __future__ import annotations

from collections.abc import Iterator

import product_jobs
import pytest
from answers import get_job, list_by_name, list_hosts, submit_batch, wait_job
from bundles import Declared, declare_text
from installed import Slurm
from lab import Lab
from real.polling import check_stays

SPEC = """\
name: faulty
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "22.05"}
pools:
  - {name: train, machine: dgx-h100, nodes: 8, fabrics: [compute]}
fabrics:
  - {name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
tenants:
  - {name: llm, users: [lab]}
"""
NODES, PARTITION = "train-[0001-0008]", "train"
# Shorter times: a node without a response is down after 6 s, a requeued job may start after 5 s.
QUICK = ("SlurmdTimeout=6", "HealthCheckInterval=3", "AuthInfo=cred_expire=5", "KillWait=2")

# The first attempt does not end; later attempts print their number and complete.
LONG = """\
name: long
script: |
  echo "attempt $SUPERCLOUD_EPOCH on $SLURM_JOB_NODELIST"
  if [ "$SUPERCLOUD_EPOCH" = 1 ]; then srun --ntasks-per-node=1 sleep 600; fi
accelerators: {type: h100, count: 16}
time_limit: 20 min
tenant: llm
retries: 1
place: {near: leaf}
"""
# In the mount namespace of a slurmd: a /dev without one accelerator.
LOSE_A_DEVICE = """
mkdir /tmp/dev
mount -t tmpfs -o mode=755 dev /tmp/dev
cp -a /dev/* /tmp/dev/
rm /tmp/dev/nvidia7
mount --bind /tmp/dev /dev
"""
RESTORE_THE_DEVICE = "umount -l /dev; umount -l /tmp/dev; rmdir /tmp/dev"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Declared:
    return declare_text(SPEC, tmp_path_factory.mktemp("faulty"))


@pytest.fixture
def lab(cluster: Declared, slurm_2205: Slurm) -> Iterator[Lab]:
    """A cluster for each test, so that a failed test does not affect others."""
    with Lab(cluster.folder, slurm_2205.rootfs, QUICK) as lab:
        lab.start(nodes="")
        lab.start_nodes(configless=True)  # each node has separate programs
        lab.wait_nodes(NODES, 8)
        yield lab


def run_in_slurmd(lab: Lab, node: str, script: str) -> None:
    """Run a script in the mount namespace of a node's slurmd."""
    (pid,) = [pid for host, command, pid in lab.list_processes() if (host, command) == (node, "slurmd")]
    lab.run(["nsenter", "-t", pid, "-m", "-r", "-w", "--", "bash", "-euc", script])


def list_sleeping_nodes(lab: Lab) -> set[str]:
    """The nodes with a process of the command sleep."""
    return {host for host, command, _ in lab.list_processes() if command == "sleep"}


def get_node(lab: Lab, name: str) -> dict[str, str]:
    return list_by_name(lab, f"node {name}", "NodeName")[name]


def list_attempts(lab: Lab, number: str) -> list[str]:
    """The states of all attempts of a job in the accounts, in order."""
    rows = lab.run(["sacct", "-n", "-P", "-X", "-D", "-j", number, "-o", "State"], user="lab").stdout
    return rows.split()


def get_reason(lab: Lab, name: str) -> str:
    return lab.run(f"sinfo -h -N -n {name} -o '%50E'").stdout.strip()


def test_a_job_of_a_crashed_node_is_requeued_and_completes(cluster: Declared, lab: Lab) -> None:
    number = product_jobs.submit(lab, cluster.spec, LONG)
    ref = product_jobs.get_record(lab, number)["ref"]
    # if a node crashes during the launch of a step, srun and the job fail instead
    lab.wait_for("both tasks run", lambda: len(list_sleeping_nodes(lab)) == 2)
    assert product_jobs.get_record(lab, number)["state"] == "RUNNING"
    victim = sorted(list_hosts(get_job(lab, ref)["NodeList"]))[1]

    # no job starts meanwhile, so that the job is observed in the queue
    lab.run(f"scontrol update PartitionName={PARTITION} State=DOWN")
    lab.kill_node(victim)
    seen: list[tuple[str, int]] = []

    def is_requeued() -> bool:
        row = product_jobs.get_record(lab, number)
        seen.append((row["state"], row["attempt"]))
        return bool(row["attempt"] == 2)

    lab.wait_for("the store has it as requeued", is_requeued, interval=0.5)
    assert seen[-1][0] == "QUEUED"
    assert {state for state, _ in seen} == {"RUNNING", "QUEUED"}
    # the accounts have the ended attempt although the job continues: the controller must be asked first
    lab.wait_for("the first attempt is accounted for", lambda: list_attempts(lab, ref)[0] == "NODE_FAIL", interval=0.5)
    assert get_node(lab, victim)["State"].startswith("DOWN")
    lab.run(f"scontrol update PartitionName={PARTITION} State=UP")

    assert product_jobs.wait(lab, number, timeout=150) == (0, "COMPLETED")
    first, second = (
        product_jobs.read_logs(lab, number).count("attempt 1"),
        product_jobs.read_logs(lab, number).count("attempt 2"),
    )
    assert (first, second) == (1, 1)
    assert victim not in list_hosts(get_job(lab, ref)["NodeList"])
    assert product_jobs.get_record(lab, number)["attempt"] == 2
    lab.start_nodes(victim, configless=True)
    lab.wait_nodes(victim, 1)  # it returns to service automatically


def test_a_job_without_retries_ends_with_its_node(cluster: Declared, lab: Lab) -> None:
    text = LONG.replace("retries: 1\n", "").replace("count: 16", "count: 8")
    number = product_jobs.submit(lab, cluster.spec, text)
    lab.wait_for("its task runs", lambda: list_sleeping_nodes(lab))
    (victim,) = list_sleeping_nodes(lab)
    lab.kill_node(victim)
    assert product_jobs.wait(lab, number, timeout=120) == (1, "NODE_FAIL: a node of the job was lost")
    lab.start_nodes(victim, configless=True)
    lab.wait_nodes(victim, 1)


def test_a_prolog_that_fails_drains_its_node_and_the_job_runs_elsewhere(cluster: Declared, lab: Lab) -> None:
    bad = "train-0001"
    prolog = f"/lab/node/{bad}/etc/prolog.sh"
    lab.put(prolog, "#!/bin/sh\nexit 1\n", 0o755)
    text = LONG.replace("= 1 ]", "= 0 ]").replace("count: 16", "count: 8")
    # all other nodes are busy until then, so that the job starts on the node whose prolog fails
    others = submit_batch(lab, "-A", "llm", "-N7", "-w", "train-[0002-0008]", "--exclusive", "--wrap", "sleep 600")
    wait_job(lab, others, "RUNNING")
    number = product_jobs.submit(lab, cluster.spec, text)
    ref = product_jobs.get_record(lab, number)["ref"]
    lab.wait_for("the node is drained", lambda: "DRAIN" in get_node(lab, bad)["State"])
    assert get_reason(lab, bad) == "Prolog error"
    lab.run(["scancel", others])
    lab.wait_for("it is requeued", lambda: product_jobs.get_record(lab, number)["attempt"] == 2)
    assert product_jobs.wait(lab, number, timeout=120) == (0, "COMPLETED")
    assert bad not in list_hosts(get_job(lab, ref)["NodeList"])
    assert product_jobs.read_logs(lab, number).startswith("attempt 2 on train-000")


def test_a_missing_accelerator_drains_its_node_until_it_is_replaced(lab: Lab) -> None:
    bad = "train-0003"
    run_in_slurmd(lab, bad, LOSE_A_DEVICE)
    lab.wait_for("the health check drains it", lambda: "DRAIN" in get_node(lab, bad)["State"])
    assert get_reason(lab, bad) == "health-check: 7 of 8 accelerators: no /dev/nvidia7"
    every = ["-A", "llm", "-N8", "--gpus-per-node=8", "--wrap", "true"]
    number = submit_batch(lab, *every)
    wait_job(lab, number, "PENDING")
    lab.run(["scancel", number])

    lab.run(["scontrol", "update", f"NodeName={bad}", "State=RESUME"])  # too early: the node is drained again
    lab.wait_for("it is drained again", lambda: "DRAIN" in get_node(lab, bad)["State"])

    run_in_slurmd(lab, bad, RESTORE_THE_DEVICE)
    # the check passes, but the node stays drained until an operator resumes it
    check_stays("it is drained", lambda: "DRAIN" in get_node(lab, bad)["State"], 4)
    lab.run(["scontrol", "update", f"NodeName={bad}", "State=RESUME"])
    wait_job(lab, submit_batch(lab, *every), "COMPLETED")


def test_a_job_is_not_started_without_its_accelerator_before_the_next_check(
    lab: Lab,
) -> None:
    bad = "train-0004"
    # the device is lost after the last health check, and the next one is far away: only the prolog detects it
    check = f"/lab/node/{bad}/etc/health-check.sh"
    good = lab.get(check)
    lab.put(f"{check}.whole", good, 0o755)
    lab.put(check, '#!/bin/sh\n[ "$1" != quick ] || exec "$0.whole" quick\n', 0o755)
    busy = submit_batch(lab, "-A", "llm", "-w", bad, "-n1", "-c1", "--mem=1G", "--wrap", "sleep 600")
    lab.wait_for(f"job {busy} has begun", lambda: bad in list_sleeping_nodes(lab))
    run_in_slurmd(lab, bad, LOSE_A_DEVICE)
    number = submit_batch(lab, "-A", "llm", "--requeue", "-w", bad, "--gpus-per-node=1", "--wrap", "true")
    lab.wait_for("the job is requeued", lambda: get_job(lab, number)["Restarts"] == "1")
    assert get_reason(lab, bad) == "health-check: 7 of 8 accelerators: no /dev/nvidia7"
