"""Scripts that run on hosts of a Kubernetes cluster, with the programs and folders of a host replaced."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from kube_specs import build_plan, list_bundle_objects, select_kind

from supercloud.targets import render

KEY = "0123456789abcdef" * 4


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host with a kubeadm that copies its configuration, and the folder of a control plane."""
    bundle = render(build_plan(), "kubernetes")
    for name in ("kubeadm-join-control-plane.yaml", "kube-vip.yaml", "join-control-plane.sh"):
        text = str(bundle[f"control-plane/{name}"]).replace("/etc/kubernetes", f"{tmp_path}/kubernetes")
        (tmp_path / name).write_text(text)
    (tmp_path / "kubernetes/manifests").mkdir(parents=True)
    kubeadm = tmp_path / "bin/kubeadm"
    kubeadm.parent.mkdir()
    kubeadm.write_text(f'#!/bin/sh\nls {tmp_path}/kubernetes/manifests\ncp "$3" {tmp_path}/used.yaml\n')
    kubeadm.chmod(0o755)
    return tmp_path


def _join(host: Path, key: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(host / "join-control-plane.sh")],
        input=key,
        capture_output=True,
        text=True,
        env={"PATH": f"{host}/bin:/usr/bin:/bin", "TMPDIR": str(host)},
        check=False,
    )


def test_further_hosts_join_with_the_certificate_key(host: Path) -> None:
    """Without the key kubeadm does not download the certificates, and it refuses the key as an option with a file."""
    done = _join(host, f"{KEY}\n")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    [used] = yaml.safe_load_all((host / "used.yaml").read_text())
    assert used["controlPlane"]["certificateKey"] == KEY
    [file] = (host / "kubernetes/manifests").iterdir()
    assert file.name == "kube-vip.yaml"
    assert not list(host.glob("tmp.*"))


@pytest.mark.parametrize("key", ["\n", KEY[:-1] + "\n", KEY[:-1] + "'\n"])
def test_a_wrong_certificate_key_is_refused(host: Path, key: str) -> None:
    done = _join(host, key)
    assert done.returncode == 1 and "64 hexadecimal digits" in done.stderr
    assert not (host / "used.yaml").exists()


@pytest.mark.parametrize("present", [8, 7])
def test_rails_keep_their_names_when_the_driver_is_loaded_again(tmp_path: Path, present: int) -> None:
    """The driver container loads the driver after the names were given; udev gives them to the new interfaces."""
    plan = build_plan()
    devices = plan.pools[0].machine.adapters[0].devices
    for index, device in enumerate(devices[:present]):
        port = tmp_path / f"pci/0000:{index:02x}:00.0"
        (port / f"net/ibs{index}").mkdir(parents=True)
        (port / f"net/ibs{index}.8001").mkdir()
        (port / f"net/ibs{index}.8001/parent").write_text(f"ibs{index}")
        (tmp_path / f"infiniband/{device}").mkdir(parents=True)
        (tmp_path / f"infiniband/{device}/device").symlink_to(port)
    for name in ("ip", "udevadm"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (tmp_path / name).chmod(0o755)
    text = str(render(plan, "kubernetes")["hosts/rail-names-train.sh"])
    text = text.replace("/sys/class/infiniband", f"{tmp_path}/infiniband").replace("/etc/udev/rules.d", str(tmp_path))
    script = tmp_path / "names.sh"
    script.write_text(text)
    done = subprocess.run(
        ["bash", str(script)], capture_output=True, text=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False
    )
    assert done.returncode == (0 if present == 8 else 1), done.stderr
    assert ("rail7 is missing" in done.stderr) == (present == 7)
    assert (tmp_path / "70-rail-names.rules").read_text().splitlines() == [
        f'ACTION=="add", SUBSYSTEM=="net", DRIVERS=="?*", KERNELS=="0000:{index:02x}:00.0", TEST!="parent", '
        f'NAME="rail{index}"'
        for index in range(present)
    ]
    calls = done.stdout.splitlines()
    assert calls[0] == "udevadm control --reload"
    assert [call for call in calls if " name " in call] == [
        f"ip link set ibs{index} name rail{index}" for index in range(present)
    ]


def test_volumes_do_not_create_directories_of_hosts() -> None:
    """On a node that has not mounted the file system, checkpoints were written to its root disk."""
    bundle = render(build_plan(), "kubernetes")
    volumes = select_kind(list_bundle_objects(bundle), "PersistentVolume").values()
    assert [item["spec"]["hostPath"] for item in volumes] == [
        {"path": f"/scratch/{tenant}", "type": "Directory"} for tenant in ("llm", "vision")
    ]
    for tenant in ("llm", "vision"):
        assert f"install -d -m 1777 /scratch/{tenant}" in bundle["INSTALL.md"]
