"""A controller whose Slurm and cloud are files: the scaler's own program runs there, on the oldest Python at hand."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from boot_machines import CLOUD, BootMachine, build_plan

OFF = "network:root:off"
UP = "ALLOCATED+CLOUD+POWERING_UP"
SLURM = r"""
becomes() { sed -i "s/^\(NodeName=$node X=1 State=\)[^ ]*/\1IDLE+CLOUD+$1/" "$CLOUD/nodes"; }
case "$1 $2" in
"-o show") [ -s "$CLOUD/nodes" ] || { echo "scontrol: No nodes in the system"; exit 1; }; cat "$CLOUD/nodes" ;;
"show hostnames")
    [[ $3 =~ ^(.*)\[([0-9]+)-([0-9]+)\]$ ]] || { echo "$3"; exit; }
    for ((n = 10#${BASH_REMATCH[2]}; n <= 10#${BASH_REMATCH[3]}; n++)); do
        printf '%s%04d\n' "${BASH_REMATCH[1]}" $n
    done
    ;;
"show hostlist") echo "$3" ;;
update*)
    [[ $* =~ NodeName=([^ ]*) ]] && node=${BASH_REMATCH[1]}
    [[ $* != *POWER_DOWN_FORCE* ]] || becomes POWERED_DOWN
    [[ $* != *State=POWER_UP* ]] || becomes POWERING_UP
    ;;
esac
"""
_OLDEST_MINOR = 9
"""Of Python 3: Amazon Linux 2023 and Red Hat Enterprise Linux 9 have it."""
_PROGRAMS = {"resume": "resume.sh", "suspend": "suspend.sh", "fail": "resume-fail.sh"}


@cache
def find_oldest_python() -> str:
    """The oldest Python of this machine that the scaler has to run on; that of the tests if there is no other."""
    for minor in range(_OLDEST_MINOR, sys.version_info.minor):
        path = shutil.which(f"python3.{minor}")
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return sys.executable


class Scaler(BootMachine):
    """A controller whose Slurm is ``$CLOUD/nodes``."""

    def __init__(self, folder: Path, version: str = "25.11"):
        super().__init__(folder, "ctl1", build_plan(version))
        self.steps("bundle")
        self.here = self.root / "opt/supercloud/boot"
        self.settings_file = self.root / "opt/supercloud/settings/scale.json"
        self.state = self.root / "var/spool/slurmctld/cloud"
        (self.root / "var/log/slurm").mkdir(parents=True, exist_ok=True)
        self.fake("scontrol", SLURM)
        python = self.bin / "python3"
        python.write_text(f'#!/bin/bash\nexec "{find_oldest_python()}" "$@"\n')
        python.chmod(0o755)
        for row in json.loads(self.settings_file.read_text())["groups"]:
            self.group(row["key"], 0)
        self.nodes()
        self.call_log.unlink()

    def group(self, key: str, size: int, *instances: str) -> None:
        (self.cloud / f"size-{key}").write_text(f"{size}\n")
        (self.cloud / f"instances-{key}").write_text("".join(f"{item}\n" for item in instances))

    def nodes(self, **states: str) -> None:
        """``train_0001="ALLOCATED+CLOUD"``: the others are off."""
        names = [f"train-{n:04d}" for n in range(1, 9)] + [f"block-{n:04d}" for n in range(1, 5)]
        own = {name.replace("_", "-"): state for name, state in states.items()}
        lines = [
            f"NodeName={name} X=1 State={own.get(name, 'IDLE+CLOUD+POWERED_DOWN')} Y=State=x Topology={OFF}\n"
            for name in names
        ]
        (self.cloud / "nodes").write_text("".join(lines))

    def groups(self, *rows: tuple[Any, ...]) -> None:
        """Other groups than those of the plan: key, pool, rank, most, together, least."""
        names = ("key", "pool", "rank", "max_instances", "domain_instances", "min_instances")
        path = self.settings_file
        changed = {"groups": [dict(zip(names, row, strict=True)) for row in rows]}
        path.write_text(json.dumps(json.loads(path.read_text()) | changed))

    def provide(self, functions: str) -> None:
        """Replace functions of the provider."""
        (self.root / "opt/supercloud/cloud.sh").write_text(CLOUD + functions)

    def command(self, *arguments: str) -> list[str]:
        """What is started for the arguments: by Slurm one of its programs, otherwise the folder."""
        if len(arguments) == 2 and arguments[0] in _PROGRAMS:
            return [str(self.here / _PROGRAMS[arguments[0]]), arguments[1]]
        return [str(self.bin / "python3"), str(self.here / "scaler"), *arguments]

    def begin_call(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        """One call that is not waited for."""
        silent = subprocess.DEVNULL
        return subprocess.Popen(self.command(*arguments), env=self.env | env, stdout=silent, stderr=silent)

    def call(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """One call, to its end."""
        command = self.command(*arguments)
        return subprocess.run(command, env=self.env | env, capture_output=True, text=True, timeout=60)

    def scale(self, *arguments: str, **env: str) -> list[str]:
        """One call; what it did."""
        self.call_log.unlink(missing_ok=True)
        done = self.call(*arguments, **env)
        assert done.returncode == 0, done.stdout + done.stderr
        return [line for line in self.asked if not line.startswith(("scontrol -o", "scontrol show"))]

    @property
    def log(self) -> str:
        path = self.root / "var/log/slurm/scale.log"
        return path.read_text() if path.exists() else ""

    def record(self, node: str) -> str:
        path = self.state / "nodes" / node
        return path.read_text().strip() if path.exists() else ""


def join_two(scaler: Scaler) -> None:
    """Two nodes that work."""
    scaler.nodes(train_0001=UP, train_0002=UP)
    scaler.group("train-spot", 2, "i-1 10.0.0.1", "i-2 10.0.0.2")
    scaler.scale("pass")
    scaler.nodes(train_0001="ALLOCATED+CLOUD+DYNAMIC_NORM", train_0002="IDLE+CLOUD+DYNAMIC_NORM")
