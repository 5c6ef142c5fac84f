"""Secrets of the cluster: empty containers that the controller fills when it first starts.

No value passes through Pulumi, so none is in its state, in user data or in a preview.
"""

from __future__ import annotations

from collections.abc import Mapping

from pulumi_aws import secretsmanager

from ..work import Work

__all__ = ["secrets_of"]

_WHAT = {
    "auth": "The key with which the daemons of Slurm trust each other",
    "database": "The password of the accounting database on the controller",
}


def secrets_of(work: Work) -> Mapping[str, secretsmanager.Secret]:
    """Containers by name: ``auth``, and ``database`` unless the provider runs it and keeps its password."""
    names = [name for name in _WHAT if name != "database" or _own_database(work)]
    return {
        name: secretsmanager.Secret(
            work.child(f"secret-{name}", "secret"),
            description=f"{_WHAT[name]}; filled by the controller when it first starts",
            tags=work.tags(f"secret-{name}"),
            opts=work.options(keeps=True),
        )
        for name in names
    }


def _own_database(work: Work) -> bool:
    return work.plan.scheduler.database is not None and work.cloud.database is None
