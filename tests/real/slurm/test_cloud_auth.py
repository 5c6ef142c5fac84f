"""auth/slurm on a cloud with real Slurm: no munge; sackd signs commands of a node until its slurmd runs."""

from __future__ import annotations

from pathlib import Path

from answers import submit_batch, wait_job
from cloud_lab import CloudLab, build_lab_plan
from installed import Slurm
from layers import CACHE, build_layer, copy_over_root


def test_a_node_joins_with_the_key_of_slurm(slurm_new: Slurm, tmp_path: Path) -> None:
    """A node gets its name from the controller, joins, and runs a job; munge runs on no machine."""
    with CloudLab(build_lab_plan("26.05", auth="slurm"), tmp_path / "bundle", slurm_new.rootfs) as lab:
        copy_over_root(lab, build_layer(slurm_new, CACHE, "sackd"))
        lab.boot_controller()
        number = submit_batch(
            lab, "--gpus-per-node=2", "-N1", "-o", "/home/lab/out-%j", "--wrap", "scontrol ping; hostname"
        )
        wait_job(lab, number, "COMPLETED")
        output = lab.get(f"/home/lab/out-{number}")
        assert "is UP" in output and "train-0001" in output
        assert lab.run("pgrep munged", check=False).returncode == 1
