"""Files that are missing or of another kind: the message names the kind, and shows no content of other files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from spec.spec_texts import GOOD, list_problems

from supercloud.errors import SpecError
from supercloud.jobs.fleet.loading import load_fleet_state
from supercloud.spec.loader import load, load_fleet, load_job

ACCOUNTS = {
    "root:*:20228:0:99999:7:::": None,
    "ann:$y$j9T$k3Wq/w$8mVQ:20228:0:99999:7:::": None,
    "bob:$6$hM7/$aZ9.u1:20228:0:99999:7:::": None,
}


@pytest.mark.parametrize("suffix", [".yaml", ".json", ""])
def test_keys_of_a_file_that_is_not_a_spec_are_not_shown(tmp_path: Path, suffix: str) -> None:
    rows = [*ACCOUNTS, next(iter(ACCOUNTS))]  # one of them twice
    text = (
        "{" + ", ".join(f'"{row}": 1' for row in rows) + "}"
        if suffix == ".json"
        else "\n".join(f"{row}" for row in rows)
    )
    (tmp_path / f"accounts{suffix}").write_text(text + "\n")
    (tmp_path / "fleet.yaml").write_text(f"name: f\nclusters: [{{spec: accounts{suffix}}}]\n")
    for read in (load, load_job, load_fleet, lambda path: load_fleet_state(path.parent / "fleet.yaml")):
        with pytest.raises(SpecError) as caught:
            read(tmp_path / f"accounts{suffix}")
        output = str(caught.value) + repr(caught.value.findings)
        assert not any(part in output for row in ACCOUNTS for part in (row, row[6:], "20228"))
        lines = {item.line for item in caught.value.findings if "not a field" in item.problem}
        assert suffix == ".json" or lines >= {2, 3}


def test_values_of_other_files_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("kind: Secret\ndata: {password: aHVudGVyMg==}\nname: [hunter2]\n")
    with pytest.raises(SpecError) as caught:
        load_fleet(tmp_path / "secret.yaml")
    assert "aHVudGVyMg" not in str(caught.value) and "hunter2" not in str(caught.value)
    assert "a mapping is not a list" in str(caught.value)


def test_a_misspelled_key_of_a_spec_is_shown() -> None:
    assert "'my pools'" in list_problems(GOOD + "my pools: []\n")[0][2]
    assert "unknown field 'poolz'" in [item[2] for item in list_problems("poolz: []\n")]


A_CLUSTER = "{name: a, site: {kind: onprem, location: stockholm}, pools: [{name: t, machine: dgx-h100, nodes: 1}]}"
A_JOB = "{name: a, script: echo}"
A_FLEET = "{name: a, clusters: [{spec: a.yaml}]}"


@pytest.mark.parametrize(
    "text, reader, message",
    [
        (A_CLUSTER, load_job, "is a cluster spec, not a job; .*--on"),
        (A_FLEET, load_job, "is a fleet, not a job; .*--on"),
        (A_JOB, load, "is a job, not a cluster spec; .*supercloud place"),
        (A_JOB, load_fleet, "is a job, not a fleet; pass a fleet, or the spec of a cluster"),
        (A_FLEET, load, "is a fleet, not a cluster spec; pass the spec of one of its clusters"),
    ],
)
def test_a_file_of_another_kind_is_reported_by_its_kind(
    tmp_path: Path, text: str, reader: Callable[[Path], object], message: str
) -> None:
    (tmp_path / "file.yaml").write_text(text)
    with pytest.raises(SpecError, match=message) as caught:
        reader(tmp_path / "file.yaml")
    assert not caught.value.findings


@pytest.mark.parametrize(
    "read, message",
    [
        (load, "'supercloud init FILE'"),
        (load_fleet, "clusters: .*connect:"),
        (load_job, "command: .hostname."),
    ],
)
def test_a_missing_file_is_reported_with_the_command_to_create_one(
    tmp_path: Path, read: Callable[[Path], object], message: str
) -> None:
    with pytest.raises(SpecError, match=f"file not found; .*{message}"):
        read(tmp_path / "missing.yaml")
