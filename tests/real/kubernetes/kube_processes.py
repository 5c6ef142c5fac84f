"""Programs that run as long as a lab: each has a log, a check whether it is ready, and is ended by its process ID."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from real.polling import wait_for

_GRACE = 3.0  # without etcd the API server drains watches for a minute; its state is not needed


def find_free_ports(count: int) -> list[int]:
    """Free ports, all different."""
    sockets = [socket.socket() for _ in range(count)]
    for item in sockets:
        item.bind(("127.0.0.1", 0))
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports


class Processes:
    """The programs of one lab."""

    def __init__(self, programs: Path, folder: Path):
        self.programs, self.folder = programs, folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, flags: Mapping[str, object], env: Mapping[str, str] | None = None) -> None:
        """Start a program; it ends with the lab, or when the main thread of this process ends in any way."""
        words = ["setpriv", "--pdeathsig=KILL", self.programs / name, *(f"--{k}={value}" for k, value in flags.items())]
        with open(self.folder / f"{name}.log", "wb") as log:
            self.running[name] = subprocess.Popen(
                words,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                start_new_session=True,
                env={**os.environ, "GOGC": "200", **(env or {})},
            )

    def wait_ready(self, name: str, url: str, token: str = "") -> None:
        """Wait until a program answers with status 200."""

        def is_ready() -> bool:
            assert self.running[name].poll() is None, f"{name} ended:\n{self.read_log(name)}"
            return _is_answering(url, token)

        wait_for(f"{name} is ready", is_ready, interval=0.05, show=lambda: self.read_log(name))

    def read_log(self, name: str, lines: int = 30) -> str:
        """The end of the log of a program."""
        text = (self.folder / f"{name}.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def stop(self) -> None:
        """Stop all programs."""
        for process in reversed(self.running.values()):
            process.terminate()
        end = time.monotonic() + _GRACE
        for process in self.running.values():
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _is_answering(url: str, token: str) -> bool:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    context = ssl._create_unverified_context() if url.startswith("https") else None
    try:
        with urllib.request.urlopen(request, timeout=2, context=context) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
