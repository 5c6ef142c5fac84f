"""The component for programs in other languages: ``pulumi package add <this folder>``."""

from pulumi.provider.experimental import component_provider_host

from supercloud import __version__
from supercloud.pulumi import Cluster

if __name__ == "__main__":
    component_provider_host([Cluster], "supercloud", version=__version__)
