from __future__ import annotations

import pkgutil
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from supercloud.errors import UnknownNameError
from supercloud.jobs import engines
from supercloud.jobs.engines import base as engine
from supercloud.jobs.engines.base import ENGINES, open_engine
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.spec.fleet import Connection


def test_every_module_of_the_folder_is_registered() -> None:
    assert sorted(module.name for module in pkgutil.iter_modules(engines.__path__)) == sorted(ENGINES)


def test_the_registry_is_sorted_and_true(tmp_path: Path) -> None:
    assert list(ENGINES) == sorted(ENGINES)
    for name in ENGINES:
        opened = open_engine(Connection(engine=name), tmp_path)
        for method in ("prepare", "submit", "poll", "cancel"):
            assert callable(getattr(opened, method))
        assert opened.poll_interval > 0
    assert not list(tmp_path.iterdir()), "opening an engine leaves nothing behind"


def test_the_same_connection_is_the_same_engine(tmp_path: Path) -> None:
    one = open_engine(Connection(engine="fake"), tmp_path)
    assert one is open_engine(Connection(engine="fake"), tmp_path)
    assert one is not open_engine(Connection(engine="fake"), tmp_path / "other")


def test_an_unknown_engine_gets_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean slurm"):
        open_engine(Connection(engine="slrum"), tmp_path)


def test_others_join_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("theirs", "supercloud.jobs.engines.fake:FakeEngine", "supercloud.engines")
    monkeypatch.setattr(engine, "entry_points", lambda group: [point] if group == "supercloud.engines" else [])
    assert isinstance(open_engine(Connection(engine="theirs"), tmp_path), FakeEngine)
