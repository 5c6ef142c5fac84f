"""Lustre: mkfs.lustre(8), mount.lustre(8), lfs-setstripe(1)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from storage_plans import build_plan

from supercloud.catalog import Catalog
from supercloud.plan.model.storage import LustreDesign
from supercloud.primitives.bundle import Bundle
from supercloud.targets import render

# -- Lustre: mkfs.lustre(8), mount.lustre(8), lfs-setstripe(1) --------------------------------------------------------

MKFS = {"--mgs", "--mdt", "--ost", "--fsname", "--index", "--mgsnode", "--servicenode", "--backfstype"}


NID = r"[\w.-]+@(?:o2ib|tcp)\d*"


def run_format(bundle: Bundle, tmp_path: Path, host: str, tunefs: str = "exit 1") -> list[list[str]]:
    """The mkfs.lustre commands that format.sh runs on a host, with the tools it calls replaced by echoes."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    log = tmp_path / "log"
    log.write_text("")
    for name, body in (
        ("hostname", f"echo {host}"),
        ("tunefs.lustre", tunefs),
        ("mkfs.lustre", f'echo "$@" >>{log}'),
    ):
        (tools / name).write_text(f"#!/bin/sh\n{body}\n")
        (tools / name).chmod(0o755)
    script = tmp_path / "format.sh"
    script.write_text(bundle["scratch/format.sh"])
    done = subprocess.run(["bash", script], env={"PATH": f"{tools}:/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in log.read_text().splitlines()]


def test_a_formatted_device_is_left_unchanged(catalog: Catalog, tmp_path: Path) -> None:
    plan = build_plan(catalog, {"capacity": "1 PiB", "tier": "good"})
    made, host = render(plan, "storage"), next(iter(plan.storage[0].servers[-1].hosts))
    assert run_format(made, tmp_path, host) and run_format(made, tmp_path, host, tunefs="exit 0") == []


@pytest.mark.slow
def test_every_target_is_formatted_once_with_documented_options(catalog: Catalog, tmp_path: Path) -> None:
    plan = build_plan(catalog, {"capacity": "1 PiB", "tier": "good"})
    made, (item,) = render(plan, "storage"), plan.storage
    design = item.design
    assert isinstance(design, LustreDesign)
    indexes: dict[str, list[int]] = {"--mdt": [], "--ost": [], "--mgs": []}
    for group in item.servers:
        for host in group.hosts:
            for command in run_format(made, tmp_path, host):
                options = {word.partition("=")[0] for word in command if word.startswith("--")}
                assert options <= MKFS and command[-1].startswith("/dev/mapper/scratch-")
                (kind,) = options & set(indexes)
                indexes[kind] += [int(word[8:]) for word in command if word.startswith("--index=")] or [-1]
                assert f"--servicenode={host}@tcp0" in command
                for word in command:
                    name, _, value = word.partition("=")
                    assert name not in ("--mgsnode", "--servicenode") or re.fullmatch(NID, value), word
                assert kind == "--mgs" or {"--fsname=scratch", "--backfstype=ldiskfs"} <= set(command)
    assert indexes["--mdt"] == list(range(design.metadata_targets)) and indexes["--mgs"] == [-1]
    assert sorted(indexes["--ost"]) == list(range(design.targets))


# Lustre's rule: a client refuses requests larger than the brw_size that its target had when they connected.
LCTL = """#!/bin/bash
name=${2%=*} value=${2#*=} state=$(dirname "$0")/brw_size
case $name in
obdfilter.*.brw_size) echo "$value" >"$state" ;;
osc.*.max_pages_per_rpc)
    if ((${value%M} > $(cat "$state" 2>/dev/null || echo 4))); then
        echo "error: set_param: setting $name=$value: Numerical result out of range" >&2
        exit 34
    fi ;;
esac
echo "$name" >>"$(dirname "$0")/set"
"""


def run_lustre(folder: Path, script: str, host: str = "train-0001") -> subprocess.CompletedProcess[str]:
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name, body in (
        ("lctl", LCTL),
        ("hostname", f"#!/bin/sh\necho {host}\n"),
        ("mountpoint", "#!/bin/sh\nexit 1\n"),
        ("mount", "#!/bin/sh\n"),
        ("mkdir", "#!/bin/sh\n"),
    ):
        (tools / name).write_text(body)
        (tools / name).chmod(0o755)
    (folder / "script.sh").write_text(script)
    path = {"PATH": f"{tools}:/usr/bin:/bin"}
    return subprocess.run(["bash", folder / "script.sh"], env=path, capture_output=True, text=True)


def test_clients_use_the_request_size_of_the_targets(bundle: Bundle, tmp_path: Path) -> None:
    """16 MiB were asked of targets that take 4 MiB by default, and the client refused them."""
    servers = run_lustre(tmp_path, bundle["scratch/mount-targets.sh"], "scratch-oss-0001")
    assert servers.returncode == 0, servers.stderr
    done = run_lustre(tmp_path, bundle["scratch/client-tuning.sh"])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tools/set").read_text().split() == [
        "obdfilter.scratch-OST*.brw_size",
        "osc.scratch-OST*.max_rpcs_in_flight",
        "osc.scratch-OST*.max_pages_per_rpc",
        "llite.scratch-*.max_read_ahead_mb",
    ]


def test_a_rejected_value_does_not_prevent_other_values(bundle: Bundle, tmp_path: Path) -> None:
    done = run_lustre(tmp_path, bundle["scratch/client-tuning.sh"])
    assert done.returncode == 1 and "obdfilter.scratch-OST*.brw_size=16" in done.stderr
    assert "llite.scratch-*.max_read_ahead_mb" in (tmp_path / "tools/set").read_text()


def test_lustre_clients_mount_the_file_system(bundle: Bundle) -> None:
    (line,) = [line for line in bundle["scratch/fstab"].splitlines() if not line.startswith("#")]
    assert re.fullmatch(rf"{NID}(:{NID})*:/[\w]{{1,8}} /scratch lustre [a-z_,]+ 0 0", line)
    (option,) = [line for line in bundle["scratch/lnet.conf"].splitlines() if not line.startswith("#")]
    assert re.fullmatch(r'options lnet networks="(o2ib|tcp)\d+\(\w+\)"', option)
    (layout,) = [line for line in bundle["scratch/layout.sh"].splitlines() if line.startswith("lfs ")]
    assert re.fullmatch(r"lfs setstripe( -E (\d+[KMGT]|-1)( -c (-1|\d+)| -L mdt))+ /scratch", layout)
