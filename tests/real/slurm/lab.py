"""A lab: real Slurm daemons that load one rendered bundle unchanged, one host per controller and node.

    with Lab(bundle, rootfs="/") as lab:
        lab.start(nodes="all")
        lab.run("srun -N4 hostname", user="lab")

A new version of Slurm needs a new root folder; a new kind of daemon needs a case in inside/service.sh.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from overlay import ALWAYS, apply_changes, make_cloud_nodes
from product import CHECKOUT, Product
from real.polling import PATIENCE, wait_for
from rendered import Rendered, expand
from world import LabError, World

__all__ = ["Lab", "LabError"]


class Lab(World):
    """One cluster of the rendered bundle in ``bundle_dir``, on the Slurm that is installed in ``rootfs``."""

    def __init__(
        self,
        bundle_dir: str | Path,
        rootfs: str | Path = "/",
        overlay_lines: Sequence[str] = (),
        *,
        cloud_nodes: bool = False,
        checkout: Path = CHECKOUT,
        venv: Path | None = None,
    ) -> None:
        self.rendered = Rendered(Path(bundle_dir))
        self.product = Product(checkout, venv or checkout / ".venv")
        super().__init__(Path(rootfs), self.product.list_binds(Path(rootfs)))
        self.nodes = self.rendered.nodes
        self.controllers = list(self.rendered.controllers)
        self._changes = [*ALWAYS, *overlay_lines]
        self._cloud = cloud_nodes
        # expected daemons: log name -> (host, command)
        self._watched: dict[str, tuple[str, str]] = {}
        self._in_error = False

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self._install()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _install(self) -> None:
        """Copy the bundle to /etc/slurm and create its hosts."""
        folder = self.rendered.folder
        # not ".": /etc/slurm would get the mode of a temporary folder, which other users cannot read
        entries = sorted(path.name for path in folder.iterdir())
        tar = ["tar", "-c", "--owner=root", "--group=root", "-C", str(folder), *entries]
        archive = subprocess.run(tar, capture_output=True, check=True)
        self.run("mkdir -p /etc/slurm && tar -x -p -C /etc/slurm", input=archive.stdout)
        conf = (folder / "slurm.conf").read_text()
        conf = apply_changes(make_cloud_nodes(conf) if self._cloud else conf, self._changes)
        self.run("cat >/etc/slurm/slurm.conf", input=conf)

        settings = [f"{key}={_quote(value)}\n" for key, value in self.rendered.build_settings().items()]
        self.put("/lab/settings", "".join(settings), 0o600)
        names = {**self.rendered.controllers, **self.nodes}
        primary = self.controllers[0]
        aliases = " ".join([primary, *self.rendered.database_hosts])
        hosts = [f"{address} {aliases if name == primary else name}\n" for name, address in names.items()]
        self.put("/lab/hosts", "".join(hosts))
        self.run("/lab/bin/hosts.sh")

    # --- starting and ending daemons

    def start(self, nodes: str = "all", *, accounts: str = "accounts.sh", timeout: float = PATIENCE) -> None:
        """Start accounting if the bundle has it, run its accounts script, start the controller and nodes.

        ``nodes`` is "all", "" for none, or a host list. Returns when slurmctld answers; nodes register later.
        """
        self.run("scontrol show hostnames parses")  # fails if slurm.conf has an unknown key
        if self.rendered.accounting:
            self.start_accounting(timeout=timeout)
            if (self.rendered.folder / accounts).is_file():
                self.run(["bash", f"/etc/slurm/{accounts}"], timeout=timeout)
        self.start_controller(timeout=timeout)
        self.start_nodes(nodes)

    def start_accounting(self, *, timeout: float = PATIENCE) -> None:
        """Start MariaDB and slurmdbd, and wait until they answer."""
        primary = self.controllers[0]
        self.run("/lab/bin/service.sh mariadb")
        self._watched["mariadb"] = (primary, "mariadbd")
        self.wait_answer("mariadb", "mariadb-admin -S /run/mysqld/mysqld.sock ping", timeout=timeout)
        self.run("/lab/bin/service.sh database")
        self.run("/lab/bin/service.sh slurmdbd")
        self._watched["slurmdbd"] = (primary, "slurmdbd")
        self.wait_answer("slurmdbd", "sacctmgr -n list cluster", timeout=timeout)

    def start_controller(self, host: str = "", *, arguments: str = "", timeout: float = PATIENCE) -> None:
        """Start slurmctld on a controller host, the primary by default, and wait until it answers."""
        host = host or self.controllers[0]
        log = self._get_controller_log(host)
        self.run(f"/lab/bin/service.sh slurmctld {host} {arguments}")
        self._watched[log] = (host, "slurmctld")
        self.wait_answer(log, f"scontrol ping | grep -w 'at {host} is UP'", timeout=timeout)

    def start_nodes(self, nodes: str = "all", *, arguments: str = "", configless: bool = False) -> None:
        """Start slurmd on these nodes; with ``configless`` they fetch their files from the controllers."""
        names = list(self.nodes) if nodes == "all" else expand(nodes)
        if unknown := [name for name in names if name not in self.nodes]:
            raise LabError(f"{unknown[0]} has no NodeName line with a NodeAddr in {self.rendered.folder}")
        if not names:
            return
        if configless:
            arguments = f"--conf-server {','.join(self.controllers)} {arguments}"
        mark = "touch" if configless else "rm -f"
        marks = f"cd /lab/node && mkdir -p $names && {mark} $(printf '%s/configless ' $names)"
        self.run(marks, env={"names": " ".join(names)})
        self.run(["/lab/bin/nodes.sh", arguments, *names], timeout=PATIENCE + len(names))
        self._watched.update({name: (name, "slurmd") for name in names})

    def kill_node(self, name: str, *, only: str = "") -> None:
        """Kill all processes of a node, as after a loss of power. ``only="slurmd"`` leaves the tasks running."""
        self._watched.pop(name, None)
        self._signal("KILL", name, only)

    def kill_controller(self, host: str = "") -> None:
        """Kill the slurmctld of a controller host, by default that of the primary."""
        self._end_controller("KILL", host or self.controllers[0])

    def stop_controller(self, host: str = "") -> None:
        """Terminate the slurmctld of a controller host after it has saved its state, by default that of the primary.

        A backup of 26.05 takes over only from a primary that has saved its state at least once.
        """
        self._end_controller("TERM", host or self.controllers[0])

    def spawn(self, name: str, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        """Start another daemon on the primary controller's host; its output is ``read_log(name)``."""
        self.run(["bash", "-c", 'source /lab/bin/spawn.sh; spawn "$@"', "spawn", name, *command], env=env)

    def _get_controller_log(self, host: str) -> str:
        return "slurmctld" if host == self.controllers[0] else f"slurmctld.{host}"

    def _end_controller(self, signal: str, host: str) -> None:
        self._watched.pop(self._get_controller_log(host), None)
        self._signal(signal, host, "slurmctld")

    def _signal(self, signal: str, host: str, only: str) -> None:
        """Signal the processes of a host, all or those of one command, until none is left."""
        end = time.monotonic() + 20
        while pids := [pid for at, command, pid in self.list_processes() if at == host and only in ("", command)]:
            self.run(["kill", f"-{signal}", *pids], check=False)
            if time.monotonic() > end:
                raise self.build_error(f"processes {pids} of {host} do not die")

    # --- queries

    def run_supercloud(
        self,
        *args: str,
        user: str = "lab",
        timeout: float = PATIENCE,
        check: bool = True,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run supercloud as a user of the cluster on the controller's host."""
        command = [str(self.product.command), *args]
        variables = {"SUPERCLOUD_STATE": "/home/lab/supercloud-state", **(env or {})}
        return self.run(command, user=user, timeout=timeout, check=check, env=variables)

    def run_on(
        self, host: str, command: str, *, timeout: float = PATIENCE, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as root on a node or backup controller: its network, name, spool and log folders."""
        return self.run(["/lab/bin/on-host.sh", host, "bash", "-c", command], timeout=timeout, check=check)

    def read_log(self, name: str) -> str:
        """The log of a daemon.

        The name is "slurmctld", "slurmctld.<backup>", "slurmdbd", "mariadb", that of a node, or of a spawned daemon.
        """
        return self.run(["cat", f"/lab/log/{name}"], check=False).stdout

    def list_states(self, nodes: str) -> dict[str, str]:
        """Node name -> state, as in ``sinfo`` (idle, allocated*, drained ...)."""
        listed = self.run(["sinfo", "-h", "-N", "-n", nodes, "-o", "%N %T"], check=False).stdout
        return dict(line.split() for line in listed.splitlines())

    def list_processes(self) -> list[tuple[str, str, str]]:
        """Host, command and pid of every process in the lab."""
        rows = (line.split() for line in self.run("/lab/bin/processes.sh").stdout.splitlines())
        return [(host, command, pid) for host, command, pid in rows]

    # --- waiting

    def wait_nodes(self, nodes: str, count: int, state: str = "idle", *, timeout: float = PATIENCE) -> None:
        """Wait until at least ``count`` of these nodes are in exactly this state."""
        seen: dict[str, str] = {}

        def is_enough() -> bool:
            seen.clear()
            seen.update(self.list_states(nodes))
            return list(seen.values()).count(state) >= count

        try:
            self.wait_for(f"{count} of {nodes} {state}", is_enough, timeout=timeout)
        except LabError as error:
            raise LabError(f"{error}\n--- states\n{seen}") from None

    def wait_answer(self, what: str, command: str, *, timeout: float = PATIENCE) -> None:
        """Wait until a command succeeds."""
        self.wait_for(f"{what} answers", lambda: self.run(command, check=False).returncode == 0, timeout=timeout)

    def wait_for(
        self, what: str, happened: Callable[[], object], *, timeout: float = PATIENCE, interval: float = 0.05
    ) -> None:
        """Wait for a condition; raise an error with the logs after the limit, or at once if a daemon has ended."""

        def ask() -> object:
            # checked first: without a controller, Slurm's commands take 20 s to fail
            if dead := self.list_dead():
                raise self.build_error(f"{', '.join(dead)} died while the lab waited for: {what}")
            return happened()

        try:
            wait_for(what, ask, seconds=max(timeout, PATIENCE), interval=interval)
        except AssertionError as late:
            raise self.build_error(str(late)) from None

    def list_dead(self) -> list[str]:
        """The log names of expected daemons that have ended."""
        ended = 'cd /lab/pid; for name in *; do [ -e "/proc/$(<"$name")" ] || echo "$name"; done'
        suspects = [name for name in self.run(ended).stdout.split() if name in self._watched]
        if not suspects:
            return []
        # slurmctld and slurmd of newer Slurm continue as another process after `scontrol reconfigure`
        alive = {(host, command) for host, command, _ in self.list_processes()}
        return [name for name in suspects if self._watched[name] not in alive]

    def build_error(self, text: str) -> LabError:
        if self._in_error:  # not even the logs of the lab can be read
            return LabError(text)
        self._in_error = True
        try:
            names = dict.fromkeys([*self.list_dead()[:3], "slurmctld", "slurmdbd"])
            tails = [f"--- {name}\n" + "\n".join(self.read_log(name).splitlines()[-25:]) for name in names]
        except (LabError, subprocess.TimeoutExpired) as silent:
            tails = [f"no logs: {silent}"]
        finally:
            self._in_error = False
        return LabError("\n".join([text, *tails]))


def _quote(value: str | list[str]) -> str:
    return shlex.quote(value) if isinstance(value, str) else f"({' '.join(map(shlex.quote, value))})"
