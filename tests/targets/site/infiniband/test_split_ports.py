"""The guide lists the ports of switches that have to be split: their links have no signal before."""

from __future__ import annotations

import csv
import io

import pytest
from samples import EXAMPLES

import supercloud as sc
from supercloud.primitives.nodes import expand
from supercloud.spec.loader import loads
from supercloud.targets import render


def list_rows(guide: str) -> dict[str, list[str]]:
    """Ports by switch, of the table of split ports."""
    table = guide.partition("| switches | ports |\n|---|---|\n")[2].partition("\n\n")[0]
    found = [line.strip("| ").split(" | ") for line in table.splitlines() if line]
    return {name: ports.split(", ") for switches, ports in found for name in expand(switches)}


@pytest.mark.slow
@pytest.mark.parametrize("fabric", ["compute", "storage"])
def test_every_port_with_two_ends_of_a_splitter_is_listed(fabric: str) -> None:
    plan = sc.resolve(sc.load(EXAMPLES[0].parents[1] / "05-superpod-networks" / "cluster.yaml"))
    rows = list(csv.DictReader(io.StringIO(str(render(plan, "cabling")[f"{fabric}.csv"]))))
    halves = {(row["b_device"], row["b_port"].rpartition("/")[0]) for row in rows if row["b_port"].count("/") == 3}
    listed = list_rows(str(render(plan, "infiniband")[f"{fabric}/GUIDE.md"]))
    assert halves and {(switch, port) for switch, ports in listed.items() for port in ports} == halves


def test_fabrics_without_splitters_have_no_table() -> None:
    text = """
name: one
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "24.11"}
pools: [{name: train, machine: MACHINE, nodes: 8, fabrics: [compute]}]
fabrics: [{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}]
"""
    guides = {
        name: str(render(sc.resolve(loads(text.replace("MACHINE", name))), "infiniband")["compute/GUIDE.md"])
        for name in ("dgx-h100", "dgx-a100")
    }
    assert "Split ports" not in guides["dgx-h100"]
    assert "| the leaf switches | all |" in guides["dgx-a100"], "a mode of twice as many ports splits all of them"
