"""Port fields of SONiC's config_db.json, for all kinds of networks."""

from __future__ import annotations

from ...primitives.quantity import Rate

__all__ = ["speed_of"]


def speed_of(speed: Rate | None) -> dict[str, str]:
    """Return the speed field of table PORT for links slower than the others of their fabric: Mb/s as text; else
    nothing.
    """
    return {"speed": str(round(speed.to("Gb/s") * 1000))} if speed else {}
