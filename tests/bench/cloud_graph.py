"""Clouds: planning a spec without any SDK, and recording its resources in process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

__all__ = ["measure_rows"]

RUNS = 3
TESTS = Path(__file__).parent.parent
SPEC = TESTS.parent / "examples" / "09-aws-slurm" / "cluster.yaml"
LIMIT = 500  # resources of 12,500 nodes
ROAD = """\
import json, sys, time
sys.path.insert(0, sys.argv[1])
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec
from supercloud.spec.loader import load
spec = load(sys.argv[2]).model
nodes = int(sys.argv[3])
pools = (spec.pools[0].model_copy(update={"nodes": nodes}), *spec.pools[1:])
network = spec.network.model_copy(update={"cidr": "10.0.0.0/16"})
spec = spec.model_copy(update={"pools": pools, "network": network})
start = time.perf_counter()
plan = resolve(spec)
planned = time.perf_counter() - start
assert not plan.errors, plan.errors
sdks = [name for name in sys.modules if name.startswith("pulumi")]
from offline.recorder import record
from supercloud.pulumi import Cluster
program = lambda: Cluster("bench", {"spec": spec}) and None
record(program, preview=False)  # the SDK's modules and the schemas are read once
start = time.perf_counter()
graph = record(program, preview=False)
print(json.dumps({"plan": planned, "record": time.perf_counter() - start, "resources": len(graph), "sdks": sdks}))
"""


def measure_rows() -> list[tuple[str, str, str, str]]:
    """Figure, measured, of the budget, ratio."""
    found: list[tuple[str, str, str, str]] = []
    first: dict[str, float] | None = None
    for nodes in (127, 12_500):
        command = [sys.executable, "-W", "ignore", "-c", ROAD, str(TESTS), str(SPEC), str(nodes)]
        runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(RUNS)]
        best = min(runs, key=lambda run: run["record"])
        assert not best["sdks"], "planning imported a cloud's SDK"
        first = first or best
        plan = min(run["plan"] for run in runs)
        found.append(
            (
                f"plan on AWS, {nodes:,} nodes, no SDK imported",
                f"{plan:.3f} s",
                "",
                f"{plan / first['plan']:.1f} × smallest",
            )
        )
        found.append(
            (
                f"record its graph, {nodes:,} nodes",
                f"{best['record']:.2f} s ({best['resources']} resources)",
                f"{best['record']:.2f} × 1 s, {best['resources'] / LIMIT:.2f} × {LIMIT} resources",
                f"{best['record'] / first['record']:.1f} × smallest",
            )
        )
    return found
