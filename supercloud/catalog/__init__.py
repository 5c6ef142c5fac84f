"""What the world offers: facts as data, one file a thing, each with units and a source.

The models say what kinds of facts there are, ``data/`` holds the facts, ``reader`` joins overlays. No number about
hardware, a cloud or a Slurm release stands in Python.
"""

from .accelerator import Accelerator
from .machine import Machine
from .rack import CoolingMethod, Location, Rack
from .reader import KINDS, Catalog
from .slurm import SlurmRelease
from .storage import StorageProduct, StorageTiers
from .switch import Switch

__all__ = [
    "KINDS",
    "Accelerator",
    "Catalog",
    "CoolingMethod",
    "Location",
    "Machine",
    "Rack",
    "SlurmRelease",
    "StorageProduct",
    "StorageTiers",
    "Switch",
]
