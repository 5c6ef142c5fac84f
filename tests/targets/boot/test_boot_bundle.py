"""The boot bundle: programs that pass shellcheck, tables, user data without secrets."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from boot_machines import VALUES, build_plan, compute_digest

from supercloud.targets import list_targets, render
from supercloud.targets.schedulers.slurm.power import PROGRAM_DIRECTORY

PROVIDERS = ("aws", "gcp", "azure")
FUNCTIONS = [
    "ready",
    "fetch",
    "secret",
    "fill",
    "metadata",
    "disk",
    "size",
    "resize",
    "instances",
    "domains",
    "refused",
    "terminate",
    "credentials",
    "users",
]


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_boot_programs_pass_shellcheck(provider: str, tmp_path: Path) -> None:
    bundle = render(build_plan(provider=provider), "boot")
    bundle.write(tmp_path / "boot")
    programs = sorted((tmp_path / "boot").rglob("*.sh"))
    shellcheck = Path(sys.executable).with_name("shellcheck")
    done = subprocess.run([shellcheck, "-x", "-S", "style", *programs], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert {f"cloud_{name}" for name in FUNCTIONS} <= set(
        re.findall(r"^(cloud_\w+)\(\)", bundle[f"clouds/{provider}.sh"], re.M)
    )


def test_every_machine_has_user_data() -> None:
    found = build_plan()
    assert found.cloud is not None
    bundle = render(found, "boot")
    keys = {group.key for group in found.cloud.groups} | {host.key for host in found.cloud.hosts}
    assert keys == {path.split("/")[1][:-3] for path in bundle if path.startswith("user-data/")}
    holes: set[str] = set()
    for key in keys:
        text = bundle[f"user-data/{key}.sh"]
        assert len(text.encode()) < 14 * 1024  # of 16 KiB: the rest is for what is put in
        holes |= set(re.findall(r"@\{([^}]*)\}", text))
    assert holes == set(VALUES) - {"database_host"}


def test_checksums_cover_all_but_user_data() -> None:
    bundle = render(build_plan(), "boot")
    sums = {path: value for value, path in (line.split("  ") for line in bundle["SHA256SUMS"].splitlines())}
    assert sums == {
        path: compute_digest(text) for path, text in bundle.items() if path != "SHA256SUMS" and "user-data/" not in path
    }
    assert all(
        f"DIGEST={compute_digest(bundle['SHA256SUMS'])}\n" in text
        for path, text in bundle.items()
        if "user-data/" in path
    )
    slurm = render(build_plan(), "slurm")
    listed = {path: value for value, path in (line.split("  ") for line in slurm["SHA256SUMS"].splitlines())}
    assert listed == {path: compute_digest(text) for path, text in slurm.items() if path != "SHA256SUMS"}
    assert dict(render(build_plan(), "boot")) == dict(bundle)


def test_slurm_calls_programs_of_the_bundle() -> None:
    bundle, conf = render(build_plan(), "boot"), render(build_plan(), "slurm")["slurm.conf"]
    programs = dict(re.findall(r"^(\w+Program)=" + PROGRAM_DIRECTORY + r"/(.*)$", conf, re.M))
    assert set(programs) == {"ResumeProgram", "SuspendProgram", "ResumeFailProgram"}
    assert all(bundle.files[name].executable for name in programs.values())


def test_tables_of_mounts_and_nodes_match_the_plan() -> None:
    found = build_plan()
    assert found.cloud is not None
    mounts = [line for line in render(found, "settings")["mounts.txt"].splitlines() if not line.startswith("#")]
    assert [row.split()[:3] for row in mounts] == [["scratch", "lustre", "/fsx"], ["home", "nfs", "/home"]]
    for row in mounts:
        rule = found.cloud.get_storage(row.split()[0]).mount_rule
        assert rule is not None and row.split()[3:] == [rule.type, "-", rule.options]


def test_nodes_of_capacity_blocks_stay_on() -> None:
    """Switching off what is paid for saves nothing: a pool with nothing but a capacity block stays on."""
    lines = render(build_plan(), "slurm")["slurm.conf"].splitlines()
    found = {line.split()[0]: "SuspendTime=INFINITE" in line for line in lines if line.startswith("PartitionName=")}
    assert found["PartitionName=block"] and not found["PartitionName=train"]


def test_only_slurm_on_a_cloud_boots() -> None:
    found = build_plan()
    assert "boot" in list_targets(found)
    assert "boot" not in list_targets(replace(found, cloud=None))


def test_boot_scripts_know_a_managed_database() -> None:
    text = render(build_plan(managed_database=True), "boot")["user-data/ctl1.sh"]
    assert "DATABASE='managed'" in text and "DATABASE_HOST='@{database_host}'" in text


def test_the_metadata_service_is_blocked_again_after_a_reload_of_rules(tmp_path: Path) -> None:
    """PartOf= is limited to stop and restart: a reload flushes all rules too, and a start follows a stop."""
    render(build_plan(), "boot").write(tmp_path / "boot")
    for name in ("nft", "systemctl"):
        (tmp_path / name).write_text("#!/bin/bash\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "etc/supercloud").mkdir(parents=True)
    (tmp_path / "etc/supercloud/env").write_text("ROLE=login\n")
    subprocess.run(
        ["/bin/bash", tmp_path / "boot/metadata.sh", "install"],
        check=True,
        timeout=30,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "BOOT_ROOT": str(tmp_path)},
    )
    text = (tmp_path / "etc/systemd/system/supercloud-metadata.service").read_text()
    unit = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    loaders = {"nftables.service", "iptables.service", "ip6tables.service", "netfilter-persistent.service"}
    for name in ("After", "PartOf", "ReloadPropagatedFrom", "WantedBy"):
        assert loaders <= set(unit[name].split()), name
    assert unit["ExecReload"] == unit["ExecStart"] == f"{tmp_path}/opt/supercloud/metadata.sh"
