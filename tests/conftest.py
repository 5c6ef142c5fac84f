"""What all tests share: the examples, an option to write generated files, and a check of the marker ``slow``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from samples import EXAMPLES, ROOT

# How busy the machine is proves nothing, and a run that fails by chance holds back work that did not cause it: the same
# examples every time. New ones are searched with `pytest --hypothesis-profile=search`.
settings.register_profile("supercloud", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("supercloud")

# Programs that tests start buffer their output, as those of users do.
os.environ.pop("PYTHONUNBUFFERED", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-generated", action="store_true", help="write generated files, such as schemas")


# A test of the hermetic suite that is without the marker `slow` starts no Python interpreter: that alone takes longer
# than most tests. A test that fails by a clock would fail by chance, so those that compute long are only listed.
REPORTED_SECONDS = 3.0
_PYTHON = re.compile(r"(python[\d.]*|supercloud)$")
_BEGAN = pytest.StashKey[float]()
_started: list[str] = []


def note_python(event: str, args: tuple[object, ...]) -> None:
    """Remember the interpreters that are started."""
    if event == "subprocess.Popen":
        command = args[1]
        words = [str(word) for word in command] if isinstance(command, (list, tuple)) else [str(command)]
        if words and _PYTHON.search(words[0]):
            _started.append(" ".join(words[:3]))


sys.addaudithook(note_python)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.stash[_BEGAN] = sum(os.times()[:4])
    _started.clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    is_free = item.get_closest_marker("slow") or item.path.is_relative_to(ROOT / "tests" / "real")
    if is_free or not report.passed:
        return report
    if call.when == "call" and _started:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} starts Python ({_started[0]}): mark it with pytest.mark.slow"
    if call.when == "teardown" and (seconds := sum(os.times()[:4]) - item.stash[_BEGAN]) > REPORTED_SECONDS:
        report.user_properties.append(("processor_seconds", seconds))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = [(dict(report.user_properties), report.nodeid) for report in terminalreporter.stats.get("", [])]
    if long := [(given["processor_seconds"], name) for given, name in found if "processor_seconds" in given]:
        terminalreporter.section(f"without the marker slow, and more than {REPORTED_SECONDS:g} s of processor time")
        for seconds, name in sorted(long, reverse=True):
            terminalreporter.line(f"{seconds:6.1f} s  {name}")


@pytest.fixture
def write_generated(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--write-generated"))


@pytest.fixture(params=EXAMPLES, ids=[path.parent.name for path in EXAMPLES])
def example(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the user's jobs, catalog overlay or colors."""
    monkeypatch.setenv("SUPERCLOUD_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("SUPERCLOUD_CATALOG", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
