"""The lines of slurm.conf that a lab changes: everything else is loaded as rendered.

``config_overrides`` is always needed: without it a node with fewer cores than it declares is invalid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ALWAYS = ("SlurmdParameters=config_overrides",)

# Nodes without a slurmd stay UNKNOWN and get no jobs. Cloud nodes that never resume get real placements, in
# state CF. PrivateData=cloud shows them in sinfo of 22.05; SlurmdTimeout=0 stops pings to thousands of them.
CLOUD = (
    "SuspendProgram=/bin/true",
    "ResumeProgram=/bin/true",
    "SuspendTime=86400",
    "ResumeTimeout=60000",
    "PrivateData=cloud",
    "SlurmdTimeout=0",
)


def apply_changes(conf: str, changes: Iterable[str]) -> str:
    """``conf`` with ``Key=value`` lines added; a key already there is replaced, a parameter list merged."""
    conf = conf if conf.endswith("\n") else conf + "\n"
    for change in changes:
        key, _, value = change.partition("=")
        line = re.compile(rf"^[ \t]*{re.escape(key)}[ \t]*=[ \t]*(.*?)[ \t]*\n", re.IGNORECASE | re.MULTILINE)
        if key.lower().endswith("parameters") or key.lower() == "privatedata":
            new = {item.partition("=")[0] for item in value.split(",")}
            old = [item for found in line.findall(conf) for item in found.split(",")]
            value = ",".join([item for item in old if item.partition("=")[0] not in new] + [value])
        conf = line.sub("", conf) + f"{key}={value}\n"
    return conf


def make_cloud_nodes(conf: str) -> str:
    """``conf`` with every node a cloud node, so that jobs are placed although no slurmd runs."""
    lines = [
        re.sub(r"[ \t]+State=\S+", "", line, flags=re.IGNORECASE) + " State=CLOUD"
        if line.lower().startswith("nodename=")
        else line
        for line in conf.splitlines()
    ]
    return apply_changes("\n".join(lines) + "\n", CLOUD)
