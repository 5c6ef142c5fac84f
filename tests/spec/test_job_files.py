"""Files of jobs are read, and hints say how a value is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from supercloud.errors import SpecError
from supercloud.spec.loader import load_job

JOB = "name: llama\ncommand: [torchrun, train.py]\naccelerators: {type: '>=h100', count: 512}\n"


def test_job_files_are_read(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB + "parallelism: {tensor: 8, pipeline: 4, data: 16}\ntime_limit: 24 h\n")
    job = load_job(file).model
    assert job.accelerators.type == (">=h100",) and job.accelerator_count == 512
    file.write_text(JOB + "parallelism: {tensor: 8, pipeline: 4, data: 15}\n")
    with pytest.raises(SpecError, match="= 480, but accelerators.count is 512"):
        load_job(file)
    file.write_text("name: a\n")
    with pytest.raises(SpecError, match="'command'.*or a 'script'"):
        load_job(file)
    file.write_text("name: a\ncommand: torchrun train.py\n")
    with pytest.raises(SpecError, match="is not a list"):
        load_job(file)


@pytest.mark.parametrize(
    "message",
    [
        "time_limit: 0 s",
        "time_limit: -1 h",
        "deadline: -5 min",
        "budget: -3 USD",
        "checkpoint: {path: /a, every: 0 s}",
        "checkpoint: {path: /a, size: 0 B}",
        "place: {max_price: -1 USD/h}",
    ],
)
def test_invalid_times_and_amounts_are_rejected(tmp_path: Path, message: str) -> None:
    """For Slurm a time of 0 means no limit."""
    file = tmp_path / "job.yaml"
    file.write_text(f"{JOB}{message}\n")
    with pytest.raises(SpecError, match="must be greater than 0|must not be negative"):
        load_job(file)


def test_a_value_of_another_type_is_reported_with_the_expected_form(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("name: t\ncommand: torchrun train.py\naccelerators: 8\nretries: -3\nimage: 24.01\n")
    with pytest.raises(SpecError) as caught:
        load_job(file)
    assert {item.path: item.hint for item in caught.value.findings} == {
        "command": "write [torchrun, train.py]",
        "accelerators": "write {count: 8}, of all nodes together",
        "retries": "use 0 or more",
        "image": "put it in quotes",
    }


def test_a_part_of_a_field_name_is_suggested_before_similar_names(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("{name: a, command: [x], time: 2 h, node: 3}")
    with pytest.raises(SpecError) as caught:
        load_job(tmp_path / "job.yaml")
    hints = {item.path: item.hint for item in caught.value.findings}
    assert hints["time"].startswith("write time_limit: 2 h")
    assert hints["node"].startswith("did you mean nodes")
