"""Racks, power and cooling from numbers and facts alone, without any reference to the wiring of nodes.

One file per subject: ``racks`` (nodes per rack), ``electricity`` (circuits and losses), ``redundancy`` (feeds after a
loss), ``heat`` (split and flow), ``loop`` (distribution units and temperatures), ``weather`` (free-cooling hours),
``efficiency`` (PUE, WUE, CUE), ``energy`` (annual energy, cost and carbon).
"""

from .efficiency import SiteOverhead, compute_chiller_power, compute_cue, compute_wue
from .electricity import Circuits, compute_breaker_rating, compute_circuit_power, compute_losses, interpolate_efficiency
from .energy import (
    AnnualEnergy,
    EnergyShare,
    compute_annual_energy,
    compute_hourly_averages,
    compute_mix_carbon,
    compute_mix_price,
)
from .heat import Heat, compute_flow, split_heat
from .loop import LiquidLoop, compute_outdoor_limit, count_cdus, find_thermal_class
from .racks import EquipmentRun, RackFit, RackLimits, compute_rack_fit, count_racks, distribute
from .redundancy import SCHEMES, Feeds, RedundancyScheme, count_paths, count_remaining_supplies
from .weather import Weather, WeatherError, compute_wet_bulb, count_free_hours, parse_column, parse_weather

__all__ = [
    "SCHEMES",
    "Circuits",
    "Feeds",
    "RackFit",
    "Heat",
    "RackLimits",
    "LiquidLoop",
    "SiteOverhead",
    "EnergyShare",
    "EquipmentRun",
    "RedundancyScheme",
    "Weather",
    "WeatherError",
    "AnnualEnergy",
    "interpolate_efficiency",
    "compute_breaker_rating",
    "compute_hourly_averages",
    "compute_chiller_power",
    "compute_circuit_power",
    "find_thermal_class",
    "parse_column",
    "compute_cue",
    "compute_rack_fit",
    "compute_flow",
    "count_free_hours",
    "compute_losses",
    "compute_wue",
    "compute_mix_carbon",
    "compute_mix_price",
    "compute_outdoor_limit",
    "parse_weather",
    "count_paths",
    "count_racks",
    "distribute",
    "split_heat",
    "count_remaining_supplies",
    "count_cdus",
    "compute_wet_bulb",
    "compute_annual_energy",
]
