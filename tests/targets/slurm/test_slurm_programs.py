"""The programs of the bundle, run: against a database that is a file, and a node that is a folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from slurm_hosts import Host
from slurm_plans import RELEASES, TENANTS, VARIANTS, build_h100_pool, build_plan, build_variant

from supercloud.targets import render

HERE = Path(__file__).parent


@pytest.mark.slow
def test_programs_pass_shellcheck(tmp_path: Path) -> None:
    programs = []
    for number, name in enumerate(VARIANTS):
        folder = tmp_path / str(number)
        render(build_variant("22.05" if number % 2 else "26.05", name), "slurm").write(folder)
        programs += sorted(folder.glob("*.sh"))
    shellcheck = Path(sys.executable).with_name("shellcheck")
    done = subprocess.run([shellcheck, "--external-sources", *programs], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_programs_are_the_same_for_every_release() -> None:
    texts = [dict(render(build_variant(release, "tenants"), "slurm")) for release in RELEASES]
    for name in ("accounts.sh", "health-check.sh", "prolog.sh", "epilog.sh", "reserve-spares.sh"):
        assert len({text[name] for text in texts}) == 1


# --- accounts.sh


@pytest.fixture
def database(tmp_path: Path) -> Host:
    host = Host(tmp_path, build_plan(tenants=TENANTS))
    host.env["FAKE_SACCTMGR"] = str(tmp_path / "database.json")
    host.fake("sacctmgr", f'exec {sys.executable} -S -E "{HERE / "fake_sacctmgr.py"}" "$@"')
    return host


def _read_data(host: Host) -> dict[str, dict[str, dict[str, str]]]:
    found: dict[str, dict[str, dict[str, str]]] = json.loads(Path(host.env["FAKE_SACCTMGR"]).read_text())
    return found


@pytest.mark.slow
def test_a_second_run_of_accounts_changes_nothing(database: Host) -> None:
    first = database.run("accounts.sh")
    assert first.returncode == 0, first.stderr
    assert "vision: the limit on accelerators cannot be set yet" in first.stderr
    second = database.run("accounts.sh")
    assert (second.returncode, second.stdout) == (0, "nothing changed\n")
    path = Path(database.env["FAKE_SACCTMGR"])  # slurmctld has registered
    path.write_text(json.dumps({**json.loads(path.read_text()), "gpus": True}))
    third = database.run("accounts.sh")
    assert third.stdout.splitlines() == [
        "modify account where name=vision cluster=pod1 set fairshare=30 grptres=gres/gpu=304,node=-1 grpjobs=-1 "
        "grpsubmitjobs=-1 maxwall=-1 qos=low,normal defaultqos=normal"
    ]
    assert third.stderr == ""
    assert database.run("accounts.sh").stdout == "nothing changed\n"
    data = _read_data(database)
    assert data["qos"]["high"] == {"priority": "1000", "preempt": "low,normal", "flags": "DenyOnLimit"}
    assert data["accounts"]["llm"]["qos"] == "high,low,normal"
    assert (
        data["accounts"]["guests"] | {"maxwall": "2-00:00:00", "grpsubmitjobs": "5", "fairshare": "0"}
        == (data["accounts"]["guests"])
    )
    assert list(data["users"]) == [["ada", "llm"], ["bob", "llm"], ["cy", "vision"]]


@pytest.mark.slow
def test_accounts_follow_the_spec(database: Host, tmp_path: Path) -> None:
    """Removed limits are cleared, disabled preemption is reverted, tenants removed from the spec stay."""
    database.run("accounts.sh")
    changed = [{"name": "llm", "share": 10, "priority": "low"}]
    render(build_plan(tenants=changed, scheduler={"preemption": False}), "slurm").write(database.etc)
    done = database.run("accounts.sh")
    assert done.returncode == 0, done.stderr
    data = _read_data(database)
    assert data["accounts"]["llm"]["grpjobs"] == "-1" and data["accounts"]["llm"]["defaultqos"] == "low"
    assert data["qos"]["high"]["preempt"] == ""
    assert set(data["accounts"]) == {"llm", "vision", "guests"} and len(data["users"]) == 3
    assert database.run("accounts.sh").stdout == "nothing changed\n"


def test_accounts_reports_failures(database: Host) -> None:
    database.fake(
        "sacctmgr", 'case "$*" in *"add qos"*) echo "no database" >&2; exit 1 ;; *show*tres*) echo "cpu|" ;; esac'
    )
    done = database.run("accounts.sh")
    assert done.returncode == 1 and "no database" in done.stderr and "add qos low: failed" in done.stderr


def test_a_job_has_a_temporary_folder(job: Host) -> None:
    assert job.run("task-prolog.sh").stdout == ""
    assert job.run("prolog.sh").returncode == 0
    folder = job.folder / "scratch/7"
    assert folder.stat().st_mode & 0o777 == 0o700 and folder.parent.stat().st_mode & 0o777 == 0o755
    assert job.run("task-prolog.sh").stdout == f"export TMPDIR={folder}\n"
    (folder / "left").touch()
    assert job.run("epilog.sh", SLURM_JOB_UID="0").returncode == 0
    assert not folder.exists() and folder.parent.exists()


def test_a_broken_node_rejects_jobs(job: Host) -> None:
    (job.folder / "root/dev/nvidia7").unlink()
    assert job.run("prolog.sh").returncode == 1
    assert job.run("epilog.sh", SLURM_JOB_UID="0").returncode == 1


def test_epilog_removes_nothing_else(job: Host) -> None:
    (job.folder / "scratch/7").mkdir(parents=True)
    job.run("epilog.sh", SLURM_JOB_ID="../scratch", SLURM_JOB_UID="0")
    assert (job.folder / "scratch/7").exists()


def test_epilog_lists_processes_once_for_each_user(job: Host) -> None:
    function = re.search(r"^list_processes\(\) \{.*?^\}\n", (job.etc / "epilog.sh").read_text(), re.M | re.S)
    assert function is not None

    def list_processes(user: int) -> list[int]:
        script = f"{function[0]}list_processes {user}-{user}\n"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert not done.stderr
        return list(map(int, done.stdout.split()))

    assert os.getpid() in list_processes(os.geteuid()) and os.getpid() not in list_processes(4_000_000_000)


@pytest.mark.slow
def test_epilog_ends_remaining_processes(job: Host) -> None:
    """Only processes outside jobs, and only when the user has no other job here."""
    # no other user is to be had here: the list of processes alone is another's
    lists = """-sE) [ ! -e /proc/$VICTIM/ns ] || printf '/proc/%s/status:Uid:\\t0\\t12345\\n' "$VICTIM\""""
    job.fake("grep", f'case $1 in {lists} ;; *) exec /bin/grep "$@" ;; esac')
    away = ["unshare", "--user", "--net"]  # a user can leave the namespace of the network
    can_leave = subprocess.run([*away, "true"], capture_output=True).returncode == 0
    for answer, ends, command in (
        ("echo 7; echo 8", False, []),
        ("exit 1", False, []),
        ("echo 7", True, []),
        ("echo 7", True, away if can_leave else []),
    ):
        victim = subprocess.Popen([*command, "sleep", "60"])
        try:
            job.fake("squeue", answer)
            job.run("epilog.sh", SLURM_JOB_UID="12345", VICTIM=str(victim.pid))
            if ends:
                assert victim.wait(5) == -15
            else:
                assert victim.poll() is None
        finally:
            victim.kill()
            victim.wait()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs files of several users")
def test_epilog_deletes_only_files_of_the_user_on_internal_disks(job: Host) -> None:
    """After the last job of the user on the node, also in directories of others; nothing where no disk is mounted."""
    root, local = job.folder / "root", job.folder / "root/local"
    (root / "etc/supercloud").mkdir(parents=True, exist_ok=True)
    (root / "etc/supercloud/mount-state-disks").write_text("/local\n")
    # rootless containers write files with subordinate IDs
    (root / "etc/subuid").write_text("other:300000:65536\n12345:200000:65536\n12345:0:10\n")

    def fill() -> None:
        owners = {"a": 12345, "a/b": 12345, "a/b/foreign": 12346, "c": 12346, "c/guest": 12345, "c/container": 200_065}
        for name, owner in owners.items():
            path = local / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in ("a", "a/b", "c"):
                path.mkdir(exist_ok=True)
            else:
                path.touch()
            os.chown(path, owner, owner)
        for name in ("a/file", "a/b/file"):
            (local / name).touch()
            os.chown(local / name, 12345, 12345)

    def list_files() -> list[str]:
        return sorted(str(path.relative_to(local)) for path in local.rglob("*"))

    fill()
    everything = list_files()
    job.fake("squeue", "echo 7")
    for mounts, others in (("", "echo 7"), ("/dev/md0 /local xfs rw 0 0\n", "echo 7; echo 8")):
        (root / "proc/mounts").write_text(mounts)
        job.fake("squeue", others)
        job.run("epilog.sh", SLURM_JOB_UID="12345")
        assert list_files() == everything
    job.fake("squeue", "echo 7")
    assert job.run("epilog.sh", SLURM_JOB_UID="12345").returncode == 0
    # a directory that holds files of another user stays
    assert list_files() == ["a", "a/b", "a/b/foreign", "c"]
    (asked,) = {line for line in job.asked if " -t " in line}
    assert asked.startswith("squeue -h -o %A -t RUNNING,SUSPENDED,CONFIGURING,STOPPED -u 12345 ")


# --- reserve-spares.sh


@pytest.mark.slow
def test_spare_nodes_are_reserved(tmp_path: Path) -> None:
    host = Host(tmp_path, build_plan(pools=[build_h100_pool(spares=2)]))
    host.fake("sinfo", 'cat "$SAID.broken" 2>/dev/null; true')
    host.fake("scontrol", '[ "$2" = show ] && { cat "$SAID.held" 2>/dev/null || exit 1; }; true')
    broken, held = Path(f"{host.call_log}.broken"), Path(f"{host.call_log}.held")

    def list_actions() -> list[str]:
        host.call_log.unlink(missing_ok=True)
        assert host.run("reserve-spares.sh").returncode == 0
        return [line for line in host.asked if line.startswith("scontrol") and "show" not in line]

    [create] = list_actions()
    assert "create reservation ReservationName=spares-train PartitionName=train Features=train NodeCnt=2" in create
    assert "Flags=REPLACE_DOWN" in create
    held.write_text("ReservationName=spares-train Nodes=train-[0001-0002] NodeCnt=2 CoreCnt=224\n")
    assert list_actions() == []
    broken.write_text("train-0009\ntrain-0009\n")
    assert list_actions() == ["scontrol update ReservationName=spares-train NodeCnt=1"]
    broken.write_text("train-0009\ntrain-0010\ntrain-0011\n")
    assert list_actions() == ["scontrol delete ReservationName=spares-train"]
    held.unlink()
    assert list_actions() == []
    assert "reserve-spares.sh" not in render(build_plan(), "slurm")
