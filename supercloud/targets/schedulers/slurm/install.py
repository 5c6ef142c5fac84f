"""INSTALL.md: what goes where, who starts first, and how to see that it works."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....catalog.slurm_packages import SlurmPackageNames
from ....plan.build.fabric.nccl import collectives_file
from ....plan.build.storage.clients import client_pools, has_service_hosts
from ....plan.model.plan import Plan, PoolPlan
from ....primitives.templates import fill
from .conf import head
from .given import is_dynamic, release_of, slurm_of
from .gres import accelerator_units
from .imex import imex_pools
from .settings import token_settings

__all__ = ["install_text"]

# Where the packages lie on every host that no archive has.
BUILT = "/root/slurm-packages"

# What does not go into /etc/slurm of every host that reads the configuration.
_ELSEWHERE = ("INSTALL.md", "slurmdbd.conf")


def install_text(plan: Plan, files: list[str]) -> str:
    """The way from the bundle to a running cluster."""
    tokens = bool(token_settings(plan)["AuthAltTypes"])
    nccl = [item for pool in plan.pools for item in _collectives(pool, files)]
    munge = slurm_of(plan).auth != "slurm"
    return fill(
        "slurm/INSTALL.md.j2",
        head=head(plan.name).removeprefix("# "),
        plan=plan,
        release=release_of(plan),
        slurm=slurm_of(plan),
        dynamic=is_dynamic(plan),
        files=sorted(files),
        texts=sorted(
            name
            for name in files
            if name not in (*_ELSEWHERE, *(item[0] for item in nccl)) and not name.endswith(".sh")
        ),
        nccl_files=nccl,
        imex=[pool.name for pool in imex_pools(plan)],
        tokens=tokens,
        jwt=["jwt"] if tokens else [],
        packages=_Packages.of_plan(plan),
        number=plan.scheduler.slurm_user,
        munge_package=" munge" if munge else "",
        sliced=[pool.name for pool in plan.pools if pool.slicing and pool.slicing.mig],
        onprem=plan.site.kind == "onprem",
        drivers=[pool for pool in plan.pools
                 if pool.accelerator and pool.accelerator.devices and accelerator_units(pool)],
        links=[item.name for item in plan.fabrics if item.kind == "infiniband" and item.role == "compute"],
        mounts=list(_mounts(plan)),
        unnamed=[tenant.name for tenant in plan.tenants if not tenant.users],
    )  # fmt: skip


def _mounts(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """Which hosts mount what: places that the same hosts mount in one line."""
    found: dict[str, list[str]] = {}
    for index, item in enumerate(plan.storage):
        if item.mount:
            found.setdefault(_mounting_hosts(plan, index), []).append(item.mount)
    yield from found.items()


def _mounting_hosts(plan: Plan, index: int) -> str:
    clients = client_pools(plan, index)
    nodes = "nodes" if clients == plan.pools else ", ".join(str(pool.hosts) for pool in clients) or "no node"
    if has_service_hosts(plan, index):
        return f"{nodes} and login hosts"
    return f"{nodes}, and on login hosts that have a port on {plan.storage[index].fabric} too"


@dataclass(frozen=True)
class _Packages:
    """What INSTALL.md says of packages: the names of one family, and where they come from."""

    names: SlurmPackageNames
    release: str
    suite: str | None
    """The suite of the distribution that has the release."""
    built: bool
    """Whether they are built from the source of the release."""

    @classmethod
    def of_plan(cls, plan: Plan) -> _Packages:
        family, release = plan.scheduler.packages, release_of(plan).name
        assert family is not None, "the catalog has packages of a distribution"
        return cls(family.names, release, family.suites.get(release), release in family.built_from)

    def of(self, parts: Sequence[str]) -> list[str]:
        """What apt is told to install for these parts, each once: names, or the files of packages that were built."""
        names = dict.fromkeys(name for part in parts for name in getattr(self.names, part))
        return [f"{BUILT}/{name}_{self.release}.*.deb" if self.built else name for name in names]


def _collectives(pool: PoolPlan, files: list[str]) -> list[tuple[str, str, str]]:
    """The file of a pool's collective library as the bundle has it, what it is called in /etc, and the pool."""
    file = collectives_file(pool)
    path = f"{file.removesuffix('.conf')}-{pool.name}.conf" if file else ""
    return [(path, file, pool.name)] if file and path in files else []
