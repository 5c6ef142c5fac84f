"""The Pulumi component, for Pulumi programs: ``from supercloud.pulumi import Cluster``."""

from .targets.clouds.component import OUTPUTS, Cluster, ClusterArgs

__all__ = ["OUTPUTS", "Cluster", "ClusterArgs"]
