"""Keys of slurm.conf that other rendered files depend on, and how values of ``scheduler.options`` are merged.

``scheduler.options`` may set any key of slurm.conf, except for those that another rendered file repeats or requires:
INSTALL.md, slurmdbd.conf, gres.conf, cgroup.conf, the topology files, the programs and the boot scripts of clouds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...spec import SlurmScheduler
from ..model.plan import Plan

__all__ = [
    "OWNED_ITEMS",
    "OWNED_OPTIONS",
    "REPLACED_OPTIONS",
    "OwnedItem",
    "OwnedOption",
    "RequiredItems",
    "iter_missing_items",
    "iter_owned_items",
    "iter_owned_options",
    "list_item_names",
    "merge_list",
]


def _is_any_site(plan: Plan) -> bool:
    return True


def _is_onprem(plan: Plan) -> bool:
    return plan.site.kind == "onprem"


def _is_cloud(plan: Plan) -> bool:
    return plan.site.kind != "onprem"


def _has_database(plan: Plan) -> bool:
    return plan.scheduler.database is not None


def _has_tenants(plan: Plan) -> bool:
    return _has_database(plan) and bool(plan.tenants)


def _has_preemption(plan: Plan) -> bool:
    return (
        _has_database(plan)
        and isinstance(plan.scheduler.settings, SlurmScheduler)
        and plan.scheduler.settings.preemption
    )


def _has_job_tmp(plan: Plan) -> bool:
    return plan.scheduler.release is not None and plan.scheduler.release.abilities.container_tmp is not None


def _has_imex(plan: Plan) -> bool:
    release = plan.scheduler.release
    return release is not None and release.abilities.imex and any(pool.has_imex for pool in plan.pools)


@dataclass(frozen=True)
class OwnedOption:
    """A key that cannot be set in ``scheduler.options``."""

    key: str
    reason: str
    """What depends on it, as the second half of a message."""
    hint: str = "omit it"
    """The field of the spec to set instead."""
    applies: Callable[[Plan], bool] = _is_any_site


@dataclass(frozen=True)
class OwnedItem:
    """An item of a list-valued key that cannot be set in ``scheduler.options``."""

    key: str
    item: str
    """Its name, without ``=`` and value."""
    reason: str
    hint: str = "omit it"
    applies: Callable[[Plan], bool] = _is_any_site


@dataclass(frozen=True)
class RequiredItems:
    """A key whose value in ``scheduler.options`` needs certain items."""

    key: str
    alternatives: tuple[tuple[str, ...], ...]
    """The value needs all items of one of these."""
    reason: str
    hint: str
    applies: Callable[[Plan], bool] = _is_any_site


_POOLS = "the pools of the spec are written to it"
_CONTROLLERS = "set scheduler.controllers"
_SCALER = "the scaler of the boot scripts depends on it"
_DATABASE = "set scheduler.database, or scheduler.accounting: false to configure accounting by hand"

OWNED_OPTIONS = (
    OwnedOption("ClusterName", "accounts.sh uses it too", "set scheduler.cluster_name"),
    OwnedOption("NodeName", _POOLS, "set pools"),
    OwnedOption("NodeSet", _POOLS, "set pools"),
    OwnedOption("DownNodes", _POOLS, "set pools"),
    OwnedOption("FrontendName", _POOLS, "set pools"),
    OwnedOption("PartitionName", "partitions are a field of the spec", "set scheduler.partitions"),
    *(
        OwnedOption(key, "nodes and login hosts are configured with the controllers of the spec", _CONTROLLERS)
        for key in ("SlurmctldHost", "ControlMachine", "ControlAddr", "BackupController", "BackupAddr")
    ),
    OwnedOption("SlurmctldPort", "nodes fetch their configuration (--conf-server) from Slurm's default port"),
    OwnedOption("SlurmUser", "folders, keys, slurmdbd.conf and units belong to the user slurm"),
    OwnedOption("SlurmdUser", "prolog.sh, epilog.sh and health-check.sh must run as root"),
    OwnedOption(
        "StateSaveLocation",
        "INSTALL.md creates it on the controllers, which share it",
        "set scheduler.state_folder",
        _is_onprem,
    ),
    OwnedOption("StateSaveLocation", "the boot scripts mount /var/spool/slurmctld", applies=_is_cloud),
    OwnedOption("SlurmdSpoolDir", "INSTALL.md, the boot scripts, prolog.sh and health-check.sh use /var/spool/slurmd"),
    *(
        OwnedOption(
            key,
            "every host gets the key of one authentication type, and slurmdbd.conf has the same type",
            "set scheduler.auth",
        )
        for key in ("AuthType", "CredType", "CryptoType")
    ),
    OwnedOption("AuthAltTypes", "slurmdbd.conf has the same types, whose keys only INSTALL.md distributes"),
    OwnedOption("ProctrackType", "cgroup.conf and pam_slurm_adopt require proctrack/cgroup"),
    OwnedOption("SelectType", "gres.conf and SelectTypeParameters require select/cons_tres"),
    OwnedOption("TopologyPlugin", "the topology files are rendered for the plugin", "set scheduler.topology"),
    OwnedOption(
        "HealthCheckInterval",
        "it is a field of the spec, which also omits the program",
        "set scheduler.health_check_interval",
    ),
    *(
        OwnedOption(key, "job_container.conf is rendered for the plugin of the release", applies=_has_job_tmp)
        for key in ("JobContainerType", "NamespaceType")
    ),
    OwnedOption(
        "SwitchType",
        "nodes of NVLink domains share memory with switch/nvidia_imex",
        "set pools[].imex: false",
        _has_imex,
    ),
    OwnedOption("AccountingStorageType", "INSTALL.md sets up slurmdbd", _DATABASE, _has_database),
    OwnedOption("AccountingStorageHost", "slurmdbd.conf has the same host", _DATABASE, _has_database),
    OwnedOption("AccountingStoragePort", "slurmdbd.conf keeps Slurm's default port", _DATABASE, _has_database),
    OwnedOption(
        "AccountingStoragePass", "slurmdbd is authenticated by the key of the daemons", "omit it", _has_database
    ),
    OwnedOption(
        "PriorityType",
        "shares and priorities of tenants, which accounts.sh sets, require priority/multifactor",
        applies=_has_tenants,
    ),
    OwnedOption(
        "PreemptType",
        "accounts.sh sets which quality of service preempts which, which requires preempt/qos",
        "set scheduler.preemption: false to configure preemption by hand",
        _has_preemption,
    ),
    *(
        OwnedOption(key, _SCALER, applies=_is_cloud)
        for key in (
            "MaxNodeCount",
            "ResumeFailProgram",
            "ResumeProgram",
            "SuspendExcNodes",
            "SuspendProgram",
        )
    ),
    OwnedOption("TreeWidth", "dynamic nodes do not know each other's addresses", applies=_is_cloud),
    *(
        OwnedOption(key, "the cloud's log agent reads the files in /var/log/slurm", applies=_is_cloud)
        for key in ("SlurmctldLogFile", "SlurmdLogFile")
    ),
)
"""Keys that another rendered file depends on. A test looks for each in the rendered files."""

OWNED_ITEMS = (
    OwnedItem("AccountingStorageEnforce", "none", "the limits of tenants require it", "omit it", _has_tenants),
    OwnedItem("AuthAltParameters", "jwt_key", "slurmdbd.conf has the same file, which INSTALL.md writes"),
    OwnedItem(
        "PrologFlags",
        "nohold",
        "Slurm's daemons do not start with NoHold and Contain, which pam_slurm_adopt requires",
    ),
    OwnedItem("SlurmctldParameters", "cloud_dns", "the scaler sets the addresses of nodes", applies=_is_cloud),
    OwnedItem("SlurmctldParameters", "cloud_reg_addrs", "the scaler sets the addresses of nodes", applies=_is_cloud),
    OwnedItem("SwitchParameters", "imex_channel_count", "the nodes have this number of channels", applies=_has_imex),
    OwnedItem("TaskPlugin", "task/none", "cgroup.conf requires task/cgroup"),
)
"""Items of list-valued keys that another rendered file depends on."""

REQUIRED_ITEMS = (
    RequiredItems(
        "PreemptMode",
        (("requeue",), ("cancel",), ("suspend", "gang")),
        "Slurm's daemons do not start with PreemptType=preempt/qos and a mode without REQUEUE, CANCEL or SUSPEND,GANG",
        "set scheduler.preemption: false for no preemption",
        _has_preemption,
    ),
)
"""Items without which the daemons reject the rendered keys (slurm.conf(5))."""

REPLACED_OPTIONS = {
    "PropagateResourceLimits": ("PropagateResourceLimitsExcept",),
    "PrologEpilogTimeout": ("PrologTimeout", "EpilogTimeout"),
}
"""A key of ``scheduler.options`` -> rendered keys of which Slurm would prefer the values."""


def iter_owned_options(plan: Plan) -> Iterator[OwnedOption]:
    """The keys that the rendered files of this plan depend on."""
    return (item for item in OWNED_OPTIONS if item.applies(plan))


def iter_owned_items(plan: Plan) -> Iterator[OwnedItem]:
    """The items of list-valued keys that the rendered files of this plan depend on."""
    return (item for item in OWNED_ITEMS if item.applies(plan))


def iter_missing_items(plan: Plan, options: Mapping[str, str]) -> Iterator[tuple[str, RequiredItems]]:
    """The given keys whose values lack items that the rendered keys require."""
    given = {key.lower(): key for key in options}
    for item in REQUIRED_ITEMS:
        key = given.get(item.key.lower())
        if key and item.applies(plan):
            found = set(list_item_names(options[key]))
            if not any(found.issuperset(names) for names in item.alternatives):
                yield key, item


def merge_list(rendered: str, given: str, alternatives: Sequence[Sequence[str]] = ()) -> str:
    """The items of both lists; a given item replaces the rendered one of the same name, or its alternative.

    >>> merge_list("enable_configless,node_reg_mem_percent=95", "idle_on_node_suspend,node_reg_mem_percent=90")
    'enable_configless,node_reg_mem_percent=90,idle_on_node_suspend'
    >>> merge_list("CR_Core_Memory,CR_LLN", "CR_CPU", [["CR_CPU", "CR_Core_Memory"]])
    'CR_LLN,CR_CPU'
    """
    new = {_get_item_name(item): item for item in _split_items(given)}
    excluded = {
        name.lower()
        for group in alternatives
        if new.keys() & {name.lower() for name in group}
        for name in group
        if name.lower() not in new
    }
    merged = {_get_item_name(item): item for item in _split_items(rendered)}
    return ",".join(item for name, item in (merged | new).items() if name not in excluded)


def list_item_names(value: str) -> list[str]:
    """The names of a list's items in lower case, without ``=`` and value.

    >>> list_item_names("jwt_key=/etc/key, Disable_token_creation")
    ['jwt_key', 'disable_token_creation']
    """
    return [_get_item_name(item) for item in _split_items(value)]


def _split_items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _get_item_name(item: str) -> str:
    return item.partition("=")[0].strip().lower()
