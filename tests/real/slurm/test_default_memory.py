"""Resources of jobs that request no memory and processors, on nodes with accelerators, with real controllers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bundles import declare_text
from installed import Slurm
from lab import Lab

SPEC = """\
name: shared
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "VERSION", accounting: false}
pools: [{name: train, machine: dgx-h100, nodes: 1, reserve: {cores: 4}}]
"""
ASKED = {
    "nothing": "",
    "one accelerator": "--gpus=1",
    "all accelerators": "-N1 --gpus-per-node=8",
    "a task each": "-N1 -n8 --gpus-per-task=1",
    "the node": "-N1 --exclusive",
}


@pytest.mark.parametrize("which", ["2205", "new"])
def test_a_job_without_accelerators_takes_a_share_of_memory(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Jobs without accelerators get memory by processor, others by accelerator; the two are not added."""
    slurm: Slurm = request.getfixturevalue(f"slurm_{which}")
    cluster = declare_text(SPEC.replace("VERSION", ".".join(f"{part:02d}" for part in slurm.release)), tmp_path)
    with Lab(cluster.folder, slurm.rootfs) as lab:
        lab.start()
        lab.wait_nodes("train-0001", 1)
        memory: dict[str, int] = {}
        for name, options in ASKED.items():
            shown = lab.run(
                f"srun -t 1 {options} sh -c 'scontrol -o show job $SLURM_JOB_ID'", user="lab", timeout=120
            ).stdout
            found = re.search(r" (?:Alloc)?TRES=cpu=\d+,mem=(\d+)M", shown)
            assert found, shown
            memory[name] = int(found[1])
        whole = memory["all accelerators"]
        assert memory["one accelerator"] * 8 == memory["a task each"] == whole
        # one core of 112: the rest is enough for jobs with all accelerators
        assert memory["nothing"] * 100 < whole
        assert abs(memory["the node"] - whole) * 100 < whole
        # 108 cores remain and are allocated whole: 13 per accelerator
        for _ in range(8):
            lab.run("sbatch -t 5 --gpus=1 -o /dev/null --wrap 'sleep 200'", user="lab")
        lab.wait_for("all eight run", lambda: len(lab.run("squeue -h -t R -o %A").stdout.split()) == 8)
