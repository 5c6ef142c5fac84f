"""Heat, flow and temperatures against manual calculations, with units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.catalog import Catalog, Cdu, Coolant, HeatRejection, ThermalClass
from supercloud.facility import (
    Heat,
    SiteOverhead,
    compute_chiller_power,
    compute_cue,
    compute_flow,
    compute_outdoor_limit,
    compute_wue,
    count_cdus,
    find_thermal_class,
    split_heat,
)
from supercloud.primitives.quantity import CarbonIntensity, Flow, Power, Temperature, TemperatureDifference

CATALOG = Catalog()


def read_coolant(name: str) -> Flow:
    return CATALOG.get(Coolant, name).flow


@pytest.mark.parametrize(
    "fluid, kw, step, unit, flow",
    [
        ("water", 1, 10, "L/min", 1.434),
        ("water", 100, 5, "L/min", 286.8),
        ("pg25", 1, 10, "L/min", 1.51),  # NVIDIA and OCP: 1.5 L/min per kW
        ("pg25", 115, 10, "L/min", 173.65),  # the liquid of an NVL72 rack
        ("air", 28.6, 11.7333, "CFM", 4290),  # NVIDIA: 150 CFM per kW
        ("air", 57.2, 11.7333, "CFM", 8580),
    ],
)
def test_flow_follows_power_and_temperature_step(fluid: str, kw: float, step: float, unit: str, flow: float) -> None:
    assert compute_flow(Power(kw, "kW"), read_coolant(fluid), TemperatureDifference(step, "K")).to(
        unit
    ) == pytest.approx(flow, rel=1e-4)


def test_water_flow_matches_its_formula() -> None:
    """Q = ρ c V ΔT: 1 kg/L · 4.184 kJ/(kg K) · 1 L/s · 10 K = 41.84 kW."""
    assert compute_flow(Power("41.84 kW"), read_coolant("water"), TemperatureDifference("10 K")).to(
        "L/min"
    ) == pytest.approx(60, rel=1e-4)


def test_heat_of_an_nvl72_rack_is_split_as_published() -> None:
    heat, known = split_heat(Power("132 kW"), "direct-liquid", True, 0.87)
    assert known and heat == Heat(liquid=Power("114.84 kW"), air=Power("17.16 kW"))
    assert round(heat.liquid.to("kW")) == 115 and round(heat.air.to("kW")) == 17


def test_heat_is_split_by_cooling_method() -> None:
    power = Power("10 kW")
    assert split_heat(power, "air", True, 0.9) == (Heat(air=power), True)
    assert split_heat(power, "rear-door", False, None) == (Heat(door=power), True)
    assert split_heat(power, "immersion", True, 0.9) == (Heat(liquid=power), True)
    assert split_heat(power, "direct-liquid", False, None) == (Heat(air=power), True)
    assert split_heat(power, "direct-liquid", True, None) == (Heat(liquid=power), False)


@pytest.mark.slow
@given(
    st.integers(0, 10**8).map(Power.from_base),
    st.sampled_from(["air", "rear-door", "direct-liquid", "immersion"]),
    st.booleans(),
    st.none() | st.floats(0, 1),
)
def test_split_heat_adds_up(power: Power, hall: str, liquid: bool, share: float | None) -> None:
    heat, _ = split_heat(power, hall, liquid, share)
    assert heat.total == power and all(part.base >= 0 for part in (heat.liquid, heat.door, heat.air))


@pytest.mark.slow
@given(st.integers(1, 10**8).map(Power.from_base), st.integers(1, 30), st.sampled_from(["water", "pg25"]))
def test_flow_carries_exactly_the_heat(power: Power, step: int, fluid: str) -> None:
    one = read_coolant(fluid)
    flow = compute_flow(power, one, TemperatureDifference(step, "K"))
    assert flow.base * step / one.base * 1000 == power.base


def test_cooling_units_are_counted_by_heat_and_by_flow() -> None:
    chx2000 = CATALOG.get(Cdu, "coolit-chx2000")
    # twelve NVL72 racks of 120 kW at 1.2 L/min per kW, as its vendor draws them: one unit
    racks = Power("120 kW") * 12
    assert count_cdus(racks, Flow(1.2 * 1440, "L/min"), chx2000) == 1
    assert count_cdus(racks, Flow(1.5 * 1440, "L/min"), chx2000) == 1
    assert count_cdus(Power("2001 kW"), None, chx2000) == 2
    assert count_cdus(Power("2000 kW"), Flow("3000 L/min"), chx2000) == 2  # 1.5 L/min per kW is more than it pumps
    assert count_cdus(Power("0 W"), None, chx2000) == 0


def test_outdoor_limits_follow_the_heat_rejection() -> None:
    dry = CATALOG.get(HeatRejection, "dry-cooler")
    tower = CATALOG.get(HeatRejection, "tower")
    chiller = CATALOG.get(HeatRejection, "chiller")
    unit = CATALOG.get(Cdu, "nvidia-qualified")
    assert compute_outdoor_limit(Temperature("45 °C"), dry, unit) == Temperature("33 °C")  # less 8 K and 4 K
    assert compute_outdoor_limit(Temperature("32 °C"), tower, unit) == Temperature("23 °C")
    assert compute_outdoor_limit(Temperature("32 °C"), dry, None) == Temperature("24 °C")
    assert compute_outdoor_limit(Temperature("32 °C"), chiller, unit) is None
    unknown = CATALOG.get(Cdu, "coolit-chx2000")
    assert compute_outdoor_limit(Temperature("32 °C"), dry, unknown) is None, "its approach is not known"


@pytest.mark.parametrize(
    "supply, name",
    [
        ("2 °C", "w17"),
        ("17 °C", "w17"),
        ("18 °C", "w27"),
        ("32 °C", "w32"),
        ("40 °C", "w40"),
        ("45 °C", "w45"),
        ("46 °C", None),
        ("1 °C", None),
    ],
)
def test_supply_temperatures_have_their_thermal_class(supply: str, name: str | None) -> None:
    classes = list(CATALOG.iter_entries(ThermalClass))
    found = find_thermal_class(Temperature(supply), classes, "liquid")
    assert (found.name if found else None) == name


def test_efficiency_metrics_follow_their_definitions() -> None:
    overhead = SiteOverhead(Power("1000 kW"), Power("50 kW"), Power("150 kW"))
    assert overhead.facility_power == Power("1200 kW") and overhead.pue == 1.2
    assert compute_cue(1.2, CarbonIntensity("400 gCO2e/kWh")) == pytest.approx(0.48)
    # 1000 kW over a COP of 5 for a quarter of the year
    assert compute_chiller_power(Power("1000 kW"), 5, 2190, 8760).to("kW") == pytest.approx(50)
    tower = CATALOG.get(HeatRejection, "tower")
    # another source, the rule of tower vendors: 0.03 US gal/min for each 15,000 Btu/h that leave
    rule = 0.03 * 3.785 * 60 / (15_000 * 1.05506 / 3600)
    assert compute_wue(Power("100 kW"), Power("100 kW"), tower) == pytest.approx(rule * 5 / 4, rel=0.05)
    assert compute_wue(Power("50 kW"), Power("100 kW"), tower) == pytest.approx(rule * 5 / 8, rel=0.05)
    assert SiteOverhead(Power("0 W"), Power("0 W"), Power("0 W")).pue is None
