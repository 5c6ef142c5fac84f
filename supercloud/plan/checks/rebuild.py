"""A fabric of a plan built anew with other settings, so that what a hint advises is known to work."""

from __future__ import annotations

from ...catalog import Catalog
from ...spec import Fabric
from ..fabric.fabrics import fabrics_of
from ..fabric.services import Others
from ..model import FabricPlan, Plan
from ..problems import Problems

__all__ = ["rebuild"]


def rebuild(plan: Plan, catalog: Catalog, fabric: Fabric) -> FabricPlan | None:
    """The fabric alone, with the servers of the plan and the networks that join it; None where it cannot be built."""
    leaves = {item.name: item.switches("leaf") for item in plan.fabrics}
    joining = sum(item.joins.links * leaves.get(item.name, 0) for item in plan.spec.fabrics
                  if item.joins and item.joins.fabric == fabric.name)  # fmt: skip
    rack = plan.spec.facility.rack.nodes if plan.spec.facility and plan.spec.facility.rack else None
    others = Others(plan.servers, rack_nodes=rack, joining=((fabric.name, joining),))
    spec = plan.spec.model_copy(update={"fabrics": (fabric.model_copy(update={"joins": None}),)})
    problems = Problems()
    found = fabrics_of(spec, plan.pools, catalog, problems, others)
    return next((item for item in found if item.name == fabric.name), None) if _is_built(fabric, problems) else None


def _is_built(fabric: Fabric, problems: Problems) -> bool:
    """Whether nothing was said of it: a pool's other fabrics, which are not looked at here, do not matter."""
    return not any(item.path.startswith("fabrics[0]") for item in problems.findings)
