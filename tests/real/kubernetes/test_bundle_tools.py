"""Rendered files with the programs that read them: promtool, kustomize, helm, kubeadm, shellcheck."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from bundle_world import (
    BUNDLES,
    find_chart_folder,
    list_bundle_objects,
    list_charts,
    list_cluster_objects,
    render_chart,
    select_kind,
)
from kube_binaries import build_module

from supercloud.plan.model.plan import Plan
from supercloud.primitives.bundle import Bundle
from supercloud.targets.schedulers.kubernetes.rules import compute_power_limit

Json = dict[str, Any]
each = pytest.mark.parametrize("plan, bundle", list(BUNDLES.values()), ids=list(BUNDLES))


def run_program(*words: object, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write_rules(bundle: Bundle, folder: Path) -> tuple[Path, list[Json]]:
    """Write the file of rules; return its path and all alerts."""
    [found] = select_kind(list_bundle_objects(bundle), "PrometheusRule").values()
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump(found["spec"]))
    return path, [rule for group in found["spec"]["groups"] for rule in group["rules"]]


@each
def test_promtool_accepts_the_rules(plan: Plan, bundle: Bundle, tmp_path: Path) -> None:
    path, rules = write_rules(bundle, tmp_path)
    assert f"{len(rules)} rules found" in run_program(
        build_module("tools") / "bin" / "promtool", "check", "rules", path
    )


def format_gpu_series(metric: str, **labels: str) -> str:
    words = {"Hostname": "train-0001", "gpu": "3", **labels}
    return metric + "{" + ",".join(f'{key}="{value}"' for key, value in words.items()) + "}"


def check_alerts(tmp_path: Path, bundle: Bundle, series: list[tuple[str, str]], at: str, wanted: list[str]) -> None:
    """Run a unit test of promtool: these samples fire exactly these alerts."""
    path, rules = write_rules(bundle, tmp_path)
    promtool = build_module("tools") / "bin" / "promtool"
    # ALERTS has one series for each alert that is pending or firing
    asked = 'count by (alertname) (ALERTS{alertstate="firing"})'
    test = {
        "rule_files": [path.name],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series],
                "promql_expr_test": [
                    {
                        "expr": asked,
                        "eval_time": at,
                        "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(wanted)],
                    }
                ],
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    run_program(promtool, "test", "rules", "test.yaml", cwd=tmp_path)


def format_port_series(metric: str) -> str:
    return metric + '{instance="train-0001",device="mlx5_0",port="1"}'


def _format_xid_series(code: str) -> str:
    return format_gpu_series("DCGM_EXP_XID_ERRORS_COUNT", gpu="4", xid=code)


BUSY = [
    (format_gpu_series("DCGM_FI_DEV_GPU_UTIL"), "98x60"),
    (format_gpu_series("DCGM_FI_DEV_FB_USED"), "70000x60"),
    (format_gpu_series("DCGM_FI_DEV_GPU_TEMP"), "61x60"),
    (format_gpu_series("DCGM_EXP_XID_ERRORS_COUNT"), "0x60"),
    (format_gpu_series("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"), "0x60"),
]
SAMPLES: list[tuple[str, list[tuple[str, str]], list[str]]] = [
    ("a busy GPU", [], []),
    ("an error of the bus", [(_format_xid_series("79"), "1x60")], ["GpuXid79"]),
    ("an application's fault", [(_format_xid_series("43"), "1x60")], ["GpuXid43"]),
    ("an error of NVLink", [(_format_xid_series("149"), "1x60")], ["GpuXid149"]),
    (
        "an error of the bus before an application's fault",
        [(_format_xid_series("79"), "1x60"), (_format_xid_series("43"), "0x20 1x39")],
        ["GpuXid43", "GpuXid79"],
    ),
    ("an error that is past", [(_format_xid_series("79"), "1x5 _x54")], []),
    ("hot", [(format_gpu_series("DCGM_FI_DEV_GPU_TEMP", gpu="4"), "86x60")], ["GpuHot"]),
    ("too hot", [(format_gpu_series("DCGM_FI_DEV_GPU_TEMP", gpu="4"), "93x60")], ["GpuHot", "GpuTooHot"]),
    (
        "memory",
        [(format_gpu_series("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", gpu="4"), "0x10 1x50")],
        ["GpuMemoryDoubleBitError"],
    ),
    ("rows", [(format_gpu_series("DCGM_FI_DEV_ROW_REMAP_FAILURE", gpu="4"), "1x60")], ["GpuRowRemapFailed"]),
    (
        "links of NVLink",
        [(format_gpu_series("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", gpu="4"), "0+5x60")],
        ["GpuNvlinkErrors"],
    ),
    (
        "stalled",
        [
            (format_gpu_series("DCGM_FI_DEV_GPU_UTIL", gpu="4"), "1x60"),
            (format_gpu_series("DCGM_FI_DEV_FB_USED", gpu="4"), "60000x60"),
        ],
        ["GpuStalled"],
    ),
    (
        "a link is down",
        [('node_infiniband_physical_state_id{instance="train-0001",device="mlx5_0",port="1"}', "2x60")],
        ["FabricLinkDown"],
    ),
    (
        "a link flaps",
        [('node_infiniband_link_downed_total{instance="train-0001",device="mlx5_0",port="1"}', "0+1x60")],
        ["FabricLinkFlaps"],
    ),
    (
        "an inactive queue",
        [('kueue_cluster_queue_status{cluster_queue="llm",status="active"}', "0x60")],
        ["QueueInactive"],
    ),
    (
        "slowed by heat",
        [(format_gpu_series("DCGM_FI_DEV_THERMAL_VIOLATION", gpu="4"), "0+1000000x60")],
        ["GpuThrottledByHeat"],
    ),
    (
        "rows to remap",
        [(format_gpu_series("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", gpu="4"), "0x20 1x40")],
        ["GpuRowRemapPending"],
    ),
    (
        "replays of NVLink",
        [(format_gpu_series("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", gpu="4"), "0+5x60")],
        ["GpuNvlinkErrors"],
    ),
    (
        "a recovered link of NVLink",
        [(format_gpu_series("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", gpu="4"), "0x20 1x40")],
        ["GpuNvlinkRecovery"],
    ),
    (
        "replays of the bus",
        [(format_gpu_series("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", gpu="4"), "0+120x60")],
        ["GpuPcieReplays"],
    ),
    ("symbols", [(format_port_series("node_infiniband_symbol_error_total"), "0+120x60")], ["FabricSymbolErrors"]),
    (
        "a link recovered",
        [(format_port_series("node_infiniband_link_error_recovery_total"), "0x20 1x40")],
        ["FabricLinkRecoveries"],
    ),
    (
        "a wrong partition key",
        [(format_port_series("node_infiniband_port_constraint_errors_received_total"), "0+5x60")],
        ["FabricPartitionViolations"],
    ),
    (
        "evicted repeatedly",
        [('kueue_evicted_workloads_total{cluster_queue="llm",reason="PodsReadyTimeout"}', "0+1x60")],
        ["QueueEvictions"],
    ),
]
QUIET: list[tuple[str, str]] = [
    (format_gpu_series("DCGM_FI_DEV_GPU_TEMP", gpu="5"), "83x60"),
    (format_gpu_series("DCGM_FI_DEV_THERMAL_VIOLATION"), "1000x60"),
    (format_gpu_series("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"), "2x60"),
    (format_gpu_series("DCGM_FI_DEV_ROW_REMAP_FAILURE"), "0x60"),
    (format_gpu_series("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"), "7x60"),
    (format_gpu_series("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"), "7x60"),
    (format_gpu_series("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL"), "7x60"),
    (format_gpu_series("DCGM_FI_DEV_PCIE_REPLAY_COUNTER"), "0+30x60"),
    (format_gpu_series("DCGM_FI_DEV_GPU_UTIL", gpu="6"), "0x60"),
    (format_gpu_series("DCGM_FI_DEV_FB_USED", gpu="6"), "80x60"),
    (format_port_series("node_infiniband_physical_state_id"), "5x60"),
    (format_port_series("node_infiniband_link_downed_total"), "0x20 1x40"),
    (format_port_series("node_infiniband_symbol_error_total"), "0+30x60"),
    (format_port_series("node_infiniband_link_error_recovery_total"), "3x60"),
    (format_port_series("node_infiniband_port_constraint_errors_received_total"), "3x60"),
    ('kueue_cluster_queue_status{cluster_queue="llm",status="active"}', "1x60"),
    ('kueue_evicted_workloads_total{cluster_queue="llm",reason="Preempted"}', "0+5x60"),
    ('kueue_evicted_workloads_total{cluster_queue="llm",reason="PodsReadyTimeout"}', "0x20 8x40"),
]
"""Samples just below the limit, for every rule that has one."""


@pytest.mark.parametrize("series, alerts", [item[1:] for item in SAMPLES], ids=[item[0] for item in SAMPLES])
def test_samples_fire_the_expected_alert(series: list[tuple[str, str]], alerts: list[str], tmp_path: Path) -> None:
    check_alerts(tmp_path, BUNDLES["onprem"][1], BUSY + series, "30m", alerts)


def test_values_just_below_a_limit_fire_no_alert(tmp_path: Path) -> None:
    check_alerts(tmp_path, BUNDLES["onprem"][1], BUSY + QUIET, "30m", [])


def test_every_rule_has_a_sample_that_fires_it(tmp_path: Path) -> None:
    """All errors of the driver by number; the other rules are in SAMPLES."""
    bundle = BUNDLES["onprem"][1]
    rules = {rule["alert"] for rule in write_rules(bundle, tmp_path)[1]}
    numbers = sorted(name for name in rules if name.startswith("GpuXid"))
    assert len(numbers) > 30
    assert rules - set(numbers) == {name for _, _, wanted in SAMPLES for name in wanted if name not in numbers}
    series = [(_format_xid_series(name.removeprefix("GpuXid")), "1x60") for name in numbers]
    check_alerts(tmp_path, bundle, BUSY + series, "30m", numbers)


@pytest.mark.parametrize("watts, alerts", [(600, []), (5000, ["SitePower"])])
def test_a_site_over_its_budget_fires_an_alert(watts: int, alerts: list[str], tmp_path: Path) -> None:
    plan, bundle = BUNDLES["powered"]
    series = [
        (format_gpu_series("DCGM_FI_DEV_POWER_USAGE", Hostname=host, gpu=str(index)), f"{watts}x60")
        for host in plan.pools[0].hosts
        for index in range(plan.pools[0].accelerators_per_node)
    ]
    check_alerts(tmp_path, bundle, series, "30m", alerts)


@pytest.mark.parametrize("watts, alerts", [(600, []), (900, ["RackPowerTrain"])])
def test_a_rack_over_its_limit_fires_an_alert(watts: int, alerts: list[str], tmp_path: Path) -> None:
    """Four nodes of eight GPUs: measured power of the GPUs plus the rest of the nodes, against the rack's limit."""
    plan, bundle = BUNDLES["powered"]
    bound = compute_power_limit(plan, plan.pools[0])
    assert bound is not None
    limit, rest = bound
    assert (4 * (8 * 600 + rest) <= limit) and (4 * (8 * 900 + rest) > limit)
    series = []
    for number in range(1, 5):
        host = f"train-000{number}"
        labels = f'node="{host}",label_supercloud_dev_pool="train",label_supercloud_dev_rack="r1-1"'
        series.append((f"kube_node_labels{{{labels}}}", "1x60"))
        series += [
            (format_gpu_series("DCGM_FI_DEV_POWER_USAGE", Hostname=host, gpu=str(index)), f"{watts}x60")
            for index in range(8)
        ]
    check_alerts(tmp_path, bundle, series, "30m", alerts)


@each
def test_kustomize_builds_the_tree(plan: Plan, bundle: Bundle, tmp_path: Path) -> None:
    bundle.write(tmp_path / "tree")
    found = yaml.load_all(
        run_program(build_module("tools") / "bin" / "kustomize", "build", tmp_path / "tree"), yaml.CSafeLoader
    )
    assert len([item for item in found if item]) == len(list_cluster_objects(bundle))


def test_identifiers_are_filled_in(tmp_path: Path) -> None:
    """The outputs of a stack go into one file, and from there into every volume."""
    BUNDLES["aws"][1].write(tmp_path / "tree")
    handles = tmp_path / "tree" / "storage" / "handles.yaml"
    document = yaml.safe_load(handles.read_text())
    document["data"] |= {
        "scratch.handle": "fs-1",
        "scratch.mountname": "abc",
        "home.server": "efs.example.com",
        "home.path": "/fsx",
        "data.bucketName": "corpus",
    }
    handles.write_text(yaml.safe_dump(document))
    built_tree = run_program(build_module("tools") / "bin" / "kustomize", "build", tmp_path / "tree" / "storage")
    items = list(yaml.load_all(built_tree, yaml.CSafeLoader))
    volumes = select_kind(items, "PersistentVolume")
    assert "default/storage-handles" not in select_kind(items, "ConfigMap")
    lustre = volumes["vision-scratch"]["spec"]["csi"]
    assert lustre["volumeHandle"] == "fs-1" and lustre["volumeAttributes"]["mountname"] == "abc/vision"
    assert volumes["llm-home"]["spec"]["nfs"] == {"server": "efs.example.com", "path": "/fsx/llm"}
    assert volumes["llm-data"]["spec"]["csi"]["volumeAttributes"]["bucketName"] == "corpus"


CHARTED = list_charts()


@pytest.mark.parametrize("key", list(CHARTED))
def test_helm_accepts_the_values(key: str, tmp_path: Path) -> None:
    """The available charts render, and support every rendered value."""
    chart, release, values = CHARTED[key]
    assert len(render_chart(chart, release, values, tmp_path)) > 10
    folder = find_chart_folder(chart.name)
    assert folder is not None
    known = yaml.safe_load((folder / "values.yaml").read_text())
    assert not list(iter_unknown(yaml.safe_load(values) or {}, known))


@pytest.mark.parametrize("key", [key for key, (chart, _, _) in CHARTED.items() if chart.name == "volcano"])
def test_volcano_can_read_the_configuration_that_its_chart_renders(key: str, tmp_path: Path) -> None:
    """If a template quotes a text twice, the program reads a text instead of fields."""
    found = {
        name: yaml.safe_load(text)
        for item in select_kind(render_chart(*CHARTED[key], tmp_path), "ConfigMap").values()
        for name, text in (item.get("data") or {}).items()
        if name.endswith(".conf")
    }
    assert found["volcano-scheduler.conf"]["tiers"]
    given = yaml.safe_load(CHARTED[key][2])["custom"]
    assert (found.get("volcano-controller.conf") or {}) == given.get("controller_config_override", {})


def iter_unknown(given: Json, known: Json, path: str = "") -> Iterator[str]:
    """Values that the chart's default values do not have; below an empty default all values are accepted."""
    for name, value in given.items():
        if name not in known:
            yield f"{path}{name}"
        elif isinstance(value, dict) and isinstance(known[name], dict) and known[name]:
            yield from iter_unknown(value, known[name], f"{path}{name}.")


def test_a_wrong_value_is_reported() -> None:
    assert list(iter_unknown({"a": {"b": 1, "c": {"d": 2}}, "x": 1}, {"a": {"b": 0, "c": {}}})) == ["x"]


def test_all_available_charts_are_rendered() -> None:
    """The charts that are checked, in the locked versions; the newest release of Kueue represents all."""
    parts = (Path(__file__).parent / "tools" / "parts.txt").read_text().splitlines()
    taken = {
        line.split()[0].removeprefix("charts/"): line.split()[1].rpartition("@v")[2]
        for line in parts
        if line.startswith("charts/")
    }
    assert set(taken) == {"cilium", "jobset", "kueue", "lws", "nvidia-dra-driver", "volcano"}
    folder = find_chart_folder("volcano")
    assert folder is not None
    # the module of 1.14.0 is not available; 1.14.1 contains the same chart, with the version 1.14.0
    taken["volcano"] = yaml.safe_load((folder / "Chart.yaml").read_text())["version"]
    locked = {(chart.name, chart.version) for chart, _, _ in CHARTED.values()}
    assert set(taken.items()) <= locked and {name for name, _ in locked} == set(taken)


@each
def test_kubeadm_accepts_its_configuration(plan: Plan, bundle: Bundle, tmp_path: Path) -> None:
    """The kubeadm of the newest release; an empty file replaces the file with the token of a joining host."""
    files = {path: text for path, text in bundle.items() if path.startswith("control-plane/kubeadm")}
    assert bool(files) == (plan.site.kind == "onprem")
    release = plan.scheduler.kubernetes.release if plan.scheduler.kubernetes else None
    for text in files.values():
        assert release is not None
        there = tmp_path / "discovery.conf"
        there.write_text("{}")
        output = text.replace("/etc/kubernetes/discovery.conf", str(there))
        if release.name != "1.36":  # kubeadm rejects releases far from its version; the format is the same
            output = output.replace(f"v{release.patch}", "v1.36.3")
        (tmp_path / "config.yaml").write_text(output)
        run_program(build_module() / "bin" / "kubeadm", "config", "validate", "--config", tmp_path / "config.yaml")


@each
def test_shellcheck_accepts_the_scripts(plan: Plan, bundle: Bundle, tmp_path: Path) -> None:
    bundle.write(tmp_path / "tree")
    scripts = [tmp_path / "tree" / path for path in bundle if path.endswith(".sh")]
    assert scripts
    run_program(Path(sys.executable).with_name("shellcheck"), *scripts)
