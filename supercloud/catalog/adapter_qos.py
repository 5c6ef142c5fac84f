"""What hosts have to know of a vendor's network adapters on a RoCE fabric: the tool of its own, the RoCEv2 address."""

from __future__ import annotations

from typing import Literal

from ..spec.base import Natural, Text
from .fact import CatalogEntry
from .machine import Adapter

__all__ = ["AdapterQos"]


class AdapterQos(CatalogEntry):
    """Adapters that are configured with the same tool; ``templates/roce/qos-<tool>.sh.j2`` has its commands."""

    vendor: Text
    tool: Literal["mlnx_qos", "nicctl", "bnxt_setupcc"]
    software: Text
    """The commands, and the software of hosts that has them."""
    driver_service: Text | None = None
    """Unit (systemd) that loads the driver: adapters lose what was set on them when it starts again."""
    models: tuple[Text, ...]
    """What the names of the models begin with, as machines have them."""
    devices: tuple[Text, ...] = ()
    """What the vendor's driver begins the names of RDMA devices with."""
    kinds: tuple[Literal["vpi"], ...] = ()
    """Kinds of adapters that nobody else makes."""
    strict_limit: Natural | None = None
    """Rate limit of the strict priority of congestion notifications, in percent, where the tool wants one."""

    gid_index: Natural | None = None
    """Where the RoCEv2 address of a routed port is in its table of GIDs; absent: the library is left to find it."""

    def is_for(self, adapter: Adapter) -> bool:
        """Whether the tool is for these adapters: by model, else by the driver of their devices, else by kind."""
        if adapter.model:
            return adapter.model.startswith(self.models)
        if adapter.devices:
            return bool(self.devices) and all(device.startswith(self.devices) for device in adapter.devices)
        return adapter.kind in self.kinds
