"""The broker with a fleet of real Slurm and this machine: jobs burst, move, and continue when a cluster is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from answers import clear, get_accounted_state, get_job, list_hosts, submit_batch, wait_job
from installed import Slurm
from jobs_lab import NODES, Jobs, build_spec, start_cluster_lab
from lab import Lab

from supercloud.jobs.engines.slurm.engine import SlurmEngine

FLEET = """\
name: company
clusters:
  - {spec: own.yaml, connect: {engine: slurm}, prices: {train: 10 USD/h}}
  - {spec: cloud.yaml, connect: {engine: local}, prices: {train: 90 USD/h}}
budgets: [{tenant: llm, per: day, limit: 10000 USD}]
"""


@pytest.fixture(scope="module", params=[pytest.param("2205", marks=pytest.mark.extended), "new"])
def jobs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    slurm: Slurm = request.getfixturevalue(f"slurm_{request.param}")
    with start_cluster_lab(slurm, tmp_path_factory.mktemp("own"), "own") as lab:
        lab.put("/home/lab/cloud.yaml", build_spec(slurm, "cloud"))
        lab.put("/home/lab/fleet.yaml", FLEET)
        lab.start()
        lab.wait_nodes(NODES, 4)
        yield Jobs(lab)


@pytest.fixture
def lab(jobs: Jobs) -> Lab:
    return jobs.lab


@pytest.fixture(autouse=True)
def _idle(lab: Lab) -> Iterator[None]:
    yield
    clear(lab)
    lab.wait_nodes(NODES, 4)


def submit(jobs: Jobs, text: str) -> int:
    return jobs.submit(text, on="fleet")


def serve(lab: Lab, *options: str) -> str:
    return lab.run_supercloud("serve", "/home/lab/fleet.yaml", "--once", *options).stderr


WORK = """\
name: work
command: [sh, -c, 'echo epoch $SUPERCLOUD_EPOCH']
accelerators: {count: 8}
tenant: llm
time_limit: 1 h
"""


def test_jobs_go_to_the_cheaper_cluster_and_burst_when_it_is_full(jobs: Jobs, lab: Lab) -> None:
    others = submit_batch(lab, "-A", "llm", "-N3", "--exclusive", "--gpus-per-node=8", "--wrap", "sleep 600")
    wait_job(lab, others, "RUNNING")
    one, two = submit(jobs, WORK), submit(jobs, WORK)
    assert jobs.get_record(one)["state"] == "HELD"
    output = serve(lab)
    assert f"job {one} (work) submitted to own" in output and f"job {two} (work) submitted to cloud" in output
    assert all(ended.startswith("COMPLETED") for ended in jobs.wait(one, two).values())
    rows = {number: jobs.get_record(number) for number in (one, two)}
    assert [rows[number]["engine"] for number in (one, two)] == ["slurm", "local"]
    assert all(row["energy_kwh"] is not None and row["cost_usd"] is not None for row in rows.values())


def test_a_job_pending_in_slurm_is_recalled_and_moves(jobs: Jobs, lab: Lab) -> None:
    number = submit(jobs, WORK)
    # the nodes are taken after the broker's decision: the job waits in the queue
    partition = lab.run("sinfo -h -o %R | head -n 1").stdout.strip()
    lab.run(f"scontrol update PartitionName={partition} State=DOWN")
    assert "submitted to own" in serve(lab)
    assert jobs.get_record(number)["state"] == "QUEUED"
    ref = jobs.get_record(number)["ref"]
    lab.wait_for("it has waited", lambda: "cloud has free capacity" in serve(lab, "--move-after", "1"), interval=1)
    lab.wait_for("it is submitted to cloud", lambda: "submitted to cloud" in serve(lab), interval=1)
    assert jobs.wait(number)[number].startswith("COMPLETED")
    row = jobs.get_record(number)
    assert (row["engine"], row["launch"], row["total_attempts"]) == ("local", 1, 1)
    assert jobs.read_logs(number) == "epoch 10001\n"
    assert get_accounted_state(lab, ref).startswith("CANCELLED")
    lab.run(f"scontrol update PartitionName={partition} State=UP")


def test_a_job_that_has_started_is_not_recalled(jobs: Jobs, lab: Lab) -> None:
    held = "until [ -e /home/lab/go ]; do sleep 0.2; done; echo through"
    number = submit(jobs, WORK.replace("echo epoch $SUPERCLOUD_EPOCH", held))
    serve(lab)
    ref = jobs.get_record(number)["ref"]
    wait_job(lab, ref, "RUNNING")
    lab.run(["scancel", "--state=PENDING", ref])  # the command of the broker
    lab.run("touch /home/lab/go")
    assert jobs.wait(number)[number].startswith("COMPLETED")
    assert jobs.read_logs(number) == "through\n"


# The first start saves a checkpoint, waits for a file, and then tries to save another one.
TRAINING = """\
name: training
script: |
  next=$("$SUPERCLOUD_COMMIT" latest)
  echo "epoch $SUPERCLOUD_EPOCH from ${next##*/}"
  save() { mkdir "$SUPERCLOUD_CHECKPOINT/new" && "$SUPERCLOUD_COMMIT" commit "$1" "$SUPERCLOUD_CHECKPOINT/new"; }
  save step
  if [ "$SUPERCLOUD_EPOCH" = 1 ]; then
    until [ -e /home/lab/CASE.go ]; do sleep 0.2; done
    save late
    echo "late: $?" >>/home/lab/CASE.said
  fi
accelerators: {count: 32}
checkpoint: {path: /home/lab/CASE}
time_limit: 1 h
tenant: llm
retries: 1
"""


def start_training(jobs: Jobs, lab: Lab, case: str) -> tuple[int, str]:
    """Start a job on all four nodes of Slurm, and wait for its checkpoint; return its number and that in Slurm."""
    number = submit(jobs, TRAINING.replace("CASE", case))
    assert "submitted to own" in serve(lab)
    lab.wait_for(
        "the first checkpoint", lambda: f"{case}/0000000001-00000001-step" in jobs.read_logs(number), interval=0.5
    )
    return number, jobs.get_record(number)["ref"]


def test_jobs_of_a_lost_node_continue_on_other_nodes(jobs: Jobs, lab: Lab) -> None:
    number, ref = start_training(jobs, lab, "lost")
    victim = sorted(list_hosts(get_job(lab, ref)["NodeList"]))[2]
    lab.kill_node(victim)
    lab.wait_for("Slurm has requeued it", lambda: get_job(lab, ref)["Restarts"] == "1", interval=0.5)
    lab.wait_for("it moves", lambda: "submitted to cloud" in serve(lab, "--move-after", "1"), interval=1)
    assert jobs.wait(number)[number].startswith("COMPLETED")
    row = jobs.get_record(number)
    assert (row["engine"], row["launch"], row["total_attempts"]) == ("local", 1, 2)
    assert jobs.read_logs(number).splitlines()[0] == "epoch 10001 from 0000000001-00000001-step"
    lab.start_nodes(victim)


def test_jobs_of_an_unreachable_cluster_continue_elsewhere_and_old_copies_are_fenced(jobs: Jobs, lab: Lab) -> None:
    number, ref = start_training(jobs, lab, "silent")
    lab.stop_controller()
    broker = [
        "setpriv",
        "--reuid=lab",
        "--regid=lab",
        "--init-groups",
        "env",
        "HOME=/home/lab",
        "SUPERCLOUD_STATE=/home/lab/supercloud-state",
        str(lab.product.command),
        "serve",
        "/home/lab/fleet.yaml",
        "--every",
        "0.5",
        "--lost-after",
        "1",
    ]
    lab.spawn("broker", broker)
    lab.wait_for("it continues", lambda: "submitted to cloud" in lab.read_log("broker"), interval=0.5)
    moved = '[ -n "$(ls -d /home/lab/silent/0000010001-*)" ]'
    lab.wait_for("the new copy saves", lambda: lab.run(moved, check=False).returncode == 0, interval=0.5)
    lab.run("touch /home/lab/silent.go")
    lab.wait_for("the old copy tries", lambda: "late:" in lab.run("cat /home/lab/silent.said", check=False).stdout)
    assert lab.get("/home/lab/silent.said") == "late: 76\n", "the old copy is refused"
    assert not lab.run("ls -d /home/lab/silent/0000000001-*-late", check=False).stdout
    lab.start_controller()
    lab.wait_for(
        "the old copy is ended",
        lambda: get_accounted_state(lab, ref).split()[0] in ("CANCELLED", "COMPLETED"),
        timeout=90,
        interval=1,
    )
    lab.wait_for("nothing is abandoned any more", lambda: not list_abandoned(lab), interval=0.5)
    lab.run("kill $(cat /lab/pid/broker)")
    assert jobs.wait(number)[number].startswith("COMPLETED")
    row = jobs.get_record(number)
    assert (row["cluster"], row["launch"], row["total_attempts"]) == ("cloud", 1, 2)
    assert jobs.read_logs(number).splitlines()[0] == "epoch 10001 from 0000000001-00000001-step"
    lab.wait_nodes(NODES, 4)


def list_abandoned(lab: Lab) -> str:
    """Abandoned starts that have not ended yet."""
    program = (
        "import sqlite3; c = sqlite3.connect('file:/home/lab/supercloud-state/jobs.db?mode=ro', uri=True); "
        "print(*c.execute('SELECT ref FROM abandoned').fetchall(), end='')"
    )
    return lab.run([str(lab.product.venv / "bin" / "python"), "-c", program], user="lab").stdout


def test_a_broker_is_killed_and_another_continues(jobs: Jobs, lab: Lab) -> None:
    numbers = [submit(jobs, WORK) for _ in range(6)]
    script = f"""
        for n in $(seq 8); do
            {lab.product.command} serve /home/lab/fleet.yaml --every 0.2 >/dev/null 2>&1 & pid=$!
            sleep 0.$((RANDOM % 90 + 10)); sleep 0.$((RANDOM % 9)); kill -9 $pid; wait $pid
        done 2>/dev/null; true
    """
    lab.run(script, user="lab", timeout=120, env={"SUPERCLOUD_STATE": "/home/lab/supercloud-state"}, cwd="/home/lab")

    def are_completed() -> bool:
        serve(lab)
        rows = {row["id"]: row["state"] for row in jobs.list_rows()}
        return all(rows[number] == "COMPLETED" for number in numbers)

    # a submission of a killed broker is repeated only when it can no longer arrive
    lab.wait_for("all jobs have completed", are_completed, interval=1, timeout=SlurmEngine.late_arrival + 120)
    assert all(jobs.read_logs(number) == "epoch 1\n" for number in numbers), "each job ran once"
