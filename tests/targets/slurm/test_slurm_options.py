"""``scheduler.options``: keys on which other files depend are refused, items of lists are added."""

from __future__ import annotations

import re
from functools import cache

import pytest
from slurm_plans import CATALOG, RELEASES, TENANTS, build_gb200_pool, build_h100_pool, get_setting, parse_records
from slurm_plans import build_plan as onprem

from supercloud.plan.build.slurm_options import (
    OWNED_ITEMS,
    OWNED_OPTIONS,
    OwnedItem,
    iter_owned_items,
    iter_owned_options,
)
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec
from supercloud.targets import render
from supercloud.targets.clouds.aws.log_agent import LOG_FILES

# Paths in slurm.conf that other files have too, for which Slurm may have others: commands of the system, and a program
# that is installed, and run by INSTALL.md and prolog.sh, whichever program Slurm runs in intervals.
_FREE_PATHS = {"/bin/true", "/usr/sbin/reboot", "/etc/slurm/health-check.sh"}


def build_aws_plan(version: str = "25.11", **scheduler: object) -> Plan:
    return resolve(
        ClusterSpec.model_validate(
            {
                "name": "cloudy",
                "site": {"kind": "aws", "region": "us-east-1", "zones": ["us-east-1a"]},
                "scheduler": {"kind": "slurm", "version": version, **scheduler},
                "pools": [{"name": "train", "machine": "p5.48xlarge", "nodes": 4}],
                "tenants": TENANTS,
            }
        ),
        CATALOG,
    )


@cache
def build_clusters() -> dict[str, Plan]:
    """One cluster for each place and for each condition that a key depends on."""
    pools = [build_gb200_pool(), build_h100_pool(nodes=8, fabrics=[])]
    return {
        "onprem": onprem("25.11", pools, tenants=TENANTS, scheduler={"controllers": [{"name": "a"}, {"name": "b"}]}),
        "onprem-old": onprem("23.11", pools, tenants=TENANTS),
        "aws": build_aws_plan(),
    }


@cache
def render_files(name: str) -> dict[str, str]:
    """All text that is rendered from the plan for the scheduler, by target and path."""
    plan = build_clusters()[name]
    targets = ("slurm", "boot") if plan.cloud else ("slurm",)
    bundles = {target: render(plan, target) for target in targets}
    return {
        f"{target}/{path}": bundle[path]
        for target, bundle in bundles.items()
        for path in bundle
        if isinstance(bundle[path], str)
    }


def list_owned_keys(plan: Plan) -> set[str]:
    return {item.key.lower() for item in (*iter_owned_options(plan), *iter_owned_items(plan))}


@pytest.mark.parametrize("name", ["onprem", "onprem-old", "aws"])
def test_paths_that_another_file_repeats_have_owned_keys(name: str) -> None:
    """An option that moves such a path leaves the other file behind."""
    files = render_files(name)
    others = {path: text for path, text in files.items() if path != "slurm/slurm.conf"}
    repeated: dict[str, list[str]] = {}
    for record in parse_records(files["slurm/slurm.conf"]):
        for key, value in record.items():
            for path in set(re.findall(r"(?<![\w.])/[\w./-]+", value)) - _FREE_PATHS:
                where = [other for other, text in others.items() if re.search(rf"{re.escape(path)}(?![\w.-])", text)]
                if where:
                    repeated.setdefault(key, []).append(f"{path} in {where[0]}")
    assert {"statesavelocation", "slurmdspooldir"} <= repeated.keys()
    assert not {key: found for key, found in repeated.items() if key not in list_owned_keys(build_clusters()[name])}


# What depends on each key: a plan, a file of it, and text in that file that is wrong with another value.
EVIDENCE = {
    "ClusterName": ("onprem", "slurm/accounts.sh", "pod1"),
    "NodeName": ("onprem", "slurm/node-facts.txt", "train-"),
    "NodeSet": ("onprem", "slurm/slurm.conf", "NodeName=train-"),
    "DownNodes": ("onprem", "slurm/slurm.conf", "NodeName=train-"),
    "FrontendName": ("onprem", "slurm/slurm.conf", "NodeName=train-"),
    "PartitionName": ("onprem", "slurm/slurm.conf", "PartitionName=train"),
    "SlurmctldHost": ("onprem", "slurm/INSTALL.md", "--conf-server 10."),
    "ControlMachine": ("onprem", "slurm/INSTALL.md", "--conf-server 10."),
    "ControlAddr": ("onprem", "slurm/INSTALL.md", "--conf-server 10."),
    "BackupController": ("onprem", "slurm/INSTALL.md", "--conf-server 10."),
    "BackupAddr": ("onprem", "slurm/INSTALL.md", "--conf-server 10."),
    "SlurmctldPort": ("onprem", "slurm/INSTALL.md", '--conf-server 10.0.0.11,10.0.0.12"'),
    "SlurmUser": ("onprem", "slurm/slurmdbd.conf", "SlurmUser=slurm"),
    "SlurmdUser": ("onprem", "slurm/prolog.sh", "runs as root"),
    "StateSaveLocation": ("onprem", "slurm/INSTALL.md", "/var/spool/slurmctld"),
    "SlurmdSpoolDir": ("onprem", "slurm/health-check.sh", "/var/spool/slurmd"),
    "AuthType": ("onprem", "slurm/slurmdbd.conf", "AuthType=auth/munge"),
    "CredType": ("onprem", "slurm/INSTALL.md", "munge.key"),
    "CryptoType": ("onprem", "slurm/INSTALL.md", "munge.key"),
    "AuthAltTypes": ("onprem", "slurm/slurmdbd.conf", "AuthAltTypes=auth/jwt"),
    "ProctrackType": ("onprem", "slurm/cgroup.conf", "ConstrainDevices=yes"),
    "SelectType": ("onprem", "slurm/gres.conf", "Name=gpu"),
    "TopologyPlugin": ("onprem-old", "slurm/topology.conf", "SwitchName="),
    "HealthCheckInterval": ("onprem", "slurm/slurm.conf", "HealthCheckProgram="),
    "JobContainerType": ("onprem-old", "slurm/job_container.conf", "BasePath="),
    "NamespaceType": ("onprem", "slurm/job_container.conf", "BasePath="),
    "SwitchType": ("onprem", "slurm/slurm.conf", "SwitchParameters=imex_channel_count"),
    "AccountingStorageType": ("onprem", "slurm/INSTALL.md", "systemctl restart slurmdbd"),
    "AccountingStorageHost": ("onprem", "slurm/slurmdbd.conf", "DbdHost=a"),
    "AccountingStoragePort": ("onprem", "slurm/slurmdbd.conf", "DbdHost="),
    "AccountingStoragePass": ("onprem", "slurm/slurmdbd.conf", "AuthType=auth/munge"),
    "PriorityType": ("onprem", "slurm/accounts.sh", "fairshare"),
    "PreemptType": ("onprem", "slurm/accounts.sh", "preempt"),
    "MaxNodeCount": ("aws", "slurm/cloud-nodes.conf", "train-"),
    "ResumeFailProgram": ("aws", "boot/resume-fail.sh", "scaler"),
    "ResumeProgram": ("aws", "boot/resume.sh", "scaler"),
    "SuspendExcNodes": ("aws", "boot/scaler/nodes.py", "SuspendExcNodes"),
    "SuspendProgram": ("aws", "boot/suspend.sh", "scaler"),
    "TreeWidth": ("aws", "boot/scaler/naming.py", "NodeAddr"),
    "SlurmctldLogFile": ("aws", "", "/var/log/slurm/slurmctld.log"),
    "SlurmdLogFile": ("aws", "", "/var/log/slurm/slurmd.log"),
}


def test_every_owned_key_has_evidence() -> None:
    assert EVIDENCE.keys() == {item.key for item in OWNED_OPTIONS}


@pytest.mark.parametrize("key", EVIDENCE)
def test_another_file_depends_on_an_owned_key(key: str) -> None:
    name, file, text = EVIDENCE[key]
    assert key.lower() in list_owned_keys(build_clusters()[name])
    if file:
        assert re.search(re.escape(text), render_files(name)[file], re.IGNORECASE)
    else:
        assert text in LOG_FILES


@pytest.mark.parametrize("item", OWNED_ITEMS, ids=lambda item: f"{item.key}-{item.item}")
def test_owned_items_are_of_keys_that_are_lists(item: OwnedItem) -> None:
    for release in RELEASES:
        assert item.key in CATALOG.get_slurm_release(release).lists


@pytest.mark.parametrize(
    "key, value, hint",
    [
        ("AuthType", "auth/none", "set scheduler.auth"),
        ("credtype", "auth/none", "set scheduler.auth"),
        ("SlurmctldPort", "7000", "omit it"),
        ("SlurmctldHost", "x", "set scheduler.controllers"),
        ("SlurmUser", "root", "omit it"),
        ("AuthAltParameters", "disable_token_creation,jwt_key=/x", "omit it"),
        ("AccountingStorageEnforce", "none", "omit it"),
        ("PrologFlags", "NoHold", "omit it"),
        ("PreemptMode", "OFF", "set scheduler.preemption: false for no preemption"),
        ("preemptmode", "GANG", "set scheduler.preemption: false for no preemption"),
        ("PreemptMode", "SUSPEND", "set scheduler.preemption: false for no preemption"),
    ],
)
def test_owned_keys_are_errors_on_prem_and_on_clouds(key: str, value: str, hint: str) -> None:
    for plan in (
        onprem("23.11", tenants=TENANTS, scheduler={"options": {key: value}}),
        build_aws_plan(options={key: value}),
    ):
        [finding] = [item for item in plan.findings if item.check == "slurm-option-reserved"]
        assert (finding.level, finding.path, finding.hint) == ("error", f"scheduler.options.{key}", hint)


def test_the_state_folder_is_a_field_on_prem_only() -> None:
    options = {"options": {"StateSaveLocation": "/x"}}
    for plan, hint in (
        (onprem("23.11", scheduler=options), "set scheduler.state_folder"),
        (build_aws_plan(**options), "omit it"),
    ):
        [finding] = [item for item in plan.findings if item.check == "slurm-option-reserved"]
        assert finding.hint == hint
    declared = build_aws_plan(state_folder="/x")
    assert ("cloud-fields", "scheduler.state_folder") in {(item.check, item.path) for item in declared.findings}
    assert "StateSaveLocation=/var/spool/slurmctld\n" in render(declared, "slurm")["slurm.conf"]


@pytest.mark.parametrize("mode", ["CANCEL", "requeue", "SUSPEND,GANG"])
def test_modes_that_slurm_combines_with_the_rendered_preemption_are_allowed(mode: str) -> None:
    plan = onprem(scheduler={"options": {"PreemptMode": mode}})
    assert not plan.errors and get_setting(render(plan, "slurm")["slurm.conf"], "PreemptMode") == mode
    assert not onprem(scheduler={"preemption": False, "options": {"PreemptMode": "OFF"}}).errors


@pytest.mark.parametrize(
    "key, kept",
    [
        ("defmempercpu", {"DefMemPerGPU", "DefCpuPerGPU"}),
        ("DefMemPerNode", {"DefCpuPerGPU"}),
    ],
)
def test_partitions_leave_given_defaults_to_the_option(key: str, kept: set[str]) -> None:
    """The value of the partition applied, and the option had no effect."""
    text = render(onprem(scheduler={"options": {key: "1000"}}), "slurm")["slurm.conf"]
    [partition] = [item for item in parse_records(text) if item.get("partitionname") not in (None, "DEFAULT")]
    assert {name for name in partition if name.startswith("def") and name != "default"} - {"defaulttime"} == {
        name.lower() for name in kept
    }
    assert get_setting(text, key) == "1000"


def test_keys_of_unused_parts_are_allowed() -> None:
    options = {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": "db.example",
        "PreemptType": "preempt/partition_prio",
        "SlurmdPort": "7001",
    }
    plan = onprem("25.11", scheduler={"accounting": False, "options": options})
    assert not plan.errors
    assert get_setting(render(plan, "slurm")["slurm.conf"], "AccountingStorageHost") == "db.example"


@pytest.mark.parametrize("release", RELEASES)
def test_items_are_added_to_required_items(release: str) -> None:
    """SlurmctldParameters: idle_on_node_suspend took the place of enable_configless, and no node could join."""
    options = {
        "slurmctldparameters": "idle_on_node_suspend,node_reg_mem_percent=90",
        "PrologFlags": "X11",
        "LaunchParameters": "enable_nss_slurm",
        "GresTypes": "license",
        "SchedulerParameters": "bf_max_job_test=50,defer",
        "SelectTypeParameters": "CR_Socket_Memory",
        "PrivateData": "nodes",
        "TaskPlugin": "task/affinity",
    }
    for plan in (onprem(release, scheduler={"options": options}), build_aws_plan(release, options=options)):
        assert not [item for item in plan.errors if item.path.startswith("scheduler.options")]
        text = render(plan, "slurm")["slurm.conf"]
        found = {key: str(get_setting(text, key)).split(",") for key in options}
        parameters = found["slurmctldparameters"]
        assert {"enable_configless", "idle_on_node_suspend", "node_reg_mem_percent=90"} == set(parameters)
        assert found["PrologFlags"] == ["Alloc", "Contain", "X11"]
        assert found["LaunchParameters"] == ["use_interactive_step", "enable_nss_slurm"]
        assert found["GresTypes"] == ["gpu", "license"]
        assert {"bf_max_job_test=50", "defer", "nohold_on_prolog_fail"} <= set(found["SchedulerParameters"])
        assert "bf_max_job_test=1000" not in found["SchedulerParameters"]
        assert found["SelectTypeParameters"] == ["CR_CORE_DEFAULT_DIST_BLOCK", "CR_Socket_Memory"], (
            "one of them applies"
        )
        assert {"accounts", "jobs", "usage", "users", "nodes"} <= set(found["PrivateData"])
        assert found["TaskPlugin"] == ["task/cgroup", "task/affinity"]


@pytest.mark.parametrize("release", RELEASES)
def test_conflicting_items_replace_rendered_ones(release: str) -> None:
    options = {"PropagateResourceLimits": "NONE", "PrologEpilogTimeout": "60"}
    text = render(onprem(release, scheduler={"options": options}), "slurm")["slurm.conf"]
    assert get_setting(text, "PropagateResourceLimits") == "NONE" and get_setting(text, "PrologEpilogTimeout") == "60"
    for key in ("PropagateResourceLimitsExcept", "PrologTimeout", "EpilogTimeout"):
        assert get_setting(text, key) is None


@pytest.mark.parametrize("release", RELEASES)
def test_lists_are_keys_of_the_release(release: str) -> None:
    found = CATALOG.get_slurm_release(release)
    assert found.lists.keys() <= set(found.keys.slurm)


@pytest.mark.parametrize("release", RELEASES)
def test_rendered_values_with_several_items_are_lists_or_known_not_to_be(release: str) -> None:
    """A key that is rendered as a list and missing in the release's data would be replaced as a whole."""
    modes = {"healthchecknodestate"}  # the states together say which nodes are checked
    lists = {key.lower() for key in CATALOG.get_slurm_release(release).lists}
    for plan in (
        onprem(release, [build_gb200_pool(), build_h100_pool(fabrics=[])], tenants=TENANTS),
        build_aws_plan(release),
    ):
        for record in parse_records(render(plan, "slurm")["slurm.conf"]):
            [*keys] = record
            if len(keys) == 1 and "," in record[keys[0]]:
                assert keys[0] in lists | modes, record


def test_two_spellings_of_a_key_are_an_error() -> None:
    plan = onprem(scheduler={"options": {"KillWait": "30", "killwait": "60"}})
    [finding] = plan.errors
    assert (finding.check, finding.path) == ("slurm-option-duplicate", "scheduler.options.killwait")


@pytest.mark.parametrize("release", RELEASES)
def test_slurmdbd_conf_has_the_common_keys(release: str) -> None:
    options = {"trackwckey": "yes"} | ({"TLSType": "tls/s2n"} if release >= "24.05" else {})
    text = render(onprem(release, scheduler={"options": options}), "slurm")["slurmdbd.conf"]
    assert get_setting(text, "TrackWCKey") == "yes"
    assert get_setting(text, "TLSType") == options.get("TLSType")
    assert get_setting(render(onprem(release), "slurm")["slurmdbd.conf"], "TrackWCKey") is None
