"""One list of the driver's errors: every monitor of a node treats each code as in the catalog."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from samples import ROOT

from supercloud.catalog import Catalog
from supercloud.catalog.kubernetes_parts import XidTable
from supercloud.plan.resolve import resolve
from supercloud.spec import ClusterSpec
from supercloud.targets import render

XIDS = Catalog().get(XidTable, "nvidia")
SPEC: dict[str, Any] = {
    "name": "pod",
    "site": {"kind": "onprem", "location": "stockholm"},
    "pools": [{"name": "train", "machine": "dgx-h100", "nodes": 4}],
}


def list_slurm_codes(pools: list[dict[str, Any]] = SPEC["pools"]) -> set[int]:
    """Codes for which the health check drains a node."""
    spec = SPEC | {"scheduler": {"kind": "slurm", "version": "25.11"}, "pools": pools}
    text = render(resolve(ClusterSpec.model_validate(spec)), "slurm")["health-check.sh"]
    [codes] = re.findall(r'^fatal_xids=" ([ 0-9]*) "$', text, re.M)
    return set(map(int, codes.split()))


@pytest.fixture(scope="module")
def kubernetes() -> Any:
    spec = SPEC | {"scheduler": {"kind": "kubernetes", "version": "1.36"}}
    return render(resolve(ClusterSpec.model_validate(spec)), "kubernetes")


def list_crash_lines(code: int) -> list[str]:
    """What the kernel writes when a process crashes whose name and file name were chosen to look like the driver's."""
    crash = "segfault at 0 ip 0000560f sp 00007ffe error 6 in"
    return [
        f"NVRM: Xid ([18772]: {crash} x): {code}, a[115b,55f6+1000] likely on CPU 1 (core 1, socket 0)",
        f"NVRM: Xid (PCI:[18772]: {crash} NVRM: Xid (PCI:0000:3b:00): {code}, a[115b,55f6+1000]",
        f"demo[18772]: {crash} x\\x0aNVRM: Xid (PCI:0000:3b:00): {code}, a[115b,55f6+1000]",
    ]


def list_monitor_codes(bundle: Any, kind: str) -> set[int]:
    """Codes for which the node problem detector sets its condition (permanent), or writes an event (temporary)."""
    values = yaml.safe_load(bundle["charts/node-problem-detector.yaml"])
    [text] = values["settings"]["custom_monitor_definitions"].values()
    [rule] = [rule for rule in json.loads(text)["rules"] if rule["type"] == kind]
    # as the driver writes them, for a device and for an instance of it under MIG
    devices = ("PCI:0000:3b:00", "PCI:0000:3b:00 GPU-I:05")
    lines = {code: [f"NVRM: Xid ({device}): {code}, pid=1, x" for device in devices] for code in range(1, 300)}
    found = {code: [bool(re.fullmatch(rule["pattern"], line)) for line in lines[code]] for code in lines}
    assert all(whole == part for whole, part in found.values())
    assert not [line for line in list_crash_lines(max(found)) if re.search(rule["pattern"] + r"\Z", line)]
    return {code for code in found if all(found[code])}


def list_alerts(bundle: Any) -> dict[int, str]:
    """Code -> severity of its alert."""
    found: dict[int, str] = {}
    for path, text in bundle.items():
        if path.startswith("monitoring/") and "GpuXid" in text:
            for item in yaml.safe_load_all(text):
                if item["kind"] == "PrometheusRule":
                    for rule in (rule for group in item["spec"]["groups"] for rule in group["rules"]):
                        if match := re.fullmatch(r'DCGM_EXP_XID_ERRORS_COUNT\{xid="(\d+)"\} > 0', rule["expr"]):
                            found[int(match[1])] = rule["labels"]["severity"]
    return found


@pytest.mark.slow
def test_slurm_and_kubernetes_agree_on_every_code(kubernetes: Any) -> None:
    assert list_slurm_codes() == list_monitor_codes(kubernetes, "permanent") == set(XIDS.list_codes("critical"))
    assert list_monitor_codes(kubernetes, "temporary") == set(XIDS.list_codes("warning"))
    severities = {code: item.severity for item in XIDS.classes for code in item.codes}
    assert list_alerts(kubernetes) == severities and len(severities) == sum(len(item.codes) for item in XIDS.classes)


def test_no_program_has_a_separate_list_of_codes() -> None:
    """Three codes in a row, in whatever way they are written, are a list; those of the catalog are data."""
    known = "|".join(str(code) for item in XIDS.classes for code in item.codes if code > 40)
    pattern = re.compile(rf"\b({known})\b( ?[|,] ?\b({known})\b){{2,}}")
    files = [
        *(ROOT / "templates").rglob("*"),
        *(ROOT / "supercloud").rglob("*.py"),
        *(ROOT / "supercloud/catalog/data").rglob("*.yaml"),
    ]
    lists = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.is_file() and "Xid" in (text := path.read_text(errors="ignore")) and pattern.search(text)
    }
    assert lists <= {"supercloud/catalog/data/xids/nvidia.yaml"}
    assert pattern.search("48 | 62 | 64 | 79 | 95")


def test_other_vendors_have_no_codes() -> None:
    assert list_slurm_codes([{"name": "mi", "machine": "mi300x-8gpu", "nodes": 4}]) == set()
