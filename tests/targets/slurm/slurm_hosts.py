"""Hosts on which the rendered programs run: commands of Slurm and of the system are replaced by scripts."""

from __future__ import annotations

import subprocess
from pathlib import Path

from supercloud.plan.model.plan import Plan
from supercloud.targets import render


class Host:
    """A host with a rendered bundle, whose outside world is scripts."""

    def __init__(self, folder: Path, plan: Plan):
        self.folder, self.etc, self.bin = folder, folder / "etc", folder / "bin"
        render(plan, "slurm").write(self.etc, force=True)
        self.bin.mkdir(exist_ok=True)
        self.call_log = folder / "said"
        self.env = {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "SAID": str(self.call_log),
            "HEALTH_ROOT": str(folder / "root"),
        }

    def fake(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/bash\necho {name} "$@" >>"$SAID"\n{script}\n')
        path.chmod(0o755)

    def run(self, program: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.etc / program, *args], env={**self.env, **env}, capture_output=True, text=True, timeout=60
        )

    @property
    def asked(self) -> list[str]:
        return self.call_log.read_text().splitlines() if self.call_log.exists() else []


# --- health-check.sh

SMI = 'case $1 in -L) for n in 0 1 2 3 4 5 6 7; do echo "GPU $n: H100"; done ;; *) %s ;; esac'
