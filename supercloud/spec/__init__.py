"""What a user declares: shape only, no facts. ``load`` reads it, ``schema`` publishes it.

One file a noun. Unknown names of machines or switches are no business of this floor: the plan joins the catalog in.
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
