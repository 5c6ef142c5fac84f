"""Specs of clusters, rendered for a lab, with the plan that the daemons must match."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from product import CHECKOUT

import supercloud as sc
from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.document import LocalityDocument, PlanDocument, PoolDocument, build_document

EXAMPLES = CHECKOUT / "examples"


@dataclass(frozen=True)
class Declared:
    """A cluster: its spec, its plan, the plan as published, the rendered files."""

    spec: Path
    plan: Plan
    published: PlanDocument
    folder: Path

    def get_pool(self, name: str) -> PoolDocument:
        """A pool of the published plan."""
        return next(pool for pool in self.published.pools if pool.name == name)

    def get_locality(self, kind: str) -> LocalityDocument:
        """The first locality of a kind in the published plan."""
        return next(item for item in self.published.localities if item.kind == kind)


def declare(spec: Path, folder: Path) -> Declared:
    """Resolve a spec and write its Slurm bundle to ``folder``."""
    plan = sc.resolve(sc.load(spec))
    assert not plan.errors, plan.errors
    sc.render(plan, "slurm").write(folder)
    return Declared(spec, plan, build_document(plan), folder)


def declare_example(name: str, folder: Path) -> Declared:
    """The cluster of an example."""
    return declare(EXAMPLES / name / "cluster.yaml", folder / name)


def declare_text(text: str, folder: Path) -> Declared:
    """The cluster of a spec text."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = folder / "cluster.yaml"
    spec.write_text(text)
    return declare(spec, folder / "slurm")
