"""Machines: complete servers and compute trays on-prem, instance types on clouds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..primitives.quantity import Flow, Length, Mass, Power, Rate, Size, Temperature
from ..primitives.rdma_names import is_kernel_name
from ..spec.base import Count, DeviceName, Natural, Ratio, Text
from ..spec.fabric import FabricKind
from ..spec.site import SiteKind
from .fact import CatalogEntry, CatalogModel, EntryName
from .instance import Instance
from .rack import Feed, Mount

__all__ = [
    "Adapter",
    "AdapterKind",
    "Chassis",
    "Cpu",
    "MachineCooling",
    "InstalledAccelerators",
    "LocalDisk",
    "Machine",
    "RackProduct",
    "ScalableUnit",
    "RackSlot",
    "PowerSupplies",
]


AdapterKind = Literal["infiniband", "ethernet", "vpi", "efa", "gvnic", "mana", "ici"]


class Cpu(CatalogModel):
    """Processors as the operating system counts them."""

    arch: Literal["x86_64", "aarch64"]
    model: Text | None = None
    sockets: Count
    cores_per_socket: Count
    threads_per_core: Count

    @property
    def threads(self) -> int:
        """Hardware threads of the machine: what Slurm calls CPUs."""
        return self.sockets * self.cores_per_socket * self.threads_per_core


class InstalledAccelerators(CatalogModel):
    """Accelerators in the machine."""

    type: EntryName
    count: Count
    per_socket: tuple[Count, ...] = ()
    """Accelerators of each socket, in device order; empty if unknown."""


class Adapter(CatalogModel):
    """Network adapters of one role."""

    role: Literal["compute", "storage", "in-band", "management"]
    kind: AdapterKind
    """``vpi`` can be either InfiniBand or Ethernet."""
    fabrics: tuple[FabricKind, ...] = ()
    """Kinds of fabric that it supports in addition to those of its kind."""
    count: Count
    """Links of the machine in this role."""
    speed: Rate
    """Speed of one link."""
    planes: Count = 1
    """Independent networks over which the links are spread evenly."""
    devices: tuple[DeviceName, ...] = ()
    """RDMA device names in rail order (``mlx5_0``)."""
    model: Text | None = None
    ports: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._/:#-]{0,63}$")], ...] = ()
    """Labels on the rear of the machine, in link order; empty if unknown: ports are then numbered."""
    cage: Text | None = None
    """Form factor of the cages of the links: osfp (modules of two links), osfp-single, qsfp112, rj45 …"""
    cage_links: Count = 1
    """Links of one cage."""
    same_ports: EntryName | None = None
    """Name of a set of ports. Adapters of a machine with the same name are alternative modes of the same ports."""


class LocalDisk(CatalogModel):
    """Equal disks in the machine."""

    role: Literal["system", "scratch"]
    kind: Literal["nvme", "ssd", "hdd"]
    count: Count
    size: Size


class PowerSupplies(CatalogModel):
    """Power supplies: ``count`` of them, of which ``needed`` carry the full load."""

    count: Count
    needed: Count
    rating: Power | None = None


class MachineCooling(CatalogModel):
    """How the machine is cooled."""

    methods: tuple[Literal["air", "direct-liquid", "immersion", "provider"], ...] = ()
    liquid_share: Ratio | None = None
    """Fraction of the heat that the liquid removes."""
    airflow: Flow | None = None
    max_supply: Temperature | None = None
    """Highest water temperature at the inlet."""
    min_supply: Temperature | None = None
    max_air: Temperature | None = None
    """Highest air temperature at the inlet."""
    flow_per_kw: Flow | None = None
    """Coolant flow that the vendor requires for each kilowatt in the liquid."""


class Chassis(CatalogModel):
    """Mechanical and electrical properties for installation in a rack."""

    units: Count | None = None
    """Rack units."""
    weight: Mass | None = None
    width: Length | None = None
    depth: Length | None = None
    mount: Mount | None = None
    feed: Feed | None = None
    """Power feed; absent if unknown, or if the machine has power supplies."""
    supplies: PowerSupplies | None = None

    @property
    def known_feed(self) -> Feed | None:
        """Power feed, if known: machines with power supplies have cords."""
        return self.feed or ("ac" if self.supplies else None)


class ScalableUnit(CatalogModel):
    """The scalable unit of the vendor's reference architecture."""

    nodes: Count
    radix: Count | None = None
    """Ports at link speed of the leaves for which it is designed; with other leaves its size follows from theirs."""
    leaf_down: Count | None = None
    """Node-facing ports used per leaf; absent: half of them."""
    pod: Literal["su", "rail"] | None = None
    """``rail``: spines belong to one rail of one unit, and units meet in a core layer."""
    nodes_per_rack: tuple[Count, ...] = ()
    """Nodes per rack in the reference architecture."""
    storage_uplinks: Count | None = None
    """Uplinks of a storage leaf, which has a port for each node of the unit."""
    management_racks: Count | None = None
    """Racks of nodes under one management switch."""


class RackSlot(CatalogModel):
    """Equal components in consecutive positions of a rack product."""

    what: Literal["node", "nvlink-switch", "power-shelf", "management-switch"]
    count: Count
    units: Count = 1
    """Rack units of each."""


class RackProduct(CatalogModel):
    """The complete rack of which the machine is one tray."""

    name: EntryName
    nodes: Count
    power: Power | None = None
    """Power of the complete rack."""
    switch_trays: Natural = 0
    power_shelves: Natural = 0
    shelf_power: Power | None = None
    management_switches: Natural = 0
    arrangement: tuple[RackSlot, ...] = ()
    """Components from bottom to top; empty if unknown."""
    flow: Flow | None = None
    """Coolant flow of the complete rack."""


class Machine(CatalogEntry):
    """A complete server, a compute tray of a rack product, or an instance type."""

    vendor: Text
    provider: SiteKind
    cpu: Cpu | None = None
    memory: Size | None = None
    accelerators: InstalledAccelerators | None = None
    adapters: tuple[Adapter, ...] = ()
    """Two adapters can be alternative modes of the same ports: ``Adapter.same_ports``. The names of all RDMA devices
    follow one scheme: that of the kernel (``mlx5_0``), or the persistent names of rdma-core (``ibp24s0``).
    """
    disks: tuple[LocalDisk, ...] = ()
    domain_nodes: Count = 1
    """Machines that share one scale-up domain (18 trays of an NVL72 rack)."""
    power: Power | None = None
    """Maximum input power."""
    power_floor: Power | None = None
    """Lower bound if ``power`` is unknown: maximum power of the accelerators alone."""
    body: Chassis = Chassis()
    heat: MachineCooling = MachineCooling()
    scalable_unit: ScalableUnit | None = None
    rack: RackProduct | None = None
    subnet_manager: Literal["opensm", "nvidia"] | None = None
    """The InfiniBand subnet manager of an appliance."""
    capacity_kinds: Annotated[tuple[Text, ...], Field()] = ()
    """Clouds: kinds of capacity in which it is sold."""
    instance: Instance | None = None
    """Clouds only."""

    @property
    def kind_of_site(self) -> str:
        """Where it is used, for messages."""
        return "an on-prem machine" if self.provider == "onprem" else f"a machine of {self.provider}"

    @model_validator(mode="after")
    def _has_one_naming_scheme(self) -> Machine:
        devices = [device for adapter in self.adapters for device in adapter.devices]
        kernel = [device for device in devices if is_kernel_name(device)]
        if kernel and len(kernel) < len(devices):
            other = next(device for device in devices if device not in kernel)
            raise ValueError(
                f"adapters: {kernel[0]} is a name of the kernel, {other} one of rdma-core's rule for persistent names; "
                "a host has names of one kind: use one for all devices"
            )
        return self
