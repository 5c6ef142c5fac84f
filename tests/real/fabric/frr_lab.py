"""Switches in network namespaces: one for each switch of an underlay, wired as planned, with the rendered FRR files.

Every link is a veth pair, every node is a namespace with the addresses of the plan. At the end the lab ends its daemons
by the process IDs that they wrote, and deletes its namespaces by name.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from real.polling import wait_for

from supercloud.plan.build.network.server_links import iter_server_ends
from supercloud.plan.model.network import Underlay
from supercloud.plan.model.plan import Plan
from supercloud.targets.site.dialects import SwitchView, iter_switches
from supercloud.targets.site.dialects.frr import render_routing
from supercloud.targets.site.roce.nodes import format_interface_name
from supercloud.targets.site.roce.servers import format_server_interface

SBIN = Path("/usr/lib/frr")
_NUMBERS = count()


def run(*command: str, stdin: str | None = None, check: bool = True) -> str:
    """Run a command and return its output; the message of a failure has both streams."""
    done = subprocess.run(command, input=stdin, capture_output=True, text=True)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Lab:
    """A running underlay."""

    def __init__(self, plan: Plan, underlay: Underlay, folder: Path, nodes: dict[str, int]):
        self.plan, self.underlay, self.folder = plan, underlay, folder
        fabric = next(item for item in plan.fabrics if item.name == underlay.fabric)
        self.ends = list(iter_server_ends(fabric, underlay.servers))
        """Every link of every storage server."""
        self.servers = list(dict.fromkeys(end.host for end in self.ends))
        self.views: dict[str, SwitchView] = {view.name: view for view in iter_switches(plan, underlay)}
        self.nodes = nodes
        """Node namespaces to make, with their number in the fabric."""
        self.tag = f"sc{os.getpid()}-{next(_NUMBERS)}-"
        self.spaces: list[str] = []

    def start(self) -> None:
        """Create namespaces and links, start daemons, and load the configuration."""
        self.spaces = [*self.views, *self.nodes, *self.servers]
        run("ip", "-batch", "-", stdin="".join(f"netns add {self.tag}{name}\n" for name in self.spaces))
        for name in self.spaces:
            self.run_in(
                name,
                "sysctl",
                "-qw",
                "net.ipv4.ip_forward=1",
                "net.ipv4.conf.all.rp_filter=0",
                "net.ipv4.conf.default.rp_filter=0",
                "net.ipv6.conf.default.accept_dad=0",
                "net.ipv6.conf.all.forwarding=1",
                "net.ipv4.fib_multipath_hash_policy=1",
            )
        run("ip", "-batch", "-", stdin="".join(self._iter_links()))
        for name in self.spaces:
            ups = [
                line.split(":")[1].split("@")[0].strip() for line in self.run_in(name, "ip", "-o", "link").splitlines()
            ]
            self.run_in(name, "ip", "-batch", "-", stdin="".join(f"link set {port} up\n" for port in ups))
        for name in self.views:
            self._start_daemons(name)
        for view in self.views.values():
            self._configure(view)

    def _iter_links(self) -> Iterator[str]:
        made: set[tuple[str, str]] = set()
        for view in self.views.values():
            for peer in view.peer_ports:
                if (peer.switch, peer.peer_port) not in made:
                    made.add((view.name, peer.port))
                    yield (
                        f"link add {peer.port} netns {self.tag}{view.name} type veth "
                        f"peer name {peer.peer_port} netns {self.tag}{peer.switch}\n"
                    )
            for port in view.host_ports:
                plane, _ = view.run.find_position(view.index)
                if port.host in self.nodes or port.host in self.servers:
                    name = (
                        format_interface_name(self.underlay, port.nic, plane)
                        if port.host in self.nodes
                        else format_server_interface(self.underlay, port.nic)
                    )
                    yield (
                        f"link add {port.port} netns {self.tag}{view.name} type veth "
                        f"peer name {name} netns {self.tag}{port.host}\n"
                    )
                else:
                    here = self.tag + view.name
                    yield f"link add {port.port} netns {here} type veth peer name far-{port.port} netns {here}\n"

    def _start_daemons(self, name: str) -> None:
        place = self.folder / name
        place.mkdir()
        (place / "vtysh.conf").write_text("")
        shutil.chown(place, "frr", "frr")
        for daemon in ("zebra", "bgpd", "bfdd"):
            (place / f"{daemon}.conf").write_text("")
            self.run_in(
                name,
                str(SBIN / daemon),
                "-d",
                "-f",
                f"{place}/{daemon}.conf",
                "-i",
                f"{place}/{daemon}.pid",
                "-z",
                f"{place}/zserv.api",
                "--vty_socket",
                str(place),
                *(("--bfdctl", f"{place}/bfdd.sock") if daemon == "bfdd" else ()),
            )

    def _configure(self, view: SwitchView) -> None:
        place = self.folder / view.name
        (place / "frr.conf").write_text(render_routing(view, self.underlay))
        out = self.run_in(
            view.name, "vtysh", "--vty_socket", str(place), "--config_dir", str(place), "-f", str(place / "frr.conf")
        )
        assert "%" not in out and "nknown command" not in out, f"{view.name}: {out}"

    def run_in(self, name: str, *command: str, stdin: str | None = None, check: bool = True) -> str:
        """Run a command in a namespace."""
        return run("ip", "netns", "exec", self.tag + name, *command, stdin=stdin, check=check)

    def run_vtysh(self, name: str, command: str) -> str:
        """Run a command of FRR and return its output."""
        place = str(self.folder / name)
        return self.run_in(name, "vtysh", "--vty_socket", place, "--config_dir", place, "-c", command)

    def stop_switch(self, name: str) -> None:
        """Stop a switch: its links go down at both ends."""
        self._set_ports(name, "down")

    def start_switch(self, name: str) -> None:
        """Start the switch again."""
        self._set_ports(name, "up")

    def _set_ports(self, name: str, state: str) -> None:
        ports = (peer.port for peer in self.views[name].peer_ports)
        self.run_in(name, "ip", "-batch", "-", stdin="".join(f"link set {port} {state}\n" for port in ports))

    def close(self) -> None:
        """End all daemons and delete all namespaces of the lab."""
        ended = []
        for path in self.folder.glob("*/*.pid"):
            with suppress(ValueError, ProcessLookupError):
                ended.append(int(path.read_text()))
                os.kill(ended[-1], signal.SIGTERM)
        wait_for("all daemons have ended", lambda: not any(Path(f"/proc/{pid}").exists() for pid in ended))
        for name in self.spaces:
            subprocess.run(["ip", "netns", "delete", self.tag + name], capture_output=True)


@contextmanager
def start_lab(plan: Plan, underlay: Underlay, nodes: dict[str, int]) -> Iterator[Lab]:
    """Start a lab, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="supercloud-frr-"))
    folder.chmod(0o755)
    lab = Lab(plan, underlay, folder, nodes)
    try:
        lab.start()
        yield lab
    finally:
        lab.close()
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_right(what: str, check: Callable[[], object]) -> float:
    """Wait until ``check()`` returns no errors; return the duration in seconds."""
    start, wrong = time.monotonic(), [object()]

    def is_right() -> bool:
        wrong[0] = check()
        return not wrong[0]

    wait_for(what, is_right, interval=0.5, show=lambda: wrong[0])
    return time.monotonic() - start
