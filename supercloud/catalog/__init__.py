"""What the world offers: facts as data, one file a thing, each with units and a source.

The models say what kinds of facts there are, ``data/`` holds the facts, ``reader`` joins overlays. No number about
hardware, a cloud or a Slurm release stands in Python.
"""

from .accelerator import Accelerator
from .cable import Cable, Transceiver
from .electrical import Pdu, PowerShelf, Ups
from .instance import Instance
from .machine import Machine
from .network_os import NetworkOs
from .price import Prices
from .provider import Provider
from .rack import CoolingMethod, Location, Rack
from .reader import KINDS, Catalog
from .region import Region
from .roce_profile import RoceProfile
from .slurm import SlurmRelease
from .storage import StorageProduct, StorageTiers
from .storage_service import StorageService
from .switch import Switch
from .thermal import Cdu, Coolant, HeatRejection, ThermalClass

__all__ = [
    "KINDS",
    "Accelerator",
    "Cable",
    "Catalog",
    "Cdu",
    "RoceProfile",
    "Coolant",
    "CoolingMethod",
    "HeatRejection",
    "Instance",
    "Location",
    "Machine",
    "NetworkOs",
    "Pdu",
    "PowerShelf",
    "Prices",
    "Provider",
    "Rack",
    "Region",
    "SlurmRelease",
    "StorageProduct",
    "StorageService",
    "StorageTiers",
    "Switch",
    "ThermalClass",
    "Transceiver",
    "Ups",
]
