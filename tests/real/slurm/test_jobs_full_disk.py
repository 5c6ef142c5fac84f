"""The file system of the job store becomes full or read-only while jobs run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

# Submits jobs until the store is full and one that was running has ended, then enlarges the file system and waits for
# all jobs. Prints the results.
SCRIPT = """\
import collections, json, os, subprocess, sys, time
from pathlib import Path
import supercloud as sc
from supercloud.errors import EngineError, StoreError
from supercloud.jobs import api
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.store import Store
from supercloud.spec.loader import loads

folder, ran = Path(sys.argv[1]), Path(sys.argv[2])
SPEC = '''
name: pod
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "22.05"}
pools: [{name: train, machine: dgx-h100, nodes: 4}]
'''
plan = sc.resolve(loads(SPEC))
append = f'echo "$SUPERCLOUD_JOB_KEY $SUPERCLOUD_EPOCH" >>{ran}'
started, full = Path(f"{ran}.started"), Path(f"{ran}.full")
wait = f"touch {started}; while [ ! -e {full} ]; do sleep 0.1; done"


def build_job(command):
    return sc.JobSpec.model_validate({"name": "job", "accelerators": {"count": 1}, "retries": 100,
                                      "command": ["sh", "-c", command]})


def wait_until(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def count_ended():
    return len(list(folder.rglob("exit")))


errors, returned = [], []
with Store(folder / "state") as store:
    returned.append(api.submit(build_job(f"{wait}; {append}"), plan, engine="local", store=store, key="waits").key)
    wait_until(started.exists)
    for number in range(3000):
        try:
            returned.append(api.submit(build_job(append), plan, engine="local", store=store, key=f"k{number}").key)
        except (StoreError, EngineError, OSError) as error:
            errors.append(f"{type(error).__name__}: {error}")
            if len(errors) == 5:
                break
with Store(folder / "state") as store:  # the store opens on the full disk
    known = {record.key for record in store.select()}
    ended = count_ended()
    full.touch()
    wait_until(lambda: count_ended() > ended)
    subprocess.run(["mount", "-o", "remount,size=300m", folder], check=True)
    end = time.monotonic() + 120
    while time.monotonic() < end and (reconcile(store) or store.list_live()):
        time.sleep(0.05)
    records = store.select()
    lines = collections.Counter(ran.read_text().splitlines())
    print(json.dumps({
        "errors": errors, "returned": len(returned), "lost": sorted(set(returned) - known),
        "states": collections.Counter(str(record.state) for record in records),
        "reasons": sorted({record.reason for record in records if record.state != "COMPLETED"}),
        "twice": [line for line, times in lines.items() if times > 1],
        "not run": sorted(record.key for record in records if record.state == "COMPLETED"
                          and not any(line.split()[0] == record.key for line in lines)),
    }))
"""


@pytest.mark.parametrize(
    "size",
    [pytest.param("900k", marks=pytest.mark.extended), "1500k", pytest.param("2500k", marks=pytest.mark.extended)],
)
def test_a_full_disk_loses_no_job_and_runs_none_twice(tmp_path: Path, size: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    small = tmp_path / "small"
    small.mkdir()
    mount = f"mount -t tmpfs -o size={size} small {small} && exec {sys.executable} {script} {small} {tmp_path}/ran"
    # the agent of the local engine ends with its PID namespace
    command = ["unshare", "-m", "-p", "--fork", "--kill-child", "--mount-proc", "bash", "-c", mount]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["errors"], "the disk was filled"
    assert all("full" in error or "No space" in error or "cannot grow" in error for error in document["errors"]), (
        document
    )
    assert document["returned"] > 5 and not document["lost"] and not document["twice"] and not document["not run"], (
        document
    )
    assert set(document["states"]) <= {"COMPLETED", "FAILED"}, document
    assert document["states"]["COMPLETED"] >= document["returned"] - document["states"].get("FAILED", 0), document


RECORD_JOB = """\
import os, sys
from pathlib import Path
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.store import Store

store = Store(Path(os.environ["SUPERCLOUD_STATE"]))
job, _ = store.record(NewJob("k", "lost", "{}", assignment=Assignment(connection='{"engine":"fake"}', engine="fake")))
store.begin_submission(job.id)
store.record_submitted(job.id, "its engine does not know it")
if sys.argv[1] == "killed":
    os._exit(0)
store.close()
"""

READ_ONLY = """\
call() { "$PYTHON" -m supercloud "$@"; echo "$1 $2: $?"; }
mount -t tmpfs -o size=8m small "$SMALL" && "$PYTHON" -c "$RECORD_JOB" "$END" || exit
ls "$SUPERCLOUD_STATE"
mount -o remount,ro "$SMALL" || exit
call jobs; call wait 1 --timeout 0.5; call logs 1; call store check; call store backup "$SMALL.backup"
mount -o remount,rw "$SMALL" || exit
call jobs --live
"""


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_a_store_on_a_read_only_file_system_can_be_read(tmp_path: Path, end: str) -> None:
    small = tmp_path / "small"
    small.mkdir()
    given = {"PYTHON": sys.executable, "RECORD_JOB": RECORD_JOB, "END": end, "SMALL": str(small)}
    command = ["unshare", "-m", "bash", "-c", READ_ONLY]
    environment = {**os.environ, **given, "SUPERCLOUD_STATE": str(small / "state")}
    done = subprocess.run(command, stdout=-1, stderr=-2, text=True, timeout=120, env=environment)
    assert ("jobs.db-wal" in done.stdout) == (end == "killed"), done.stdout
    for line in ("jobs : 0", "wait 1: 1", "logs 1: 0", "store check: 0", "store backup: 0", "jobs --live: 0"):
        assert f"\n{line}\n" in done.stdout, done.stdout
    while_read_only, after = done.stdout.split("store backup: 0\n")
    assert "1   lost  QUEUED" in while_read_only and "job 1 (lost) is still QUEUED" in while_read_only
    assert while_read_only.count("its file system is read-only") == 2 and "Traceback" not in while_read_only
    assert "1   lost  UNKNOWN" in after and "read-only" not in after, after
