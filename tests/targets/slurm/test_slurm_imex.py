"""IMEX if Slurm allocates its channels: the nodes of each domain, the steps that start it, and its check."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from slurm_plans import RELEASES, build_gb200_pool, build_h100_pool, build_plan

from supercloud.targets import render

# 10 whole domains and one of 2 nodes: addresses go over the end of a block of 256
POOLS = [build_h100_pool(nodes=3, fabrics=[]), build_gb200_pool(nodes=290)]


def run(script: Path, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", str(script), *args], capture_output=True, text=True, env={**os.environ, **more})


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("imex") / "imex-config.sh"
    path.write_text(str(render(build_plan("25.11", POOLS), "slurm")["imex-config.sh"]))
    return path


@pytest.mark.parametrize("host", [1, 18, 19, 250, 253, 288, 289, 290])
def test_each_node_has_the_addresses_of_its_domain(script: Path, host: int) -> None:
    pool = build_plan("25.11", POOLS).get_pool("nvl")
    size = pool.machine.domain_nodes
    start = (host - 1) // size * size
    wanted = [pool.addresses[place] for place in range(start, min(start + size, pool.nodes))]
    done = run(script, "show", list(pool.hosts)[host - 1])
    assert done.returncode == 0 and done.stdout.split() == wanted, done.stderr


@pytest.mark.parametrize("host", ["train-0001", "nvl-0291", "nvl-0000", "other"])
def test_hosts_without_a_domain_have_no_file(script: Path, host: str) -> None:
    done = run(script, "show", host)
    assert done.returncode == 2 and not done.stdout and host in done.stderr


def test_the_file_is_where_the_service_reads_it(script: Path, tmp_path: Path) -> None:
    done = run(script, "install", "nvl-0019", DESTDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "etc/nvidia-imex/nodes_config.cfg").read_text()
    assert text == run(script, "show", "nvl-0036").stdout and len(text.split()) == 18


@pytest.mark.parametrize("release", RELEASES)
def test_install_starts_imex_if_it_is_enabled(release: str) -> None:
    bundle = render(build_plan(release, POOLS), "slurm")
    on = "switch/nvidia_imex" in bundle["slurm.conf"]
    assert on == ("imex-config.sh" in bundle)
    blocks = str(bundle["INSTALL.md"]).split("On **every node of nvl**:")
    assert on == any("systemctl enable nvidia-imex" in block for block in blocks[1:])
    rows = {line.split()[0]: line.split()[8] for line in str(bundle["node-facts.txt"]).splitlines()[2:]}
    assert rows == {"train": "-", "nvl": "imex" if on else "-"}


@pytest.mark.parametrize("state, code", [("READY", 0), ("WAITING_FOR_PEERS", 1), ("", 1)])
def test_a_node_whose_imex_does_not_run_is_drained(tmp_path: Path, state: str, code: int) -> None:
    render(build_plan("25.11", POOLS), "slurm").write(tmp_path / "etc")
    facts = tmp_path / "etc/node-facts.txt"
    facts.write_text(facts.read_text().replace("mlx5_0,mlx5_1,mlx5_4,mlx5_5", "-"))
    root, programs = tmp_path / "root", tmp_path / "bin"
    programs.mkdir()
    for number in range(4):
        (root / "proc/driver/nvidia/gpus" / str(number)).mkdir(parents=True)
        (root / "dev").mkdir(exist_ok=True)
        (root / f"dev/nvidia{number}").touch()
    answers = {
        "nvidia-imex-ctl": f"echo {state}",
        "scontrol": 'echo "$@" >>"$SAID"',
        "dmesg": "true",
        "df": "true",
        "nvidia-smi": "[ \"$1\" != -L ] || seq 1 4 | sed 's/^/GPU /'",
    }
    for name, text in answers.items():
        (programs / name).write_text(f"#!/bin/bash\n{text}\n")
        (programs / name).chmod(0o755)
    done = run(
        tmp_path / "etc/health-check.sh",
        PATH=f"{programs}:{os.environ['PATH']}",
        HEALTH_ROOT=str(root),
        SLURMD_NODENAME="nvl-0001",
        SAID=str(tmp_path / "said"),
    )
    assert done.returncode == code, done.stderr
    if code:
        assert f"nvidia-imex is {state or 'not running'}" in (tmp_path / "said").read_text()
