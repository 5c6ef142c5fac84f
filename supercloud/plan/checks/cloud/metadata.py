"""Checks of the metadata service of instances, which gives any client the credentials of the machine."""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog import Catalog
from ....errors import Finding
from ...model.plan import Plan
from .facts import iter_cloud_facts

__all__ = ["CHECKS"]


def cloud_metadata_hops(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Answers of the metadata service that reach containers."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        hops = int(cloud.options.get("metadata_hops", 1))
        if hops > 1:
            who = "pods" if plan.scheduler.kind == "kubernetes" else "job containers with a separate network"
            yield Finding(
                "cloud-metadata-hops",
                "warning",
                "site.metadata_hops",
                f"with {hops} hops the metadata service answers {who}: they have the credentials of the machine's role",
                "omit it; use a separate identity for pods, and the user role for users",
            )


CHECKS = (cloud_metadata_hops,)
