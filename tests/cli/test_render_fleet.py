"""``render`` of a fleet: every cluster's files, and one queue over those with Kueue."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Cli = Callable[..., tuple[int, str, str]]
CLUSTER = """
name: {name}
site: {{kind: onprem, location: {place}}}
scheduler: {scheduler}
pools: [{{name: train, machine: dgx-h100, nodes: {nodes}, fabrics: [compute]}}]
fabrics: [{{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}}]
"""
KUEUE, SLURM = '{kind: kubernetes, version: "1.36"}', '{kind: slurm, version: "25.11"}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, place, scheduler, nodes in (
        ("north", "stockholm", KUEUE, 32),
        ("south", "madrid", KUEUE, 64),
        ("west", "stockholm", SLURM, 16),
    ):
        text = CLUSTER.format(name=name, place=place, scheduler=scheduler, nodes=nodes)
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def write_fleet(folder: Path, *names: str) -> Path:
    path = folder / "fleet.yaml"
    path.write_text(json.dumps({"name": "company", "clusters": [{"spec": f"{name}.yaml"} for name in names]}))
    return path


def read_objects(folder: Path, part: str) -> list[dict[str, Any]]:
    return [item for path in sorted((folder / part).glob("*.yaml")) for item in yaml.safe_load_all(path.read_text())]


@pytest.mark.slow
def test_clusters_with_kueue_get_one_queue(cli: Cli, folder: Path) -> None:
    out = folder / "out"
    code, _, message = cli(
        "render", write_fleet(folder, "north", "south", "west"), "--target", "kubernetes", "--out", out
    )
    assert code == 0 and "(no Kueue): west" in message
    assert sorted(path.name for path in (out / "clusters").iterdir()) == ["north", "south"]
    assert (out / "clusters/north/kubernetes/INSTALL.md").exists()
    manager = {
        (item["kind"], item["metadata"]["name"])
        for item in read_objects(out, "fleet/kubernetes/manager")
        if "metadata" in item
    }
    assert {("MultiKueueConfig", "company"), ("MultiKueueCluster", "north"), ("MultiKueueCluster", "south")} <= manager
    assert ("MultiKueueCluster", "west") not in manager
    assert (out / "fleet/kubernetes/workers/south/multikueue.yaml").exists()
    guide = (out / "fleet/kubernetes/INSTALL.md").read_text()
    assert "secret generic multikueue-south" in guide and "west" not in guide


@pytest.mark.slow
def test_a_target_keeps_the_other_targets_of_a_fleet(cli: Cli, folder: Path) -> None:
    out, spec = folder / "out", write_fleet(folder, "north", "south")
    assert cli("render", spec, "--target", "bom", "--out", out)[0] == 0
    assert cli("render", spec, "--target", "kubernetes", "--out", out)[0] == 0
    for name in ("north", "south"):
        assert sorted(path.name for path in (out / "clusters" / name).iterdir()) == ["bom", "kubernetes"]
    assert (out / "fleet/kubernetes/INSTALL.md").exists()


@pytest.mark.slow
def test_without_a_target_all_targets_are_rendered(cli: Cli, folder: Path) -> None:
    code, _, _ = cli("render", write_fleet(folder, "north", "south", "west"), "--out", folder / "out")
    assert code == 0
    assert (folder / "out/clusters/west/slurm").is_dir() and (folder / "out/clusters/north/cabling").is_dir()
    assert (folder / "out/fleet/kubernetes").is_dir()


@pytest.mark.slow
def test_another_target_has_no_queue(cli: Cli, folder: Path) -> None:
    code, _, _ = cli("render", write_fleet(folder, "north", "west"), "--target", "slurm", "--out", folder / "out")
    assert code == 0 and not (folder / "out/fleet").exists() and not (folder / "out/clusters/north").exists()


@pytest.mark.slow
def test_errors_are_reported_before_files_are_written(cli: Cli, folder: Path) -> None:
    (folder / "south.yaml").write_text((folder / "south.yaml").read_text().replace("dgx-h100", "dgx-h1000"))
    (folder / "west.yaml").write_text((folder / "west.yaml").read_text().replace("25.11", "1.2"))
    code, _, message = cli("render", write_fleet(folder, "north", "south", "west"), "--out", folder / "out")
    assert code == 2 and "dgx-h1000" in message and "1.2" in message and not (folder / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "names, target, problem",
    [
        (("north", "north2"), "kubernetes", "cluster names must be unique"),
        (("west",), "kubernetes", "kubernetes: applies to no cluster of company"),
        (("north", "south"), "kubernets", "kubernets"),
    ],
)
def test_invalid_fleets_and_targets_are_rejected(
    cli: Cli, folder: Path, names: tuple[str, ...], target: str, problem: str
) -> None:
    (folder / "north2.yaml").write_text((folder / "north.yaml").read_text())
    code, _, message = cli("render", write_fleet(folder, *names), "--target", target, "--out", folder / "out")
    assert code == 2 and problem in message and not (folder / "out").exists()
