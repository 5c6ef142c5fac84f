"""Which tests on real components run: the essential ones or all, without those that passed with the same inputs."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import history
import pytest

HERE = Path(__file__).resolve().parent
LONG_SETUP = 30  # seconds: a lab that takes longer to fail is not started again for each test of its file
RUN = f"{time.strftime('%Y-%m-%dT%H:%M:%S')}-{os.getpid()}"
BEGAN = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("real parts")
    group.addoption("--essential", action="store_true", help="leave out tests marked extended")
    group.addoption("--reuse-results", action="store_true", help="leave out tests that passed with the same inputs")
    group.addoption("--minutes", type=float, help="begin no test after this time; short files run first")


def get_part(path: str) -> str:
    """The folder under tests/real of a test."""
    return Path(path).resolve().relative_to(HERE).parts[0]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--essential"):
        _keep(config, items, [item for item in items if item.get_closest_marker("extended") is None])
    if config.getoption("--reuse-results"):
        passed = {part: history.list_passed(history.compute_digest(part)) for part in map(_get_part_of_item, items)}
        kept = [item for item in items if item.nodeid not in passed[_get_part_of_item(item)]]
        reused = Counter(_get_part_of_item(item) for item in items) - Counter(map(_get_part_of_item, kept))
        config.stash[REUSED] = dict(reused)
        _keep(config, items, kept)
    if config.getoption("--minutes"):
        _sort_by_duration(items)


def _sort_by_duration(items: list[pytest.Item]) -> None:
    """Files of a part by the time that they took in the last whole run, so that most of them are run; the order of the
    parts is that of the command.
    """
    durations, parts = history.read_durations(), list(dict.fromkeys(map(_get_part_of_item, items)))

    def get_duration(item: pytest.Item) -> tuple[int, float, str]:
        part = _get_part_of_item(item)
        return parts.index(part), durations.get((part, item.path.name), 0), item.path.name

    items.sort(key=get_duration)


RECORDER = pytest.StashKey["Recorder"]()
REUSED = pytest.StashKey[dict[str, int]]()
FLAKY = pytest.StashKey[dict[str, str]]()


def _get_part_of_item(item: pytest.Item) -> str:
    return get_part(str(item.path))


def _keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


class Recorder:
    """Writes the result of each test, with the output of a failed first attempt."""

    def __init__(self, config: pytest.Config):
        self.errors: dict[str, str] = config.stash.setdefault(FLAKY, {})
        self.seconds: Counter[str] = Counter()
        self.failed: set[str] = set()
        # tests whose failed attempt is followed by another one: its teardown does not end the test
        self.repeated: set[str] = set()
        self.broken: dict[str, str] = {}  # file of tests -> first test whose lab could not be started
        self.not_begun: set[str] = set()  # tests that were not begun within the time limit
        self.minutes: float | None = config.getoption("--minutes")
        self.root = config.rootpath

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self.minutes and time.monotonic() - BEGAN > self.minutes * 60:
            self.not_begun.add(item.nodeid)
            pytest.skip(f"not begun within {self.minutes:g} minutes")
        first = self.broken.get(item.nodeid.split("::")[0])
        if first and first != item.nodeid:
            pytest.fail(f"not run: the lab could not be started for {first}", pytrace=False)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid
        self.seconds[name] += report.duration  # type: ignore[assignment]
        if report.outcome == "rerun":  # type: ignore[comparison-overlap]
            self.errors.setdefault(name, report.longreprtext)
            self.repeated.add(name)
        elif report.failed:
            self.failed.add(name)
            if report.when == "setup" and report.duration > LONG_SETUP:
                self.broken.setdefault(name.split("::")[0], name)
        if report.when == "teardown":
            if name not in self.repeated and name not in self.not_begun:
                self._write(name)
            self.repeated.discard(name)

    def _write(self, name: str) -> None:
        part = get_part(str(self.root / name.split("::", maxsplit=1)[0]))
        inputs, error = history.compute_digest(part), self.errors.get(name, "")
        passed = name not in self.failed
        history.append(
            [history.Outcome(RUN, time.time(), part, name, inputs, passed, self.seconds[name], error[-2000:])]
        )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "extended: on real parts, and not among the essential tests that CI runs")
    config.stash[RECORDER] = Recorder(config)
    config.pluginmanager.register(config.stash[RECORDER], "real-recorder")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and sum(session.config.stash.get(REUSED, {}).values()):
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for part, number in sorted(config.stash.get(REUSED, {}).items()):
        terminalreporter.write_line(f"{part}: {number} tests passed before with the same inputs")
    recorder = config.stash[RECORDER]
    for part, number in sorted(
        Counter(get_part(str(config.rootpath / name.split("::")[0])) for name in recorder.not_begun).items()
    ):
        terminalreporter.write_line(f"{part}: {number} tests NOT RUN: not begun within {recorder.minutes:g} minutes")
    flaky = config.stash.get(FLAKY, {})
    if flaky:
        terminalreporter.section("flaky: needed a second attempt")
    for name, error in flaky.items():
        terminalreporter.write_line(f"{name}\n{error[-3000:]}\n")
