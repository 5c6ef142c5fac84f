"""One subnet manager is meant: the files start no other, two hosts have an order, and the M_Key stays out of files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import supercloud as sc
from supercloud.errors import SpecError
from supercloud.spec.loader import loads
from supercloud.targets import render

EXAMPLES = Path(__file__).parents[4] / "examples"
KEY = "/etc/opensm/m_key"


def spec_of(fabric: str = "", more: str = "") -> str:
    return f"""
name: one
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "24.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: 8, fabrics: [compute]}}]
fabrics:
  - name: compute
    kind: infiniband
    shape: rail-optimized
    switch: nvidia-qm9700
    {fabric}
{more}
"""


def files_of(fabric: str = "") -> dict[str, str]:
    return {path: str(text) for path, text in render(sc.resolve(loads(spec_of(fabric))), "infiniband").items()}


def findings_of(plan: sc.Plan) -> list[tuple[str, str]]:
    return [(item.level, item.problem) for item in plan.findings if item.check == "subnet-manager"]


def test_ufm_gets_its_own_files_and_nothing_that_starts_another_manager() -> None:
    files = files_of("subnet_manager: nvidia")
    own = {"compute/GUIDE.md", "compute/ipoib.sh", "compute/ipoib-compute.service"}
    assert {path for path in files if not path.startswith("compute/ufm/")} == own
    guide = files["compute/GUIDE.md"]
    assert "UFM runs the subnet manager, and no other does" in guide and "opensm -B" not in guide
    conf = files["compute/ufm/opensm.conf"]
    assert "/etc/opensm" not in conf and "partition_config_file" not in conf and "sm_priority" not in conf
    assert "Default=0x7fff" in files["compute/ufm/partitions.conf.user_ext"]


def test_the_open_manager_has_no_file_of_ufm() -> None:
    files = files_of()
    assert not [path for path in files if "ufm" in path] and "opensm -B -F" in files["compute/GUIDE.md"]


def test_appliances_of_ufm_beside_the_open_manager_are_a_finding() -> None:
    text = (EXAMPLES / "05-superpod-networks" / "cluster.yaml").read_text()
    assert not findings_of(sc.resolve(loads(text)))
    both = findings_of(sc.resolve(loads(text.replace("    subnet_manager: nvidia\n", ""))))
    ((level, problem),) = both
    assert level == "warning" and "two would compete for storage" in problem


def test_of_two_hosts_the_first_is_master() -> None:
    """With equal priorities the lower GUID won, whichever host that was."""
    files = files_of("manager: {links: 4, appliances: 2}")
    first, other = (files[f"compute/opensm{name}.conf"] for name in ("", "-standby"))
    priorities = [int(text.split("sm_priority ")[1].split()[0]) for text in (first, other)]
    assert 15 >= priorities[0] > priorities[1] > 0
    assert first.replace(f"sm_priority {priorities[0]}", "") == other.replace(f"sm_priority {priorities[1]}", "")
    assert "opensm-standby.conf" in files["compute/GUIDE.md"]
    assert "compute/opensm-standby.conf" not in files_of("manager: {links: 1}")


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host of the subnet manager, on which opensm shows what it would read."""
    for path, text in files_of(f"m_key: {KEY}").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "opensm").write_text('#!/bin/sh\ncat "$3"\n')
    (tmp_path / "bin" / "opensm").chmod(0o755)
    (tmp_path / "etc/opensm").mkdir(parents=True)
    return tmp_path


def start(host: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{host / 'bin'}:{os.environ['PATH']}", "DESTDIR": str(host)}
    script = str(host / "compute" / "with-m-key.sh")
    return subprocess.run(["bash", script], capture_output=True, text=True, env=environment)


def test_the_m_key_is_read_where_the_manager_starts(host: Path) -> None:
    key = host / "etc/opensm/m_key"
    key.write_text("0x00c0ffee12345678\n")
    key.chmod(0o600)
    done = start(host)
    assert done.returncode == 0, done.stderr
    assert "routing_engine" in done.stdout and "m_key 0x00c0ffee12345678\n" in done.stdout
    assert (host / "run/opensm/compute.conf").stat().st_mode & 0o077 == 0
    assert "with-m-key.sh opensm.conf" in (host / "compute" / "GUIDE.md").read_text()


@pytest.mark.parametrize(("text", "mode", "said"), [
    (None, 0o600, "is missing"), ("0x1", 0o644, "others may read it"), ("0x0", 0o600, "and not 0"),
    ("secret", 0o600, "16 hexadecimal digits"),
])  # fmt: skip
def test_a_key_that_is_none_or_not_private_starts_nothing(host: Path, text: str | None, mode: int, said: str) -> None:
    if text is not None:
        (host / "etc/opensm/m_key").write_text(text)
        (host / "etc/opensm/m_key").chmod(mode)
    done = start(host)
    assert done.returncode == 1 and said in done.stderr and not done.stdout


def test_m_keys_of_ufm_are_its_own() -> None:
    plan = sc.resolve(loads(spec_of(f"m_key: {KEY}\n    subnet_manager: nvidia")))
    assert findings_of(plan) == [("error", "UFM makes and keeps M_Keys itself")]


def test_tenants_without_an_m_key_are_said() -> None:
    part = "partitions: [{tenant: llm, hosts: 'train-[0001-0004]'}]"
    more = "tenants: [{name: llm}]"
    ((level, problem),) = findings_of(sc.resolve(loads(spec_of(part, more))))
    assert level == "warning" and "without an M_Key" in problem
    assert not findings_of(sc.resolve(loads(spec_of(f"{part}\n    m_key: {KEY}", more))))


def test_a_path_is_no_command() -> None:
    with pytest.raises(SpecError):
        loads(spec_of('m_key: "/etc/$(id)"'))


def test_the_script_passes_shellcheck(host: Path) -> None:
    shellcheck = Path(sys.executable).with_name("shellcheck")
    checked = subprocess.run([str(shellcheck), str(host / "compute" / "with-m-key.sh")], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
