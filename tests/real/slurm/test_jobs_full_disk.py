"""The disk fills up while jobs are submitted and run on this machine: a small file system of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

# Submits until it is refused, then makes room and waits for everything. Prints what happened.
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
job = sc.JobSpec.model_validate({"name": "job", "accelerators": {"count": 1}, "retries": 100,
                                 "command": ["sh", "-c", f'echo "$SUPERCLOUD_JOB_KEY $SUPERCLOUD_EPOCH" >>{ran}']})
errors, returned = [], []
with Store(folder / "state") as store:
    for number in range(3000):
        try:
            returned.append(api.submit(job, plan, engine="local", store=store, key=f"k{number}").key)
        except (StoreError, EngineError, OSError) as error:
            errors.append(f"{type(error).__name__}: {error}")
            if len(errors) == 5:
                break
with Store(folder / "state") as store:  # it opens, full as the disk is
    known = {record.key for record in store.select()}
    time.sleep(1)  # what runs finds the disk full too
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
    # the agent of the local engine ends with the namespace of its processes
    command = ["unshare", "-m", "-p", "--fork", "--kill-child", "--mount-proc", "bash", "-c", mount]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["errors"], "the disk was filled"
    assert all("full" in error or "No space" in error or "cannot grow" in error for error in said["errors"]), said
    assert said["returned"] > 5 and not said["lost"] and not said["twice"] and not said["not run"], said
    assert set(said["states"]) <= {"COMPLETED", "FAILED"}, said
    assert said["states"]["COMPLETED"] >= said["returned"] - said["states"].get("FAILED", 0), said
