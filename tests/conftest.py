"""What all tests share: the examples, and a way to write generated files anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from samples import EXAMPLES

# How busy the machine is proves nothing, and a run that fails by chance holds back work that did not cause it: the same
# examples every time. New ones are searched with `pytest --hypothesis-profile=search`.
settings.register_profile("supercloud", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("supercloud")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-generated", action="store_true", help="write generated files, such as schemas")


@pytest.fixture
def write_generated(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-generated"))


@pytest.fixture(params=EXAMPLES, ids=[path.parent.name for path in EXAMPLES])
def example(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's jobs, catalog overlay or colours."""
    monkeypatch.setenv("SUPERCLOUD_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("SUPERCLOUD_CATALOG", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
