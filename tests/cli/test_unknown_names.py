"""What nothing is called is refused with its kind and the names that come nearest, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from supercloud.catalog.reader import KINDS
from supercloud.jobs.store.records import NewJob
from supercloud.jobs.store.store import Store

Cli = Callable[..., tuple[int, str, str]]


def test_errors_use_the_usual_name_of_a_kind(cli: Cli) -> None:
    code, out, err = cli("catalog", "ups", "foo")
    assert code == 2 and not out and "unknown UPS 'foo'; known: double-conversion" in err


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_singular(cli: Cli, kind: str) -> None:
    _, _, err = cli("catalog", kind, "foo")
    word = err.partition(" 'foo'")[0].rpartition("unknown ")[2]
    assert len(word) > 2 and word != kind, err


@pytest.mark.parametrize("region, near", [("mars", "af-south-1"), ("us-est-1", "us-east-1")])
def test_init_refuses_an_unknown_region(cli: Cli, tmp_path: Path, region: str, near: str) -> None:
    file = tmp_path / "cluster.yaml"
    code, _, err = cli("init", file, "--machine", "p5.48xlarge", "--region", region)
    assert code == 2 and f"unknown region of aws {region!r}" in err and near in err
    assert not file.exists()


def test_init_refuses_a_region_of_another_provider(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    code, _, err = cli("init", file, "--machine", "a3-highgpu-8g", "--region", "us-east-1")
    assert code == 2 and "us-east-1 is a region of aws" in err and not file.exists()
    code, _, err = cli("init", file, "--machine", "a3-highgpu-8g", "--region", "mars")
    assert code == 0 and "mars was not checked: the catalog has no regions of gcp" in err


@pytest.mark.parametrize(
    "site, known, other",
    [("onprem, location: london", "dgx-b200", "p5.48xlarge"), ("aws, region: us-east-1", "m6i.8xlarge", "dgx-b200")],
)
def test_an_unknown_machine_gets_names_of_the_site(cli: Cli, tmp_path: Path, site: str, known: str, other: str) -> None:
    file = tmp_path / "cluster.yaml"
    text = CLUSTER.replace("onprem, location: stockholm", site).replace("machine: dgx-h100", "machine: myserver")
    file.write_text(text)
    _, out, _ = cli("check", file)
    hint = out.partition("unknown machine 'myserver'")[2].partition("→")[2]
    assert known in hint or "supercloud catalog machines lists them" in hint
    assert other not in hint


@pytest.mark.parametrize("verb", ["logs", "wait", "cancel"])
def test_an_unknown_job_refers_to_the_list_of_jobs(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("SUPERCLOUD_STATE", str(tmp_path / "state"))
    Store(tmp_path / "state").close()
    code, _, err = cli(verb, "7")
    assert code == 2 and "unknown job '7'; supercloud jobs lists the jobs of this state folder" in err


def test_an_unknown_fabric_is_declared_or_renamed(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(CLUSTER.replace("nodes: 1", "nodes: 1, fabrics: [compute]"))
    _, out, _ = cli("check", file)
    assert "unknown fabric 'compute'" in out and "declare it: fabrics: [{name: compute, kind: …}]" in out
    file.write_text(file.read_text() + "fabrics: [{name: computing, kind: infiniband, shape: rail-optimized}]\n")
    assert "did you mean computing?" in cli("check", file)[1]


AWAITING = "{name: train, command: ['true'], nodes: 1, after: [prepared, prepare, '77']}"
CLUSTER = """
name: pod
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-h100, nodes: 1}]
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", [("place",), ("submit",), ("submit", "--dry-run"), ("submit", "--hold")])
def test_unknown_dependencies_are_named_with_the_nearest_names(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("SUPERCLOUD_STATE", str(tmp_path / "state"))
    (tmp_path / "job.yaml").write_text(AWAITING)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    verb, *options = words
    engine = ["--engine", "local"] if verb == "submit" and "--hold" not in options else []
    call = (verb, tmp_path / "job.yaml", "--on", tmp_path / "cluster.yaml", *engine, *options)
    if words != ("submit",):
        code, _, err = cli(*call)
        assert code == (0 if verb == "place" else 2) and err.count("no job has the ID") == 3, err
        assert verb == "submit" or not (tmp_path / "state").exists(), "and nothing is written"
    with Store(tmp_path / "state") as store:
        store.record(NewJob(key="prepare-7", name="prepare", spec="{}", fleet="f", is_held=True))
    code, out, err = cli(*call)
    if verb == "place":
        assert code == 0 and "pool train" in out
    else:
        assert code == 2 and not out
    for index, name in ((0, "prepared"), (2, "77")):
        assert f"after[{index}]: no job has the ID, key or name {name!r}" in err, err
    assert "after[1]" not in err and "did you mean prepare" in err
    with Store(tmp_path / "state") as store:
        assert len(store.select()) == 1


def test_the_beginning_of_a_name_suggests_the_names_that_start_with_it(cli: Cli) -> None:
    assert "did you mean p5." in cli("catalog", "machines", "p5")[2]


def test_the_name_of_a_job_is_not_its_number(cli: Cli) -> None:
    code, _, err = cli("logs", "train")
    assert code == 2 and "'train' is not a job number" in err and "supercloud jobs" in err
    assert all("job number" in cli(*words)[2] for words in (("cancel", str(2**63)), ("wait", "0"), ("wait", "1", "a")))


def test_the_known_schemas_include_that_of_the_plan(cli: Cli) -> None:
    assert "known: cluster, fleet, job, plan" in cli("schema", "machine")[2]
