"""Operating systems of switches: what they call their ports, and how far they go. A new one is one file of data."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Rate
from ..spec.base import Count, Flag, Model, Text
from .fact import Fact
from .switch import Switch

__all__ = ["Lanes", "NetworkOs"]

_Pattern = Annotated[str, Field(pattern=r"^([A-Za-z0-9/_-]|\{(cage|cage0|part|part0|lane|lane0)\})+$")]


class Lanes(Model):
    """How many electrical lanes a cage of such a speed has."""

    speed: Rate
    lanes: Count


class NetworkOs(Fact):
    """One operating system of switches, and its configuration language."""

    dialect: Literal["sonic", "eos", "nvue", "frr"]
    """The language of its files."""
    vendors: tuple[Text, ...] = ()
    """Makers whose switches come with it; ``*``: those of all others."""
    port: _Pattern
    """Name of a whole cage: {cage} counts from 1, {cage0} from 0, {lane0} is the first lane over all cages."""
    split_port: _Pattern
    """Name of a part of a cage: {part} and {part0} count the parts, {lane} the part's first lane from 1."""
    lanes: tuple[Lanes, ...] = ()
    """Where names count lanes."""
    max_paths: Count
    """Equal-cost paths of one route at most."""
    unnumbered: Flag
    """Whether BGP runs over link-local addresses."""

    def port_name(self, switch: Switch, radix: int, index: int) -> str:
        """What a port is called, ``index`` counted from 0 over all ports at the fabric's speed."""
        parts = max(1, radix // switch.cages) if switch.cages else 1
        cage, part = divmod(index, parts)
        native = switch.modes[0].speed if switch.modes else None
        lanes = next((item.lanes for item in self.lanes if item.speed == native), 1)
        step = max(1, lanes // parts)
        pattern = self.port if parts == 1 else self.split_port
        return pattern.format(
            cage=cage + 1, cage0=cage, part=part + 1, part0=part, lane=part * step + 1, lane0=cage * lanes + part * step
        )
