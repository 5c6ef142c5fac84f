"""Speed and size, as a table with ratios: each figure is the best of several runs in fresh processes.

A ratio compares two figures of the same run: with the budget, and with a baseline (starting Python, the smallest
cluster), so that the table means something on any machine. ``--json`` prints the raw figures, ``--write`` puts the
table into RESULTS.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

RUNS = 5
# The figures of each subject: a module in this folder with measure_rows().
ROOMS = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in ("run", "openb"))
HEAD = """\
What `make bench` printed on two cores of a shared machine. Seconds differ between machines, so each figure is also a
ratio within the run: to its budget, to starting Python, or to the smallest cluster."""
NODES = {"8 accelerators": 1, "128": 16, "1,016": 127, "16,384": 2048, "100,000": 12_500}

SPEC = """\
name: bench
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "{version}"}}
pools: [{{name: train, machine: dgx-h100, nodes: {nodes}, fabrics: [compute]}}]
fabrics: [{{name: compute, kind: roce, shape: rail-optimized, switch: nvidia-sn5600, speed: 400 Gb/s}}]
storage: [{{name: scratch, kind: lustre, capacity: 2 PiB, tier: best, mount: /scratch}}]
facility: {{rack: {{type: orv3-48u, nodes: 4}}, power: {{budget: 999 MW}}}}
tenants: [{{name: llm, share: 70}}, {{name: vision, share: 30}}]
"""

ROAD = """\
import json, resource, sys, time
import supercloud as sc
load, resolve, render = sc.load, sc.resolve, sc.render
import supercloud.targets.schedulers.slurm, supercloud.topology.shapes.rail
start = time.perf_counter()
loaded = load(sys.argv[1])
middle = time.perf_counter()
plan = resolve(loaded)
assert not plan.errors, plan.errors
planned = time.perf_counter()
bundle = render(plan, "slurm")
end = time.perf_counter()
print(json.dumps({"load": middle - start, "resolve": planned - middle, "render": end - planned, "all": end - start,
                  "lines": sum(text.count("\\n") for text in bundle.values()),
                  "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""

FORBIDDEN = (
    "import sys, supercloud; print([m for m in ('pulumi', 'kubernetes', 'rich', 'typer', 'numpy') if m in sys.modules])"
)


def measure_best(command: list[str]) -> float:
    """Seconds of the quickest of several runs of a whole process."""
    import time

    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def measure_pipeline(nodes: int, version: str) -> dict[str, float]:
    """The figures of load + resolve + render for one size: the best run, the largest memory."""
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "cluster.yaml"
        spec.write_text(SPEC.format(nodes=nodes, version=version))
        runs = [
            json.loads(subprocess.run([sys.executable, "-c", ROAD, str(spec)], check=True, capture_output=True).stdout)
            for _ in range(RUNS)
        ]
    quickest: dict[str, float] = min(runs, key=lambda run: run["all"])
    return quickest | {"mib": max(run["mib"] for run in runs)}


def main() -> None:
    supercloud = str(Path(sys.executable).with_name("supercloud"))
    python = measure_best([sys.executable, "-c", "pass"])
    rows = [("start of Python", f"{python:.3f} s", "", "1.0 × itself")]
    for what, command, budget in (
        ("supercloud --help", [supercloud, "--help"], 0.2),
        ("import supercloud", [sys.executable, "-c", "import supercloud"], None),
    ):
        seconds = measure_best(command)
        rows.append((what, f"{seconds:.3f} s", format_share(seconds, budget, "s"), f"{seconds / python:.1f} × Python"))
    figures = {size: measure_pipeline(nodes, "25.11") for size, nodes in NODES.items()}
    first = next(iter(figures.values()))
    budgets = {"1,016": (0.15, None), "100,000": (2.0, 300.0)}
    for size, figure in figures.items():
        time_budget, size_budget = budgets.get(size, (None, None))
        detail = f"load {figure['load']:.3f}, resolve {figure['resolve']:.3f}, render {figure['render']:.3f}"
        rows.append(
            (
                f"load + resolve + render Slurm, {size}",
                f"{figure['all']:.3f} s ({detail})",
                format_share(figure["all"], time_budget, "s"),
                f"{figure['all'] / first['all']:.1f} × smallest",
            )
        )
        rows.append(
            (
                f"memory of the same, {size}",
                f"{figure['mib']:.0f} MiB",
                format_share(figure["mib"], size_budget, "MiB"),
                f"{figure['mib'] / first['mib']:.1f} × smallest",
            )
        )
    names = list(figures)
    small, large = figures[names[2]], figures[names[-1]]
    groups = (NODES[names[-1]] / 32) / (NODES[names[2]] / 32)
    rows.append(
        (
            "growth, 1,016 to 100,000",
            f"{large['all'] / small['all']:.1f} × time for {groups:.0f} × groups",
            "linear",
            f"{large['all'] / small['all'] / groups:.2f} × linear",
        )
    )
    for module in ROOMS:
        rows += import_module(module).measure_rows()
    imported = subprocess.run(
        [sys.executable, "-c", FORBIDDEN], check=True, capture_output=True, text=True
    ).stdout.strip()
    rows.append(("heavy modules after import supercloud", imported, "none", ""))
    if "--json" in sys.argv:
        print(json.dumps({"python": python, "road": figures}, indent=1))
        return
    head = ("figure", "measured", "of the budget", "ratio")
    table = "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * 4, *rows))
    print(table)
    if "--write" in sys.argv:
        Path(__file__).with_name("RESULTS.md").write_text(f"# Speed and size\n\n{HEAD}\n\n{table}\n")


def format_share(value: float, budget: float | None, unit: str) -> str:
    """The budget and how much of it is used."""
    return f"{value / budget:.2f} × {budget:g} {unit}" if budget else ""


main()
