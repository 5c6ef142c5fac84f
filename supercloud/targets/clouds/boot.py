"""User data: the rendered start script of a group or host, with the values that exist only after creation."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence

import pulumi

from ...errors import InputError
from .build_context import BuildContext

__all__ = ["with_dependencies", "fill_placeholders", "render_user_data"]

_USER_DATA_TEMPLATE = """\
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
"""cloud-init runs the script last, when users may already be logged in; a boothook runs before the SSH server starts,
once cloud-init has stored the preceding parts (docs.cloud-init.io, user data formats). It blocks the metadata
service."""
_PLACEHOLDER = re.compile(r"@\{([a-z][a-z0-9_.-]*)\}")


def render_user_data(
    context: BuildContext, key: str, values: Mapping[str, pulumi.Input[str]]
) -> pulumi.Output[str] | None:
    """Render the start script of a node group or host in base64; None if the bundle has none for it."""
    path = f"user-data/{key}.sh"
    script = context.bundles["boot"].get(path) if "boot" in context.bundles else None
    if script is None:
        return None
    return fill_placeholders(script, values, path).apply(
        lambda text: _encode_user_data(text, context.cloud.limits["user-data"], path)
    )


def with_dependencies(
    dependencies: Sequence[pulumi.Resource], values: Mapping[str, pulumi.Input[str]]
) -> Mapping[str, pulumi.Input[str]]:
    """Return the values, with the bucket depending on ``dependencies``: a machine that starts earlier would find no
    bundle.
    """
    done = pulumi.Output.all(*(item.urn for item in dependencies))
    bucket = pulumi.Output.all(done, values["bucket"]).apply(lambda known: str(known[1]))
    return {**values, "bucket": bucket}


def fill_placeholders(text: str, values: Mapping[str, pulumi.Input[str]], path: str = "") -> pulumi.Output[str]:
    """Replace every ``@{name}`` in the text; raises :class:`InputError` for names without a value."""
    names = sorted(set(_PLACEHOLDER.findall(text)))
    missing = [name for name in names if name not in values]
    if missing:
        raise InputError(f"{path}: unknown placeholder @{{{missing[0]}}}; known: {', '.join(sorted(values))}")
    found = pulumi.Output.all(*(values[name] for name in names))
    return found.apply(
        lambda known: _PLACEHOLDER.sub(lambda hole: _escape_single_quotes(known[names.index(hole[1])]), text)
    )


def _escape_single_quotes(value: object) -> str:
    """Escape a value for the single quotes that the boot bundle has around every placeholder."""
    return str(value).replace("'", r"'\''")


def _encode_user_data(text: str, limit: int, path: str) -> str:
    content = _USER_DATA_TEMPLATE.format(script=text.rstrip()).encode()
    if len(content) > limit:
        raise InputError(f"{path} has {len(content)} bytes, the limit of user data is {limit}")
    return base64.b64encode(content).decode()
