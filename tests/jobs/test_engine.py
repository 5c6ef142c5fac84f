from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from supercloud.errors import UnknownNameError
from supercloud.jobs import engines
from supercloud.jobs.engines import base as engine
from supercloud.jobs.engines.base import ENGINES, Engine, open_engine
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.spec.fleet import Connection

METHODS = ("prepare", "submit", "poll", "cancel")


def test_every_engine_in_the_folder_is_registered() -> None:
    """What has the methods of the port is an engine, in a module or folder of its name; what engines share is none."""
    modules = [import_module(found.name) for found in pkgutil.walk_packages(engines.__path__, f"{engines.__name__}.")]
    found = {
        f"{module.__name__}:{name}"
        for module in modules
        for name, thing in vars(module).items()
        if isinstance(thing, type) and thing is not Engine and thing.__module__ == module.__name__
        if all(hasattr(thing, method) for method in METHODS)
    }
    assert found == set(ENGINES.values())
    for name, where in ENGINES.items():
        assert where.partition(":")[0].removeprefix(f"{engines.__name__}.").split(".")[0] == name


def test_the_registry_is_sorted_and_correct(tmp_path: Path) -> None:
    assert list(ENGINES) == sorted(ENGINES)
    for name in ENGINES:
        opened = open_engine(Connection(engine=name), tmp_path)
        for method in METHODS:
            assert callable(getattr(opened, method))
        assert opened.poll_interval > 0
    assert not list(tmp_path.iterdir()), "opening an engine leaves nothing behind"


def test_the_same_connection_is_the_same_engine(tmp_path: Path) -> None:
    one = open_engine(Connection(engine="fake"), tmp_path)
    assert one is open_engine(Connection(engine="fake"), tmp_path)
    assert one is not open_engine(Connection(engine="fake"), tmp_path / "other")


def test_an_unknown_engine_is_reported_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean slurm"):
        open_engine(Connection(engine="slrum"), tmp_path)


def test_external_engines_are_found_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("theirs", "supercloud.jobs.engines.fake:FakeEngine", "supercloud.engines")
    monkeypatch.setattr(engine, "entry_points", lambda group: [point] if group == "supercloud.engines" else [])
    assert isinstance(open_engine(Connection(engine="theirs"), tmp_path), FakeEngine)
