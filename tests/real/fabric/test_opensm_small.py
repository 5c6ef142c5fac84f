"""Small fabrics whose rails share leaves, down to one switch, with the real OpenSM and ibsim."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from opensm_lab import simulate  # noqa: E402

import supercloud as sc  # noqa: E402
from supercloud.targets import render  # noqa: E402

SPEC = HERE.parents[2] / "examples" / "01-minimal" / "cluster.yaml"


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    subprocess.run([str(HERE / "opensm_install.sh")], check=True, capture_output=True, timeout=900)


@pytest.mark.parametrize("nodes, switches", [(1, 1), (8, 1), (9, 5), (16, 6), (20, 9), (24, 10)])
def test_a_small_fabric_comes_up_with_the_planned_cables(nodes: int, switches: int, tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.read_text().replace("nodes: 16", f"nodes: {nodes}"))
    plan = sc.resolve(sc.load(spec))
    assert not plan.errors and sum(tier.count for tier in plan.fabrics[0].tiers) == switches
    for path, text in render(plan, "infiniband").items():
        (tmp_path / "etc" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "etc" / path).write_text(text.replace("/etc/opensm", str(tmp_path / "etc")))
    network = render(plan, "cabling")["compute.net"]
    with simulate(tmp_path / "ibsim", network, "train-0001 mlx5_11") as running:
        log = running.bring_up(tmp_path / "etc" / "compute" / "opensm.conf")
        assert "SUBNET UP" in log and f"{'ftree' if switches > 1 else 'updn'} tables configured on all switches" in log
        for bad in ("fall back", "falling back", "minhop tables", "ERR "):
            assert bad.lower() not in log.lower(), next(row for row in log.splitlines() if bad.lower() in row.lower())
        done = subprocess.run(
            [sys.executable, "-m", "supercloud", "verify-cabling", str(spec), str(running.discover()), "--json"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, json.loads(done.stdout)["differences"]) == (0, []), done.stderr
