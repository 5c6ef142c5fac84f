"""Rows of the table about networks: planning and rendering the switches, hosts and picture of a large fabric."""

from __future__ import annotations

import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNS = 3
BUDGET = 3.0


def measure_rows() -> list[tuple[str, str, str, str]]:
    """(figure, measured, of the budget, ratio) for each."""
    import supercloud as sc

    plan = sc.resolve(sc.load(ROOT / "examples/04-roce-24k/cluster.yaml"))
    assert not plan.errors
    table = []
    for target, budget in (("roce", BUDGET), ("hosts", None), ("diagram", None)):
        best, size, files = 1e9, 0, 0
        for _ in range(RUNS):
            start = time.perf_counter()
            bundle = sc.render(plan, target)
            best = min(best, time.perf_counter() - start)
            size, files = sum(map(len, bundle.values())), len(bundle)
        switches = sum(fabric.count_switches(tier.name) for fabric in plan.fabrics for tier in fabric.tiers)
        table.append(
            (
                f"render {target}, 24,576 accelerators, {switches:,} switches",
                f"{best:.3f} s ({files:,} files, {size / 1e6:.1f} MB)",
                f"{best / budget:.2f} × {budget:g} s" if budget else "",
                f"{best / switches * 1e3:.2f} ms a switch",
            )
        )
    return table


if __name__ == "__main__":
    for row in measure_rows():
        print(" | ".join(row))
