"""The input models of users: structure only, no facts. ``load`` reads a spec, ``schema`` publishes its JSON Schema.

One file per noun. Unknown names of machines or switches are not checked in this layer: the plan adds the catalog.
"""

from .cluster import ClusterSpec, Network, Suppression
from .fabric import Fabric
from .facility import Facility
from .fleet import FleetSpec
from .job import JobSpec
from .pool import Pool
from .scheduler import KubernetesScheduler, SlurmScheduler
from .storage import Storage
from .tenant import Tenant

__all__ = [
    "ClusterSpec",
    "Fabric",
    "Facility",
    "FleetSpec",
    "JobSpec",
    "KubernetesScheduler",
    "Network",
    "Pool",
    "SlurmScheduler",
    "Storage",
    "Suppression",
    "Tenant",
]
