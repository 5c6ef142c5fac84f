"""A temporary Linux system over a root folder: separate mounts, network, processes, host name and cgroups.

It ends with its PID 1, and PID 1 ends with this process, even after kill -9: it reads a pipe of this process.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from real.polling import PATIENCE

HERE = Path(__file__).resolve().parent
READY = re.compile(r"^ready (\d+)\n", re.MULTILINE)
USERS = {"root": "/root", "lab": "/home/lab"}
# The caller's environment is not used: an empty SLURM_JWT breaks every Slurm client.
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


class LabError(Exception):
    """An error in the lab; the text ends with the logs."""


class World:
    def __init__(self, rootfs: Path, binds: Sequence[Path] = ()) -> None:
        self.rootfs = rootfs
        self.binds = binds
        self.pid = 0

    def __enter__(self) -> Self:
        command = [HERE / "lab.sh", self.rootfs, *self.binds]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C goes to the tests only, which end the world
        )
        output = self._read_first_words(timeout=PATIENCE)
        ready = READY.search(output)
        if not ready:
            self.__exit__()
            raise LabError(f"the world over {self.rootfs} did not start:\n{output}")
        self.pid = int(ready[1])
        return self

    def _read_first_words(self, timeout: float) -> str:
        assert self._process.stdout is not None
        text = ""
        while not READY.search(text):
            readable, _, _ = select.select([self._process.stdout], [], [], timeout)
            chunk = os.read(self._process.stdout.fileno(), 65536) if readable else b""
            if not chunk:
                break
            text += chunk.decode(errors="replace")
        return text

    def __exit__(self, *_: object) -> None:
        """Kill everything inside; the outer script then removes its cgroups."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=PATIENCE)
        self.pid = 0

    def run(
        self,
        command: str | Sequence[str],
        *,
        user: str = "root",
        timeout: float = PATIENCE,
        check: bool = True,
        input: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside, a string by bash; a failure raises LabError unless ``check`` is false."""
        if not self.pid:
            raise LabError("the lab is not running: use it in a with statement")
        argv = ["bash", "-c", command] if isinstance(command, str) else [str(word) for word in command]
        variables = {**ENVIRONMENT, "HOME": USERS[user], "USER": user, "LOGNAME": user, **(env or {})}
        # The inner limit ends the command: a signal to nsenter does not reach it.
        outer = ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--"]
        settings = [f"{key}={value}" for key, value in variables.items()]
        inner = ["env", "-i", "-C", cwd or USERS[user], *settings]
        limit = ["timeout", "-s", "KILL", str(timeout)]
        become = [] if user == "root" else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        began = time.monotonic()
        raw = subprocess.run(
            [*outer, *inner, *limit, *become, *argv],
            input=input.encode() if isinstance(input, str) else input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            timeout=timeout + 20,
        )
        code = raw.returncode if raw.returncode >= 0 else 128 - raw.returncode
        out, err = (stream.decode(errors="replace") for stream in (raw.stdout, raw.stderr))
        done = subprocess.CompletedProcess(argv, code, out, err)
        text = command if isinstance(command, str) else shlex.join(argv)
        if code == 128 + signal.SIGKILL and time.monotonic() - began >= timeout:
            raise self.build_error(f"not finished within {timeout} s: {text}\n{done.stdout}{done.stderr}")
        if check and code:
            raise self.build_error(f"exit code {code}: {text}\n{done.stdout}{done.stderr}")
        return done

    def build_error(self, text: str) -> LabError:
        """An error with this text; a lab adds its logs."""
        return LabError(text)

    def put(self, path: str, text: str | bytes, mode: int = 0o644) -> None:
        """Write a file inside."""
        self.run(f"mkdir -p {shlex.quote(str(Path(path).parent))}")
        self.run(["install", "-m", f"{mode:o}", "/dev/stdin", path], input=text)

    def get(self, path: str) -> str:
        """Read a file inside."""
        return self.run(["cat", path]).stdout
