"""The common inputs of all decisions about a cloud site: the spec, the provider, the region, the pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ....catalog import Catalog, Machine, Provider, Region
from ....errors import UnknownNameError
from ....spec import ClusterSpec, KubernetesScheduler, SlurmScheduler
from ....spec.scheduler import ServiceHosts
from ...model.plan import PoolPlan
from ...model.problems import Problems
from ..site_machines import find_site_machine

__all__ = ["CloudInputs", "build_cloud_inputs", "find_machine"]


@dataclass(frozen=True)
class CloudInputs:
    """The spec with the facts of its cloud."""

    spec: ClusterSpec
    provider: Provider
    region: Region
    pools: tuple[PoolPlan, ...]
    catalog: Catalog
    problems: Problems

    @property
    def has_managed_kubernetes(self) -> bool:
        """Whether the scheduler is the provider's managed Kubernetes."""
        return self.spec.scheduler.kind == "kubernetes"

    @property
    def arch(self) -> Literal["x86_64", "aarch64"]:
        """Instruction set of the service machines: that of the pools, x86 if they differ."""
        found = {pool.machine.instance.arch for pool in self.pools if pool.machine.instance}
        return "aarch64" if found == {"aarch64"} else "x86_64"

    def find_pool_index(self, pool: PoolPlan) -> int:
        """Index of a pool in the spec."""
        return next(index for index, item in enumerate(self.spec.pools) if item.name == pool.name)

    def select_service_machine(self, name: str) -> str:
        """A default service machine, or its counterpart for Arm nodes."""
        return self.provider.defaults.arm.get(name, name) if self.arch == "aarch64" else name

    @property
    def service_machines(self) -> ServiceHosts:
        """The declared service machines of the scheduler: login hosts of Slurm, the system node group of Kubernetes."""
        declared = self.spec.scheduler
        if isinstance(declared, KubernetesScheduler):
            return declared.system or ServiceHosts(count=self.provider.defaults.system_count)
        assert isinstance(declared, SlurmScheduler)
        return declared.login or ServiceHosts()


def build_cloud_inputs(
    spec: ClusterSpec, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> CloudInputs | None:
    """None on-prem, if the catalog does not have the provider, and if the region is unknown (a problem)."""
    site = spec.site
    if site.kind == "onprem" or site.kind not in catalog.list_names("providers"):
        return None
    provider = catalog.get(Provider, site.kind)
    try:
        region = catalog.get(Region, site.region)
    except UnknownNameError as error:
        ours = [name for name in catalog.list_names("regions") if _select_provider(catalog, name) == site.kind]
        problems.add_unknown_name("site.region", UnknownNameError("region", error.name, ours))
        return None
    if region.provider != site.kind:
        problems.add_error(
            "cloud-region",
            "site.region",
            f"{region.name} is a region of {region.provider}, but the site is {site.kind}",
            "use a region of the site's provider: supercloud catalog regions",
        )
        return None
    return CloudInputs(spec, provider, region, pools, catalog, problems)


def _select_provider(catalog: Catalog, region: str) -> str:
    return catalog.get(Region, region).provider


def find_machine(inputs: CloudInputs, name: str, path: str) -> Machine | None:
    """Look up a service machine by name; report a problem if it is unknown or of another provider."""
    return find_site_machine(name, path, inputs.provider.name, inputs.catalog, inputs.problems)
