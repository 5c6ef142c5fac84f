from __future__ import annotations

import importlib
import os
import random
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from supercloud.errors import InputError
from supercloud.jobs.runtime import checkpoint_helper as helper
from supercloud.jobs.runtime import fencing
from supercloud.jobs.runtime.fencing import FencedError

TOOL = Path(helper.__file__).with_name("checkpoint.sh")
SHELLCHECK = Path(sysconfig.get_path("scripts")) / "shellcheck"


def run_tool(folder: Path, epoch: int, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "SUPERCLOUD_CHECKPOINT": str(folder), "SUPERCLOUD_EPOCH": str(epoch)}
    return subprocess.run(["sh", str(TOOL), *words], env=env, capture_output=True, text=True)


def commit_by_python(folder: Path, epoch: int, name: str) -> bool:
    try:
        with fencing.commit(name, folder, epoch) as fresh:
            (fresh / "epoch").write_text(str(epoch))
        return True
    except FencedError:
        return False


def commit_by_shell(folder: Path, epoch: int, name: str) -> bool:
    source = folder / f"new.{epoch}.{name}"
    source.mkdir(parents=True)
    (source / "epoch").write_text(str(epoch))
    done = run_tool(folder, epoch, "commit", name, str(source))
    assert done.returncode in (0, 76), done.stderr
    return done.returncode == 0


def find_latest_by_python(folder: Path, epoch: int) -> str | None:
    found = fencing.find_latest(folder, epoch)
    return found.name if found else None


def find_latest_by_shell(folder: Path, epoch: int) -> str | None:
    return Path(message).name if (message := run_tool(folder, epoch, "latest").stdout.strip()) else None


WAYS = pytest.mark.parametrize(
    "commit, latest",
    [
        (commit_by_python, find_latest_by_python),
        (commit_by_shell, find_latest_by_shell),
        (commit_by_python, find_latest_by_shell),
        (commit_by_shell, find_latest_by_python),
    ],
)
Commit = Callable[[Path, int, str], bool]
Latest = Callable[[Path, int], str | None]


@WAYS
def test_only_the_latest_start_can_commit(tmp_path: Path, commit: Commit, latest: Latest) -> None:
    assert latest(tmp_path, 1) is None
    assert commit(tmp_path, 1, "a") and commit(tmp_path, 1, "b")
    assert latest(tmp_path, 1) == "0000000001-00000002-b"
    assert latest(tmp_path, 10_001) == "0000000001-00000002-b", "the next start goes on from there"
    assert not commit(tmp_path, 1, "c"), "the old copy is refused"
    assert latest(tmp_path, 10_001) == "0000000001-00000002-b"
    assert commit(tmp_path, 10_001, "d") and latest(tmp_path, 10_001) == "0000010001-00000001-d"


@WAYS
def test_a_late_commit_of_an_earlier_start_is_never_read(tmp_path: Path, commit: Commit, latest: Latest) -> None:
    """The old copy checked that it is current, and renames after the new one has claimed."""
    commit(tmp_path, 1, "a")
    assert latest(tmp_path, 2) == "0000000001-00000001-a"
    (tmp_path / "0000000001-00000002-late").mkdir()
    assert latest(tmp_path, 2) == latest(tmp_path, 3) == "0000000001-00000001-a"
    assert commit(tmp_path, 3, "b") and latest(tmp_path, 4) == "0000000003-00000001-b"


def test_ten_thousand_checkpoints_keep_their_order(tmp_path: Path) -> None:
    fencing.find_latest(tmp_path, 1)
    for number in (7, 8, 9, 10, 99):
        (tmp_path / f"0000000001-{number:08d}-x").mkdir(exist_ok=True)
    assert commit_by_shell(tmp_path, 1, "y") and find_latest_by_python(tmp_path, 1) == "0000000001-00000100-y"


def test_a_failed_checkpoint_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), fencing.commit("a", tmp_path, 1) as fresh:
        (fresh / "half").write_text("x")
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == [".epochs"]


@pytest.mark.parametrize("name", ["", "a/b", "$(touch x)", "a b"])
def test_checkpoint_names_have_only_plain_characters(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="not a valid checkpoint name: use"), fencing.commit(name, tmp_path, 1):
        pass
    assert run_tool(tmp_path, 1, "commit", name, str(tmp_path)).returncode != 0
    assert not (tmp_path / "x").exists()


def test_outside_a_job_the_missing_variable_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUPERCLOUD_CHECKPOINT", raising=False)
    with pytest.raises(InputError, match="SUPERCLOUD_CHECKPOINT"):
        fencing.find_latest()


COPY = """\
import sys, time
from pathlib import Path
from supercloud.jobs.runtime import fencing
folder, epoch, shown = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
found = fencing.find_latest(folder, epoch)
step = int((found / "step").read_text()) if found else 0
while True:
    step += 1
    try:
        with fencing.commit(f"step-{step}", folder, epoch) as fresh:
            (fresh / "step").write_text(str(step))
    except fencing.FencedError:
        sys.exit(76)
    with open(shown, "a") as file:
        file.write(f"{epoch} {step}\\n")
"""


@pytest.mark.slow
def test_concurrent_starts_never_go_back(tmp_path: Path) -> None:
    """Each start is overtaken by the next while it runs on: what was committed grows by one, and nothing goes back."""
    folder, shown = tmp_path / "ckpt", tmp_path / "shown"
    chance = random.Random(7)
    copies: list[subprocess.Popen[bytes]] = []
    for epoch in (1, 2, 3, 10_001, 10_002, 20_001):
        copies.append(subprocess.Popen([sys.executable, "-c", COPY, str(folder), str(epoch), str(shown)]))
        wait_for(lambda now=epoch: shown.exists() and f"\n{now} " in "\n" + shown.read_text())
        time.sleep(chance.uniform(0, 0.03))
    os.kill(copies[-1].pid, signal.SIGKILL)
    codes = [copy.wait(20) for copy in copies]
    assert codes == [76] * 5 + [-signal.SIGKILL], "every old copy was told to stop"
    found = fencing.find_latest(folder, 30_001)
    assert found is not None
    chain = list_committed_epochs(folder, found.name)
    assert chain == list(range(1, len(chain) + 1)), "one line of steps, without a gap, a repetition or a step back"


def list_committed_epochs(folder: Path, last: str) -> list[int]:
    """The steps that lead to a checkpoint, by the epochs that went on from one another."""
    steps: list[int] = []
    while last:
        epoch, number, _ = last.split("-", 2)
        mine = sorted(path.name for path in folder.iterdir() if path.name.startswith(f"{epoch}-"))
        steps = [int((folder / name / "step").read_text()) for name in mine if name.split("-")[1] <= number] + steps
        last = (folder / ".epochs" / epoch).read_text()
    return steps


def wait_for(question: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not question():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_the_helper_passes_shellcheck_and_is_installed(tmp_path: Path) -> None:
    done = subprocess.run([SHELLCHECK, "-s", "sh", TOOL], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    for _ in range(2):
        helper.install(tmp_path / "deep/checkpoint")
    assert os.access(tmp_path / "deep/checkpoint", os.X_OK)
    assert (tmp_path / "deep/checkpoint").read_text() == TOOL.read_text()


def test_former_modules_and_names_are_aliases() -> None:
    """Training scripts import them."""
    sys.modules.pop("supercloud.jobs.fencing", None)
    with pytest.warns(DeprecationWarning, match="supercloud.jobs.runtime.fencing"):
        former = importlib.import_module("supercloud.jobs.fencing")
    assert {name: getattr(former, name) for name in former.__all__} == {
        "Fenced": FencedError,
        "FencedError": FencedError,
        "commit": fencing.commit,
        "find_latest": fencing.find_latest,
        "latest": fencing.find_latest,
    }
