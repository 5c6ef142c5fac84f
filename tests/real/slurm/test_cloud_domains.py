"""Machines in units (an UltraServer) with real Slurm: instances of one domain get the node names of one block."""

from __future__ import annotations

import pytest
from answers import list_by_name, read_topology, submit_batch, wait_job
from cloud_lab import CloudLab, build_lab_plan
from installed import Slurm


def test_a_block_is_one_domain(slurm_new: Slurm, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A job for one node starts its whole domain; each node keeps its block and also reports its network location."""
    plan = build_lab_plan("26.05", domain=2)
    with CloudLab(plan, tmp_path_factory.mktemp("domains") / "bundle", slurm_new.rootfs) as lab:
        lab.run("echo spine-1 >/lab/cloud/groups/train-spot/network")
        lab.boot_controller()
        number = submit_batch(lab, "--gpus-per-node=2", "-N1", "-w", "train-0003", "--wrap", "sleep 60")
        lab.wait_nodes("train-0004", 1, "idle")  # the other machine of the domain is the other node of the block
        assert len(lab.list_instances("train-spot")) == 2  # it is stopped later, after the idle time
        wait_job(lab, number, "RUNNING")
        place = "network:root:spine-1:rack-1,scale-up:train-d2"  # reported after the node has joined
        lab.wait_for(
            "its place", lambda: list_by_name(lab, "node train-0003", "NodeName")["train-0003"]["Topology"] == place
        )
        nodes = list_by_name(lab, "node train-[0001-0004]", "NodeName")
        assert nodes["train-0001"]["Topology"] == "network:root:off,scale-up:train-d1"
        blocks = {row["BlockName"]: row["Nodes"] for row in read_topology(lab, "scale-up") if "BlockName" in row}
        assert blocks == {"train-d1": "train-[0001-0002]", "train-d2": "train-[0003-0004]"}
