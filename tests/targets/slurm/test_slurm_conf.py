"""For every release and cluster: only keys that the release knows, and no known mistake."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from slurm_plans import (
    RELEASES,
    VARIANTS,
    build_plan,
    build_spec,
    build_variant,
    get_setting,
    list_records,
    parse_records,
)

from supercloud.catalog import Catalog
from supercloud.errors import InputError, UnknownNameError
from supercloud.primitives.bundle import Bundle
from supercloud.targets import TARGETS, list_targets, render
from supercloud.targets.schedulers.slurm.accounting import build_accounts
from supercloud.targets.schedulers.slurm.conf import ConfigWriter, UnknownKeyError

DATA = Path(__file__).parents[3] / "supercloud/catalog/data/slurm"


HEADS = {"nodename": "node", "partitionname": "partition", "nodeset": "nodeset"}


@pytest.fixture(params=[(release, name) for release in RELEASES for name in VARIANTS], ids="-".join)
def rendered(request: pytest.FixtureRequest) -> tuple[str, Bundle]:
    release, name = request.param
    return release, render(build_variant(release, name), "slurm")


def test_every_key_is_known(rendered: tuple[str, Bundle]) -> None:
    release, bundle = rendered
    known = {
        section: {key.lower() for key in keys}
        for section, keys in yaml.safe_load((DATA / f"{release}.yaml").read_text())["keys"].items()
    }
    for path, section in (
        ("cgroup.conf", "cgroup"),
        ("gres.conf", "gres"),
        ("slurmdbd.conf", "slurmdbd"),
        ("topology.conf", "topology"),
    ):
        for record in parse_records(bundle.get(path, "")):
            assert set(record) <= known[section], path
    for record in parse_records(bundle["slurm.conf"]):
        head = next(iter(record))
        assert head in known["slurm"]
        assert set(record) - {head} <= known.get(HEADS.get(head, ""), set())


def test_known_mistakes_are_not_rendered(rendered: tuple[str, Bundle]) -> None:
    release, bundle = rendered
    text = bundle["slurm.conf"]
    accounting = get_setting(text, "AccountingStorageType") is not None
    assert accounting == ("slurmdbd.conf" in bundle) == ("accounts.sh" in bundle)
    for key in (
        "AccountingStorageTRES",
        "PriorityWeightFairshare",
        "PriorityWeightAge",
        "AccountingStorageEnforce",
        "PreemptType",
    ):
        assert accounting or get_setting(text, key) is None
    assert get_setting(text, "MpiDefault") is None
    assert int(get_setting(text, "ResumeTimeout") or 0) <= 65535
    assert get_setting(text, "EnforcePartLimits") == "ALL"
    assert [item.get("default") for item in list_records(text, "PartitionName")].count("YES") == 1
    assert bundle.files["slurm.conf"].mode == 0o644
    assert not accounting or bundle.files["slurmdbd.conf"].mode == 0o600
    assert "StoragePass" not in bundle.get("slurmdbd.conf", "")
    for path, content in bundle.items():
        head = content.splitlines()[1 if path.endswith(".sh") else 0]
        assert "made by supercloud" in head and "do not edit" in head, path
        assert "None" not in content, path


def test_defaults_do_not_exceed_the_node(rendered: tuple[str, Bundle]) -> None:
    """Accelerators times their default memory and processors never exceed a node, nor do processors times theirs.

    Slurm takes the memory of accelerators for jobs that ask for some, that of processors for others; it adds neither
    (tests/real/slurm/test_default_memory.py).
    """
    text = rendered[1]["slurm.conf"]
    nodes: dict[str, tuple[int, int, int]] = {}
    default: dict[str, str] = {}
    for record in parse_records(text):
        if record.get("nodename") == "DEFAULT":
            default = {**default, **record}
            if "sockets" not in record:  # its processors are unknown, and the plan has an error
                default["sockets"] = "0"
        elif "nodename" in record:
            gpus = sum(int(item.split(":")[2]) for item in default.get("gres", "").split(",") if item[:4] == "gpu:")
            cpus = int(default["sockets"]) * int(default["corespersocket"]) * int(default["threadspercore"])
            cpus -= int(default.get("corespeccount", 0)) * int(default["threadspercore"])
            memory = int(default["realmemory"]) - int(default.get("memspeclimit", 0))
            nodes[record["nodename"].split("-")[0]] = (gpus, cpus, memory)
    for partition in list_records(text, "PartitionName"):
        for item in list_records(text, "NodeSet"):
            if item["nodeset"] not in partition["nodes"].split(","):
                continue
            gpus, cpus, memory = nodes[item["nodes"].split("-")[0]]
            assert gpus * int(partition.get("defmempergpu", 0)) <= memory
            assert gpus * int(partition.get("defcpupergpu", 0)) <= cpus
            assert "defmempercpu" not in partition or cpus * int(partition["defmempercpu"]) <= memory
            # without the last, a job without a memory request would get all memory of the node
            assert not gpus or {"defmempergpu", "defcpupergpu", "defmempercpu"} <= set(partition)


def test_rendering_is_deterministic() -> None:
    for name in VARIANTS:
        found = build_variant("25.11", name)
        assert dict(render(found, "slurm")) == dict(render(found, "slurm"))


def test_h100_nodes_have_their_lines() -> None:
    text = render(build_plan(), "slurm")["slurm.conf"]
    assert "NodeName=train-[0033-0064] NodeAddr=10.1.0.[33-64]" in text.splitlines()
    assert get_setting(text, "SlurmctldHost") == "ctl1(10.0.0.11)"
    assert get_setting(text, "AccountingStorageTRES") == "gres/gpu,gres/gpu:h100"
    assert get_setting(text, "AccountingStoreFlags") == "job_comment"
    assert get_setting(text, "SchedulerParameters") and "bf_window=10080" in str(
        get_setting(text, "SchedulerParameters")
    )
    partition = list_records(text, "PartitionName")[0]
    assert partition["maxtime"] == "7-00:00:00" and partition["defaulttime"] == "04:00:00"


def test_controllers_are_listed_in_order() -> None:
    bundle = render(build_variant("22.05", "two-controllers"), "slurm")
    hosts = [line for line in bundle["slurm.conf"].splitlines() if line.startswith("SlurmctldHost=")]
    assert hosts == ["SlurmctldHost=a(10.0.0.11)", "SlurmctldHost=b(10.0.0.12)"]
    assert (
        get_setting(bundle["slurm.conf"], "AccountingStorageHost")
        == get_setting(bundle["slurmdbd.conf"], "DbdHost")
        == "db"
    )
    assert "share" in bundle["INSTALL.md"]


def test_options_override_rendered_keys_and_are_quoted() -> None:
    text = render(build_variant("22.05", "options"), "slurm")["slurm.conf"]
    lines = text.splitlines()
    assert "returntoservice=1" in lines and not any(line.startswith("ReturnToService") for line in lines)
    assert r'MailDomain="a b\#2"' in lines


def test_pools_do_not_inherit_from_each_other() -> None:
    """DEFAULT lines carry over: a pool without a resource must say so after one that has it."""
    text = render(build_variant("22.05", "mixed"), "slurm")["slurm.conf"]
    defaults = [record for record in parse_records(text) if record.get("nodename") == "DEFAULT"]
    assert defaults[0]["gres"] == "gpu:h100:8" and defaults[1]["gres"] == '""'
    defaults = [
        record
        for record in parse_records(render(build_variant("22.05", "reserve"), "slurm")["slurm.conf"])
        if record.get("nodename") == "DEFAULT"
    ]
    assert [item["corespeccount"] for item in defaults] == ["4", "0"]
    assert [item["memspeclimit"] for item in defaults] == ["65536", "0"]


def test_gres_conf_has_the_devices() -> None:
    text = render(build_plan(), "slurm")["gres.conf"]
    assert (
        "NodeName=train-[0001-0127] Name=gpu Type=h100 File=/dev/nvidia[4-7] Cores=56-111 Flags=nvidia_gpu_env" in text
    )
    bundle = render(build_variant("22.05", "mig"), "slurm")
    assert "Gres=gpu:h100:6,gpu:1g.10gb:14" in bundle["slurm.conf"]
    assert "NodeName=train-[0001-0127] AutoDetect=nvml" in bundle["gres.conf"]
    assert "- devices: [6, 7]" in bundle["mig-parted.yaml"]
    assert get_setting(bundle["slurm.conf"], "AccountingStorageTRES") == "gres/gpu,gres/gpu:h100,gres/gpu:1g.10gb"
    bundle = render(build_variant("22.05", "shards"), "slurm")
    assert "NodeName=train-[0001-0127] Name=shard Count=64\n" in bundle["gres.conf"]
    assert "NodeName=some-[0001-0004] Name=shard Count=4 File=/dev/nvidia7\n" in bundle["gres.conf"]
    assert get_setting(bundle["slurm.conf"], "GresTypes") == "gpu,shard"
    bundle = render(build_variant("22.05", "amd"), "slurm")
    nodes = "/dev/dri/renderD[128,136,144,152,160,168,176,184]"  # eight of each accelerator, its own is the first
    assert f"File={nodes}" in bundle["gres.conf"] and "Flags=amd_gpu_env" in bundle["gres.conf"]
    assert "/dev/dri/renderD 128 8 " in bundle["node-facts.txt"]
    assert "File=/dev/accel/accel[0-" in render(build_variant("22.05", "gaudi"), "slurm")["gres.conf"]


def test_exclusive_nodes_depend_on_the_release() -> None:
    for release, wanted in (("25.11", "OverSubscribe=EXCLUSIVE"), ("26.05", "Exclusive=NODE")):
        text = render(build_variant(release, "mixed"), "slurm")["slurm.conf"]
        assert wanted in next(line for line in text.splitlines() if line.startswith("PartitionName=plain"))


def test_features_depend_on_the_release() -> None:
    for release in RELEASES:
        text = render(build_variant(release, "nvl72"), "slurm")["slurm.conf"]
        assert (get_setting(text, "SwitchType") == "switch/nvidia_imex") == (release >= "24.05")
        assert (get_setting(text, "MetricsType") is not None) == (release >= "26.05")
        assert (get_setting(text, "PrologEpilogTimeout") is None) == (release >= "25.05")


def test_unknown_keys_are_rejected() -> None:
    lines = ConfigWriter(Catalog().get_slurm_release("22.05"))
    with pytest.raises(UnknownKeyError):
        lines.format_settings("slurm", {"HealthCheckTimeout": 10})
    with pytest.raises(UnknownKeyError):
        lines.format_record("partition", {"PartitionName": "a", "Exclusive": "NODE"})
    assert lines.format_settings("slurm", {"HealthCheckTimeout": None}) == []


def test_unknown_targets_are_rejected() -> None:
    assert "slurm" in list_targets(build_plan())
    with pytest.raises(UnknownNameError):
        render(build_plan(), "slurn")
    with pytest.raises(InputError) as caught:
        render(build_plan("22.05", list(build_spec()["pools"]), scheduler={"auth": "slurm"}), "slurm")
    assert [item.check for item in caught.value.findings] == ["slurm-auth"]
    for target in TARGETS.values():
        module, _, function = target.partition(":")
        assert callable(getattr(__import__(module, fromlist=[function]), function))


def test_slurm_conf_of_clouds_lists_no_nodes() -> None:
    """On a cloud nodes are not listed: they say what they are, and sets of nodes go by what they say."""
    found = build_variant("25.05", "mixed")
    bundle = render(replace(found, site=replace(found.site, kind="aws")), "slurm")
    text = bundle["slurm.conf"]
    assert "NodeName=" not in text and get_setting(text, "MaxNodeCount") == "129"
    assert {item["feature"] for item in list_records(text, "NodeSet")} == {"train", "login"}
    assert list_records(bundle["gres.conf"], "NodeName")[0]["nodename"] == "train-[0001-0127]"
    assert "Cores=" not in bundle["gres.conf"]  # a node that joins counts its own
    assert bundle["join-train.conf"].splitlines()[1].startswith("Gres=gpu:h100:8 Features=train,h100,")
    records = list_records(bundle["cloud-nodes.conf"], "NodeName")
    assert [item["nodename"] for item in records] == ["train-[0001-0127]", "login-[0001-0002]"]
    assert {item["state"] for item in records} == {"CLOUD"} and records[0]["topology"] == "network:root:off"
    assert bundle["topology.yaml"].count("cluster_default: true") == 1 and "TopologyPlugin" not in text


def test_power_saving_is_enabled_where_nodes_join() -> None:
    """Power saving is on where nodes join, with programs of the boot bundle; older releases get no topology."""
    for release in RELEASES:
        found = build_variant(release, "plain")
        bundle = render(replace(found, site=replace(found.site, kind="aws")), "slurm")
        assert get_setting(bundle["slurm.conf"], "ResumeProgram") == "/opt/supercloud/boot/resume.sh"
        assert "idle_on_node_suspend" in (get_setting(bundle["slurm.conf"], "SlurmctldParameters") or "")
        assert ("Topology=" in bundle["cloud-nodes.conf"]) == (release >= "25.05") == ("topology.yaml" in bundle)
        assert "SHA256SUMS" in bundle
    on_premises = render(build_variant("25.05", "plain"), "slurm")
    assert "ResumeProgram" not in on_premises["slurm.conf"] and "SHA256SUMS" not in on_premises


@pytest.mark.parametrize("release", RELEASES)
def test_jwt_tokens_are_accepted(release: str) -> None:
    """Slurmctld and slurmdbd take the same tokens, with a key that is not in the bundle; users see their own."""
    bundle = render(build_plan(release), "slurm")
    for name in ("slurm.conf", "slurmdbd.conf"):
        assert get_setting(bundle[name], "AuthAltTypes") == "auth/jwt", name
        assert get_setting(bundle[name], "AuthAltParameters") == "jwt_key=/etc/slurm/jwt_hs256.key", name
        assert {"jobs", "usage"} <= set(str(get_setting(bundle[name], "PrivateData")).split(",")), name
    assert not [path for path in bundle if path.endswith(".key")]
    assert "slurmrestd" in bundle["INSTALL.md"] and "User=slurmrestd" in bundle["INSTALL.md"]


@pytest.mark.parametrize("release", RELEASES)
def test_metrics_work_with_private_data(release: str) -> None:
    """Slurmctld 25.11 gives no metrics with PrivateData, of whatever value; only the user chooses to give it up."""
    asked = {"scheduler": {"options": {"metricstype": "metrics/openmetrics"}}} if release >= "25.11" else {}
    for found in (build_plan(release), build_plan(release, **asked)):
        text = render(found, "slurm")["slurm.conf"]
        both = get_setting(text, "PrivateData") is not None and "metrics/openmetrics" in text
        assert not both or release >= "26.05"
        assert "metrics/openmetrics" in text or "jobs" in str(get_setting(text, "PrivateData"))
        assert get_setting(render(found, "slurm")["slurmdbd.conf"], "PrivateData")


@pytest.mark.parametrize("release", RELEASES)
def test_only_list_keys_are_repeated(release: str) -> None:
    """The last one wins: PrivateData=cloud took the place of what keeps users' jobs private."""
    found = build_variant(release, "plain")
    text = render(replace(found, site=replace(found.site, kind="aws")), "slurm")["slurm.conf"]
    keys = [line.partition("=")[0] for line in text.splitlines() if "=" in line and not line.startswith("#")]
    lists = {"NodeName", "NodeSet", "PartitionName", "SlurmctldHost"}
    assert {key for key in keys if keys.count(key) > 1} <= lists
    assert {"jobs", "usage", "cloud"} <= set(str(get_setting(text, "PrivateData")).split(","))


@pytest.mark.parametrize("release", RELEASES)
def test_each_job_has_its_own_tmp_if_the_release_supports_it(release: str) -> None:
    found = build_plan(release)
    bundle = render(found, "slurm")
    kinds = {get_setting(bundle["slurm.conf"], key) for key in ("JobContainerType", "NamespaceType")} - {None}
    assert "Contain" in str(get_setting(bundle["slurm.conf"], "PrologFlags"))
    if kinds:
        assert get_setting(bundle["job_container.conf"], "AutoBasePath") == "yes"
        assert str(get_setting(bundle["job_container.conf"], "BasePath")).startswith("/var/spool/slurmd/")
    else:
        assert "job_container.conf" not in bundle
        assert [item.hint for item in found.findings if item.check == "slurm-container-tmp"]


@pytest.mark.parametrize(
    "machine, more, units",
    [
        ("dgx-h100", {"reserve": {"cores": 4}}, 8),
        ("dgx-b300", {"reserve": {"cores": 4}}, 8),
        ("dgx-h100", {"reserve": {"cores": 3}, "slicing": {"mig": {"1g.10gb": 7}, "accelerators": 3}}, 26),
        ("dgx-a100", {"slicing": {"mig": {"1g.10gb": 7}, "accelerators": 4}}, 32),
    ],
)
def test_jobs_of_one_accelerator_fill_a_node(machine: str, more: dict[str, Any], units: int) -> None:
    """CR_Core gives whole cores: other shares than multiples of its threads leave accelerators without cores."""
    pools = [{"name": "train", "machine": machine, "nodes": 2, **more}]
    found = build_plan("25.11", pools)
    (line,) = list_records(render(found, "slurm")["slurm.conf"], "PartitionName")
    cpu = found.pools[0].machine.cpu
    assert cpu is not None
    cores = cpu.sockets * cpu.cores_per_socket - more.get("reserve", {}).get("cores", 0)
    share, rest = divmod(int(line["defcpupergpu"]), cpu.threads_per_core)
    assert not rest and share * units <= cores < (share + 1) * units


def test_backslashes_are_escaped() -> None:
    """As squeue 22.05 reads a file: it drops a bare backslash, and one at the end of a line joins the next line."""
    lines = ConfigWriter(Catalog().get_slurm_release("22.05"))
    options = {"PluginDir": "/no such\\", "Prolog": "\\#a", "Epilog": "/a#b"}
    assert lines.format_settings("slurm", options) == ['PluginDir="/no such\\\\"', "Prolog=\\\\\\#a", "Epilog=/a\\#b"]


@pytest.mark.parametrize(
    "machine, borrow, limits, tres",
    [
        # 30 % of 10 nodes with 8 accelerators each
        ("dgx-h100", False, {}, "gres/gpu=24"),
        ("dgx-h100", False, {"accelerators": 60}, "gres/gpu=24"),
        ("dgx-h100", False, {"accelerators": 8, "nodes": 9}, "gres/gpu=8,node=9"),
        ("dgx-h100", True, {"accelerators": 60}, "gres/gpu=60"),
        ("cpu-6740e", False, {}, "node=3"),
        ("cpu-6740e", False, {"nodes": 7}, "node=3"),
        ("cpu-6740e", False, {"nodes": 2}, "node=2"),
        ("cpu-6740e", True, {"nodes": 7}, "node=7"),
    ],
)
def test_a_tenant_that_must_not_borrow_is_limited_to_its_share(
    machine: str, borrow: bool, limits: dict[str, int], tres: str
) -> None:
    tenants = [{"name": "vision", "share": 30, "borrow": borrow, "limits": limits}, {"name": "llm", "share": 70}]
    plan = build_plan(pools=[{"name": "train", "machine": machine, "nodes": 10}], fabrics=[], tenants=tenants)
    assert {account.name: account.tres for account in build_accounts(plan)} == {"vision": tres, "llm": ""}
