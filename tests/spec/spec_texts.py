"""Texts of specs that the tests of reading share."""

from __future__ import annotations

import pytest

from supercloud.errors import SpecError
from supercloud.spec.loader import loads

GOOD = """\
name: pod1
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: 24.10}
pools:
  - {name: train, machine: dgx-h100, nodes: 4}
"""


def list_problems(text: str) -> list[tuple[int, str, str, str]]:
    with pytest.raises(SpecError) as caught:
        loads(text, "cluster.yaml")
    return [(item.line, item.path, item.problem, item.hint) for item in caught.value.findings]


JOB_TEXT = "name: a\nscript: 'true'\n"
