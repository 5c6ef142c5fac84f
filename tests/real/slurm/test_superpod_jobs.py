"""Jobs on the SuperPOD by ``supercloud submit``: placement, accelerators, results."""

from __future__ import annotations

import re
from collections.abc import Iterator

import product_jobs
import pytest
from answers import clear, get_accounted_state, get_job, get_refusal, list_hosts, submit_batch
from bundles import EXAMPLES, Declared
from complaints import list_complaints
from lab import Lab

IMPOSSIBLE = {
    "too many nodes": (["-A", "llm", "-N128"], "Node count specification invalid"),
    "more nodes than the partition gives": (["-A", "llm", "-p", "interactive", "-N3"], "Node count specification"),
    "too long": (["-A", "llm", "-t", "8-0"], "Requested time limit is invalid"),
    "too long for the partition": (["-A", "llm", "-p", "interactive", "-t", "9:00:00"], "time limit is invalid"),
    "too many accelerators of a node": (["-A", "llm", "--gpus-per-node=9"], "configuration is not available"),
    "too many accelerators": (["-A", "llm", "--gpus=1017"], "configuration is not available"),
    "another accelerator": (["-A", "llm", "--gpus-per-node=a100:1"], "configuration is not available"),
    "too much memory": (["-A", "llm", "--mem=3T"], "Memory specification can not be satisfied"),
    "an unknown account": (["-A", "nobody"], "Invalid account"),
    "a priority the tenant may not use": (["-A", "vision", "-q", "high"], "Invalid qos"),
    "more than its tenant may ever use": (["-A", "vision", "-N33", "--gpus-per-node=8"], "violates accounting/QOS"),
}
REFUSALS = r"does not have access to qos high|\*\*\* (JOB|STEP) \S+ ON \S+ CANCELLED"

PROBE = """\
name: probe
script: |
  srun --ntasks-per-node=1 bash -c 'echo "topology $SLURM_TOPOLOGY_ADDR"'
accelerators: {type: h100, count: 256}
time_limit: 5 min
tenant: llm
place: {near: leaf}
"""
HALF = """\
name: half
script: |
  echo "sees $CUDA_VISIBLE_DEVICES of $SLURM_JOB_GPUS"
  for number in 0 1 2 3 4 5 6 7; do cat /dev/nvidia$number 2>&1 || true; done
accelerators: {type: h100, count: 4}
time_limit: 5 min
tenant: llm
place: {nodes: [train-0002]}
"""


@pytest.fixture(scope="module")
def lab(superpod_lab: Lab) -> Iterator[Lab]:
    # a second time: limits on accelerators need a controller that has run once
    superpod_lab.run(["/etc/slurm/accounts.sh"])
    yield superpod_lab
    clear(superpod_lab)


def list_nodes(lab: Lab, number: int) -> set[str]:
    return list_hosts(get_job(lab, product_jobs.get_record(lab, number)["ref"])["NodeList"])


def list_units(superpod: Declared) -> list[set[str]]:
    """The nodes of each scalable unit."""
    return [list_hosts(group.hosts) for group in superpod.get_locality("tree").levels[0].groups]


def test_eight_nodes_are_in_one_scalable_unit(superpod: Declared, lab: Lab) -> None:
    number = product_jobs.submit_file(lab, superpod.spec, EXAMPLES / "02-superpod" / "job.yaml")
    assert product_jobs.wait(lab, number) == (0, "COMPLETED")
    nodes = list_nodes(lab, number)
    assert len(nodes) == 8 and any(nodes <= unit for unit in list_units(superpod))
    lines = sorted(product_jobs.read_logs(lab, number).splitlines())
    assert lines == [f"node {rank} of 8: 0,1,2,3,4,5,6,7" for rank in range(8)]


def test_a_whole_unit_is_one_leaf_for_slurm(superpod: Declared, lab: Lab) -> None:
    number = product_jobs.submit(lab, superpod.spec, PROBE)
    # Slurm waits up to 30 days for the placement
    assert get_job(lab, product_jobs.get_record(lab, number)["ref"])["Switches"] == "1@30-00:00:00"
    assert product_jobs.wait(lab, number) == (0, "COMPLETED")
    output = re.findall(r"topology (\S+)\.(\S+)\.(\S+)", product_jobs.read_logs(lab, number))
    groups = superpod.get_locality("tree").levels[0].groups
    (unit,) = {switch for _, switch, _ in output}
    assert {node for _, _, node in output} == list_hosts(next(group.hosts for group in groups if group.name == unit))


def test_a_job_cannot_open_the_accelerators_of_others(superpod: Declared, lab: Lab) -> None:
    held = "script: |\n  until [ -e /home/lab/go ]; do sleep 0.2; done"  # both jobs run at the same time
    first = product_jobs.submit(lab, superpod.spec, HALF.replace("script: |", held))
    lab.wait_for("the first runs", lambda: product_jobs.get_record(lab, first)["state"] == "RUNNING")
    second = product_jobs.submit(lab, superpod.spec, HALF)
    for number, own in ((second, range(4, 8)), (first, range(4))):
        if number == first:
            lab.run("touch /home/lab/go")
        assert product_jobs.wait(lab, number) == (0, "COMPLETED")
        lines = product_jobs.read_logs(lab, number).splitlines()
        assert lines[0] == f"sees 0,1,2,3 of {','.join(map(str, own))}"
        assert lines[1:] == [
            f"cat: /dev/nvidia{gpu}: {'No such device or address' if gpu in own else 'Operation not permitted'}"
            for gpu in range(8)
        ]


def test_a_failed_job_reports_its_exit_code(superpod: Declared, lab: Lab) -> None:
    number = product_jobs.submit(lab, superpod.spec, "{name: bad, command: [sh, -c, exit 3], tenant: llm}")
    assert product_jobs.wait(lab, number) == (1, "FAILED: ended with exit code 3")
    assert product_jobs.get_record(lab, number)["exit_code"] == 3


def test_a_job_ends_at_its_time_limit(superpod: Declared, lab: Lab) -> None:
    number = product_jobs.submit(lab, superpod.spec, "{name: slow, command: [sleep, '600'], tenant: llm}")
    lab.wait_for("it runs", lambda: product_jobs.get_record(lab, number)["state"] == "RUNNING")
    lab.run(["scontrol", "update", f"JobId={product_jobs.get_record(lab, number)['ref']}", "TimeLimit=00:00:00"])
    code, output = product_jobs.wait(lab, number, timeout=120)
    assert (code, output.split(":")[0]) == (1, "TIMEOUT")


def test_cancel_ends_a_job(superpod: Declared, lab: Lab) -> None:
    number = product_jobs.submit(lab, superpod.spec, "{name: long, command: [sleep, '600'], tenant: llm}")
    lab.wait_for("it runs", lambda: product_jobs.get_record(lab, number)["state"] == "RUNNING")
    lab.run_supercloud("cancel", str(number))
    assert product_jobs.wait(lab, number) == (1, "CANCELLED: cancelled")
    assert get_accounted_state(lab, product_jobs.get_record(lab, number)["ref"]).startswith("CANCELLED")


def test_the_same_key_is_the_same_job(superpod: Declared, lab: Lab) -> None:
    lab.put("/home/lab/job.yaml", "{name: once, command: [sleep, '1'], tenant: llm}")
    words = ["submit", "/home/lab/job.yaml", "--on", str(superpod.spec), "--engine", "slurm", "--key", "once"]
    first, second = (lab.run_supercloud(*words).stdout for _ in range(2))
    assert first == second
    assert lab.run("squeue -h -t all -n once -o %A | wc -l").stdout.strip() == "1"
    assert product_jobs.wait(lab, int(first))[0] == 0


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_job_is_rejected_immediately(case: str, lab: Lab) -> None:
    arguments, answer = IMPOSSIBLE[case]
    assert answer in get_refusal(lab, *arguments)


def test_the_largest_possible_job_is_not_refused(lab: Lab) -> None:
    number = submit_batch(lab, "--hold", "-A", "llm", "-N127", "--gpus-per-node=8", "-t", "7-0", "--wrap", "true")
    assert get_job(lab, number)["JobState"] == "PENDING"
    lab.run(["scancel", number])


def test_the_product_refuses_before_slurm_is_asked(superpod: Declared, lab: Lab) -> None:
    text = "{name: big, command: [a], accelerators: {type: h100, count: 1024}, tenant: llm}"
    code, output = product_jobs.place(lab, superpod.spec, text)
    assert code == 2 and "train" in output


def test_no_daemon_logs_an_error_that_the_bundle_caused(lab: Lab) -> None:
    assert not (found := list_complaints(lab, REFUSALS)), "\n".join(found)
