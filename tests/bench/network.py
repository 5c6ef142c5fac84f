"""Figures of the cabling: cables laid and written, and a running network checked against them."""

from __future__ import annotations

import json
import subprocess
import sys

SPEC = """\
name: bench
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "25.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: {nodes}, fabrics: [compute]}}]
fabrics: [{{name: compute, {fabric}}}]
facility: {{rack: {{type: orv3-48u, nodes: 4}}, power: {{budget: 999 MW}}}}
"""
ROCE = "kind: roce, shape: rail-optimized, switch: nvidia-sn5600, speed: 400 Gb/s"
INFINIBAND = "kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700"

LAY = """\
import json, resource, sys, time, tempfile
from pathlib import Path
import supercloud as sc
from supercloud.spec.loader import loads
plan = sc.resolve(loads(sys.argv[1], "bench.yaml"))
assert not plan.errors, plan.errors
start = time.perf_counter()
bundle = sc.render(plan, "cabling")
with tempfile.TemporaryDirectory() as folder:
    bundle.write(Path(folder) / "out")
print(json.dumps({"seconds": time.perf_counter() - start, "rows": bundle["compute.csv"].count("\\n") - 1,
                  "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""

CHECK = """\
import json, resource, sys, time, tempfile
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from discovery import Net
import supercloud as sc
from supercloud.spec.loader import loads
from supercloud.targets.site.cabling.verify import verify_output
plan = sc.resolve(loads(sys.argv[1], "bench.yaml"))
with tempfile.TemporaryDirectory() as folder:
    net = Net(sc.render(plan, "cabling")["compute.net"])
    found = Path(folder) / "found.txt"
    net.swap(("train-0005 mlx5_11", 1), ("train-0006 mlx5_11", 1))
    found.write_text(net.format_output())
    del net
    start = time.perf_counter()
    answer = verify_output(plan, found)
    seconds = time.perf_counter() - start
assert [item.kind for item in answer.differences] == ["swapped"], answer.differences[:3]
print(json.dumps({"seconds": seconds, "rows": answer.links,
                  "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def _measure_best(program: str, *words: str, runs: int = 3) -> dict[str, float]:
    found = []
    for _ in range(runs):
        done = subprocess.run([sys.executable, "-c", program, *words], check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout))
    quickest: dict[str, float] = min(found, key=lambda item: item["seconds"])
    return quickest | {"mib": max(item["mib"] for item in found)}


def measure_rows() -> list[tuple[str, str, str, str]]:
    """What was measured, the figure, the part of its budget, the ratio to the smaller network."""
    from pathlib import Path

    small = _measure_best(LAY, SPEC.format(nodes=2048, fabric=ROCE))
    large = _measure_best(LAY, SPEC.format(nodes=12_500, fabric=ROCE))
    helper = str(Path(__file__).parents[1] / "targets" / "site" / "cabling")
    check = _measure_best(CHECK, SPEC.format(nodes=2048, fabric=INFINIBAND), helper)
    ratio = large["seconds"] / small["seconds"] / (large["rows"] / small["rows"])
    return [
        (
            "cables laid and written, 16,384 accelerators",
            f"{small['seconds']:.2f} s ({small['rows']:,.0f} links)",
            f"{small['seconds'] / 2:.2f} × 2 s",
            "1.0 × itself",
        ),
        (
            "the same, 100,000",
            f"{large['seconds']:.2f} s ({large['rows']:,.0f} links)",
            f"{large['seconds'] / 15:.2f} × 15 s",
            f"{ratio:.2f} × linear",
        ),
        (
            "memory of the same, 100,000",
            f"{large['mib']:.0f} MiB",
            f"{large['mib'] / 1024:.2f} × 1024 MiB",
            f"{large['mib'] / small['mib']:.1f} × 16,384",
        ),
        (
            "cable check",
            f"{check['seconds']:.2f} s ({check['rows']:,.0f} links)",
            f"{check['seconds'] / 5:.2f} × 5 s",
            f"{check['seconds'] / small['seconds']:.1f} × laying them",
        ),
    ]


if __name__ == "__main__":
    for row in measure_rows():
        print(" | ".join(row))
