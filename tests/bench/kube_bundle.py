"""The Kubernetes bundle: how long it takes to render, and how many objects it has."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["measure_rows"]

RUNS = 3
NODES = {"1,016 accelerators": 127, "100,000 accelerators": 12_500}
SPEC = """\
name: bench
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: kubernetes, version: "1.36", queue: {queue}}}
pools: [{{name: train, machine: dgx-h100, nodes: {nodes}, fabrics: [compute]}}]
fabrics: [{{name: compute, kind: roce, shape: rail-optimized, switch: nvidia-sn5600, speed: 400 Gb/s}}]
facility: {{rack: {{type: orv3-48u, nodes: 4}}, power: {{budget: 999 MW}}}}
tenants: [{{name: llm, share: 70}}, {{name: vision, share: 30}}]
"""
ROAD = """\
import json, sys, time
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import render
plan = resolve(load(sys.argv[1]))
import supercloud.targets.schedulers.kubernetes
start = time.perf_counter()
bundle = render(plan, "kubernetes")
print(json.dumps({"seconds": time.perf_counter() - start, "files": len(bundle),
                  "objects": sum(text.count("\\nkind: ") for text in bundle.values())}))
"""


def measure_rows() -> list[tuple[str, str, str, str]]:
    """Figure, measured, of the budget, ratio."""
    found: list[tuple[str, str, str, str]] = []
    for queue in ("kueue", "volcano"):
        first: dict[str, float] | None = None
        for size, nodes in NODES.items():
            best = _measure_best(SPEC.format(nodes=nodes, queue=queue))
            first = first or best
            large = nodes == max(NODES.values())
            found.append(
                (
                    f"render kubernetes with {queue}, {size}",
                    f"{best['seconds']:.3f} s ({best['objects']:,} objects, {best['files']} files)",
                    f"{best['seconds']:.2f} × 1 s" if large else "",
                    f"{best['seconds'] / first['seconds']:.1f} × smallest",
                )
            )
    return found


def _measure_best(spec: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cluster.yaml"
        file.write_text(spec)
        command = [sys.executable, "-c", ROAD, str(file)]
        runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(RUNS)]
    return min(runs, key=lambda run: run["seconds"])
