"""The Pulumi component, for Pulumi programs: ``from supercloud.pulumi import Cluster``."""

from .targets.clouds.component import OUTPUTS as OUTPUTS
from .targets.clouds.component import Cluster as Cluster
from .targets.clouds.component import ClusterArgs as ClusterArgs

__all__ = ["OUTPUTS", "Cluster", "ClusterArgs"]
