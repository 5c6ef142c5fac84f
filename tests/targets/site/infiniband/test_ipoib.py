"""ipoib.sh names the interfaces of a fabric by their RDMA devices, or stops: it never takes another fabric's ports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import supercloud as sc
from supercloud.spec.loader import loads
from supercloud.targets import render

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[4] / "examples"
DEVICES = {"mlx5_0": "ib0", "mlx5_3": "ib1", "mlx5_1": "ib2", "mlx5_7": "ib3"}
SPEC = f"""
name: ib
catalog: {EXAMPLES / "07-storage" / "catalog"}
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "24.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: 8, fabrics: [compute, storage]}}]
fabrics:
  - {{name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}}
  - {{name: storage, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}}
storage:
  - name: scratch
    kind: lustre
    capacity: 1 PiB
    tier: good
    mount: /scratch
    fabric: storage
    servers: {{machine: flash-24, throughput: {{read: 45 GB/s, write: 30 GB/s}}}}
"""


def build_plan() -> sc.Plan:
    return sc.resolve(loads(SPEC))


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host's /sys with interfaces as the kernel numbers them, and programs that write down how they are called."""
    for device, interface in DEVICES.items():
        (tmp_path / "sys/class/infiniband" / device / "device/net" / interface).mkdir(parents=True)
        (tmp_path / "sys/class/net" / interface).mkdir(parents=True)
    for folder in ("etc/systemd/network", "etc/sysctl.d", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("ip", "networkctl", "sysctl"):
        program = tmp_path / "bin" / name
        program.write_text(f'#!/bin/sh\necho {name} "$@" >>"{tmp_path}/calls"\n')
        program.chmod(0o755)
    return tmp_path


def run(host: Path, plan: sc.Plan, fabric: str, name: str, how: str = "networkd") -> subprocess.CompletedProcess[str]:
    script = host / f"{fabric}.sh"
    script.write_text(render(plan, "infiniband")[f"{fabric}/ipoib.sh"])
    environment = {**os.environ, "PATH": f"{host / 'bin'}:{os.environ['PATH']}", "DESTDIR": str(host)}
    return subprocess.run(["bash", str(script), how, name], capture_output=True, text=True, env=environment)


def list_written(host: Path) -> list[str]:
    return sorted(path.name for path in (host / "etc/systemd/network").iterdir())


def test_storage_and_compute_have_different_names(host: Path) -> None:
    """Both had ib0 and ib1, and the storage file systems ran over the compute ports."""
    plan = build_plan()
    interfaces = {
        fabric: run(host, plan, fabric, "train-0001", "show").stdout.split() for fabric in ("compute", "storage")
    }
    assert interfaces["storage"][0::3] == ["storage0", "storage1"] and interfaces["storage"][1::3] == [
        "mlx5_7",
        "mlx5_1",
    ]
    assert interfaces["compute"][0::3] == [f"rail{number}" for number in range(8)]
    assert not set(interfaces["compute"][1::3]) & {"mlx5_7", "mlx5_1"}
    files = render(plan, "storage")
    assert 'networks="o2ib0(storage0,storage1)"' in str(files["scratch/lnet.conf"])


def test_interfaces_get_their_names_by_their_devices(host: Path) -> None:
    done = run(host, build_plan(), "storage", "train-0003")
    assert done.returncode == 0, done.stderr
    assert list_written(host) == ["50-ipoib-storage0.network", "50-ipoib-storage1.network"]
    calls = (host / "calls").read_text().splitlines()
    assert "ip link set dev ib3 name storage0" in calls and "ip link set dev ib2 name storage1" in calls
    assert calls[-2] == "networkctl reload"
    text = (host / "etc/systemd/network/50-ipoib-storage0.network").read_text()
    assert text.startswith("[Match]\nName=storage0\n\n[Network]\nAddress=")
    assert "net/ipv4/conf/storage1/arp_ignore = 1" in (host / "etc/sysctl.d/90-ipoib-storage.conf").read_text()


def test_a_second_run_renames_nothing(host: Path) -> None:
    for device, interface in (("mlx5_7", "storage0"), ("mlx5_1", "storage1")):
        folder = host / "sys/class/infiniband" / device / "device/net"
        next(folder.iterdir()).rename(folder / interface)
        (folder / f"{interface}.7fff").mkdir()  # a child, which has a parent
        (folder / f"{interface}.7fff" / "parent").touch()
    assert run(host, build_plan(), "storage", "train-0003").returncode == 0
    assert " name " not in (host / "calls").read_text()


def test_unknown_devices_are_rejected_before_changes(host: Path) -> None:
    """ib0 would be a port of the compute fabric."""
    done = run(host, build_plan(), "storage", "scratch-oss-0001")
    assert done.returncode == 1 and "unknown interface storage0" in done.stderr
    assert "flash-24" in done.stderr or "scratch-oss" in done.stderr
    assert list_written(host) == [] and not (host / "calls").exists()
    for number in range(2):
        (host / "sys/class/net" / f"storage{number}").mkdir()
    assert run(host, build_plan(), "storage", "scratch-oss-0001").returncode == 0
    assert list_written(host) == ["50-ipoib-storage0.network", "50-ipoib-storage1.network"]


def test_a_known_device_without_an_interface_is_rejected(host: Path) -> None:
    (host / "sys/class/infiniband/mlx5_1/device/net/ib2").rmdir()
    (host / "sys/class/net/storage1").mkdir()  # of another device: it is not used
    done = run(host, build_plan(), "storage", "train-0001")
    assert done.returncode == 1 and "mlx5_1 has no interface: load ib_ipoib" in done.stderr
    assert list_written(host) == []


def test_unknown_devices_are_findings() -> None:
    (found,) = [item for item in build_plan().findings if item.check == "storage-interfaces"]
    assert found.path == "storage[0]" and "the RDMA devices of flash-24 on storage are unknown" in found.problem


def test_servers_on_the_compute_fabric_are_reached_over_child_interfaces(host: Path) -> None:
    """A node has its tenant's key at index 0 there; servers are full members of the default partition."""
    parts = "[{tenant: llm, hosts: 'train-[0001-0004]'}, {tenant: vision, hosts: 'train-[0005-0008]'}]"
    compute = f"{{name: compute, kind: infiniband, guids: guids.txt, partitions: {parts},"
    text = SPEC.replace("fabric: storage", "fabric: compute").replace("{name: compute, kind: infiniband,", compute)
    text += "tenants: [{name: llm}, {name: vision}]\n"
    devices = (11, 6, 10, 9, 4, 3, 5, 0)
    servers = [name for group in build_plan().servers for name in group.hosts]
    names = [f"train-{node:04d} mlx5_{port}" for node in range(1, 9) for port in devices]
    names += [f"{name} mlx5_{port}" for name in servers for port in range(8)]
    (host / "guids.txt").write_text("".join(f'"{name}" 0x{0x100 + at:016x}\n' for at, name in enumerate(names)))
    plan = sc.resolve(loads(text, str(host / "cluster.yaml")))
    assert not plan.errors, plan.errors
    assert any(item.check == "subnet-reach" and "child interfaces" in item.problem for item in plan.findings)
    for number, device in enumerate(devices):
        if f"mlx5_{device}" not in DEVICES:
            (host / f"sys/class/infiniband/mlx5_{device}/device/net/ib{number + 10}").mkdir(parents=True)
    done = run(host, plan, "compute", "train-0001")
    assert done.returncode == 0, done.stderr
    folder = host / "etc/systemd/network"
    assert "Kind=ipoib\n\n[IPoIB]\nPartitionKey=0xffff" in (folder / "50-ipoib-rail0.7fff.netdev").read_text()
    assert "IPoIB=rail0.7fff" in (folder / "50-ipoib-rail0.network").read_text()
    assert "Address=" in (folder / "50-ipoib-rail0.7fff.network").read_text()
    assert 'networks="o2ib0(rail0.7fff,' in str(render(plan, "storage")["scratch/lnet.conf"])


def test_the_script_passes_shellcheck(tmp_path: Path) -> None:
    script = tmp_path / "ipoib.sh"
    script.write_text(render(build_plan(), "infiniband")["compute/ipoib.sh"])
    shellcheck = Path(sys.executable).with_name("shellcheck")
    checked = subprocess.run([str(shellcheck), str(script)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
