"""A file system that cannot be mounted: the controller starts, nodes are drained with the reason and run no jobs.

The kernel of the lab has no NFS: a helper of mount stands in for a client, which fails until its server is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from answers import get_job, submit_batch, wait_job
from cloud_lab import CloudLab, build_lab_plan
from installed import Slurm

from supercloud.catalog.storage_service import MountRule
from supercloud.plan.model.plan import Plan

HELPER = """#!/bin/sh
[ -e /lab/cloud/served ] || { echo "mount.labfs: no route to $1" >&2; exit 32; }
exec mount -i -t tmpfs labfs "$2"
"""
REASON = "mount /scratch: server:/scratch cannot be mounted: mount.labfs: no route to server:/scratch"


def build_mount_plan(version: str) -> Plan:
    plan = build_lab_plan(
        version, storage=[{"name": "scratch", "kind": "nfs", "capacity": "1 TiB", "mount": "/scratch"}]
    )
    assert plan.cloud is not None
    rule = MountRule(type="labfs", options="rw")
    storage = tuple(replace(item, mount_rule=rule) for item in plan.cloud.storage)
    return replace(plan, cloud=replace(plan.cloud, storage=storage))


@pytest.fixture(scope="module")
def lab(slurm_new: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudLab]:
    with CloudLab(build_mount_plan("26.05"), tmp_path_factory.mktemp("cloud") / "bundle", slurm_new.rootfs) as lab:
        lab.put("/usr/sbin/mount.labfs", HELPER, 0o755)
        lab.boot_controller()
        yield lab


def test_nodes_without_their_file_system_run_no_jobs(lab: CloudLab) -> None:
    # the controller has started without it
    log = lab.get("/var/log/supercloud/boot.log")
    assert f"FAILED mounts: {REASON.removeprefix('mount ')}" in log and f"this machine is ready, but {REASON}" in log

    ask = "findmnt -no FSTYPE /scratch"
    number = submit_batch(lab, "--gpus-per-node=2", "-N1", "-o", "/home/lab/out-%j", "--wrap", ask)

    lab.wait_for("the node is drained", lambda: f"Reason={REASON} [" in lab.run("scontrol show node train-0001").stdout)
    assert "DRAIN" in lab.list_states("train-0001")["train-0001"].upper()
    # the job is requeued, and starts an instance that has the file system by then
    lab.run("touch /lab/cloud/served")
    wait_job(lab, number, "COMPLETED")
    assert get_job(lab, number)["Restarts"] == "1"
    assert lab.get(f"/home/lab/out-{number}") == "tmpfs\n"
