"""Bare Debian machines that boot with systemd, for tests: several on one bridge, with access to the package archives.

    with Machines() as machines:
        one = machines.boot("ctl", 10)
        one.run("apt-get update && apt-get install -y munge")

Every group of machines has a separate network, so that several runs of tests do not collide. If the process of a group
is killed, a guard process that waits for its lock removes the group.
"""

from __future__ import annotations

import fcntl
import ipaddress
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from real.polling import PATIENCE, wait_for

Thing = TypeVar("Thing")
Result = TypeVar("Result")

SCRIPT = Path(__file__).resolve().parent / "machine.sh"
SLOTS = 190  # machine.sh by hand uses slot 199
BOOT_LIMIT = 300  # seconds
ARCHIVE = "deb.debian.org"  # without a DNS answer for it, apt retries for ten minutes


class MachineError(Exception):
    """A command on a machine failed; the text ends with its output."""


def get_cache_folder() -> Path:
    """The folder of root folders, slots and their locks."""
    return Path(os.environ.get("SUPERCLOUD_CACHE") or Path.home() / ".cache" / "supercloud") / "machines"


@dataclass(frozen=True)
class Machine:
    """One booted machine; ``root`` is the path of its root file system on the host."""

    name: str
    ip: str
    slot: int
    suite: str

    @property
    def root(self) -> Path:
        return get_cache_folder() / "slots" / str(self.slot) / self.name / "root"

    def run(
        self,
        command: str | Sequence[str],
        *,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        check: bool = True,
        timeout: float = 300,
        input: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, a string by bash.

        ``user``: by default root. ``env``: variables added to an almost empty environment. ``timeout`` in seconds.
        Raises MachineError if it exits with a code other than 0, unless ``check`` is false, and if it is not finished
        in time.
        """
        argv = ["bash", "-c", command] if isinstance(command, str) else [str(word) for word in command]
        inner = [*(f"{key}={value}" for key, value in (env or {}).items()), *argv]
        if user:
            enter = 'u=$1; shift; h=$(getent passwd "$u" | cut -d: -f6); cd "$h"; exec setpriv --reuid="$u" '
            enter += '--regid="$(id -g "$u")" --init-groups env HOME="$h" USER="$u" LOGNAME="$u" "$@"'
            inner = ["sh", "-c", enter, "sh", user, *inner]
        else:
            inner = ["env", *inner]
        text = command if isinstance(command, str) else shlex.join(argv)
        # files instead of pipes: a daemon that a command starts keeps them open
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            words = [SCRIPT, "run", self.name, "timeout", "-k", "5", str(timeout), *inner]
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL if input is None else None,
                input=None if input is None else input.encode(),
                stdout=out,
                stderr=err,
                env=_build_environment(self.slot),
                timeout=timeout + 60,
            )
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode(errors="replace"))
        if done.returncode == 124:
            raise MachineError(f"{self.name}: not finished within {timeout} s: {text}\n{''.join(texts)}")
        if check and done.returncode:
            raise MachineError(f"{self.name}: exit code {done.returncode}: {text}\n{''.join(texts)}")
        return subprocess.CompletedProcess(argv, done.returncode, *texts)

    def copy_in(self, path: Path, target: str) -> None:
        """Copy a file or a folder of the host to ``target``, owned by root; modes are kept.

        If the target ends in /, it is the parent folder.
        """
        name = path.name if target.endswith("/") else Path(target).name
        into = target.rstrip("/") if target.endswith("/") else str(Path(target).parent)
        words = ["tar", "-C", path.parent, "--owner=0", "--group=0", "--numeric-owner", "-cf", "-", path.name]
        packed = subprocess.run(words, check=True, capture_output=True).stdout
        with tempfile.TemporaryFile() as archive:
            archive.write(packed)
            archive.seek(0)
            rename = f"--transform=s,^{path.name},{name}," if name != path.name else "--no-same-owner"
            command = f"mkdir -p {shlex.quote(into)} && tar -C {shlex.quote(into)} {shlex.quote(rename)} -xf -"
            done = subprocess.run(
                [SCRIPT, "run", self.name, "bash", "-c", command],
                stdin=archive,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=_build_environment(self.slot),
                timeout=600,
            )
        if done.returncode:
            raise MachineError(f"{self.name}: {path} was not copied to {target}:\n{done.stdout}")

    def wait(self, command: str, *, timeout: float = PATIENCE, user: str | None = None) -> str:
        """Run a command until it exits with 0, and return its output; MachineError has the last output."""
        seen: list[subprocess.CompletedProcess[str]] = []

        def succeeds() -> bool:
            seen[:] = [self.run(command, user=user, check=False)]
            return not seen[0].returncode

        def show() -> str:
            return f"exit code {seen[0].returncode}\n{seen[0].stdout}{seen[0].stderr}"

        try:
            wait_for(command, succeeds, seconds=timeout, interval=0.5, show=show)
        except AssertionError as late:
            raise MachineError(f"{self.name}: {late}") from None
        return seen[0].stdout

    def read_console(self) -> str:
        """The end of the console log, for error messages."""
        log = self.root.parent / "log"
        return log.read_text(errors="replace")[-4000:] if log.exists() else ""


class Machines:
    """A group of machines on one network; a context manager that stops all of them."""

    def __init__(self, get_network: Callable[[int], str] = "10.77.{}.0/24".format, resolver: str = "") -> None:
        """Claim nothing yet.

        ``get_network``: the network of a group by its number. ``resolver``: the address of the machines' name server,
        or ``{gateway}``; by default those of the host.
        """
        self._get_network, self._resolver = get_network, resolver
        self.machines: dict[str, Machine] = {}
        self._guard: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if os.geteuid() != 0:
            raise MachineError("machines need root: they boot in namespaces with their own network")
        get_cache_folder().mkdir(parents=True, exist_ok=True)
        _remove_remains()
        self.slot, self._lock = _claim_slot(self._get_network)
        try:
            self.network = ipaddress.IPv4Network(self._get_network(self.slot))
            self._guard = subprocess.Popen(
                [SCRIPT, "guard"],
                env=_build_environment(self.slot),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._lock)
            raise
        return self

    @property
    def bridge(self) -> str:
        """The network interface of the group on the host."""
        return f"sc-mach{self.slot}"

    @property
    def gateway(self) -> str:
        """The address of the host on the network of the machines."""
        return str(self.network[1])

    def plug(self) -> None:
        """Create the network; otherwise the first machine does."""
        _run_script(self.slot, "plug", env={"CIDR": str(self.network)})

    def keep(self, machine: Machine, folder: Path) -> None:
        """Stop a machine, and keep its changes as an image for others."""
        _run_script(self.slot, "keep", machine.name, str(folder))
        self.machines.pop(machine.name, None)

    def boot(
        self,
        name: str,
        number: int | str,
        suite: str = "bookworm",
        *,
        show: Sequence[Path | str] = (),
        image: Path | None = None,
        is_started: bool = False,
        limit: float = BOOT_LIMIT,
    ) -> Machine:
        """Boot a machine and wait until systemd has started.

        ``number`` (2 to 250): the last part of its address, or the address. ``suite``: bookworm, trixie or sid.
        ``image``: a folder that :meth:`keep` wrote. ``show``: folders of the host that are mounted writable, at the
        same path or (``FOLDER:PLACE``) at another one. ``is_started``: do not wait for the end of programs that run
        at the start, as those of cloud-init.
        """
        address = number if isinstance(number, str) else str(self.network[number])
        machine = Machine(name, address, self.slot, suite)
        self.machines[name] = machine
        links = os.environ.get("PIP_FIND_LINKS", "")
        shown = [str(folder) for folder in show] + ([links] if links.startswith("/") and Path(links).is_dir() else [])
        extra = {"SUITE": suite, "BIND": " ".join(shown), "BOOT_LIMIT": str(int(limit)), "CIDR": str(self.network)}
        extra |= {"RESOLVER": self._resolver.format(gateway=self.gateway), "IMAGE": str(image or "")}
        extra |= {"BOOT_STATE": "starting"} if is_started else {}
        # the first machine of a suite creates its root folder
        _run_script(self.slot, "up", name, address, env=extra, timeout=limit + 1800)
        machine.wait(f"getent ahostsv4 {ARCHIVE} || {{ ip route; cat /etc/resolv.conf; false; }}")
        return machine

    def boot_all(
        self, numbers: Mapping[str, int], suite: str = "bookworm", *, show: Sequence[Path | str] = (), workers: int = 4
    ) -> list[Machine]:
        """Boot several machines, ``workers`` at a time; in the order of ``numbers``."""
        return self.run_each(
            lambda name: self.boot(name, numbers[name], suite, show=show), list(numbers), workers=workers
        )

    @staticmethod
    def run_each(action: Callable[[Thing], Result], things: Sequence[Thing], workers: int = 4) -> list[Result]:
        """The results of ``action`` for all ``things``, ``workers`` at a time."""
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(action, things))

    def stop(self, machine: Machine) -> None:
        """Stop one machine as after a loss of power, and delete its disk."""
        _run_script(self.slot, "down", machine.name)
        self.machines.pop(machine.name, None)

    def __exit__(self, *_: object) -> None:
        try:
            _run_script(self.slot, "clean")
        finally:
            if self._guard is not None:
                os.killpg(self._guard.pid, signal.SIGKILL)
                self._guard.wait()
            os.close(self._lock)


def find_foreign_networks() -> list[ipaddress.IPv4Network]:
    """IPv4 networks in the routing table of the host whose interface does not belong to a slot."""
    found = []
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        interface, network, *_, mask, _mtu, _window, _irtt = line.split()
        if not interface.startswith("sc-mach"):
            found.append(ipaddress.IPv4Network((_read_address(network), str(_read_address(mask)))))
    return found


def _read_address(text: str) -> ipaddress.IPv4Address:
    """An address of the routing table: hexadecimal, in the byte order of the host."""
    return ipaddress.IPv4Address(int(text, 16).to_bytes(4, sys.byteorder))


def _remove_remains() -> None:
    """Clean the slots of runs that were killed with their guards, as by a restart of the host.

    Their bridges keep routes and addresses that other groups need, and their own slots may never be claimed again.
    """
    for folder in (get_cache_folder() / "slots").glob("*"):
        if int(folder.name) < SLOTS and (lock := _lock_slot(int(folder.name))) is not None:
            try:
                _run_script(int(folder.name), "clean")
            finally:
                os.close(lock)


def _lock_slot(slot: int) -> int | None:
    """The lock of a slot, which is held until it is closed or the process ends; None if another process holds it."""
    lock = os.open(get_cache_folder() / f"slot-{slot}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _claim_slot(get_network: Callable[[int], str]) -> tuple[int, int]:
    """The first free slot and its lock.

    A slot whose network the host already routes elsewhere is skipped: answers would go there.
    """
    foreign = find_foreign_networks()
    for slot in range(SLOTS):
        own = ipaddress.IPv4Network(get_network(slot))
        # a wider network does not matter: the longest prefix is used
        if any(network.subnet_of(own) for network in foreign):
            continue
        if (lock := _lock_slot(slot)) is not None:
            return slot, lock
    raise MachineError(
        f"all {SLOTS} slots of {get_cache_folder()} are held by running tests, or this machine has their networks"
    )


def _build_environment(slot: int) -> dict[str, str]:
    return {**os.environ, "SLOT": str(slot)}


def _run_script(slot: int, *words: str, env: Mapping[str, str] | None = None, timeout: float = 300) -> None:
    with tempfile.TemporaryFile() as out:  # not a pipe: the machine keeps it open after the command
        done = subprocess.run(
            [SCRIPT, *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**_build_environment(slot), **(env or {})},
            timeout=timeout,
        )
        out.seek(0)
        text = out.read().decode(errors="replace")
    if done.returncode:
        raise MachineError(f"machine.sh {' '.join(words)}:\n{text}")
