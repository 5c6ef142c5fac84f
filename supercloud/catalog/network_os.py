"""Operating systems of switches: what they call their ports, and how far they go. A new one is one file of data."""

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
    """How many electrical lanes a cage of such a speed has."""

    speed: Rate
    lanes: Count


class PortAlias(CatalogModel):
    """What LLDP calls the ports of some vendors' switches, where that is not their name."""

    vendors: tuple[Text, ...]
    port: _NamePattern
    split_port: _NamePattern


class NetworkOs(CatalogEntry):
    """One operating system of switches, and its configuration language."""

    dialect: EntryName
    """The language of its files: a name in ``DIALECTS`` of ``targets/site/dialects``."""
    since: ReleaseText | None = None
    """The first release that knows the words of the files: its vendor renamed some in it. Absent: none is known."""
    vendors: tuple[Text, ...] = ()
    """Vendors whose switches come with it; ``*``: those of all others, too; empty: it comes with none, and runs on any
    that lets the buyer choose."""
    port: _NamePattern
    """Name of a whole cage: {cage} counts from 1, {cage0} from 0, {lane0} is the first lane over all cages."""
    split_port: _NamePattern
    """Name of a part of a cage: {part} and {part0} count the parts, {letter} from a, {lane} the part's first lane
    from 1."""
    aliases: tuple[PortAlias, ...] = ()
    lanes: tuple[CageLanes, ...] = ()
    """Where names count lanes."""
    max_paths: Count
    """Equal-cost paths of one route at most."""
    unnumbered: Flag
    """Whether BGP runs over link-local addresses."""
    mlag: Flag
    """Whether two switches act as one towards a bond (multi-chassis link aggregation), as its vendor builds it."""
    spanning_tree: Literal["rstp", "stp"] | None = None
    """The spanning tree that cuts loops of bridged networks; none: its vendor's build has no such daemon."""

    def is_for(self, switch: Switch) -> bool:
        """Whether it runs on a switch, as far as its vendors say."""
        return not self.vendors or "*" in self.vendors or switch.vendor is None or switch.vendor in self.vendors

    def format_port_name(self, switch: Switch, radix: int, index: int) -> str:
        """What a port is called, ``index`` counted from 0 over all ports at the fabric's speed, uplinks after them."""
        return self._format_name(self.port, self.split_port, switch, radix, index)

    def format_alias(self, switch: Switch, radix: int, index: int) -> str:
        """What neighbours hear a port called over LLDP; empty where that is its name, or not known."""
        found = next((item for item in self.aliases if switch.vendor in item.vendors), None)
        return self._format_name(found.port, found.split_port, switch, radix, index) if found else ""

    def count_lanes(self, switch: Switch) -> int:
        """Electrical lanes of one of its cages; 1 where nobody counts them."""
        native = switch.modes[0].speed if switch.modes else None
        return next((item.lanes for item in self.lanes if item.speed == native), 1)

    def _format_name(self, whole: str, split: str, switch: Switch, radix: int, index: int) -> str:
        lanes = self.count_lanes(switch)
        cages = switch.cages or (switch.modes[0].ports if switch.modes else radix)
        if index >= radix:  # uplinks stand after all cages of the mode, each in a cage of its own
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
