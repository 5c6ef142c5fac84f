"""Racks, power and cooling of 100,000 accelerators: the part of planning that is theirs, and their files."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from supercloud.plan.build.facility.facility import build_facility_plan
from supercloud.plan.build.facility.layout import build_layout
from supercloud.plan.build.inputs import BuildInputs, Equipment
from supercloud.plan.checks import cooling, power, racks, weather
from supercloud.plan.model.plan import Plan
from supercloud.plan.model.problems import Problems
from supercloud.plan.publish.document import build_document
from supercloud.plan.resolve import load_catalog, resolve
from supercloud.spec.loader import loads
from supercloud.targets import render

RUNS = 5
AIR = """\
name: bench
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-h100, nodes: 12500, fabrics: [compute]}]
fabrics: [{name: compute, kind: roce, shape: rail-optimized, switch: nvidia-sn5600, speed: 400 Gb/s}]
facility:
  rack: {type: eia-48u, nodes: 4, pdus: 3}
  max_cable_length: 2000 m
  racks_per_row: 64
  power: {budget: 999 MW, feeds: 3, redundancy: 3N/2, voltage: 415 V, circuit: 63 A, row: 99 MW}
"""
LIQUID = """\
name: bench
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-gb200, nodes: 25000, fabrics: []}]
facility:
  rack: {type: eia-48u}
  power: {budget: 999 MW, feeds: 2, redundancy: 2N}
  cooling: {kind: direct-liquid, supply: 32 °C, cdu: coolit-chx2000, zone: 8}
"""


def measure_rows() -> list[tuple[str, str, str, str]]:
    """(figure, measured, of the budget, ratio)."""
    found = []
    for name, text in (("in air", AIR), ("NVL72 in liquid", LIQUID)):
        plan = resolve(loads(text))
        assert not plan.errors and plan.layout, plan.errors
        seconds = _measure_best(lambda plan=plan: _publish_hall(plan))  # type: ignore[misc]
        size = f"{plan.accelerators:,} accelerators {name}, {len(plan.layout.racks):,} racks"
        found.append(
            (
                f"racks, power and cooling, {size}",
                f"{seconds:.3f} s",
                f"{seconds / 1:.2f} × 1 s",
                f"{seconds / len(plan.layout.racks) * 1e6:.0f} µs a rack",
            )
        )
        seconds = _measure_best(lambda plan=plan: render(plan, "racks"))  # type: ignore[misc]
        lines = sum(text.count("\n") for text in render(plan, "racks").values())
        found.append((f"their files, {size}", f"{seconds:.3f} s", "", f"{seconds / lines * 1e6:.1f} µs a line"))
    return found


def _publish_hall(plan: Plan) -> None:
    catalog = load_catalog(plan.spec, Path())
    hall = build_facility_plan(
        BuildInputs(plan.spec, catalog, Problems()), plan.site, Equipment(plan.pools, plan.fabrics)
    )
    build_layout(plan.spec, plan.pools, plan.fabrics, hall)
    for check in (*cooling.CHECKS, *weather.CHECKS, *power.CHECKS, *racks.CHECKS):
        list(check(plan, catalog))
    build_document(plan)


def _measure_best(act: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    for row in measure_rows():
        print(f"| {' | '.join(row)} |")
