"""slurm.conf without nodes and partitions: one mapping per subject, each under its own heading."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....plan.build.slurm_options import REPLACED_OPTIONS, merge_list
from ....plan.model.plan import Plan
from .accessors import (
    get_cluster_name,
    get_state_folder,
    has_dynamic_nodes,
    require_slurm_release,
    require_slurm_spec,
)
from .conf import ConfigWriter, Settings, Value, join_items
from .gres import list_gres_types, list_tracked_resources
from .power import build_power_settings
from .topology import list_supported_localities, select_default_locality
from .topology_cloud import has_dynamic_topology

__all__ = [
    "JOB_CONTAINER_DIRECTORY",
    "SCRATCH_DIRECTORY",
    "SCRIPT_DIRECTORY",
    "build_sections",
    "render_setting_lines",
    "build_token_settings",
]

# Directory of the bundle on every host.
SCRIPT_DIRECTORY = "/etc/slurm"

# Directory of the jobs' own directories on each node; local scratch disks may be mounted here.
SCRATCH_DIRECTORY = "/var/spool/slurmd/scratch"

# Directory of the private /tmp and /dev/shm of each job.
JOB_CONTAINER_DIRECTORY = "/var/spool/slurmd/job_container"

# The key that signs tokens; only controllers and slurmdbd have it.
_TOKEN_KEY_FILE = f"{SCRIPT_DIRECTORY}/jwt_hs256.key"

# Data that users cannot see of each other; operators and coordinators see all.
_PRIVATE_DATA = ["accounts", "jobs", "usage", "users"]

# From this number of nodes on, messages take longer and the scheduler must run less often.
_LARGE_CLUSTER_NODES = 2000


def render_setting_lines(plan: Plan, writer: ConfigWriter) -> Iterator[str]:
    """Yield lines under headings; options of the spec override the others and come last, their items of list-valued
    keys are added to the rendered ones.
    """
    given = {key.lower(): (key, value) for key, value in require_slurm_spec(plan).options.items()}
    replaced = {
        key.lower() for option, keys in REPLACED_OPTIONS.items() if option.lower() in given for key in keys
    } - given.keys()
    lists = {key.lower(): alternatives for key, alternatives in require_slurm_release(plan).lists.items()}
    for heading, settings in build_sections(plan, writer):
        ours: dict[str, Value] = {}
        for key, value in settings.items():
            name = key.lower()
            if name in given and name in lists and isinstance(value, str):
                ours[key] = merge_list(value, given.pop(name)[1], lists[name])
            elif name not in given and name not in replaced:
                ours[key] = value
        if found := writer.format_settings("slurm", ours):
            yield from ("", f"# {heading}", *found)
    if given:
        yield from (
            "",
            "# scheduler.options of the spec",
            *writer.format_settings("slurm", dict(sorted(given.values()))),
        )


def build_sections(plan: Plan, writer: ConfigWriter) -> Iterator[tuple[str, Settings]]:
    """Yield headings and their settings."""
    yield "Cluster and daemons", _build_daemon_settings(plan)
    yield "Authentication and private data", _build_authentication_settings(plan)
    yield "Timeouts", _build_timeout_settings(plan, writer)
    yield "Prolog, epilog and process tracking", _build_prolog_settings(plan)
    yield "Node health check", _build_health_check_settings(plan)
    yield "Scheduling", _build_scheduling_settings(plan)
    yield "Priority", _build_priority_settings(plan)
    yield "Resources and topology", _build_resource_settings(plan)
    yield "accounting", _build_accounting_settings(plan)
    if has_dynamic_nodes(plan):
        yield "Power saving", build_power_settings(plan)


def _build_daemon_settings(plan: Plan) -> dict[str, Value]:
    return {
        "ClusterName": get_cluster_name(plan),
        "SlurmctldHost": [f"{host.name}({host.address})" for host in plan.scheduler.controllers],
        "SlurmUser": "slurm",
        "StateSaveLocation": get_state_folder(plan),
        "SlurmdSpoolDir": "/var/spool/slurmd",
        "SlurmctldLogFile": "/var/log/slurm/slurmctld.log",
        "SlurmdLogFile": "/var/log/slurm/slurmd.log",
        "SlurmctldPidFile": "/run/slurmctld.pid",
        "SlurmdPidFile": "/run/slurmd.pid",
        # a node may have a few per cent less than its nominal memory: firmware and kernel reserve some
        "SlurmctldParameters": join_items(
            [
                "enable_configless",
                "node_reg_mem_percent=95",
                # a suspended node may be used again, as it gets a new instance
                *(["idle_on_node_suspend"] if has_dynamic_nodes(plan) else []),
            ]
        ),
        "MaxNodeCount": plan.nodes if has_dynamic_nodes(plan) else None,
        "MailProg": "/bin/true",
        # only if PrivateData hides them from users; otherwise both exclude each other, and scheduler.options decides
        "MetricsType": "metrics/openmetrics"
        if require_slurm_release(plan).abilities.metrics == "authenticated"
        else None,
    }


def _build_authentication_settings(plan: Plan) -> dict[str, Value]:
    slurm = require_slurm_spec(plan).auth == "slurm"
    return {
        "AuthType": "auth/slurm" if slurm else "auth/munge",
        "CredType": "auth/slurm" if slurm else "cred/munge",
        **build_token_settings(plan),
        "PrivateData": None if has_public_metrics(plan) else join_items([*_PRIVATE_DATA, *_list_visible_data(plan)]),
    }


def has_public_metrics(plan: Plan) -> bool:
    """Whether the spec requests metrics that the release serves to all users or, with PrivateData, to none."""
    asked = any(key.lower() == "metricstype" for key in require_slurm_spec(plan).options)
    return asked and require_slurm_release(plan).abilities.metrics == "public"


def _list_visible_data(plan: Plan) -> list[str]:
    """Return values of PrivateData that hide nothing: powered-down cloud nodes are shown too."""
    return ["cloud"] if has_dynamic_nodes(plan) else []


def build_token_settings(plan: Plan) -> dict[str, Value]:
    """Build settings of tokens and private data: the same for slurmctld and slurmdbd.

    On a cloud the boot scripts distribute only the daemons' key, and do not start slurmrestd.
    """
    tokens = "jwt" in require_slurm_release(plan).abilities.auth and not has_dynamic_nodes(plan)
    return {
        "AuthAltTypes": "auth/jwt" if tokens else None,
        "AuthAltParameters": f"jwt_key={_TOKEN_KEY_FILE}" if tokens else None,
        "PrivateData": join_items(_PRIVATE_DATA),
    }


def _build_timeout_settings(plan: Plan, writer: ConfigWriter) -> dict[str, Value]:
    big = plan.nodes > _LARGE_CLUSTER_NODES
    both = writer.has_key("slurm", "PrologTimeout")
    return {
        "SlurmctldTimeout": 180,
        "SlurmdTimeout": 300,
        "MessageTimeout": 100 if big else 60,
        "TCPTimeout": 15,
        "BatchStartTimeout": 120,
        "PrologEpilogTimeout": None if both else 300,
        "PrologTimeout": 300 if both else None,
        "EpilogTimeout": 300 if both else None,
        "KillWait": 120,
        "UnkillableStepTimeout": 600,
        # of a node that is powered up or rebooted: large machines start slowly
        "ResumeTimeout": 1800,
        # messages reach all nodes in two hops; cloud nodes are contacted directly, as they may not resolve each
        # other's names
        "TreeWidth": 65533 if has_dynamic_nodes(plan) else max(32, math.isqrt(max(plan.nodes - 1, 0)) + 1),
    }


def _build_prolog_settings(plan: Plan) -> dict[str, Value]:
    container = require_slurm_release(plan).abilities.container_tmp
    return {
        "ProctrackType": "proctrack/cgroup",
        "TaskPlugin": "task/cgroup,task/affinity",
        # Contain: an extern step for processes adopted by pam_slurm_adopt, and the job's private /tmp
        "PrologFlags": "Alloc,Contain",
        **(dict([container.split("=")]) if container else {}),
        "Prolog": f"{SCRIPT_DIRECTORY}/prolog.sh",
        "Epilog": f"{SCRIPT_DIRECTORY}/epilog.sh",
        "TaskProlog": f"{SCRIPT_DIRECTORY}/task-prolog.sh",
        "PropagateResourceLimitsExcept": "MEMLOCK",
        "LaunchParameters": "use_interactive_step",
        "KillOnBadExit": 1,
        "ReturnToService": 2,
        "RebootProgram": "/usr/sbin/reboot",
    }


def _build_health_check_settings(plan: Plan) -> dict[str, Value]:
    interval = require_slurm_spec(plan).health_check_interval.ceil("s")
    return {
        "HealthCheckProgram": f"{SCRIPT_DIRECTORY}/health-check.sh" if interval else None,
        "HealthCheckInterval": interval or None,
        # busy nodes too: a shared node that is never idle would not be checked. CYCLE: not all at the same time
        "HealthCheckNodeState": "ANY,CYCLE" if interval else None,
    }


def _build_scheduling_settings(plan: Plan) -> dict[str, Value]:
    slurm, big = require_slurm_spec(plan), plan.nodes > _LARGE_CLUSTER_NODES
    minutes = slurm.max_time.ceil("min")
    parameters = [
        "nohold_on_prolog_fail",
        "salloc_wait_nodes",
        "sbatch_wait_nodes",
        "bf_continue",
        "bf_max_job_test=1000",
        # the backfill window is as long as jobs may run, so that small jobs do not delay large ones
        f"bf_window={minutes}",
        f"bf_resolution={600 if minutes > 1440 else 60}",
        # how long a job may wait for few switches; Slurm's default of 5 minutes would spread jobs that forbid it
        "max_switch_wait=2592000",
        *(["bf_interval=60", "max_rpc_cnt=150"] if big else []),
    ]
    return {
        "SelectType": "select/cons_tres",
        # not CR_ONE_TASK_PER_CORE: with it 26.05 counts a GPU's processors twice, and four jobs fill a node of eight
        "SelectTypeParameters": "CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": join_items(parameters),
        "EnforcePartLimits": "ALL",
        "JobRequeue": 1,
        "MaxJobCount": 100_000 if big else None,
    }


def _build_priority_settings(plan: Plan) -> dict[str, Value]:
    slurm = require_slurm_spec(plan)
    if not slurm.accounting:  # all weights need the database
        return {"PriorityType": "priority/basic"}
    return {
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": 1000,
        "PriorityWeightFairshare": 10_000,
        "PriorityWeightQOS": 100_000,
        "PreemptType": "preempt/qos" if slurm.preemption else None,
        "PreemptMode": "REQUEUE" if slurm.preemption else None,
        # a job that has just started has little to lose, but must not be preempted again and again
        "PreemptExemptTime": "00:05:00" if slurm.preemption else None,
    }


def _build_resource_settings(plan: Plan) -> dict[str, Value]:
    abilities = require_slurm_release(plan).abilities
    default = select_default_locality(plan)
    several = abilities.topology_yaml and len(list_supported_localities(plan)) > 1
    plugin = abilities.flat_plugin if default.kind == "flat" else default.kind
    ranked = default.kind == "tree" or (default.kind == "block" and abilities.block_rank)
    imex = abilities.imex and any(pool.has_imex for pool in plan.pools)
    return {
        "GresTypes": join_items(list_gres_types(plan)),
        # topology.yaml specifies it
        "TopologyPlugin": None if several or has_dynamic_topology(plan) else f"topology/{plugin}",
        "TopologyParam": ("SwitchAsNodeRank" if default.kind == "tree" else "BlockAsNodeRank") if ranked else None,
        "SwitchType": "switch/nvidia_imex" if imex else None,
        "SwitchParameters": "imex_channel_count=2048" if imex else None,
    }


def _build_accounting_settings(plan: Plan) -> dict[str, Value]:
    database = plan.scheduler.database
    if database is None:
        return {}
    return {
        "JobAcctGatherType": "jobacct_gather/cgroup",
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": database.address if has_dynamic_nodes(plan) else database.name,
        "AccountingStorageTRES": join_items(list_tracked_resources(plan)),
        # comments contain the key of jobs submitted through the job API
        "AccountingStoreFlags": "job_comment",
        "AccountingStorageEnforce": "associations,limits,qos,safe" if plan.tenants else None,
    }
