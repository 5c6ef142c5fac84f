"""Jobs through slurmrestd of Debian 12 and of the newest release, with a token of Slurm."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from answers import clear, get_job
from installed import Slurm
from jobs_lab import NODES, Jobs, run_contract, start_cluster_lab
from lab import Lab
from rest_lab import URL, get_token, start_rest

VIA = ("--engine", "slurm", "--via", URL)


@pytest.fixture(scope="module", params=["slurm_2205", "slurm_new"])
def jobs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    slurm: Slurm = request.getfixturevalue(request.param)
    with start_cluster_lab(slurm, tmp_path_factory.mktemp("rest")) as lab:
        start_rest(lab)
        yield Jobs(lab, {"SLURM_JWT": get_token(lab), "SUPERCLOUD_SLURM_ADDRESS": URL})


@pytest.fixture
def lab(jobs: Jobs) -> Lab:
    return jobs.lab


@pytest.fixture(autouse=True)
def _idle(lab: Lab) -> Iterator[None]:
    yield
    clear(lab)
    lab.wait_nodes(NODES, 4)


def test_the_contract_of_engines(jobs: Jobs, lab: Lab) -> None:
    run_contract(lab, f"slurm={URL}", env=jobs.env)


def test_jobs_of_all_kinds_complete(jobs: Jobs, lab: Lab) -> None:
    two = jobs.submit(
        """\
name: two
command: [sh, -c, 'echo "rank $RANK of $WORLD_SIZE sees $CUDA_VISIBLE_DEVICES"']
accelerators: {count: 16}
time_limit: 5 min
tenant: llm
""",
        *VIA,
    )
    bad = jobs.submit("{name: bad, command: [sh, -c, sleep 2; exit 3], tenant: llm}", *VIA)
    array = jobs.submit("{name: array, command: [sh, -c, 'exit $SUPERCLOUD_ARRAY_INDEX'], array: 3, tenant: llm}", *VIA)
    held = "until [ -e /home/lab/go ]; do sleep 0.2; done"
    first = jobs.submit(f"{{name: first, command: [sh, -c, '{held}'], tenant: llm}}", *VIA)
    second = jobs.submit(f"{{name: second, command: ['true'], tenant: llm, after: ['{first}']}}", *VIA)
    lab.run("touch /home/lab/go")
    ended = jobs.wait(two, bad, array, second)
    assert (ended[two], ended[bad], ended[second]) == ("COMPLETED", "FAILED: ended with exit code 3", "COMPLETED")
    assert ended[array].startswith("FAILED: 2 of 3 tasks")
    assert sorted(jobs.read_logs(two).splitlines()) == [f"rank {rank} of 2 sees 0,1,2,3,4,5,6,7" for rank in range(2)]


def test_accounting_finds_the_jobs_of_the_user(jobs: Jobs, lab: Lab) -> None:
    number = jobs.submit("{name: old, command: ['true'], tenant: llm}", *VIA)
    jobs.wait(number)
    ref = jobs.get_record(number)["ref"]
    ask = f"""
from supercloud.jobs.engines.slurm.rest import RestController
rest = RestController({URL!r})
found = rest.read_older_jobs(3600) or ()
tasks = [status.state.name for number, status, _ in rest.read_accounts([{ref!r}]) if number == {ref!r}]
print(sorted(number for number, _ in found), tasks)
"""
    python = str(lab.product.venv / "bin" / "python")

    def is_found() -> bool:
        output = lab.run([python, "-c", ask], user="lab", env=jobs.env, cwd=str(lab.product.checkout)).stdout
        return f"'{ref}'" in output and "['COMPLETED']" in output

    lab.wait_for("the job is in the accounts", is_found, interval=0.5)


def test_licenses_and_a_deadline_reach_slurm(jobs: Jobs, lab: Lab) -> None:
    text = "{name: held, command: [sleep, '600'], tenant: llm, licenses: {solver: 2}, deadline: 2 h, time_limit: 1 h}"
    one, two = jobs.submit(text, *VIA), jobs.submit(text, *VIA)
    lab.wait_for("one waits", lambda: "licenses" in jobs.get_record(two)["reason"], interval=0.5)
    shown = get_job(lab, jobs.get_record(one)["ref"])
    assert shown["Licenses"] == "solver:2"
    left = int(lab.run(["date", "-d", shown["Deadline"], "+%s"]).stdout) - time.time()
    assert 7000 < left <= 7200
    for number in (one, two):
        lab.run_supercloud("cancel", str(number), env=jobs.env)


def test_a_job_is_cancelled_and_an_invalid_token_is_rejected(jobs: Jobs, lab: Lab) -> None:
    number = jobs.submit("{name: long, command: [sleep, '600'], tenant: llm}", *VIA)
    lab.wait_for("it runs", lambda: jobs.get_record(number)["state"] == "RUNNING", interval=0.5)
    lab.run_supercloud("cancel", str(number), env=jobs.env)
    assert jobs.wait(number)[number] == "CANCELLED: cancelled"
    lab.put("/home/lab/job.yaml", "{name: high, command: ['true'], tenant: llm}")
    words = ["submit", "/home/lab/job.yaml", "--on", "/home/lab/pod.yaml", *VIA]
    done = lab.run_supercloud(*words, env={"SLURM_JWT": "x.y.z"}, check=False)
    assert done.returncode == 1 and "slurm" in done.stderr.lower()


ASK = """
import sys
from supercloud.errors import EngineError
from supercloud.jobs.engines.slurm import rest
from supercloud.jobs.engines.submission import Submission
from pathlib import Path
service = rest.RestController({url!r})
known = Path.home() / "format"  # the detection needs the controller, which may not answer later
service.__dict__["data_format"] = known.read_text() if known.exists() else service.data_format
known.write_text(service.data_format)
argv = ("sbatch", "--nodes=1", "--comment=supercloud:" + sys.argv[1], *sys.argv[2:])
spool = rest.RestSpool(Path.home() / "spool", service)
try:
    answer = spool.submit(Submission(sys.argv[1], argv, "#!/bin/sh\\ntrue\\n"))
    print("Answer", answer.exit_code, answer.stdout, answer.stderr)
except EngineError as error:
    print(type(error).__name__, error)
print({{identity.key: number for number, identity in service.read_jobs()}} if sys.argv[1] != "lost" else "")
"""


def test_a_refusal_differs_from_a_lost_answer(jobs: Jobs, lab: Lab) -> None:
    python = str(lab.product.venv / "bin" / "python")

    def ask(*words: str) -> str:
        command = [python, "-c", ASK.format(url=URL), *words]
        return lab.run(command, user="lab", env=jobs.env, cwd=str(lab.product.checkout)).stdout

    message = ask("refused", "--partition=nosuch", "--account=llm")
    assert (
        message.startswith("RequestRefusedError Slurm refused: ")
        and "partition" in message
        and "'refused'" not in message
    )
    partition = lab.run("sinfo --noheader --format=%R").stdout.split()[0]
    lab.run("pkill -STOP slurmctld")
    try:
        message = ask("lost", f"--partition={partition}", "--account=llm")
    finally:
        lab.run("pkill -CONT slurmctld")
    assert message.startswith("SubmissionUnknownError "), message
    lab.run(f"scontrol update partition={partition} state=down")
    try:
        message = ask("waits", f"--partition={partition}", "--account=llm")
    finally:
        lab.run(f"scontrol update partition={partition} state=up")
    assert message.startswith("Answer 0 ") and "'waits'" in message, message
