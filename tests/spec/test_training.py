"""Sizes of models as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from supercloud.errors import SpecError
from supercloud.spec.loader import load_job

JOB = "name: a\ncommand: [train]\naccelerators: {count: 8}\nmodel: {parameters: %s}\n"


@pytest.mark.parametrize(
    "message, meant", [("70B", 70e9), ("1.8T", 1.8e12), ("350 M", 350e6), ("405e9", 405e9), ("8.0e+9", 8e9)]
)
def test_numbers_of_parameters_are_read(tmp_path: Path, message: str, meant: float) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB % message)
    model = load_job(file).model
    assert model.model is not None and model.model.parameters == meant


@pytest.mark.parametrize(
    "message, words",
    [
        ("8x7B", "write 70B, or 70e9"),
        ("70b", "write 70B"),
        ("0B", "use a greater value"),
        ("-7B", "write 70B"),
        ("900000T", "is more than 1e.15"),
    ],
)
def test_invalid_numbers_of_parameters_are_rejected(tmp_path: Path, message: str, words: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB % message)
    with pytest.raises(SpecError, match=words):
        load_job(file)
