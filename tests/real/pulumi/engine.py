"""The real Pulumi command line for one project: state, home, cloud and plugins are in one temporary folder.

The engine finds the provider and language host of the tests either as programs on PATH, as a user's, or attached, as
servers in the test process: faster, and without the engine's warnings about plugins on PATH.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from offline import language_host, launchers, provider
from offline.cloud import Cloud
from offline.faults import Faults

STACK = "dev"
EXPECTED_NO_CHANGES = 7
"""Exit code of ``--expect-no-changes`` if there are changes."""


@dataclass(frozen=True)
class Result:
    """Output, exit code and duration (s) of a command."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def text(self) -> str:
        """Both streams."""
        return f"{self.out}\n{self.err}"


class Engine:
    """One project in one stack on an empty cloud; a context manager that stops its servers."""

    def __init__(
        self,
        pulumi: Path,
        folder: Path,
        project: Path,
        packages: Sequence[str],
        attached: bool = True,
        write_provider: Callable[[Path, str, Path], object] = launchers.write_provider,
    ):
        self.pulumi, self.folder, self.project = pulumi, folder, project
        self.packages, self.attached = tuple(packages), attached
        self.write_provider = write_provider
        self.bin = folder / "bin"
        self.servers: list[grpc.Server] = []
        self.environment: dict[str, str] = {}
        self.cloud, self.faults = Cloud(folder / "cloud" / "cloud.json"), Faults(folder / "cloud" / "faults.json")

    def __enter__(self) -> Engine:
        for name in ("bin", "home", "state", "cloud"):
            (self.folder / name).mkdir(exist_ok=True)
        self.environment = {
            "PATH": f"{self.bin}:{self.pulumi.parent}:/usr/bin:/bin",
            "HOME": str(self.folder / "home"),
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "only of this test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_EXPERIMENTAL": "true",
        }
        launcher = launchers.write_language_host(self.bin)
        if self.attached:
            self._attach(launcher)
        else:
            for package in self.packages:
                self.write_provider(self.bin, package, self.folder / "cloud")
        return self

    def _attach(self, launcher: Path) -> None:
        served = [provider.serve(provider.open_provider(package, self.folder / "cloud")) for package in self.packages]
        host, port = language_host.serve(language_host.Host("", launcher))
        self.servers = [server for server, _ in served] + [host]
        ports = (f"{package}:{number}" for package, (_, number) in zip(self.packages, served, strict=True))
        self.environment["PULUMI_DEBUG_PROVIDERS"] = ",".join(ports)
        self.environment["PULUMI_DEBUG_LANGUAGES"] = f"python:{port}"

    def __exit__(self, *_: object) -> None:
        for server in self.servers:
            server.stop(grace=None).wait()

    # commands

    def build_command(self, *arguments: str) -> list[str]:
        """The command line of a Pulumi command."""
        return [str(self.pulumi), *arguments, "--non-interactive", "--color=never", f"--cwd={self.project}"]

    def run(self, *arguments: str, code: int | None = 0) -> Result:
        """Run a command; ``code`` is the expected exit code (None: any)."""
        start = time.monotonic()
        done = subprocess.run(
            self.build_command(*arguments), env=self.environment, capture_output=True, text=True, timeout=300
        )
        result = Result(done.returncode, done.stdout, done.stderr, time.monotonic() - start)
        expected = code is None or result.code == code
        assert expected, f"pulumi {' '.join(arguments)} ended with {result.code}, not {code}:\n{result.text[-8000:]}"
        return result

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command and do not wait for it."""
        return subprocess.Popen(
            self.build_command(*arguments),
            env=self.environment,
            text=True,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def init(self, config: Mapping[str, str], secrets: Mapping[str, str] | None = None) -> None:
        """Create a stack with a configuration."""
        self.run("stack", "init", STACK)
        self.configure(config)
        for key, value in (secrets or {}).items():
            self.run("config", "set", "--secret", key, value)

    def configure(self, config: Mapping[str, str]) -> None:
        """Change keys of the configuration. A key with a path (``a:b[0]``) sets a part of a structure."""
        if not config:
            return
        pairs = [f"--plaintext={key}={value}" for key, value in config.items()]
        self.run("config", "set-all", "--path", *pairs)

    def preview(self, *options: str) -> dict[str, Any]:
        """The preview as data: ``steps`` and ``changeSummary``."""
        shown: dict[str, Any] = json.loads(self.run("preview", "--json", *options).out)
        return shown

    def up(self, *options: str) -> dict[str, int]:
        """Update, and count the resources that it created, updated and so on."""
        self.run("up", "--yes", "--skip-preview", *options)
        return self.count_changes()

    def count_changes(self) -> dict[str, int]:
        """The number of changes of the last update by operation."""
        history = json.loads(self.run("stack", "history", "--json", "--page-size=1").out)
        done: dict[str, int] = history[0]["resourceChanges"]
        return done

    def read_state(self) -> dict[str, Any]:
        """The stack's deployment."""
        deployment: dict[str, Any] = json.loads(self.run("stack", "export").out)["deployment"]
        return deployment

    def list_resources(self) -> dict[str, dict[str, Any]]:
        """Resources in the state by URN."""
        return {item["urn"]: item for item in self.read_state().get("resources", [])}

    def read_state_text(self) -> str:
        """The text of all files of the backend."""
        files = (path for path in (self.folder / "state").rglob("*") if path.is_file())
        return "".join(path.read_text(errors="replace") for path in files)


def select_changes(summary: Mapping[str, int]) -> dict[str, int]:
    """Only the operations that change something."""
    return {name: count for name, count in summary.items() if name != "same" and count}


def list_operations(preview: Mapping[str, Any], *wanted: str) -> dict[str, str]:
    """URN -> operation of a preview's steps, without those that change nothing."""
    steps = {step["urn"]: step["op"] for step in preview["steps"] if step["op"] not in ("same", "read")}
    return {urn: op for urn, op in steps.items() if not wanted or op in wanted}


def kill(process: subprocess.Popen[str]) -> None:
    """Kill only this process, as the out-of-memory killer does."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()  # plugins that still run have the other end
