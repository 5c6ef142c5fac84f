"""Machines that come together (an UltraServer): names of one block go to instances of one domain, in real Slurm."""

from __future__ import annotations

import pytest
from answers import list_by_name, read_topology, submit_batch, wait_job
from cloud_lab import CloudLab, build_lab_plan
from installed import Slurm


def test_a_block_is_one_domain(slurm_new: Slurm, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One node is wanted, its whole domain comes; each node keeps its block and says its place in the network too."""
    plan = build_lab_plan("26.05", domain=2)
    with CloudLab(plan, tmp_path_factory.mktemp("domains") / "bundle", slurm_new.rootfs) as lab:
        lab.run("echo spine-1 >/lab/cloud/groups/train-spot/network")
        lab.boot_controller()
        number = submit_batch(lab, "--gpus-per-node=2", "-N1", "-w", "train-0003", "--wrap", "sleep 60")
        lab.wait_nodes("train-0004", 1, "idle")  # its domain's other machine is the block's other node
        assert len(lab.list_instances("train-spot")) == 2  # until it has been idle for too long
        wait_job(lab, number, "RUNNING")
        place = "network:root:spine-1:rack-1,scale-up:train-d2"  # said after the node has joined
        lab.wait_for(
            "its place", lambda: list_by_name(lab, "node train-0003", "NodeName")["train-0003"]["Topology"] == place
        )
        nodes = list_by_name(lab, "node train-[0001-0004]", "NodeName")
        assert nodes["train-0001"]["Topology"] == "network:root:off,scale-up:train-d1"
        blocks = {row["BlockName"]: row["Nodes"] for row in read_topology(lab, "scale-up") if "BlockName" in row}
        assert blocks == {"train-d1": "train-[0001-0002]", "train-d2": "train-[0003-0004]"}
