"""An emulated AWS: moto's server on a port of this machine, with the managed policies of IAM."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Self

from real.polling import wait_for

from supercloud.catalog import Catalog, Region

HERE = Path(__file__).resolve().parent
INSTALL_SECONDS = 1800


def install() -> Path:
    """The folder of the environment that has the emulator, created on first use."""
    done = subprocess.run(
        [HERE / "install.sh", sys.executable],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=INSTALL_SECONDS,
    )
    if done.returncode:
        raise RuntimeError(f"install.sh failed:\n{done.stdout[-4000:]}")
    return Path(done.stdout.splitlines()[-1])


class Emulator:
    """A running server; a context manager. ``log``: the file for its output."""

    def __init__(self, environment: Path, log: Path):
        self.environment, self.log = environment, log
        self.port = _find_port()
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def python(self) -> Path:
        """Python with the client of AWS."""
        return self.environment / "bin" / "python"

    def __enter__(self) -> Self:
        with self.log.open("wb") as log:
            self._server = subprocess.Popen(
                [
                    self.python,
                    HERE / "server.py",
                    json.dumps(list_local_zones()),
                    "-H",
                    "127.0.0.1",
                    "-p",
                    str(self.port),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "MOTO_IAM_LOAD_MANAGED_POLICIES": "true"},
            )
        wait_for("the emulated AWS", self._answers, show=lambda: self.log.read_text(errors="replace")[-2000:])
        return self

    def _answers(self) -> bool:
        assert self._server is not None and self._server.poll() is None, self.log.read_text(errors="replace")[-4000:]
        try:
            urllib.request.urlopen(f"{self.endpoint}/moto-api/data.json", timeout=5).close()
        except OSError:
            return False
        return True

    def reset(self) -> None:
        """Delete everything."""
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/moto-api/reset", method="POST")).close()

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.wait()


def list_local_zones() -> dict[str, list[str]]:
    """The Local Zones of the catalog by region: the emulator has none."""
    regions = Catalog().iter_entries(Region)
    return {item.name: [zone.name for zone in item.local_zones] for item in regions if item.local_zones}


def _find_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
