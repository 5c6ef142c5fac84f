"""Where nodes stand, what they draw, how heat leaves. Knows nothing of how nodes are wired.

One file an idea: ``racks`` (what fits), ``electricity`` (circuits and losses), ``redundancy`` (feeds after a loss),
``heat`` (split and flow), ``loop`` (distribution units and temperatures), ``weather`` (free hours), ``efficiency``
(PUE, WUE, CUE), ``energy`` (a year in money and carbon).
"""

from .efficiency import Overhead, chiller_power, cue, makeup_water
from .electricity import Circuits, at_load, breaker_for, circuit_power, losses
from .energy import Part, Year, by_hour_of_day, mixed_carbon, mixed_price, year_of
from .heat import Heat, flow_for, split
from .loop import Loop, class_of, outdoor_limit, units_for
from .racks import Fit, Limits, Run, fit, racks_for, share_out
from .redundancy import SCHEMES, Feeds, Scheme, paths_of, supplies_left
from .weather import Weather, WeatherError, column_of, free_hours, parse_weather, wet_bulb

__all__ = [
    "SCHEMES",
    "Circuits",
    "Feeds",
    "Fit",
    "Heat",
    "Limits",
    "Loop",
    "Overhead",
    "Part",
    "Run",
    "Scheme",
    "Weather",
    "WeatherError",
    "Year",
    "at_load",
    "breaker_for",
    "by_hour_of_day",
    "chiller_power",
    "circuit_power",
    "class_of",
    "column_of",
    "cue",
    "fit",
    "flow_for",
    "free_hours",
    "losses",
    "makeup_water",
    "mixed_carbon",
    "mixed_price",
    "outdoor_limit",
    "parse_weather",
    "paths_of",
    "racks_for",
    "share_out",
    "split",
    "supplies_left",
    "units_for",
    "wet_bulb",
    "year_of",
]
