"""The user's key for data at rest, and the permissions to use it; without one the keys that AWS manages are used."""

from __future__ import annotations

from ..build_context import BuildContext
from .iam import Statement, allow

__all__ = ["allow_key", "find_key"]

_SERVICES = ("s3", "secretsmanager")
"""Services through which machines use the key; disks and file systems use it with grants of their own."""


def find_key(context: BuildContext) -> str | None:
    """Return the ARN of the user's key; None without one."""
    key = context.cloud.options.get("kms_key")
    return str(key) if key else None


def allow_key(context: BuildContext) -> tuple[Statement, ...]:
    """Allow the key for objects and secrets of the region, and for nothing else."""
    key = find_key(context)
    if key is None:
        return ()
    suffix = context.cloud.service_suffix
    through = [f"{service}.{context.cloud.region}.{suffix}" for service in _SERVICES]
    return (allow(["kms:Decrypt", "kms:GenerateDataKey"], [key], {"StringEquals": {"kms:ViaService": through}}),)
