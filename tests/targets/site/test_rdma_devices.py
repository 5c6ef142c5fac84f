"""The devices that files name exist on the hosts: udev keeps the kernel's names, and a script checks them.

The second source is rdma-core's own program: its NAME_KERNEL policy changes nothing.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from samples import ROOT

import supercloud as sc
from supercloud.errors import CatalogError
from supercloud.primitives.bundle import Bundle
from supercloud.spec.loader import loads
from supercloud.targets import render
from supercloud.targets.installation import render_order

pytestmark = pytest.mark.slow

SPEC = """
name: ib
site: {kind: onprem, location: stockholm}
scheduler: SCHEDULER
pools: [{name: train, machine: MACHINE, nodes: 4, fabrics: [compute]}]
fabrics: [{name: compute, kind: infiniband, shape: rail-optimized, switch: SWITCH}]
"""


SCHEDULERS = {"slurm": "{kind: slurm, version: '24.11'}", "kubernetes": "{kind: kubernetes, version: '1.34'}"}


def format_spec(machine: str = "dgx-h100", switch: str = "nvidia-qm9700", scheduler: str = "slurm") -> str:
    fields = {"MACHINE": machine, "SWITCH": switch, "SCHEDULER": SCHEDULERS[scheduler]}
    return re.sub("|".join(fields), lambda found: fields[found[0]], SPEC)


def build_plan(machine: str = "dgx-h100", switch: str = "nvidia-qm9700", scheduler: str = "slurm") -> sc.Plan:
    return sc.resolve(loads(format_spec(machine, switch, scheduler)))


def run_check(bundle: Bundle, tmp_path: Path, devices: list[str], host: str) -> subprocess.CompletedProcess[str]:
    for device in devices:
        (tmp_path / "sys/class/infiniband" / device).mkdir(parents=True)
    script = tmp_path / "check-devices.sh"
    script.write_text(str(bundle["rdma/check-devices.sh"]))
    return subprocess.run(
        ["bash", script, host],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "DESTDIR": str(tmp_path)},
        check=False,
    )


def test_udev_keeps_the_names_that_other_files_use() -> None:
    plan = build_plan()
    rule = str(render(plan, "hosts")["rdma/60-rdma-persistent-naming.rules"])
    (line,) = [line for line in rule.splitlines() if not line.startswith("#")]
    assert line == 'ACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %k NAME_KERNEL"'
    named = set(re.findall(r"mlx5_\d+", str(render(plan, "slurm")["nccl-train.conf"])))
    table = re.search(r"\| train-\[0001-0004\] \| (.*) \|", str(render(plan, "hosts")["INSTALL.md"]))
    assert table and named == set(table[1].split(", "))


def test_the_page_installs_the_rule(tmp_path: Path) -> None:
    bundle = render(build_plan(), "hosts")
    (block,) = re.findall(r"```sh\n(.*?)```", str(bundle["INSTALL.md"]).partition("## RDMA devices")[2], re.S)
    for path in ("rdma/60-rdma-persistent-naming.rules", "bin/update-initramfs"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(str(bundle.get(path, f"#!/bin/sh\ntouch {tmp_path}/updated\n")))
        (tmp_path / path).chmod(0o755)
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    subprocess.run(["sh", "-ec", block.replace("/etc/", f"{tmp_path}/etc/")], cwd=tmp_path, env=env, check=True)
    installed = tmp_path / "etc/udev/rules.d/60-rdma-persistent-naming.rules"
    assert installed.read_text() == str(bundle["rdma/60-rdma-persistent-naming.rules"])
    assert (tmp_path / "updated").exists()


def test_names_of_rdma_core_need_no_rule_but_the_package() -> None:
    bundle = render(build_plan("dgx-gb300", "nvidia-q3400-ra"), "hosts")
    assert "rdma/60-rdma-persistent-naming.rules" not in bundle
    assert "ibp3s0, ibP2p3s0" in str(bundle["INSTALL.md"]) and "install the package `rdma-core` before" in str(
        bundle["INSTALL.md"]
    )


def test_machines_without_known_devices_have_no_rule() -> None:
    assert not [path for path in render(build_plan("mi300x-8gpu"), "hosts") if path.startswith("rdma/")]


def test_the_check_finds_renamed_devices(tmp_path: Path) -> None:
    made = run_check(render(build_plan(), "hosts"), tmp_path, ["ibp24s0", "ibp64s0"], "train-0002")
    assert made.returncode == 1
    assert "train-0002 has no mlx5_11 mlx5_6" in made.stderr and "ibp24s0 ibp64s0" in made.stderr
    assert "udev" in made.stderr


def test_the_check_accepts_the_planned_devices(tmp_path: Path) -> None:
    devices = [f"mlx5_{number}" for number in range(12)]
    made = run_check(render(build_plan(), "hosts"), tmp_path, devices, "train-0002")
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")


def test_the_check_finds_ports_with_the_link_layer_of_another_network(tmp_path: Path) -> None:
    """A VPI port is InfiniBand or Ethernet by a setting of its firmware: with the wrong one no link comes up."""
    text = format_spec(switch="nvidia-sn5600").replace("infiniband", "roce")
    bundle = render(sc.resolve(loads(text)), "hosts")
    folder = tmp_path / "sys/class/infiniband"
    for number in range(12):
        (tmp_path / f"pci/0000:{number:02x}:00.0").mkdir(parents=True)
        port = folder / f"mlx5_{number}/ports/1"
        port.mkdir(parents=True)
        (port / "link_layer").write_text("InfiniBand\n" if number == 4 else "Ethernet\n")
        (folder / f"mlx5_{number}/device").symlink_to(tmp_path / f"pci/0000:{number:02x}:00.0")
    made = run_check(bundle, tmp_path, [], "train-0002")
    assert made.returncode == 1 and made.stderr.count("\n") == 1
    assert "the port of mlx5_4 is InfiniBand, in the plan it is Ethernet" in made.stderr
    assert "mstconfig -d 0000:04:00.0 set LINK_TYPE_P1=ETH" in made.stderr
    (folder / "mlx5_4/ports/1/link_layer").write_text("Ethernet\n")
    assert run_check(bundle, tmp_path, [], "train-0002").returncode == 0
    other = run_check(render(build_plan(), "hosts"), tmp_path, [], "train-0002")
    assert other.returncode == 1 and other.stderr.count("set LINK_TYPE_P1=IB") == 8
    assert "Ethernet: mlx5_" in str(bundle["INSTALL.md"])
    assert "Ethernet" not in str(render(build_plan(), "hosts")["INSTALL.md"]).partition("## RDMA devices")[2]


def test_the_check_rejects_hosts_outside_the_plan(tmp_path: Path) -> None:
    made = run_check(render(build_plan(), "hosts"), tmp_path, [], "ctl1")
    assert made.returncode == 2 and "no RDMA devices of ctl1" in made.stderr


def test_every_scheduler_installs_the_rule_before_its_nodes_join() -> None:
    order = str(render_order(build_plan())["INSTALL.md"])
    assert order.index("*RDMA devices*") < order.index("infiniband/compute/GUIDE.md") < order.index("slurm/INSTALL.md")
    assert "`rdma/check-devices.sh`" in str(render(build_plan(), "slurm")["INSTALL.md"])
    page = str(render(build_plan(scheduler="kubernetes"), "kubernetes")["INSTALL.md"])
    assert page.index("*RDMA devices*") < page.index("rail-names-train.sh")


def test_devices_of_one_machine_have_names_of_one_kind(tmp_path: Path) -> None:
    text = (
        (ROOT / "supercloud/catalog/data/machines/dgx-h100.yaml")
        .read_text()
        .replace("mlx5_7, mlx5_1", "ibp24s0, ibp64s0")
    )
    assert "ibp24s0" in text
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines/dgx-h100.yaml").write_text(text)
    with pytest.raises(CatalogError, match=r"mlx5_11 is a name of the kernel, ibp24s0 one of rdma-core"):
        sc.resolve(loads(f"catalog: {tmp_path}{format_spec()}"))


def test_modules_of_infiniband_are_loaded_at_boot() -> None:
    """Without the package rdma-core nothing else loads them: OpenSM needs ib_umad, file systems ib_ipoib."""
    bundle = render(build_plan(), "infiniband")
    modules = [line for line in str(bundle["compute/modules.conf"]).splitlines() if not line.startswith("#")]
    assert modules == ["ib_umad", "ib_ipoib"]
    assert str(bundle["compute/GUIDE.md"]).count("/etc/modules-load.d/infiniband.conf") == 2
