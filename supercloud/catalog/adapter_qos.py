"""A vendor's network adapters on a RoCE fabric: the tool that configures them, and the index of the RoCEv2 address."""

from __future__ import annotations

from typing import Literal

from ..spec.base import Natural, Text
from .fact import CatalogEntry
from .machine import Adapter

__all__ = ["AdapterQos"]


class AdapterQos(CatalogEntry):
    """Adapters that are configured with the same tool; ``templates/roce/qos-<tool>.sh.j2`` has its commands."""

    singular = "quality of service of adapters"
    vendor: Text
    tool: Literal["mlnx_qos", "nicctl", "bnxt_setupcc"]
    software: Text
    """The commands, and the software package that provides them."""
    ethernet_setting: Text | None = None
    """Firmware setting that makes the ports of adapters of kind ``vpi`` Ethernet, and the command that changes it."""
    driver_service: Text | None = None
    """systemd unit that loads the driver. A restart of it resets the settings of the adapters."""
    models: tuple[Text, ...]
    """Prefixes of the models' names in machine entries."""
    devices: tuple[Text, ...] = ()
    """Prefixes of the names that the vendor's driver gives RDMA devices."""
    kinds: tuple[Literal["vpi"], ...] = ()
    """Kinds of adapters that only this vendor makes."""
    strict_limit: Natural | None = None
    """Rate limit of the strict priority of congestion notifications in percent, if the tool requires one."""

    gid_index: Natural | None = None
    """Index of the RoCEv2 address in the GID table of a routed port; if absent, the library selects it."""

    def is_for(self, adapter: Adapter) -> bool:
        """Whether the tool configures these adapters: by model, else by the driver of their devices, else by kind."""
        if adapter.model:
            return adapter.model.startswith(self.models)
        if adapter.devices:
            return bool(self.devices) and all(device.startswith(self.devices) for device in adapter.devices)
        return adapter.kind in self.kinds
