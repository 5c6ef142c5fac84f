"""A held job goes where its broker sends it: an engine that is specified for it would be lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from supercloud.jobs.store.store import Store

Cli = Callable[..., tuple[int, str, str]]

CLUSTER = """
name: pod
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-h100, nodes: 1}]
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setenv("SUPERCLOUD_STATE", str(tmp_path / "state"))
    job, cluster = tmp_path / "job.yaml", tmp_path / "cluster.yaml"
    job.write_text('{name: hello, command: ["true"], nodes: 1}')
    cluster.write_text(CLUSTER)
    return job, cluster


@pytest.mark.parametrize("words", [("--engine", "local"), ("--via", "ssh:login"), ("--engine", "slurm")])
def test_a_connection_of_a_held_job_is_refused_and_the_broker_that_has_it_is_named(
    cli: Cli, files: tuple[Path, Path], tmp_path: Path, words: tuple[str, ...]
) -> None:
    job, cluster = files
    code, out, err = cli("submit", job, "--on", cluster, "--hold", *words)
    assert code == 2 and not out
    assert f"{' '.join(words)}: a held job has no connection of its own" in err
    assert f"supercloud serve {cluster} {' '.join(words)}" in err
    assert not (tmp_path / "state").exists(), "nothing is recorded that another broker would send to the cluster"


def test_a_held_job_without_a_connection_is_recorded(cli: Cli, files: tuple[Path, Path], tmp_path: Path) -> None:
    job, cluster = files
    code, out, err = cli("submit", job, "--on", cluster, "--hold")
    assert code == 0 and out == "1\n" and f"next: supercloud serve {cluster}" in err
    with Store(tmp_path / "state") as store:
        assert store.get(1).state == "HELD" and store.get(1).fleet == "pod"
