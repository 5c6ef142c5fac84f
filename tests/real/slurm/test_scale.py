"""A cluster of 12,500 nodes and 100,000 accelerators: both releases load its bundle and place jobs as planned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from answers import get_refusal, list_hosts, submit_batch
from bundles import Declared, declare_text
from complaints import list_complaints
from lab import Lab

NODES = 12_500
SPEC = f"""\
name: big
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "VERSION"}}
pools:
  - {{name: train, machine: dgx-h100, nodes: {NODES}, fabrics: [compute]}}
fabrics:
  - {{name: compute, kind: roce, shape: rail-optimized, switch: nvidia-sn5600, speed: 400 Gb/s}}
"""


@dataclass
class Running:
    cluster: Declared
    lab: Lab

    @property
    def leaves(self) -> list[set[str]]:
        """The nodes under each set of leaves, by the published plan."""
        return [list_hosts(group.hosts) for group in self.cluster.get_locality("tree").levels[0].groups]

    def count_leaves(self, nodes: set[str]) -> int:
        """The number of sets of leaves of these nodes."""
        return sum(bool(nodes & leaf) for leaf in self.leaves)


@pytest.fixture(scope="module", params=[pytest.param("slurm_2205", marks=pytest.mark.extended), "slurm_new"])
def big(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """No slurmd runs: jobs are placed on cloud nodes that never resume."""
    slurm = request.getfixturevalue(request.param)
    release = ".".join(f"{part:02d}" for part in slurm.release)
    cluster = declare_text(SPEC.replace("VERSION", release), tmp_path_factory.mktemp("big"))
    with Lab(cluster.folder, slurm.rootfs, cloud_nodes=True) as lab:
        lab.start(nodes="", timeout=120)
        yield Running(cluster, lab)


def test_slurm_has_all_nodes(big: Running) -> None:
    rows = big.lab.run("sinfo -h -o '%D %T %P'").stdout.split()
    assert rows == [str(NODES), "idle~", "train*"]
    assert "gres/gpu=100000" in big.lab.run("scontrol -o show partition train").stdout


def test_the_topology_matches_the_plan(big: Running) -> None:
    seen = big.lab.run("scontrol show topology").stdout
    leaves = re.findall(r"SwitchName=(\S+) Level=0 \S+ Nodes=(\S+)", seen)
    groups = big.cluster.get_locality("tree").levels[0].groups
    assert {name: list_hosts(nodes) for name, nodes in leaves} == {
        group.name: list_hosts(group.hosts) for group in groups
    }


def test_1024_nodes_are_below_the_fewest_switches(big: Running) -> None:
    fewest = -(-1024 // max(map(len, big.leaves)))
    command = f"sbatch --test-only -N1024 --gpus-per-node=8 --switches={fewest} --wrap true"
    done = big.lab.run(command, user="lab")
    match = re.search(r"to start at \S+ .*on nodes (\S+) in partition train", done.stderr)
    assert match, done.stderr
    nodes = list_hosts(match[1])
    assert len(nodes) == 1024
    assert big.count_leaves(nodes) <= fewest, f"{big.count_leaves(nodes)} sets of leaves, {fewest} are enough"


def test_a_job_is_placed_below_the_requested_switches(big: Running) -> None:
    fewest = -(-1024 // max(map(len, big.leaves)))
    number = submit_batch(big.lab, "-N1024", "--gpus-per-node=8", f"--switches={fewest}", "--wrap", "true")
    listed = ""

    def is_placed() -> bool:
        nonlocal listed
        listed = big.lab.run(["squeue", "-h", "-j", number, "-o", "%N"]).stdout.strip()
        return bool(listed)

    big.lab.wait_for("a placement", is_placed)
    assert len(list_hosts(listed)) == 1024 and big.count_leaves(list_hosts(listed)) <= fewest
    big.lab.run(["scancel", number])


def test_a_job_of_all_nodes_is_accepted_and_a_larger_one_refused(big: Running) -> None:
    done = big.lab.run(f"sbatch --test-only -N{NODES} --gpus-per-node=8 --wrap true", user="lab")
    assert "to start at" in done.stderr
    assert "Node count specification invalid" in get_refusal(big.lab, f"-N{NODES + 1}")


def test_no_daemon_logs_an_error_that_the_bundle_caused(big: Running) -> None:
    assert not (found := list_complaints(big.lab)), "\n".join(found)
