"""What nothing is called is refused with its kind and the names that come nearest, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from supercloud.catalog.reader import KINDS

Cli = Callable[..., tuple[int, str, str]]


def test_the_kind_is_named_as_people_call_it(cli: Cli) -> None:
    code, out, err = cli("catalog", "ups", "foo")
    assert code == 2 and not out and "no UPS is called 'foo'; known: double-conversion" in err


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_word_for_one(cli: Cli, kind: str) -> None:
    _, _, err = cli("catalog", kind, "foo")
    word = err.partition(" is called 'foo'")[0].rpartition("no ")[2]
    assert len(word) > 2 and word != kind, err


@pytest.mark.parametrize(("region", "near"), [("mars", "af-south-1"), ("us-est-1", "us-east-1")])
def test_init_refuses_a_region_that_the_cloud_does_not_have(cli: Cli, tmp_path: Path, region: str, near: str) -> None:
    file = tmp_path / "cluster.yaml"
    code, _, err = cli("init", file, "--machine", "p5.48xlarge", "--region", region)
    assert code == 2 and f"no region of aws is called {region!r}" in err and near in err
    assert not file.exists()
