"""A simulated InfiniBand network with the real subnet manager: one ibsim in a separate folder."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from real.polling import wait_for

PRELOAD = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"
_HEAD = re.compile(r'(Switch|Hca) (\d+) "(.*)"')
_PORT = re.compile(r'\[(\d+)\]\t"(.*)"\[(\d+)\]')

End = tuple[str, int]


class Network:
    """A parsed network file, in which cables can be removed and added."""

    def __init__(self, text: str):
        self.devices: dict[str, str] = {}
        self.links: dict[End, End] = {}
        owner = ""
        for line in text.splitlines():
            head, port = _HEAD.fullmatch(line), _PORT.fullmatch(line)
            if head:
                owner = head[3]
                self.devices[owner] = f"{head[1]} {head[2]}"
            elif port:
                self.links[owner, int(port[1])] = (port[2], int(port[3]))

    def cut(self, end: End) -> End:
        """Remove the cable at one end; return the other end."""
        other = self.links.pop(end)
        del self.links[other]
        return other

    def join(self, one: End, other: End) -> None:
        assert one not in self.links and other not in self.links
        self.links[one], self.links[other] = other, one

    def format(self) -> str:
        rows: dict[str, list[str]] = {name: [] for name in self.devices}
        for (name, port), (other, other_port) in sorted(self.links.items()):
            rows[name].append(f'[{port}]\t"{other}"[{other_port}]')
        blocks = ("\n".join([f'{kind} "{name}"', *rows[name]]) for name, kind in self.devices.items() if rows[name])
        return "\n\n".join(blocks) + "\n"


def format_socket_name(folder: Path) -> str:
    """Name of an ibsim's socket, unique so that several can run."""
    return f"{folder.parent.name}-{folder.name}-{os.getpid()}"[-40:]


class Running:
    """Runs programs on the simulated network."""

    def __init__(self, folder: Path, host: str):
        self.folder = folder
        self._environment = {
            **os.environ,
            "LD_PRELOAD": PRELOAD,
            "SIM_HOST": host,
            "OSM_TMP_DIR": "./",
            "OSM_CACHE_DIR": "./",
            "IBSIM_SOCKNAME": format_socket_name(folder),
        }

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def bring_up(self, conf: Path) -> str:
        """Run one sweep of OpenSM with an unchanged configuration; return its log."""
        log = self.folder / "osm.log"
        log.unlink(missing_ok=True)
        output = self.run("opensm", "-o", "-F", str(conf), "-f", str(log), "-s", "0")
        assert "Unrecognized token" not in output, output
        return log.read_text()

    def discover(self) -> Path:
        """Write the output of ibnetdiscover to a file."""
        found = self.folder / "found.txt"
        found.write_text(self.run("ibnetdiscover"))
        return found

    def read_key_tables(self, devices: Iterable[str]) -> dict[str, list[int]]:
        """The P_Key table of the port of each device, from index 0, without empty entries."""
        lids = dict(re.findall(r'"([^"]+)" lid (\d+)', self.discover().read_text()))
        found: dict[str, list[int]] = {}
        for device in devices:
            keys = re.findall(r"0x([0-9a-f]{4})", self.run("smpquery", "pkeys", lids[device]))
            found[device] = [int(key, 16) for key in keys if key != "0000"]
        return found


@contextmanager
def simulate(folder: Path, network: str, host: str) -> Iterator[Running]:
    """Run ibsim with a network file, and stop it by its process ID."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fabric.net").write_text(network)
    with (folder / "ibsim.log").open("w") as log:
        ibsim = subprocess.Popen(
            ["ibsim", "-s", "-n", "-N", "8192", "-S", "1024", "-P", "262144", "fabric.net"],
            cwd=folder,
            env={**os.environ, "IBSIM_SOCKNAME": format_socket_name(folder)},
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
    try:
        log_text = partial((folder / "ibsim.log").read_text, errors="replace")

        def is_ready() -> bool:
            assert ibsim.poll() is None, log_text()
            return "Max" in log_text() and Path("/proc/net/unix").read_text().count(format_socket_name(folder)) > 0

        wait_for("ibsim listens", is_ready, interval=0.05, show=log_text)
        yield Running(folder, host)
    finally:
        ibsim.kill()
        ibsim.wait()
