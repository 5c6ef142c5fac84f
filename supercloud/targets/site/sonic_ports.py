"""What config_db.json of SONiC says of a port, in any kind of network."""

from __future__ import annotations

from ...primitives.quantity import Rate

__all__ = ["speed_of"]


def speed_of(speed: Rate | None) -> dict[str, str]:
    """The field of table PORT for links slower than the others of their fabric: Mb/s, as text; nothing for the rest."""
    return {"speed": str(round(speed.to("Gb/s") * 1000))} if speed else {}
