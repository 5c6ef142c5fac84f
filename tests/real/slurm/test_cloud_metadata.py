"""The rendered program that blocks the metadata service, with real nftables and iptables on a separate machine.

A machine is a network namespace, the cloud is another one with the addresses of the service, and a container is a third
one whose packets the machine forwards.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cloud_lab import build_lab_plan

from supercloud.catalog import Catalog
from supercloud.catalog.metadata_service import MetadataService
from supercloud.targets.boot import render_boot_bundle

SERVICES = {item.name: item for item in Catalog().iter_entries(MetadataService)}
TOOLS = ("nft", "iptables")
ROOT, USER, NOBODY, SCALER = 0, 1000, 65534, 64030
OPEN = 53
"""A port that all users need if the service has the address of the name server."""
SERVER = """
import socket, sys, threading
class Listener:
    def __init__(self, port):
        self.socket = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        threading.Thread(target=self.serve).start()
    def serve(self):
        while True:
            peer, _ = self.socket.accept()
            peer.sendall(b"credentials")
            peer.close()
for port in map(int, sys.argv[1:]):
    Listener(port)
print("ready", flush=True)
"""
ASK = """
import encodings.idna, os, socket, sys  # loaded before the user is another, who may not read the interpreter
if int(sys.argv[3]):
    os.setgroups([]); os.setgid(int(sys.argv[3])); os.setuid(int(sys.argv[3]))
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20) as peer:
        print(peer.recv(100).decode())
except OSError as error:
    print(type(error).__name__)
"""


def run(command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-euc", command], capture_output=True, text=True, timeout=120, check=check)


class Machine:
    """A machine, its cloud and a container on it."""

    def __init__(self, folder: Path, provider: str, tool: str, role: str = "compute"):
        self.name, self.folder, self.service = f"sc-md-{os.getpid()}", folder, SERVICES[provider]
        plan = build_lab_plan("26.05")
        assert plan.cloud is not None
        cloud = replace(plan.cloud, metadata_addresses=self.service.addresses)
        self.program = render_boot_bundle(replace(plan, cloud=cloud), "").files["metadata.sh"].text
        self.root, self.bin = folder / "root", folder / "bin"
        (self.root / "etc/supercloud").mkdir(parents=True)
        (self.root / "etc/supercloud/env").write_text(f"ROLE='{role}'\n")
        (self.root / "opt/supercloud").mkdir(parents=True)
        (self.root / "opt/supercloud/metadata.sh").write_text(self.program)
        self.bin.mkdir()
        others = ["ip6tables", "iptables-restore", "ip6tables-restore"] if tool == "iptables" else []
        for name in ("bash", "cat", "grep", "paste", "sed", "mkdir", "env", tool, *others):
            found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
            assert found, f"{name} is missing: install.sh of these tests installs it"
            (self.bin / name).symlink_to(found)
        (self.bin / "id").write_text(f"#!/bin/bash\necho {SCALER}\n")
        (self.bin / "systemctl").write_text('#!/bin/bash\necho "$@" >>"$BOOT_ROOT/systemctl"\n')
        for name in ("id", "systemctl"):
            (self.bin / name).chmod(0o755)

    def __enter__(self) -> Machine:
        n = self.name
        run(f"""
        for place in host cloud box; do ip netns add {n}-$place; ip -n {n}-$place link set lo up; done
        ip -n {n}-host link add cloud type veth peer name eth0 netns {n}-cloud
        ip -n {n}-host link add box type veth peer name eth0 netns {n}-box
        ip -n {n}-host addr add 10.99.0.1/24 dev cloud; ip -n {n}-host addr add fd99::1/64 dev cloud nodad
        ip -n {n}-host addr add 10.98.0.1/24 dev box; ip -n {n}-host addr add fd98::1/64 dev box nodad
        ip -n {n}-cloud addr add 10.99.0.2/24 dev eth0; ip -n {n}-cloud addr add fd99::2/64 dev eth0 nodad
        ip -n {n}-box addr add 10.98.0.2/24 dev eth0; ip -n {n}-box addr add fd98::2/64 dev eth0 nodad
        for link in cloud box; do ip -n {n}-host link set $link up; done
        for place in cloud box; do ip -n {n}-$place link set eth0 up; done
        for switch in ipv4/ip_forward ipv6/conf/all/forwarding; do
            ip netns exec {n}-host bash -c "echo 1 >/proc/sys/net/$switch"
        done
        ip -n {n}-host route add default via 10.99.0.2; ip -n {n}-host -6 route add default via fd99::2
        ip -n {n}-cloud route add 10.98.0.0/24 via 10.99.0.1; ip -n {n}-cloud -6 route add fd98::/64 via fd99::1
        ip -n {n}-box route add default via 10.98.0.1; ip -n {n}-box -6 route add default via fd98::1
        """)
        for item in self.service.addresses:
            size = "128 dev lo nodad" if ":" in item.address else "32 dev lo"
            run(f"ip -n {n}-cloud addr add {item.address}/{size}")
        ports = sorted({OPEN, 80, *(port for item in self.service.addresses for port in item.ports)})
        self.server = subprocess.Popen(
            ["ip", "netns", "exec", f"{n}-cloud", sys.executable, "-c", SERVER, *map(str, ports)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.server.stdout is not None and self.server.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self.server.kill()
        self.server.wait()
        assert self.server.stdout is not None
        self.server.stdout.close()
        for place in ("host", "cloud", "box"):
            run(f"ip netns del {self.name}-{place}", check=False)

    def run_program(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the rendered program."""
        path = self.folder / "metadata.sh"
        path.write_text(self.program.replace(":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ""))
        program = [shutil.which("ip") or "ip", "netns", "exec", f"{self.name}-host", self.bin / "bash", path]
        environment = {"PATH": f"{self.bin}", "BOOT_ROOT": str(self.root)}
        return subprocess.run(
            [*program, *arguments], capture_output=True, text=True, env=environment, timeout=120, check=False
        )

    def ask(self, place: str, address: str, port: int, user: int) -> str:
        """The answer to a process of this user."""
        command = f"ip netns exec {self.name}-{place} {sys.executable} -c '{ASK}' {address} {port} {user}"
        end = time.monotonic() + 60
        while True:  # a new IPv6 route is not available at once
            output = run(command).stdout.strip()
            if user != ROOT or output == "credentials" or time.monotonic() > end:
                return output


@pytest.fixture(params=[(name, tool) for name in sorted(SERVICES) for tool in TOOLS], ids="-".join)
def machine(request: pytest.FixtureRequest, tmp_path: Path, slurm_2205: object) -> Iterator[Machine]:
    """A machine of each provider, with one of the two firewall programs."""
    provider, tool = request.param
    with Machine(tmp_path, provider, tool) as machine:
        yield machine


def test_only_root_of_the_machine_reaches_the_metadata_service(machine: Machine) -> None:
    closed = [(item.address, port) for item in machine.service.addresses for port in item.ports or (80, OPEN)]
    for address, port in closed:
        assert machine.ask("host", address, port, USER) == "credentials", (
            "users have access before: this proves that the test can fail"
        )
    for _ in range(2):  # the second run changes nothing
        done = machine.run_program()
        assert done.returncode == 0, done.stdout + done.stderr
    for address, port in closed:
        assert machine.ask("host", address, port, ROOT) == "credentials"
        for user in (USER, NOBODY, SCALER):
            assert machine.ask("host", address, port, user) != "credentials", (address, port, user)
        assert machine.ask("box", address, port, USER) != "credentials", "a container's packets are forwarded"
    for item in machine.service.addresses:
        if item.ports:
            assert machine.ask("host", item.address, OPEN, USER) == "credentials", "all users can resolve names"
    assert machine.ask("host", "10.99.0.2", 80, USER) == "credentials"


@pytest.mark.parametrize("tool", TOOLS)
def test_on_the_controller_the_scaler_can_reach_it(tool: str, tmp_path: Path, slurm_2205: object) -> None:
    with Machine(tmp_path, "aws", tool, role="controller") as machine:
        assert machine.run_program("install").returncode == 0
        for item in machine.service.addresses:
            assert machine.ask("host", item.address, 80, ROOT) == "credentials"
            assert machine.ask("host", item.address, 80, SCALER) == "credentials"
            assert machine.ask("host", item.address, 80, USER) != "credentials"
        unit = (machine.root / "etc/systemd/system/supercloud-metadata.service").read_text()
        assert "enable -q supercloud-metadata" in (machine.root / "systemctl").read_text()
        assert "RequiredBy=systemd-user-sessions.service slurmd.service" in unit
        # the unit runs the program at a later start and after a reload of a service that flushes all rules
        for command in ("ExecStart", "ExecReload"):
            assert f"{command}={machine.root}/opt/supercloud/metadata.sh\n" in unit
            if tool == "nft":
                run(f"ip netns exec {machine.name}-host nft flush ruleset")
                assert machine.ask("host", machine.service.addresses[0].address, 80, USER) == "credentials"
                assert machine.run_program().returncode == 0
                assert machine.ask("host", machine.service.addresses[0].address, 80, USER) != "credentials"


def test_a_machine_that_cannot_block_it_reports_that(tmp_path: Path, slurm_2205: object) -> None:
    with Machine(tmp_path, "aws", "nft") as machine:
        (machine.bin / "nft").unlink()
        done = machine.run_program()
        assert done.returncode != 0 and "neither nft nor iptables" in done.stderr
