"""Starts the commands of a batch system; replaced by recordings in tests."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from ....errors import EngineConfigurationError, EngineUnreachableError
from ....primitives.foreign_text import split_lines
from ...transport import bounded_io as bounded
from ..base import SubmissionUnknownError
from .system import BatchSystem

__all__ = ["CommandResult", "LocalRunner", "Runner", "SshRunner", "describe_missing_program"]

# Seconds without output. A submission may try for two minutes to reach the controller; queries can be repeated, and
# other clusters wait. The database of a large site searches millions of jobs for minutes.
_PATIENCE, _QUESTION, _SEARCH = 120, 30, 600
_REFUSED = ("Permission denied", "Host key verification failed", "Bad configuration option")
"""Errors of ssh for which a retry does not help."""
# Errors of ssh before it ran anything.
_CONNECTION_ERRORS = (
    "Connection refused",
    "Could not resolve hostname",
    "No route to host",
    "Network is unreachable",
    "Connection timed out during banner exchange",
    "Operation timed out",
    "Name or service not known",
)


@dataclass(frozen=True)
class CommandResult:
    """The result of a command."""

    exit_code: int
    stdout: str
    stderr: str = ""


class Runner(Protocol):
    """Runs a command on a host of the cluster."""

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        """Its exit code and output."""


class LocalRunner:
    """Runs commands on this machine."""

    def __init__(self, system: BatchSystem):
        self._system = system

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        """Its exit code and output; :class:`SubmissionUnknownError` if it does not end.

        Raises :class:`EngineConfigurationError` if the program is not installed.
        """
        done = _run_command(self._system, argv, argv, stdin)
        return CommandResult(
            done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        )


class SshRunner:
    """Runs commands on a login node, over one connection that is kept open for a while.

    User, key and jump host are taken from the user's ssh configuration; ssh never prompts.
    """

    def __init__(self, target: str, sockets: Path, system: BatchSystem):
        host, _, port = target.partition(":")
        if host.startswith("-") or not host:
            raise EngineConfigurationError(
                f"{target!r} is not a host; use via: ssh:user@host, ssh:host:port or a name in your ssh configuration"
            )
        self.host, self.system, self._port, self._sockets = host, system, port, sockets

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        """Its exit code and output; :class:`SubmissionUnknownError` if the connection was lost.

        Raises :class:`EngineConfigurationError` if ssh is not installed or access is denied, and
        :class:`EngineUnreachableError` if there was no connection.
        """
        done = self.run_raw(argv, stdin)
        return CommandResult(
            done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        )

    def run_raw(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> subprocess.CompletedProcess[bytes]:
        """The same, as bytes.

        Raises the same errors as :meth:`run`.
        """
        done = _run_command(self.system, self.build_argv(argv), argv, stdin)
        if done.returncode == 255:  # exit code of ssh itself
            message = (split_lines(done.stderr.decode(errors="replace").strip()) or ["no reason given"])[-1]
            error = f"{self.host} is unreachable by ssh: {message}; try: ssh {self.host} true"
            if any(words in message for words in _REFUSED):
                raise EngineConfigurationError(error)
            has_connected = not any(words in message for words in _CONNECTION_ERRORS)
            raise (SubmissionUnknownError if has_connected else EngineUnreachableError)(error)
        return done

    def build_argv(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The local command: the remote command is one word, quoted for the remote shell."""
        options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15", "-T"]
        if socket := self._find_socket_path():
            options += ["-o", "ControlMaster=auto", "-o", f"ControlPath={socket}", "-o", "ControlPersist=60"]
        if self._port:
            options += ["-p", self._port]
        return ("ssh", *options, "--", self.host, shlex.join(argv))

    def _find_socket_path(self) -> str:
        """The path of ssh's control socket; empty if it would be too long for a socket."""
        path = str(self._sockets).replace("%", "%%")
        if len(os.fsencode(path)) > 50:  # %C adds 40, ssh another 17 while it connects; the system limit is 108
            path = f"{os.environ.get('XDG_RUNTIME_DIR') or f'/tmp/supercloud-{os.getuid()}'}"
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            kept = os.stat(path)
        except OSError:
            return ""
        mine = kept.st_uid == os.getuid() and not kept.st_mode & 0o022
        return f"{path}/%C" if mine else ""


def describe_missing_program(system: BatchSystem, program: str) -> str:
    """The hint if a program is not installed on this machine."""
    if program == "ssh":
        return "ssh not found on this machine; install an OpenSSH client"
    return (
        f"{program} not found on this machine, so the cluster's {system.name} is unreachable from here; run this on a "
        f"login node, or {system.connection_hint}; to simulate the cluster on this machine use --engine local"
    )


def _select_idle_timeout(system: BatchSystem, argv: Sequence[str], stdin: IO[bytes] | None) -> int:
    """A submission may take long; a query of the accounts prints nothing before the database has found all."""
    return _SEARCH if system.slow_queries & {*argv} else _PATIENCE if stdin else _QUESTION


def _run_command(
    system: BatchSystem, argv: Sequence[str], command: Sequence[str], stdin: IO[bytes] | None
) -> subprocess.CompletedProcess[bytes]:
    """Run ``argv``, which runs the ``command`` here or elsewhere."""
    idle_timeout = _select_idle_timeout(system, command, stdin)
    try:
        return bounded.run_bounded(argv, stdin, bounded.RESPONSE_LIMITS, idle_timeout, _find_program(argv))
    except FileNotFoundError:
        raise EngineConfigurationError(describe_missing_program(system, argv[0])) from None


def _find_program(argv: Sequence[str]) -> str:
    """The actual program, if it is run by env."""
    return next((word for word in argv if word != "env" and "=" not in word), argv[0])
