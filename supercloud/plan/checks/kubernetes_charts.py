"""Checks of the charts that a Kubernetes cluster already has."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..model.plan import Plan
from .kubernetes_accessors import iter_kubernetes_plans

__all__ = ["CHECKS"]


def kubernetes_omitted(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A chart of `scheduler.omit`: what needs it, or that the cluster does not need it."""
    for facts in iter_kubernetes_plans(plan):
        for index, name in enumerate(getattr(plan.scheduler.settings, "omit", ())):
            path, chart = f"scheduler.omit[{index}]", facts.find_chart(name)
            if name not in catalog.list_names("charts"):
                continue  # a separate problem
            if chart is None:
                yield Finding(
                    "kubernetes-omitted",
                    "warning",
                    path,
                    f"{name} has no effect: nothing in this cluster needs it",
                    f"remove it; the charts are {', '.join(item.name for item in facts.charts)}",
                )
                continue
            charts = "".join(f"; the chart {item}" for item in facts.list_dependents(name))
            yield Finding(
                "kubernetes-omitted",
                "note",
                path,
                f"{name} is not installed: it is needed for {chart.serves}{charts}",
                f"check that yours is compatible with {chart.version}, and has the values in omitted/{name}.yaml",
            )


CHECKS = (kubernetes_omitted,)
