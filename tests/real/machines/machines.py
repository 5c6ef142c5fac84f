"""Bare Debian machines that boot under systemd, for tests: several on one bridge, with a way out to the archives.

    with Machines() as machines:
        one = machines.boot("ctl", 10)
        one.run("apt-get update && apt-get install -y munge")

Every group of machines has a network of its own, so that lanes of tests run side by side. A group whose process was
killed is cleaned up by a guard that waits for the lock which the process held.
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
SLOTS = 190  # machine.sh used by hand takes 199
BOOT_LIMIT = 300  # seconds
ARCHIVE = "deb.debian.org"  # a machine that cannot resolve it installs nothing: apt tries for ten minutes


class MachineError(Exception):
    """Something on a machine did not work; the text says what, and ends with what was printed."""


def get_cache_folder() -> Path:
    """Where root folders, slots and their locks lie."""
    return Path(os.environ.get("SUPERCLOUD_CACHE") or Path.home() / ".cache" / "supercloud") / "machines"


@dataclass(frozen=True)
class Machine:
    """One booted machine; root of its file system is seen at ``root`` from outside."""

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
        Raises MachineError where it ends with another code than 0, unless ``check`` is false, and where it is not
        finished in time.
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
        # files, not pipes: a daemon that a command leaves behind keeps them open
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
        """Copy a file or a folder of this machine to ``target``, as root's; modes are kept.

        A target that ends in / is the folder to put it into.
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
        """Run a command until it ends with 0, and give what it printed; MachineError tells what it printed last."""
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
        """The end of what its console printed, for messages of errors."""
        log = self.root.parent / "log"
        return log.read_text(errors="replace")[-4000:] if log.exists() else ""


class Machines:
    """A group of machines on one network; a context manager that ends them all."""

    def __init__(self) -> None:
        self.machines: dict[str, Machine] = {}
        self._guard: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if os.geteuid() != 0:
            raise MachineError("machines need root: they boot in namespaces with their own network")
        get_cache_folder().mkdir(parents=True, exist_ok=True)
        self.slot, self._lock = _claim_slot()
        try:
            _run_script(self.slot, "clean")  # whatever a run that even the guard did not outlive left behind
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

    def boot(
        self,
        name: str,
        number: int,
        suite: str = "bookworm",
        *,
        show: Sequence[Path | str] = (),
        limit: float = BOOT_LIMIT,
    ) -> Machine:
        """Boot a machine with the last number ``number`` (2 to 250) of its address and wait until systemd is done.

        ``suite``: bookworm, trixie or sid. ``show``: folders of this machine that it sees, writable, at their own path
        or at that of ``FOLDER:PLACE``.
        """
        machine = Machine(name, f"10.77.{self.slot}.{number}", self.slot, suite)
        self.machines[name] = machine
        links = os.environ.get("PIP_FIND_LINKS", "")
        shown = [str(folder) for folder in show] + ([links] if links.startswith("/") and Path(links).is_dir() else [])
        extra = {"SUITE": suite, "BIND": " ".join(shown), "BOOT_LIMIT": str(int(limit))}
        _run_script(self.slot, "up", name, str(number), env=extra, timeout=limit + 1800)  # the first one makes the root
        machine.wait(f"getent ahostsv4 {ARCHIVE} || {{ ip route; cat /etc/resolv.conf; false; }}")
        return machine

    def boot_all(
        self, numbers: Mapping[str, int], suite: str = "bookworm", *, show: Sequence[Path | str] = (), workers: int = 4
    ) -> list[Machine]:
        """Boot several machines, some at a time; in the order of ``numbers``."""
        return self.run_each(
            lambda name: self.boot(name, numbers[name], suite, show=show), list(numbers), workers=workers
        )

    @staticmethod
    def run_each(action: Callable[[Thing], Result], things: Sequence[Thing], workers: int = 4) -> list[Result]:
        """What ``action`` gives for every one of ``things``, done some at a time."""
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(action, things))

    def stop(self, machine: Machine) -> None:
        """End one machine as if its power were cut, and throw its disk away."""
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
    """IPv4 networks that this machine reaches through an interface which no slot made; from its table of routes."""
    found = []
    for line in Path("/proc/net/route").read_text().splitlines()[1:]:
        interface, network, *_, mask, _mtu, _window, _irtt = line.split()
        if not interface.startswith("sc-mach"):
            found.append(ipaddress.IPv4Network((_read_address(network), str(_read_address(mask)))))
    return found


def _read_address(text: str) -> ipaddress.IPv4Address:
    """An address of the table of routes: hexadecimal, in the order of this machine's bytes."""
    return ipaddress.IPv4Address(int(text, 16).to_bytes(4, sys.byteorder))


def _claim_slot() -> tuple[int, int]:
    """The first slot that nobody holds, and its lock, held as long as this process lives or until it is closed.

    A slot whose network this machine already has elsewhere is passed over: answers would go there.
    """
    foreign = find_foreign_networks()
    for slot in range(SLOTS):
        own = ipaddress.IPv4Network(f"10.77.{slot}.0/24")
        if any(network.subnet_of(own) for network in foreign):  # a wider one does not matter: the narrower route wins
            continue
        lock = os.open(get_cache_folder() / f"slot-{slot}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return slot, lock
    raise MachineError(
        f"all {SLOTS} slots of {get_cache_folder()} are held by running tests, or this machine has their networks"
    )


def _build_environment(slot: int) -> dict[str, str]:
    return {**os.environ, "SLOT": str(slot)}


def _run_script(slot: int, *words: str, env: Mapping[str, str] | None = None, timeout: float = 300) -> None:
    with tempfile.TemporaryFile() as out:  # not a pipe: the machine keeps it open
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
