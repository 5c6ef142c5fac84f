"""People with SSH keys on the test host, who log in to instances from outside."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from real.machines.machines import Machine

_OPTIONS = """\
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
BatchMode yes
IdentitiesOnly yes
ConnectTimeout 20
"""


@dataclass(frozen=True)
class Person:
    """A user of a cluster with a key pair in a folder of the test host."""

    name: str
    uid: int
    folder: Path

    @classmethod
    def create(cls, name: str, uid: int, folder: Path) -> Person:
        """A person with a new key, and a program ``ssh`` that uses it."""
        folder.mkdir(parents=True)
        key = folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", key], check=True)
        (folder / "config").write_text(f"User {name}\nIdentityFile {key}\n{_OPTIONS}")
        program = folder / "bin" / "ssh"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {folder}/config "$@"\n')
        program.chmod(0o755)
        return cls(name, uid, folder)

    @property
    def entry(self) -> str:
        """The line of ``users`` in a spec."""
        return f"{{name: {self.name}, uid: {self.uid}, keys: [{(self.folder / 'key.pub').read_text().strip()}]}}"

    def ssh(self, machine: Machine, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command on a machine, as this person does from outside."""
        words = [self.folder / "bin" / "ssh", machine.ip, command]
        return subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
