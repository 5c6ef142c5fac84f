"""Decides fabrics and hall together: racks need management ports, and switches need racks."""

from __future__ import annotations

from dataclasses import replace

from ...spec import ClusterSpec
from ..model.plan import FabricPlan, FacilityPlan, PoolPlan, ServerGroup, SitePlan
from ..model.problems import Problems
from .fabric.fabrics import build_fabrics
from .fabric.guids import with_guids
from .fabric.roles import get_fabric_role
from .fabric.services import AttachedEquipment
from .facility.facility import build_facility_plan
from .inputs import BuildInputs, Equipment

__all__ = ["build_physical_plan"]

# Switches for additional PDUs may need another rack, which has PDUs of its own: this converges quickly.
_MAX_ROUNDS = 8


def build_physical_plan(
    inputs: BuildInputs, site: SitePlan, pools: tuple[PoolPlan, ...], servers: tuple[ServerGroup, ...]
) -> tuple[tuple[FabricPlan, ...], FacilityPlan | None]:
    """Decide every fabric, and the hall; errors are problems at their path.

    If a management network connects the PDUs of racks, both are decided again until the numbers agree.
    """
    spec = inputs.spec
    managed = spec.site.kind == "onprem" and any(
        get_fabric_role(fabric) == "management" or fabric.upstream for fabric in spec.fabrics
    )
    others = AttachedEquipment(servers, rack_nodes=_find_declared_rack_nodes(spec))
    for _ in range(_MAX_ROUNDS if managed else 1):
        round_problems = Problems()
        built = build_fabrics(spec, pools, inputs.catalog, round_problems, others)
        fabrics = with_guids(spec, built, inputs.folder, round_problems)
        facility = build_facility_plan(
            replace(inputs, problems=round_problems), site, Equipment(pools, fabrics, servers)
        )
        found = AttachedEquipment(
            servers,
            facility.pdu_count if facility else 0,
            _count_rack_nodes(facility) or others.rack_nodes,
            _list_downstream_links(spec, fabrics),
        )
        if found == others:
            break
        others = found
    inputs.problems.findings += round_problems.findings
    return fabrics, facility


def _count_rack_nodes(facility: FacilityPlan | None) -> int | None:
    """Nodes of the racks of the largest pool."""
    nodes = [group for group in facility.racks if group.kind == "compute"] if facility else []
    return max(nodes, key=lambda group: group.count * group.nodes_per_rack).nodes_per_rack if nodes else None


def _list_downstream_links(spec: ClusterSpec, fabrics: tuple[FabricPlan, ...]) -> tuple[tuple[str, int], ...]:
    """Links into each fabric from the leaves of networks whose upstream fabric it is."""
    leaves = {fabric.name: fabric.count_switches("leaf") for fabric in fabrics}
    counts: dict[str, int] = {}
    for item in spec.fabrics:
        if item.upstream:
            counts[item.upstream.fabric] = counts.get(item.upstream.fabric, 0) + item.upstream.links * leaves.get(
                item.name, 0
            )
    return tuple(sorted(counts.items()))


def _find_declared_rack_nodes(spec: ClusterSpec) -> int | None:
    return spec.facility.rack.nodes if spec.facility and spec.facility.rack else None
