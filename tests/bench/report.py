"""The report of a site: how long it takes to draw, and how large it is."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["measure_rows"]

RUNS = 3
NODES = {"1,016": 127, "16,384": 2048}
SPEC = """\
name: bench
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "25.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: {nodes}, fabrics: [compute]}}]
fabrics: [{{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}}]
facility: {{rack: {{type: orv3-48u, nodes: 4}}, power: {{budget: 999 MW}}}}
"""
ROAD = """\
import json, sys, time
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets.report import render_report
plan = resolve(load(sys.argv[1]))
start = time.perf_counter()
page = render_report(plan)
print(json.dumps({"seconds": time.perf_counter() - start, "bytes": len(page.encode())}))
"""


def measure_rows() -> list[tuple[str, str, str, str]]:
    """Figure, measured, of the budget, ratio."""
    found: list[tuple[str, str, str, str]] = []
    first: dict[str, float] | None = None
    for size, nodes in NODES.items():
        with tempfile.TemporaryDirectory() as folder:
            spec = Path(folder) / "cluster.yaml"
            spec.write_text(SPEC.format(nodes=nodes))
            command = [sys.executable, "-c", ROAD, str(spec)]
            runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(RUNS)]
        best: dict[str, float] = min(runs, key=lambda run: run["seconds"])
        first = first or best
        megabytes = best["bytes"] / 1e6
        large = nodes == max(NODES.values())
        found.append(
            (
                f"report, {size}",
                f"{best['seconds']:.3f} s",
                f"{best['seconds'] / 2:.2f} × 2 s" if large else "",
                f"{best['seconds'] / first['seconds']:.1f} × smallest",
            )
        )
        found.append(
            (
                f"size of the report, {size}",
                f"{megabytes:.2f} MB",
                f"{megabytes / 10:.2f} × 10 MB" if large else "",
                f"{best['bytes'] / first['bytes']:.1f} × smallest",
            )
        )
    return found


if __name__ == "__main__":
    for row in measure_rows():
        print(" | ".join(row))
