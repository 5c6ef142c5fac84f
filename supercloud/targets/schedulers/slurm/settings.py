"""slurm.conf without its nodes and partitions: a few mappings, one a subject, each under its own heading."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....plan.model.plan import Plan
from .conf import Lines, Settings, Value, joined
from .given import is_dynamic, release_of, slurm_of
from .gres import gres_types, tracked
from .power import power_settings
from .topology import default_locality, supported
from .topology_cloud import grows

__all__ = ["JOB_CONTAINER", "SCRATCH", "SCRIPTS", "sections", "setting_lines", "token_settings"]

# Where the bundle lies on every host.
SCRIPTS = "/etc/slurm"

# Where a job has a folder of its own on each node; local scratch disks may be mounted here.
SCRATCH = "/var/spool/slurmd/scratch"

# Where slurmd keeps the /tmp and /dev/shm of each job.
JOB_CONTAINER = "/var/spool/slurmd/job_container"

# The key that signs tokens; controllers and slurmdbd read it, nobody else has it.
_TOKEN_KEY = f"{SCRIPTS}/jwt_hs256.key"

# What users do not see of each other; operators and coordinators see all.
_PRIVATE = ["accounts", "jobs", "usage", "users"]

# From so many nodes on, messages take longer and the scheduler must not be asked too often.
_BIG = 2000


def setting_lines(plan: Plan, lines: Lines) -> Iterator[str]:
    """Lines under headings; what the user set by hand comes last and replaces ours."""
    options = slurm_of(plan).options
    by_hand = {key.lower() for key in options}
    for heading, settings in sections(plan, lines):
        ours = {key: value for key, value in settings.items() if key.lower() not in by_hand}
        if found := lines.settings("slurm", ours):
            yield from ("", f"# {heading}", *found)
    if options:
        yield from ("", "# scheduler.options of the spec", *lines.settings("slurm", dict(sorted(options.items()))))


def sections(plan: Plan, lines: Lines) -> Iterator[tuple[str, Settings]]:
    """Headings and their settings."""
    yield "the cluster and its daemons", _daemons(plan)
    yield "how daemons trust each other, and what users see", _trust(plan)
    yield "how long they wait for each other", _timers(plan, lines)
    yield "what happens on a node round a job", _node_side(plan)
    yield "health of nodes", _health(plan)
    yield "who gets what", _scheduling(plan)
    yield "whose turn it is", _priorities(plan)
    yield "resources and topology", _resources(plan)
    yield "accounting", _accounting(plan)
    if is_dynamic(plan):
        yield "nodes that come and go", power_settings(plan)


def _daemons(plan: Plan) -> dict[str, Value]:
    return {
        "ClusterName": plan.name,
        "SlurmctldHost": [f"{host.name}({host.address})" for host in plan.scheduler.controllers],
        "SlurmUser": "slurm",
        "StateSaveLocation": "/var/spool/slurmctld",
        "SlurmdSpoolDir": "/var/spool/slurmd",
        "SlurmctldLogFile": "/var/log/slurm/slurmctld.log",
        "SlurmdLogFile": "/var/log/slurm/slurmd.log",
        "SlurmctldPidFile": "/run/slurmctld.pid",
        "SlurmdPidFile": "/run/slurmd.pid",
        # a node may lack a few per cent of its nominal memory: firmware and kernel keep some
        "SlurmctldParameters": joined(
            [
                "enable_configless",
                "node_reg_mem_percent=95",
                # a node that is suspended may be used again, whatever was wrong with the instance it had
                *(["idle_on_node_suspend"] if is_dynamic(plan) else []),
            ]
        ),
        "MaxNodeCount": plan.nodes if is_dynamic(plan) else None,
        "MailProg": "/bin/true",
        # only where PrivateData keeps them from users; elsewhere one excludes the other, and scheduler.options chooses
        "MetricsType": "metrics/openmetrics" if release_of(plan).abilities.metrics == "authenticated" else None,
    }


def _trust(plan: Plan) -> dict[str, Value]:
    slurm = slurm_of(plan).auth == "slurm"
    return {
        "AuthType": "auth/slurm" if slurm else "auth/munge",
        "CredType": "auth/slurm" if slurm else "cred/munge",
        **token_settings(plan),
        "PrivateData": None if gives_public_metrics(plan) else joined([*_PRIVATE, *_visible(plan)]),
    }


def gives_public_metrics(plan: Plan) -> bool:
    """Whether the spec asks for metrics that the release gives to everybody or, with PrivateData, to nobody."""
    asked = any(key.lower() == "metricstype" for key in slurm_of(plan).options)
    return asked and release_of(plan).abilities.metrics == "public"


def _visible(plan: Plan) -> list[str]:
    """Words of PrivateData that hide nothing: nodes of a cloud that are off are seen, as the rest."""
    return ["cloud"] if is_dynamic(plan) else []


def token_settings(plan: Plan) -> dict[str, Value]:
    """Tokens for slurmrestd and who sees what: the same for slurmctld and slurmdbd.

    On a cloud the boot scripts distribute one key, that of the daemons, and start no slurmrestd.
    """
    tokens = "jwt" in release_of(plan).abilities.auth and not is_dynamic(plan)
    return {
        "AuthAltTypes": "auth/jwt" if tokens else None,
        "AuthAltParameters": f"jwt_key={_TOKEN_KEY}" if tokens else None,
        "PrivateData": joined(_PRIVATE),
    }


def _timers(plan: Plan, lines: Lines) -> dict[str, Value]:
    big = plan.nodes > _BIG
    both = lines.knows("slurm", "PrologTimeout")
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
        # of a node that was switched on or rebooted: large machines take their time
        "ResumeTimeout": 1800,
        # messages reach all nodes in two hops; nodes of a cloud are reached directly, as they may not know each other
        "TreeWidth": 65533 if is_dynamic(plan) else max(32, math.isqrt(max(plan.nodes - 1, 0)) + 1),
    }


def _node_side(plan: Plan) -> dict[str, Value]:
    container = release_of(plan).abilities.container_tmp
    return {
        "ProctrackType": "proctrack/cgroup",
        "TaskPlugin": "task/cgroup,task/affinity",
        # Contain: a step that holds what pam_slurm_adopt adopts, and the job's own /tmp
        "PrologFlags": "Alloc,Contain",
        **(dict([container.split("=")]) if container else {}),
        "Prolog": f"{SCRIPTS}/prolog.sh",
        "Epilog": f"{SCRIPTS}/epilog.sh",
        "TaskProlog": f"{SCRIPTS}/task-prolog.sh",
        "PropagateResourceLimitsExcept": "MEMLOCK",
        "LaunchParameters": "use_interactive_step",
        "KillOnBadExit": 1,
        "ReturnToService": 2,
        "RebootProgram": "/usr/sbin/reboot",
    }


def _health(plan: Plan) -> dict[str, Value]:
    interval = slurm_of(plan).health_check_interval.ceil("s")
    return {
        "HealthCheckProgram": f"{SCRIPTS}/health-check.sh" if interval else None,
        "HealthCheckInterval": interval or None,
        # busy nodes too: on a shared node that is never idle nobody would look. CYCLE: not all at the same time
        "HealthCheckNodeState": "ANY,CYCLE" if interval else None,
    }


def _scheduling(plan: Plan) -> dict[str, Value]:
    slurm, big = slurm_of(plan), plan.nodes > _BIG
    minutes = slurm.max_time.ceil("min")
    parameters = [
        "nohold_on_prolog_fail",
        "salloc_wait_nodes",
        "sbatch_wait_nodes",
        "bf_continue",
        "bf_max_job_test=1000",
        # backfill looks as far ahead as jobs may last, or it would start small jobs in the way of large ones
        f"bf_window={minutes}",
        f"bf_resolution={600 if minutes > 1440 else 60}",
        # how long a job may insist on few switches; Slurm's own 5 minutes would scatter jobs that asked never to be
        "max_switch_wait=2592000",
        *(["bf_interval=60", "max_rpc_cnt=150"] if big else []),
    ]
    return {
        "SelectType": "select/cons_tres",
        # not CR_ONE_TASK_PER_CORE: with it 26.05 counts a GPU's processors twice, and four jobs fill a node of eight
        "SelectTypeParameters": "CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": joined(parameters),
        "EnforcePartLimits": "ALL",
        "JobRequeue": 1,
        "MaxJobCount": 100_000 if big else None,
    }


def _priorities(plan: Plan) -> dict[str, Value]:
    slurm = slurm_of(plan)
    if not slurm.accounting:  # every weight needs the database
        return {"PriorityType": "priority/basic"}
    return {
        "PriorityType": "priority/multifactor",
        "PriorityWeightAge": 1000,
        "PriorityWeightFairshare": 10_000,
        "PriorityWeightQOS": 100_000,
        "PreemptType": "preempt/qos" if slurm.preemption else None,
        "PreemptMode": "REQUEUE" if slurm.preemption else None,
        # work that just started has nothing to lose yet, but starting it again and again helps nobody
        "PreemptExemptTime": "00:05:00" if slurm.preemption else None,
    }


def _resources(plan: Plan) -> dict[str, Value]:
    abilities = release_of(plan).abilities
    default = default_locality(plan)
    several = abilities.topology_yaml and len(supported(plan)) > 1
    plugin = abilities.flat_plugin if default.kind == "flat" else default.kind
    ranked = default.kind == "tree" or (default.kind == "block" and abilities.block_rank)
    imex = abilities.imex and any(pool.imex for pool in plan.pools)
    return {
        "GresTypes": joined(gres_types(plan)),
        # topology.yaml says it itself
        "TopologyPlugin": None if several or grows(plan) else f"topology/{plugin}",
        "TopologyParam": ("SwitchAsNodeRank" if default.kind == "tree" else "BlockAsNodeRank") if ranked else None,
        "SwitchType": "switch/nvidia_imex" if imex else None,
        "SwitchParameters": "imex_channel_count=2048" if imex else None,
    }


def _accounting(plan: Plan) -> dict[str, Value]:
    database = plan.scheduler.database
    if database is None:
        return {}
    return {
        "JobAcctGatherType": "jobacct_gather/cgroup",
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": database.address if is_dynamic(plan) else database.name,
        "AccountingStorageTRES": joined(tracked(plan)),
        # comments carry the identity of jobs submitted through the job API
        "AccountingStoreFlags": "job_comment",
        "AccountingStorageEnforce": "associations,limits,qos,safe" if plan.tenants else None,
    }
