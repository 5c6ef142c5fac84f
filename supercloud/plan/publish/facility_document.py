"""The hall of the published plan: its racks, power, cooling and energy. Field names include the unit."""

from __future__ import annotations

from ..model.plan import Plan
from .document_part import DocumentPart, round_quantity
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


class RackDocument(DocumentPart):
    """A group of equal racks."""

    pool: str
    """Pool of the nodes; empty for racks of switches and service machines."""
    rack: str | None
    """Rack of the catalog; null if it is unknown."""
    racks: int
    """Number of racks."""
    nodes_per_rack: int
    """Nodes in a full rack; 0 in racks without nodes."""
    kw: float
    """Power of a full rack in kW."""
    kw_is_lower_bound: bool = False
    """Whether the power is a lower bound: that of a part is unknown, and counted as 0 or by a lower bound."""
    units: int
    """Rack units used in a full rack."""
    limited_by: str
    """What limits the number of nodes in a rack: ``units``, ``power``, ``weight``, ``declared``, ``reference`` (the
    vendor's design) or ``product``; several are joined by ``and``."""
    kind: str = "compute"
    """Contents of the racks: ``compute``, ``network`` (switches and service machines) or ``storage``."""
    weight_kg: float | None = None
    """Weight of the contents of a full rack in kg; null if that of a part is unknown."""
    limit_kw: float | None = None
    """Power limit of a rack in kW; null without one."""
    headroom_kw: float | None = None
    """Power limit less the power of a full rack in kW; null without a limit, or if the power of a part is unknown."""
    liquid_kw: float = 0
    """Heat of a full rack that water removes, in kW."""
    circuits: int = 0
    """Power circuits of a rack; 0 if they are not declared."""
    circuit_kw: float | None = None
    """Continuous power of each circuit in kW; null if it is unknown."""
    pdu: str = ""
    """Power distribution unit (PDU) of the catalog; empty if none is specified."""
    power_shelves: int = 0
    """Power shelves of a rack."""


class FacilityDocument(DocumentPart):
    """The hall: its racks, power, cooling and energy."""

    racks: int
    """Racks with nodes."""
    network_racks: int
    """Racks with switches and service machines."""
    rack_groups: list[RackDocument]
    """Groups of equal racks."""
    it_kw: float
    """Maximum power of all machines and switches in kW."""
    nodes_kw: float
    """Power of all nodes in kW."""
    switches_kw: float
    """Power of all switches in kW."""
    budget_kw: float | None
    """Power budget of the hall in kW; null without one."""
    headroom_kw: float | None
    """Power budget less IT power in kW; null without a budget, or if the power of an item is unknown."""
    densest_rack_kw: float
    """Power of the fullest rack in kW."""
    cooling: str
    """Cooling method of the hall: ``air``, ``rear-door``, ``direct-liquid`` or ``immersion``."""
    energy_mwh_year: float
    """IT energy of a year at full power in MWh."""
    cost_usd_year: float | None
    """Cost of the electricity of a year at full power in USD, with the PUE where it is known; null if the price is
    unknown."""
    carbon_t_year: float | None
    """Emissions of the electricity of a year at full power in tCO2e, with the PUE where it is known; null if the carbon
    intensity is unknown."""
    unknown_power: list[str]
    """Items whose power has no source: counted as 0, or by a lower bound."""
    storage_racks: int = 0
    """Racks with storage servers."""
    servers_kw: float = 0
    """Power of storage servers and service machines in kW."""
    densest_row_kw: float | None = None
    """Power of the row with the highest power in kW; null if the rows are unknown."""
    power: PowerDocument | None = None
    """Power distribution."""
    heat: CoolingDocument | None = None
    """Heat and cooling."""
    energy: EnergyDocument | None = None
    """Energy sources."""


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
                weight_kg=round_quantity(group.weight, "kg", 3),
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
        budget_kw=round_quantity(hall.power_budget, "kW", 3),
        headroom_kw=to_kw(hall.headroom),
        densest_rack_kw=round(hall.densest_rack_power.to("kW"), 3),
        cooling=hall.cooling,
        energy_mwh_year=round(hall.annual_energy.to("MWh"), 3),
        cost_usd_year=round_quantity(hall.annual_cost, "USD", 2),
        carbon_t_year=round_quantity(hall.annual_carbon, "tCO2e", 3),
        unknown_power=list(hall.unknown_power),
        storage_racks=hall.storage_racks,
        servers_kw=round(hall.server_power.to("kW"), 3),
        densest_row_kw=to_kw(max(plan.layout.compute_row_power(), default=None)) if plan.layout else None,
        power=build_power_document(hall),
        heat=build_cooling_document(hall),
        energy=build_energy_document(hall),
    )
