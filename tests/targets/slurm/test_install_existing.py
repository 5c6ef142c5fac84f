"""INSTALL.md of Slurm on hosts that have keys, configuration and web sites of their own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from slurm_plans import build_plan

from supercloud.plan.model.plan import Plan
from supercloud.targets import render

# Hosts are folders. Commands are written for the folder of ctl1; ssh runs them in the folder of its host.
_TOOLS = {
    "ssh": """[ "$1" != -n ] || { shift; exec </dev/null; }
host=$1; shift
[ -d "$ROOT/$host" ] || { echo "ssh: $host: unreachable" >&2; exit 255; }
exec bash -c "${*//$ROOT\\/ctl1\\//$ROOT/$host/}"
""",
    "systemctl": "",
    "chown": "",
    "munge": "",
    "unmunge": "cat >/dev/null",
    "hostname": "echo ctl1",
    "install": """while [ $# -gt 1 ]; do
    case $1 in -o|-g|-m) shift ;; -d) exec mkdir -p "${@: -1}" ;; *) cp "$1" "${@: -1}" ;; esac; shift
done""",
}


def find_blocks(plan: Plan, words: str) -> list[str]:
    guide = render(plan, "slurm")["INSTALL.md"]
    return [item for item in re.findall(r"^```sh\n(.*?)^```$", guide, re.M | re.S) if words in item]


def run(block: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a block on ctl1."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    for name, text in _TOOLS.items():
        (tools / name).write_text(f"#!/bin/bash\n{text}\n")
        (tools / name).chmod(0o755)
    here = re.sub(r"(?<![\w.$}*])/(?=(etc|root)/)", f"{folder}/ctl1/", block)
    return subprocess.run(
        ["bash", "-e", "-c", here],
        capture_output=True,
        text=True,
        env={"PATH": f"{tools}:/usr/bin:/bin", "ROOT": str(folder)},
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def make_hosts(folder: Path, keys: dict[str, str], path: str = "etc/munge/munge.key") -> None:
    """Folders of hosts, each with its key; an empty one is not a key."""
    for host, key in keys.items():
        for name in ("root/slurm", "etc/munge", "etc/slurm"):
            (folder / host / name).mkdir(parents=True)
        if key:
            (folder / host / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / host / path).write_text(key)
    (folder / "ctl1/root/slurm-hosts").write_text("".join(f"10.0.0.1 {host}\n" for host in keys))


@pytest.mark.parametrize(
    "keys, used",
    [
        ({"ctl1": "new", "n1": "old", "n2": "old"}, "old"),  # a controller was added to a cluster that runs
        ({"ctl1": "old", "n1": "old", "n2": "new"}, "old"),  # a node was
        ({"ctl1": "a", "n1": "b", "n2": "c"}, "a"),  # new hosts: their package gave each a key
        ({"ctl1": "", "n1": "old", "n2": ""}, "old"),
    ],
)
def test_the_key_of_a_running_cluster_is_used(keys: dict[str, str], used: str, tmp_path: Path) -> None:
    """A new one replaced it on all hosts, so that no daemon accepted the messages of the others."""
    make_hosts(tmp_path, keys)
    (block,) = find_blocks(build_plan("25.11"), "/dev/urandom")
    for _ in range(2):
        done = run(block, tmp_path)
        assert done.returncode == 0, done.stderr
        assert {(tmp_path / host / "etc/munge/munge.key").read_text() for host in keys} == {used}
    assert (tmp_path / "ctl1/root/slurm-keys/munge.key").stat().st_mode & 0o077 == 0


def test_a_key_is_generated_only_if_no_host_has_one(tmp_path: Path) -> None:
    make_hosts(tmp_path, {"ctl1": "", "n1": ""})
    (block,) = find_blocks(build_plan("25.11", scheduler={"auth": "slurm"}), "/dev/urandom")
    done = run(block, tmp_path)
    assert done.returncode == 0, done.stderr
    keys = [(tmp_path / host / "etc/slurm/slurm.key").read_bytes() for host in ("ctl1", "n1")]
    assert len(keys[0]) == 1024 and keys[0] == keys[1]
    assert sorted(path.name for path in (tmp_path / "ctl1/root/slurm-keys").iterdir()) == [
        "jwt_hs256.key",
        "slurm.key",
    ]


@pytest.mark.parametrize("lost", [{"n1": "a", "n2": "a", "n3": "b", "n4": "b"}, {"gone": ""}])
def test_no_key_is_replaced_while_it_is_unknown_which_one_is_right(lost: dict[str, str], tmp_path: Path) -> None:
    """Two clusters among the hosts, or a host that does not respond."""
    keys = {"ctl1": "c", **lost}
    make_hosts(tmp_path, keys)
    if "gone" in lost:
        (tmp_path / "gone").rename(tmp_path / "other")
    (block,) = find_blocks(build_plan("25.11"), "/dev/urandom")
    done = run(block, tmp_path)
    assert done.returncode != 0 and ("several keys" in done.stderr or "unreachable" in done.stderr)
    assert (tmp_path / "ctl1/etc/munge/munge.key").read_text() == "c"
    assert not (tmp_path / "ctl1/root/slurm-keys/munge.key").exists()


def test_the_key_of_tokens_is_taken_from_the_folder_of_slurm_conf(tmp_path: Path) -> None:
    """Tokens that users have were no longer valid. SchedMD's page on JWT keeps the key in the state folder."""
    make_hosts(tmp_path, {"ctl1": "munge"})
    key = tmp_path / "ctl1/etc/state/jwt.key"
    key.parent.mkdir()
    key.write_text("tokens")
    conf = tmp_path / "ctl1/etc/slurm/slurm.conf"
    conf.write_text(f"#AuthAltParameters=jwt_key=/old\nAuthAltParameters=disable_token_creation,jwt_key={key}\n")
    (block,) = find_blocks(build_plan("25.11"), "/dev/urandom")
    done = run(block, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ctl1/etc/slurm/jwt_hs256.key").read_text() == "tokens"


def test_files_of_others_are_kept_and_named_when_they_are_replaced(tmp_path: Path) -> None:
    make_hosts(tmp_path, {"ctl1": ""})
    files = render(build_plan("25.11"), "slurm")
    for name in files:
        (tmp_path / "ctl1/root/slurm" / name).write_text(str(files[name]))
    conf = tmp_path / "ctl1/etc/slurm/slurm.conf"
    conf.write_text("ClusterName=pod1\n")
    block = find_blocks(build_plan("25.11"), "slurm.conf topology.yaml /etc/slurm/")[0]
    done = run(block, tmp_path)
    assert done.returncode == 0 and "slurm.conf is replaced" in done.stderr, done.stderr
    assert "made by supercloud" in conf.read_text()
    assert conf.with_name("slurm.conf.before-supercloud").read_text() == "ClusterName=pod1\n"
    assert run(block, tmp_path).stderr == ""
    assert conf.with_name("slurm.conf.before-supercloud").read_text() == "ClusterName=pod1\n"


@pytest.mark.parametrize(
    "line, stops",
    [
        ("ClusterName=hpc", True),
        ("clustername = POD1 # ours", False),
        ("StateSaveLocation=/shared/state", True),
        ("StateSaveLocation=/var/spool/slurmctld", False),
    ],
)
def test_the_first_block_stops_before_the_state_of_another_cluster_is_lost(
    line: str, stops: bool, tmp_path: Path
) -> None:
    make_hosts(tmp_path, {"ctl1": "secret"})
    (tmp_path / "ctl1/etc/slurm/slurm.conf").write_text(f"# ClusterName=none\n{line}\n")
    block = find_blocks(build_plan("25.11"), "slurm-before")[0]
    for _ in range(2):
        done = run(block, tmp_path)
        assert (done.returncode != 0) == stops, done.stderr
        assert ("scheduler.cluster_name" in done.stderr) == stops
    kept = tmp_path / "ctl1/root/slurm-before"
    assert (kept / "munge/munge.key").read_text() == "secret" and (kept / "slurm/slurm.conf").exists()
    assert kept.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "sites, before, removed",
    [(("default",), False, True), (("default", "wiki"), False, False), (("default",), True, False)],
)
def test_the_default_site_of_nginx_stays_where_nginx_serves_others(
    sites: tuple[str, ...], before: bool, removed: bool, tmp_path: Path
) -> None:
    make_hosts(tmp_path, {"ctl1": ""})
    enabled = tmp_path / "ctl1/etc/nginx/sites-enabled"
    for folder in (enabled, tmp_path / "ctl1/etc/nginx/conf.d", tmp_path / "ctl1/etc/systemd/system"):
        folder.mkdir(parents=True)
    for name in sites:
        (enabled / name).write_text("")
    if before:
        (tmp_path / "ctl1/root/slurm-before/nginx").mkdir(parents=True)
    (block,) = find_blocks(build_plan("25.11"), "sites-enabled")
    done = run(block.replace("useradd", "true"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert (enabled / "default").exists() != removed


def test_an_existing_cluster_keeps_its_name_its_state_and_its_partitions() -> None:
    declared = {
        "cluster_name": "hpc_prod",
        "state_folder": "/shared/slurm/state",
        "partitions": [{"name": "GPU_long", "pools": ["train"]}],
    }
    plan = build_plan("25.11", scheduler=declared)
    assert not plan.errors
    files = render(plan, "slurm")
    lines = files["slurm.conf"].splitlines()
    assert {"ClusterName=hpc_prod", "StateSaveLocation=/shared/slurm/state"} <= set(lines)
    assert any(line.startswith("PartitionName=GPU_long Nodes=train ") for line in lines)
    assert "cluster=hpc_prod\n" in files["accounts.sh"]
    assert "/shared/slurm/state\n" in files["INSTALL.md"] and "/var/spool/slurmctld" not in files["INSTALL.md"]
    assert files["INSTALL.md"].index("already runs Slurm") < files["INSTALL.md"].index("apt-get")


@pytest.mark.parametrize("folder", ["/var/spool/slurmctld", "/var/lib/slurm/ctld", "/shared/slurm", "/s"])
def test_a_state_folder_of_its_own_is_accepted(folder: str) -> None:
    assert not build_plan("25.11", scheduler={"state_folder": folder}).errors


def test_a_state_folder_is_not_a_mount_of_others() -> None:
    storage = [{"name": "s", "kind": "nfs", "capacity": "1 TiB", "mount": "/shared"}]
    for folder, is_error in (("/shared", True), ("/shared/slurm", False)):
        plan = build_plan("25.11", scheduler={"state_folder": folder}, storage=storage)
        assert [item.check for item in plan.errors] == ["slurm-state-folder"] * is_error


@pytest.mark.parametrize(
    "owner, has_files, is_made",
    [("slurm", True, True), ("ada", True, False), ("ada", False, True)],
)
def test_install_keeps_a_state_folder_of_others(tmp_path: Path, owner: str, has_files: bool, is_made: bool) -> None:
    [block] = find_blocks(build_plan("25.11", scheduler={"state_folder": "/shared/slurm"}), "state=/shared/slurm")
    if has_files:
        (tmp_path / "file").write_text("")
    fakes = f"stat() {{ echo {owner}; }}; install() {{ echo made; }}; hostname() {{ echo ctl1; }}\n"
    script = fakes + block.replace("/shared/slurm", str(tmp_path))
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (done.stdout == "made\n") is is_made and (done.returncode == 0) is is_made
    assert is_made or f"belongs to {owner}, not to slurm" in done.stderr


def test_several_controllers_share_the_declared_state_folder() -> None:
    plan = build_plan("25.11", scheduler={"state_folder": "/s", "controllers": [{"name": "a"}, {"name": "b"}]})
    (found,) = [item for item in plan.findings if item.check == "slurm-shared-state"]
    assert "share /s, or" in str(found)
    assert "- `/s` is **one file system" in render(plan, "slurm")["INSTALL.md"]
