"""Operating systems of switches: port names and limits. A new one is one new data file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Rate
from ..spec.base import Count, Flag, ReleaseText, Text
from .fact import CatalogEntry, CatalogModel, EntryName
from .switch import Switch

__all__ = ["PortAlias", "CageLanes", "NetworkOs"]

_NamePattern = Annotated[str, Field(pattern=r"^([A-Za-z0-9/_-]|\{(cage|cage0|part|part0|letter|lane|lane0)\})+$")]


class CageLanes(CatalogModel):
    """Number of electrical lanes of a cage of a speed."""

    speed: Rate
    lanes: Count


class PortAlias(CatalogModel):
    """Port names in LLDP on switches of some vendors, if they differ from the names in the configuration."""

    vendors: tuple[Text, ...]
    port: _NamePattern
    split_port: _NamePattern


class NetworkOs(CatalogEntry):
    """One operating system of switches, and its configuration language."""

    dialect: EntryName
    """Language of its configuration files: a name in ``DIALECTS`` of ``targets/site/dialects``."""
    since: ReleaseText | None = None
    """First release that supports the keywords of the files, because its vendor renamed some. Absent: unknown."""
    vendors: tuple[Text, ...] = ()
    """Vendors whose switches ship with it; ``*``: also those of all others; empty: it ships with none, and runs on all
    switches that allow a choice."""
    port: _NamePattern
    """Name of a whole cage: {cage} counts from 1, {cage0} from 0, {lane0} is the first lane over all cages."""
    split_port: _NamePattern
    """Name of a part of a cage: {part} and {part0} count the parts, {letter} from a, {lane} the part's first lane
    from 1."""
    aliases: tuple[PortAlias, ...] = ()
    lanes: tuple[CageLanes, ...] = ()
    """Lanes by speed, for port names that count lanes."""
    max_paths: Count
    """Maximum number of equal-cost paths of a route."""
    unnumbered: Flag
    """Whether BGP runs over link-local addresses."""
    mlag: Flag
    """Whether it supports multi-chassis link aggregation, as its vendor ships it."""
    spanning_tree: Literal["rstp", "stp"] | None = None
    """Spanning tree protocol of bridged networks; absent: the vendor's build does not include one."""

    def is_for(self, switch: Switch) -> bool:
        """Whether it runs on a switch, by its list of vendors."""
        return not self.vendors or "*" in self.vendors or switch.vendor is None or switch.vendor in self.vendors

    def format_port_name(self, switch: Switch, radix: int, index: int) -> str:
        """Name of a port, ``index`` counted from 0 over all ports at the fabric's speed, uplinks after them."""
        return self._format_name(self.port, self.split_port, switch, radix, index)

    def format_alias(self, switch: Switch, radix: int, index: int) -> str:
        """Name of a port in LLDP; empty if it equals the port name, or is unknown."""
        found = next((item for item in self.aliases if switch.vendor in item.vendors), None)
        return self._format_name(found.port, found.split_port, switch, radix, index) if found else ""

    def count_lanes(self, switch: Switch) -> int:
        """Electrical lanes of a cage; 1 if unknown."""
        native = switch.modes[0].speed if switch.modes else None
        return next((item.lanes for item in self.lanes if item.speed == native), 1)

    def _format_name(self, whole: str, split: str, switch: Switch, radix: int, index: int) -> str:
        lanes = self.count_lanes(switch)
        cages = switch.cages or (switch.modes[0].ports if switch.modes else radix)
        if index >= radix:  # uplinks are after all cages of the mode, each in a separate cage
            more = next((item.lanes for item in self.lanes if item.speed == switch.uplink_speed), 1)
            cage, parts, part, first = cages + index - radix, 1, 0, cages * lanes + (index - radix) * more
        else:
            parts = max(1, radix // cages)
            cage, part = divmod(index, parts)
            first = cage * lanes + part * max(1, lanes // parts)
        pattern = whole if parts == 1 else split
        return pattern.format(
            cage=cage + 1,
            cage0=cage,
            part=part + 1,
            part0=part,
            letter=chr(ord("a") + part),
            lane=part * max(1, lanes // parts) + 1,
            lane0=first,
        )
