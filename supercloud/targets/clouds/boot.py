"""User data: the rendered start script of a group or host, with what only the cloud knows filled in."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence

import pulumi

from ...errors import InputError
from .work import Work

__all__ = ["after", "filled", "user_data"]

_PARTS = """\
Content-Type: multipart/mixed; boundary="=="
MIME-Version: 1.0

--==
Content-Type: text/x-shellscript
Content-Disposition: attachment; filename="start.sh"

{script}
--==
Content-Type: text/cloud-boothook
Content-Disposition: attachment; filename="guard.sh"

#!/bin/bash
exec /bin/bash /var/lib/cloud/instance/scripts/start.sh guard
--==--
"""
"""cloud-init runs the script last, when users may have logged in; a boothook runs before the SSH server starts, once
cloud-init has stored the parts before it (docs.cloud-init.io, user data formats). It closes the metadata service."""
_HOLE = re.compile(r"@\{([a-z][a-z0-9_.-]*)\}")


def user_data(work: Work, key: str, values: Mapping[str, pulumi.Input[str]]) -> pulumi.Output[str] | None:
    """The start script of a node group or host in base64; None where the bundle has none for it."""
    path = f"user-data/{key}.sh"
    script = work.bundles["boot"].get(path) if "boot" in work.bundles else None
    if script is None:
        return None
    return filled(script, values, path).apply(lambda text: _encoded(text, work.cloud.limits["user-data"], path))


def after(ready: Sequence[pulumi.Resource], values: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[str]]:
    """The same values, the bucket's known only when ``ready`` is: a machine that starts before would find nothing."""
    done = pulumi.Output.all(*(item.urn for item in ready))
    bucket = pulumi.Output.all(done, values["bucket"]).apply(lambda known: str(known[1]))
    return {**values, "bucket": bucket}


def filled(text: str, values: Mapping[str, pulumi.Input[str]], path: str = "") -> pulumi.Output[str]:
    """The text with every ``@{name}`` replaced; raises :class:`InputError` for names nobody has a value for."""
    names = sorted(set(_HOLE.findall(text)))
    missing = [name for name in names if name not in values]
    if missing:
        raise InputError(f"{path}: nothing is known for @{{{missing[0]}}}; known: {', '.join(sorted(values))}")
    found = pulumi.Output.all(*(values[name] for name in names))
    return found.apply(lambda known: _HOLE.sub(lambda hole: _inside_quotes(known[names.index(hole[1])]), text))


def _inside_quotes(value: object) -> str:
    """A value as it stands within the single quotes that the boot bundle has around every placeholder."""
    return str(value).replace("'", r"'\''")


def _encoded(text: str, limit: int, path: str) -> str:
    content = _PARTS.format(script=text.rstrip()).encode()
    if len(content) > limit:
        raise InputError(f"{path} has {len(content)} bytes, machines take {limit}")
    return base64.b64encode(content).decode()
