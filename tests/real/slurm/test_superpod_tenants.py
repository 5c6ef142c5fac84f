"""Tenants of the SuperPOD: accounts, limits and preemption, all through the rendered accounts.sh."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from answers import clear, get_accounted_state, get_job, submit_batch, wait_job
from bundles import Declared
from lab import Lab
from product_jobs import get_record, submit

GPUS = "--gpus-per-node=8"


@pytest.fixture(scope="module")
def lab(superpod_lab: Lab) -> Lab:
    superpod_lab.run(["/etc/slurm/accounts.sh"])
    return superpod_lab


@pytest.fixture(autouse=True)
def _empty(lab: Lab) -> Iterator[None]:
    yield
    clear(lab)


def read_database(lab: Lab) -> str:
    shown = "Account,User,Share,GrpTRES,GrpJobs,GrpSubmit,MaxWall,QOS,DefaultQOS"
    qos = "sacctmgr -n -P show qos format=Name,Priority,Preempt,Flags"
    return lab.run(f"sacctmgr -n -P show assoc format={shown}; {qos}").stdout


def test_a_second_run_of_accounts_changes_nothing(lab: Lab) -> None:
    before = read_database(lab)
    assert lab.run(["/etc/slurm/accounts.sh"]).stdout == "nothing changed\n"
    assert read_database(lab) == before
    assert "vision||30|gres/gpu=256|100|||low,normal|normal" in before
    assert "llm||70|||||high,low,normal|normal" in before
    assert "high|1000|low,normal|DenyOnLimit" in before


def test_manual_changes_are_reverted(lab: Lab) -> None:
    before = read_database(lab)
    lab.run("sacctmgr -i modify account vision set grptres=gres/gpu=8,node=3 fairshare=1 qos=normal")
    lab.run("sacctmgr -i modify qos high set priority=1 preempt=low flags-=DenyOnLimit")
    assert "vision" in lab.run(["/etc/slurm/accounts.sh"]).stdout
    assert read_database(lab) == before


def test_a_tenant_gets_no_more_than_its_limit(lab: Lab) -> None:
    first = submit_batch(lab, "-A", "vision", "-N32", GPUS, "--wrap", "sleep 600")
    wait_job(lab, first, "RUNNING")
    second = submit_batch(lab, "-A", "vision", "-N1", GPUS, "--wrap", "true")
    wait_job(lab, second, "PENDING", reason="AssocGrpGRES")
    other = submit_batch(lab, "-A", "llm", "-N1", GPUS, "--wrap", "true")
    wait_job(lab, other, "COMPLETED")
    assert get_job(lab, second)["JobState"] == "PENDING"
    lab.run(["scancel", first])
    wait_job(lab, second, "COMPLETED")


def test_jobs_of_higher_priority_preempt_others(lab: Lab) -> None:
    # slurm.conf exempts every job for five minutes; a QOS can set less
    lab.run("sacctmgr -i modify qos low set preemptexempttime=00:00:00")
    nodes = ["-w", "train-[0001-0002]", "-N2", GPUS]
    victim = submit_batch(lab, "-A", "vision", "-q", "low", "--requeue", *nodes, "--wrap", "sleep 600")
    wait_job(lab, victim, "RUNNING")
    equal = submit_batch(lab, "-A", "llm", "-q", "low", *nodes, "--wrap", "true")
    urgent = submit_batch(lab, "-A", "llm", "-q", "high", *nodes, "--wrap", "sleep 600")
    wait_job(lab, urgent, "RUNNING")
    assert wait_job(lab, victim, "PENDING")["Restarts"] == "1"
    assert get_accounted_state(lab, victim) == "PREEMPTED"  # the accounts have the ended attempt
    assert get_job(lab, equal)["JobState"] == "PENDING"  # a job of equal priority waits


def test_a_preempted_job_is_requeued_in_the_store(superpod: Declared, lab: Lab) -> None:
    lab.run("sacctmgr -i modify qos low set preemptexempttime=00:00:00")
    pinned = "accelerators: {type: h100, count: 8}, place: {nodes: [train-0005]}"
    text = "{name: %s, command: [sleep, '%d'], tenant: llm, priority: %s, retries: 1, " + pinned + "}"
    victim = submit(lab, superpod.spec, text % ("victim", 600, "low"))
    lab.wait_for("it runs", lambda: get_record(lab, victim)["state"] == "RUNNING")
    submit(lab, superpod.spec, text % ("urgent", 2, "high"))
    lab.wait_for("it is requeued", lambda: get_record(lab, victim)["attempt"] == 2)
    assert get_record(lab, victim)["state"] == "QUEUED"
