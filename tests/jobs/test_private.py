"""Files in the state folder are trusted, so only its user can read and write them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs import called

from supercloud.errors import EngineError, StoreError
from supercloud.jobs import Executor, api
from supercloud.jobs.broker.lock import acquire_broker_lock
from supercloud.jobs.engines.batch.runner import LocalRunner
from supercloud.jobs.engines.batch.spool import SharedSpool
from supercloud.jobs.engines.kubernetes.logs import LogSpool
from supercloud.jobs.engines.local.engine import LocalEngine
from supercloud.jobs.engines.local.runs import build_result_path
from supercloud.jobs.engines.slurm.system import SLURM
from supercloud.jobs.executor import pack_call
from supercloud.jobs.store import private_files as private
from supercloud.jobs.store.records import NewJob
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection


def get_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_of_the_store_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with Store(tmp_path / "new/state") as store:
            store.record(NewJob(key="k", name="job", spec="{}"))
            assert {get_mode(path) for path in (tmp_path / "new/state").iterdir()} == {0o600}
    finally:
        os.umask(before)
    assert get_mode(tmp_path / "new/state") == 0o700
    (tmp_path / "new/state/jobs.db").chmod(0o644)
    Store(tmp_path / "new/state").close()
    assert get_mode(tmp_path / "new/state/jobs.db") == 0o600, "what an earlier version left open is closed"


@pytest.mark.parametrize("bits", [0o777, 0o1777, 0o770, 0o702])
def test_a_folder_that_others_can_write_is_rejected(tmp_path: Path, bits: int) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(bits)
    for open_it in (lambda: Store(tmp_path / "state"), lambda: acquire_broker_lock(tmp_path / "state").__enter__()):
        with pytest.raises(StoreError, match=f"mode {bits:04o}.*chmod go-w"):
            open_it()
    assert not list((tmp_path / "state").iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_folders_of_other_users_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    os.chown(tmp_path / "state", 65534, 65534)
    with pytest.raises(StoreError, match="belongs to user"):
        Store(tmp_path / "state")
    result = SharedSpool(tmp_path, LocalRunner(SLURM))
    (tmp_path / "k").mkdir()
    (tmp_path / "k/result").write_bytes(b"x")
    assert result.read_file("k", "result", 0) == b"x"
    os.chown(tmp_path / "k/result", 65534, 65534)
    with pytest.raises(EngineError, match="not to the submitting user"):
        result.read_file("k", "result", 0)


@pytest.mark.slow
def test_files_of_a_local_job_are_private(tmp_path: Path, plan: Plan, store: Store) -> None:
    """Its log, how it ended, the log of the agent; what the program itself writes has the umask of the user."""
    before = os.umask(0o022)
    try:
        text = f"echo said; umask >{tmp_path / 'mask'}"
        job = JobSpec.model_validate({"name": "job", "script": f"#!/bin/sh\n{text}\n"})
        assert api.submit(job, plan, engine="local", store=store).wait(60) == "COMPLETED"
    finally:
        os.umask(before)
    assert int((tmp_path / "mask").read_text(), 8) == 0o022
    local = store.folder / "local"
    files = {path.name: get_mode(path) for path in local.rglob("*") if path.is_file()}
    assert {"agent.log", "log", "script", "started", "exit", "held"} <= files.keys()
    assert set(files.values()) == {0o600}, files
    assert {get_mode(local), get_mode(local / "runs")} == {0o700}


@pytest.mark.parametrize("bits", [0o700, 0o777])
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_runs_of_another_owner_are_refused(tmp_path: Path, bits: int) -> None:
    runs = tmp_path / "local/runs"
    runs.mkdir(parents=True)
    runs.chmod(bits)
    os.chown(runs, 65534, 65534)
    engine = LocalEngine(Connection(engine="local"), tmp_path)
    for ask in (lambda: engine.poll(["1"]), lambda: engine.find(["k"], 0.0)):
        with pytest.raises(EngineError, match="runs belongs to user.*cannot be trusted"):
            ask()


@pytest.mark.slow
def test_a_result_that_is_a_symbolic_link_is_not_read(tmp_path: Path, plan: Plan, store: Store) -> None:
    with Executor(plan, engine="local", store=store) as executor:
        call = executor.submit(called.add, 1)
        assert call.result(60) == 3
    path = build_result_path(store.folder / "local", call.record.engine_key)
    assert get_mode(path) == 0o600
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EngineError, match="cannot be read"):
        call.read_output()
    assert private.read_own_file(tmp_path / "missing", 0, 9) == b""


@pytest.mark.parametrize("kind", ["link", "FIFO"])
@pytest.mark.parametrize("where", ["local", "slurm", "kubernetes"])
def test_a_log_that_is_a_link_or_a_fifo_is_not_read(tmp_path: Path, where: str, kind: str) -> None:
    """Reading a FIFO would wait for ever."""
    readers: dict[str, tuple[Path, Callable[[], bytes]]] = {
        "local": (
            tmp_path / "local/runs/k/log",
            lambda: LocalEngine(Connection(engine="local"), tmp_path).read_log("k", 0),
        ),
        "slurm": (tmp_path / "k/log", lambda: SharedSpool(tmp_path, LocalRunner(SLURM)).read_file("k", "log", 0)),
        "kubernetes": (tmp_path / "k/log", lambda: LogSpool(tmp_path / "k").read(0)),
    }
    path, read = readers[where]
    assert read() == b""
    path.parent.mkdir(parents=True)
    if kind == "FIFO":
        os.mkfifo(path)
    else:
        (tmp_path / "elsewhere").touch()
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EngineError, match="log (cannot be read|was not read: it is not a file)"):
        read()


@pytest.mark.slow
def test_arguments_of_functions_are_not_visible_in_the_process_list(plan: Plan, store: Store) -> None:
    assert re.fullmatch("eJ[A-Za-z0-9_-]{40,}=*", pack_call(called.find_packed_arguments, (), {}))
    with Executor(plan, engine="local", store=store) as executor:
        assert executor.submit(called.find_packed_arguments).result(60) == []


@pytest.mark.parametrize("name", ["jobs.db", "local/queue.db"])
def test_permissions_of_a_file_elsewhere_do_not_change(tmp_path: Path, name: str) -> None:
    """A store of root that was a symbolic link to /etc/passwd made that file unreadable for everyone else."""
    other = tmp_path / "other"
    other.write_text("data\n")
    other.chmod(0o644)
    link = tmp_path / "state" / name
    link.parent.mkdir(parents=True, mode=0o700)
    link.symlink_to(other)
    with pytest.raises(StoreError, match="is a symbolic link to .*other"):
        private.create_private_file(link)
    assert other.stat().st_mode & 0o777 == 0o644 and other.read_text() == "data\n"


def test_a_device_or_a_pipe_is_not_a_private_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "jobs.db", 0o644)
    with pytest.raises(StoreError, match="not a regular file"):
        private.create_private_file(tmp_path / "jobs.db")


def test_permissions_of_a_folder_elsewhere_do_not_change(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(mode=0o755)
    (tmp_path / "local").symlink_to(tmp_path / "shared")
    with pytest.raises(EngineError, match="symbolic link"):
        private.create_private_folder(tmp_path / "local")
    assert (tmp_path / "shared").stat().st_mode & 0o777 == 0o755
