"""Scripts that run on hosts of a Kubernetes cluster, with the programs and folders of a host replaced."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from kube_specs import ONPREM, build_plan

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
