"""The program of a pod: fields are read, variables expanded and the command run as by a kubelet."""

from __future__ import annotations

import re
import subprocess
from typing import Any

Json = dict[str, Any]

_FIELD = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


def list_variables(pod: Json) -> dict[str, str]:
    """The environment of a pod's container, without references to Secrets."""
    found: dict[str, str] = {}
    for item in pod["spec"]["containers"][0]["env"]:
        if "value" in item:
            found[item["name"]] = expand(item["value"], found)
        elif "fieldRef" in item["valueFrom"]:
            match = _FIELD.fullmatch(item["valueFrom"]["fieldRef"]["fieldPath"])
            assert match, item
            found[item["name"]] = pod["metadata"].get(match[1], {}).get(match[2], "")
    return found


def expand(text: str, known: dict[str, str]) -> str:
    """Replace ``$$`` by ``$`` and ``$(NAME)`` by the variable, if there is one."""
    return _REFERENCE.sub(lambda hit: "$" if hit[0] == "$$" else known.get(hit[1], hit[0]), text)


def run(pod: Json, check: bool = True) -> str:
    """Run the command of a pod's container on this machine, and return its output."""
    known = list_variables(pod)
    container = pod["spec"]["containers"][0]
    words = [expand(word, known) for word in (*container["command"], *container.get("args", ()))]
    done = subprocess.run(words, env={"PATH": "/usr/bin:/bin", **known}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout
