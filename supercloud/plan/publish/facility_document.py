"""The hall of the published plan: its racks, power, cooling and energy. Field names include the unit."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from ..model.plan import Plan
from .hall_document import (
    CoolingDocument,
    EnergyDocument,
    PowerDocument,
    build_cooling_document,
    build_energy_document,
    build_power_document,
    to_kw,
)

__all__ = ["FacilityDocument", "RackDocument", "build_facility_document"]


class _DocumentPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class RackDocument(_DocumentPart):
    """A group of equal racks."""

    pool: str
    """Pool of the nodes; empty for racks of switches."""
    rack: str | None
    racks: int
    nodes_per_rack: int
    kw: float
    """Power of a full rack."""
    kw_is_lower_bound: bool = False
    """Whether the power is a lower bound: that of a part is unknown, and counted as 0 or by a lower bound."""
    units: int
    limited_by: str
    kind: str = "compute"
    """compute, network, storage."""
    weight_kg: float | None = None
    """Weight of the contents of a full rack; null if that of a part is unknown."""
    limit_kw: float | None = None
    headroom_kw: float | None = None
    """Null without a limit, or if the power of a part is unknown."""
    liquid_kw: float = 0
    """Heat of a full rack in the liquid."""
    circuits: int = 0
    circuit_kw: float | None = None
    """Continuous power of each circuit."""
    pdu: str = ""
    power_shelves: int = 0


class FacilityDocument(_DocumentPart):
    """The hall: its racks, power, cooling and energy."""

    racks: int
    """Racks with nodes."""
    network_racks: int
    rack_groups: list[RackDocument]
    it_kw: float
    nodes_kw: float
    switches_kw: float
    budget_kw: float | None
    headroom_kw: float | None
    densest_rack_kw: float
    cooling: str
    energy_mwh_year: float
    """IT energy at full power."""
    cost_usd_year: float | None
    carbon_t_year: float | None
    unknown_power: list[str]
    """Items counted as 0 or by a lower bound, because their power has no source."""
    storage_racks: int = 0
    servers_kw: float = 0
    """Power of storage servers and service machines."""
    densest_row_kw: float | None = None
    power: PowerDocument | None = None
    heat: CoolingDocument | None = None
    energy: EnergyDocument | None = None


def build_facility_document(plan: Plan) -> FacilityDocument | None:
    """Build the hall of a plan; None if none is declared."""
    hall = plan.facility
    if hall is None:
        return None
    return FacilityDocument(
        racks=hall.node_racks,
        network_racks=hall.network_racks,
        rack_groups=[
            RackDocument(
                pool=group.pool,
                rack=group.rack.name if group.rack else None,
                racks=group.count,
                nodes_per_rack=group.nodes_per_rack,
                kw=round(group.power.to("kW"), 3),
                kw_is_lower_bound=group.is_power_lower_bound,
                units=group.units,
                limited_by=group.limited_by,
                kind=group.kind,
                weight_kg=round(group.weight.to("kg"), 3) if group.weight else None,
                limit_kw=to_kw(group.power_limit),
                headroom_kw=to_kw(group.headroom),
                liquid_kw=round((group.heat.liquid + group.heat.door).to("kW"), 3),
                circuits=group.circuits.count if group.circuits else 0,
                circuit_kw=to_kw(group.circuits.circuit_power) if group.circuits else None,
                pdu=group.pdu,
                power_shelves=group.shelves,
            )
            for group in hall.racks
        ],
        it_kw=round(hall.it_power.to("kW"), 3),
        nodes_kw=round(hall.node_power.to("kW"), 3),
        switches_kw=round(hall.switch_power.to("kW"), 3),
        budget_kw=round(hall.power_budget.to("kW"), 3) if hall.power_budget else None,
        headroom_kw=to_kw(hall.headroom),
        densest_rack_kw=round(hall.densest_rack_power.to("kW"), 3),
        cooling=hall.cooling,
        energy_mwh_year=round(hall.annual_energy.to("MWh"), 3),
        cost_usd_year=round(hall.annual_cost.to("USD"), 2) if hall.annual_cost else None,
        carbon_t_year=round(hall.annual_carbon.to("tCO2e"), 3) if hall.annual_carbon else None,
        unknown_power=list(hall.unknown_power),
        storage_racks=hall.storage_racks,
        servers_kw=round(hall.server_power.to("kW"), 3),
        densest_row_kw=to_kw(max(plan.layout.compute_row_power(), default=None)) if plan.layout else None,
        power=build_power_document(hall),
        heat=build_cooling_document(hall),
        energy=build_energy_document(hall),
    )
