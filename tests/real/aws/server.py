"""moto's server with zones that its list lacks: ``server.py ZONES OPTION...``, where ZONES is JSON, region -> names.

It runs in the environment of the emulator, not in that of the tests.
"""

import json
import sys

from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend, Zone
from moto.server import main


def add_zones(zones: dict[str, list[str]]) -> None:
    """Add Local Zones to regions of the emulator."""
    for region, names in zones.items():
        known = RegionsAndZonesBackend.zones[region]
        known += [
            Zone(name, region, f"{name}-az1", "local-zone") for name in names if name not in {z.name for z in known}
        ]


add_zones(json.loads(sys.argv.pop(1)))
main()
