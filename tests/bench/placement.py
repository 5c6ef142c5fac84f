"""Speed of placement, and its quality on the openb trace where a folder with that is given.

Decisions are made in this process, without an engine. The table of ``run.py`` has the rows of ``measure_rows``;
``python tests/bench/placement.py [FOLDER]`` prints a separate table.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openb

from supercloud.catalog import Catalog
from supercloud.jobs.fleet.state import Cluster, NodeState
from supercloud.jobs.placement.place import place
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.loader import loads

ROUNDS = 30
BUDGET = 0.010
SPEC = """
name: bench
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "26.05"}}
pools: [{{name: train, machine: {machine}, nodes: {nodes}, fabrics: [compute]}}]
fabrics: [{{name: compute, kind: roce, shape: {shape}, switch: nvidia-sn5600, speed: 400 Gb/s}}]
"""
RAIL = "rail-optimized"
Row = tuple[str, str, str, str]


def build_cluster(machine: str, nodes: int, busy: float = 0.0, broken: float = 0.0) -> Cluster:
    """A cluster with a part of its nodes in use and a part of them broken."""
    plan = resolve(loads(SPEC.format(machine=machine, nodes=nodes, shape=RAIL)))
    planned = Cluster.from_plan(plan)
    if not busy and not broken:
        return planned
    dice, pool = random.Random(0), plan.pools[0]
    states = []
    for number, host in enumerate(pool.hosts):
        in_use = pool.accelerators_per_node if dice.random() < busy else 0
        states.append(NodeState(host, "down" if dice.random() < broken else "up", in_use, 60.0 + number))
    return planned.with_observations(states, 0.0)


def build_job(**fields: Any) -> JobSpec:
    return JobSpec.model_validate({"name": "j", "command": ["x"]} | fields)


def measure_quickest(work: Callable[[], object]) -> float:
    """Seconds of the quickest of several rounds, after one that warms up."""
    work()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure_rows(folder: Path | None = None) -> list[Row]:
    """The figures as rows of a table: what, measured, of the budget, ratio within the run."""
    catalog = Catalog.load_default()
    fleets = {
        "empty": build_cluster("dgx-h100", 12_500),
        "half in use, 2 % broken": build_cluster("dgx-h100", 12_500, 0.5, 0.02),
    }
    small = build_cluster("dgx-h100", 16)
    one = build_job(accelerators={"count": 8})
    base = measure_quickest(lambda: place(one, small, catalog))
    table = [("place one job, 128 accelerators", f"{base * 1e3:.2f} ms", "", "1.0 × itself")]
    jobs = {
        "8 accelerators": one,
        "16,384 (TP 8, PP 16, DP 128)": build_job(parallelism={"tensor": 8, "pipeline": 16, "data": 128}),
        "48,000 (TP 8, PP 16, DP 375)": build_job(parallelism={"tensor": 8, "pipeline": 16, "data": 375}),
    }
    for state, where in fleets.items():
        for name, asked in jobs.items():
            seconds = measure_quickest(lambda asked=asked, where=where: place(asked, where, catalog))
            table.append(
                (
                    f"place {name} on 100,000, {state}",
                    f"{seconds * 1e3:.2f} ms",
                    f"{seconds / BUDGET:.2f} × 10 ms",
                    f"{seconds / base:.1f} × smallest",
                )
            )
    racks = build_cluster("dgx-gb200", 25_000, 0.3, 0.05)
    experts = build_job(parallelism={"data": 4096, "expert": 64})
    seconds = measure_quickest(lambda: place(experts, racks, catalog))
    table.append(
        (
            "place 4,096 with experts over 64, 1,389 NVL72 racks, 5 % of trays broken",
            f"{seconds * 1e3:.2f} ms",
            f"{seconds / BUDGET:.2f} × 10 ms",
            f"{seconds / base:.1f} × smallest",
        )
    )
    table += measure_trace(folder) if folder else []
    return table


def measure_trace(folder: Path, name: str = "default", seeds: int = 1) -> list[Row]:
    """Accelerators in use on the openb trace, with the authors' results."""
    table = []
    for policy in openb.POLICIES:
        start = time.perf_counter()
        runs = [openb.measure_allocation(folder, name, policy, seed) for seed in range(42, 42 + seeds)]
        seconds = (time.perf_counter() - start) / seeds
        published = openb.read_published_results(folder, name, policy)
        for percent in (100, 130):
            mean = sum(run[percent] for run in runs) / seeds
            difference = f"{mean - published[percent]:+.2f} of {published[percent]:.2f}" if published else ""
            table.append(
                (
                    f"openb {name}, {policy}: in use when {percent} % were asked for",
                    f"{mean:.2f} %",
                    difference,
                    f"{seconds:.1f} s a run",
                )
            )
    return table


if __name__ == "__main__":
    head = ("figure", "measured", "of the budget or published", "ratio")
    for row in (head, ("---",) * 4, *measure_rows(Path(sys.argv[1]) if sys.argv[1:] else None)):
        print(f"| {' | '.join(row)} |")
