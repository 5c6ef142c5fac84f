"""Secrets of the cluster: created without values, which the controller sets when it first starts.

No value passes through Pulumi, so that none is in its state, in user data or in a preview.
"""

from __future__ import annotations

from collections.abc import Mapping

from pulumi_aws import secretsmanager

from ..build_context import BuildContext
from .encryption import find_key

__all__ = ["create_secrets"]

_DESCRIPTIONS = {
    "auth": "The key with which the daemons of Slurm trust each other",
    "database": "The password of the accounting database on the controller",
}


def create_secrets(context: BuildContext) -> Mapping[str, secretsmanager.Secret]:
    """Create secrets by name: ``auth``, and ``database`` unless a managed database stores its password."""
    names = [name for name in _DESCRIPTIONS if name != "database" or _has_own_database(context)]
    return {
        name: secretsmanager.Secret(
            context.name_child(f"secret-{name}", "secret"),
            description=f"{_DESCRIPTIONS[name]}; filled by the controller when it first starts",
            kms_key_id=find_key(context),
            tags=context.build_tags(f"secret-{name}"),
            opts=context.build_options(has_data=True),
        )
        for name in names
    }


def _has_own_database(context: BuildContext) -> bool:
    return context.plan.scheduler.database is not None and context.cloud.database is None
