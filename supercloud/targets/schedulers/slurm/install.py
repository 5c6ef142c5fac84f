"""INSTALL.md: where files are installed, in which order daemons start, and how to verify the installation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....catalog.slurm_packages import SlurmPackageNames
from ....plan.build.fabric.rdma_devices import list_rdma_hosts
from ....plan.build.network.nccl import find_collectives_file
from ....plan.build.storage.clients import has_service_hosts, list_client_pools
from ....plan.model.plan import Plan, PoolPlan
from ....primitives.templates import render_template
from ...header import format_header
from .accessors import (
    get_cluster_name,
    get_state_folder,
    has_dynamic_nodes,
    require_slurm_release,
    require_slurm_spec,
)
from .gres import count_accelerator_units
from .imex import list_imex_pools
from .settings import build_token_settings

__all__ = ["render_install_guide"]

# Directory on every host with packages that no repository has.
PACKAGE_DIRECTORY = "/root/slurm-packages"

# Files that are not installed in /etc/slurm of every host that reads the configuration.
_EXCLUDED_FILES = ("INSTALL.md", "slurmdbd.conf")


def render_install_guide(plan: Plan, files: list[str]) -> str:
    """Render the instructions to install a cluster from the bundle."""
    tokens = bool(build_token_settings(plan)["AuthAltTypes"])
    nccl = [item for pool in plan.pools for item in _list_collective_files(pool, files)]
    munge = require_slurm_spec(plan).auth != "slurm"
    return render_template(
        "slurm/INSTALL.md.j2",
        head=format_header(plan.name).removeprefix("# "),
        plan=plan,
        release=require_slurm_release(plan),
        slurm=require_slurm_spec(plan),
        cluster_name=get_cluster_name(plan),
        state_folder=get_state_folder(plan),
        dynamic=has_dynamic_nodes(plan),
        files=sorted(files),
        texts=_list_common_files(files, [path for path, _, _ in nccl]),
        nccl_files=nccl,
        imex=[pool.name for pool in list_imex_pools(plan)],
        tokens=tokens,
        jwt=["jwt"] if tokens else [],
        packages=_PackageSource.from_plan(plan),
        number=plan.scheduler.slurm_user,
        munge_package=" munge" if munge else "",
        sliced=[pool.name for pool in plan.pools if pool.slicing and pool.slicing.mig],
        onprem=plan.site.kind == "onprem",
        drivers=[pool for pool in plan.pools if _needs_driver(pool)],
        links=_list_compute_links(plan),
        rdma=list_rdma_hosts(plan) if plan.networks else [],
        mounts=list(_iter_mounts(plan)),
        unnamed=[tenant.name for tenant in plan.tenants if not tenant.users],
    )


def _list_common_files(files: Sequence[str], pool_files: Sequence[str]) -> list[str]:
    """List the files that are installed on every host; scripts are installed separately."""
    others = {*_EXCLUDED_FILES, *pool_files}
    return sorted(name for name in files if name not in others and not name.endswith(".sh"))


def _list_compute_links(plan: Plan) -> list[str]:
    """List the InfiniBand fabrics between accelerators."""
    return [item.name for item in plan.fabrics if item.kind == "infiniband" and item.role == "compute"]


def _needs_driver(pool: PoolPlan) -> bool:
    """Whether Slurm counts accelerators by their device files, which the driver makes."""
    return bool(pool.accelerator and pool.accelerator.devices and count_accelerator_units(pool))


def _iter_mounts(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """Yield the hosts and their mount points: mount points of the same hosts in one line."""
    found: dict[str, list[str]] = {}
    for index, item in enumerate(plan.storage):
        if item.mount:
            found.setdefault(_describe_mounting_hosts(plan, index), []).append(item.mount)
    yield from found.items()


def _describe_mounting_hosts(plan: Plan, index: int) -> str:
    clients = list_client_pools(plan, index)
    nodes = "nodes" if clients == plan.pools else ", ".join(str(pool.hosts) for pool in clients) or "no node"
    if has_service_hosts(plan, index):
        return f"{nodes} and login hosts"
    return f"{nodes}, and on login hosts that have a port on {plan.storage[index].fabric} too"


@dataclass(frozen=True)
class _PackageSource:
    """The packages in INSTALL.md: the names of one family, and their source."""

    names: SlurmPackageNames
    release: str
    suite: str | None
    """The release of the distribution that includes the Slurm release."""
    is_suite_released: bool
    is_built: bool
    """Whether they are built from the source of the Slurm release."""

    @classmethod
    def from_plan(cls, plan: Plan) -> _PackageSource:
        """The family of packages and the release that the plan has decided."""
        family, release = plan.scheduler.packages, require_slurm_release(plan).name
        assert family is not None, "the catalog has package names of a distribution"
        suite, is_released = family.suites.get(release), release in family.list_released()
        return cls(family.names, release, suite, is_released, release in family.built_from)

    def list_packages(self, parts: Sequence[str]) -> list[str]:
        """Return the arguments of apt for these parts, without duplicates: names, or files of built packages."""
        names = dict.fromkeys(name for part in parts for name in getattr(self.names, part))
        return [f"{PACKAGE_DIRECTORY}/{name}_{self.release}.*.deb" if self.is_built else name for name in names]


def _list_collective_files(pool: PoolPlan, files: list[str]) -> list[tuple[str, str, str]]:
    """Return the file of a pool's collective library in the bundle, its name in /etc, and the pool."""
    file = find_collectives_file(pool)
    path = f"{file.removesuffix('.conf')}-{pool.name}.conf" if file else ""
    return [(path, file, pool.name)] if file and path in files else []
