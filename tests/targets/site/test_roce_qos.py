"""One QoS policy in four dialects and on the nodes, read back from the rendered text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from roce_plans import DIALECTS, build_plan

from supercloud.primitives.bundle import Bundle
from supercloud.targets import render

pytestmark = pytest.mark.slow


ODD = {
    "dscp": 24,
    "priority": 4,
    "cnp_dscp": 46,
    "cnp_priority": 7,
    "mtu": 9100,
    "host_mtu": 4200,
    "ecn": {"min": "150 kB", "max": "3000 kB", "probability": 7},
}


@dataclass(frozen=True)
class Said:
    """The QoS policy in the configuration of a switch."""

    dscp: tuple[int, int]
    """DSCP and priority of data."""
    cnp: tuple[int, int]
    lossless: frozenset[int]
    ecn: tuple[int, int, int]
    """Bytes, bytes, percent."""
    mtu: int


def find_numbers(text: str, pattern: str) -> list[tuple[int, ...]]:
    found = [tuple(map(int, item)) for item in re.findall(pattern, text)]
    assert found, pattern
    return found


def read_eos(bundle: Bundle) -> Said:
    text = bundle["compute/leaf/qos.cfg"]
    maps = find_numbers(text, r"qos map dscp (\d+) to traffic-class (\d+)")
    low, high, chance = find_numbers(
        text,
        r"minimum-threshold (\d+) kbytes maximum-threshold (\d+) kbytes max-mark-"
        r"probability (\d+)",
    )[0]
    lossless = frozenset(map(int, re.findall(r"priority-flow-control priority (\d) no-drop", text)))
    (mtu,) = set(map(int, re.findall(r"\n   mtu (\d+)", text)))
    return Said(maps[0], maps[1], lossless, (low * 1000, high * 1000, chance), mtu)  # type: ignore[arg-type]


def read_frr(bundle: Bundle) -> Said:
    text = bundle["compute/leaf/qos.sh"]
    (maps,) = find_numbers(text, r"dscp-prio (\d+):(\d) (\d+):(\d)")
    (ecn,) = re.findall(r" min (\d+) max (\d+) .*\n.*probability ([\d.]+) .* ecn\n", text)
    lossless = frozenset(map(int, re.findall(r"all:off (\d):on", text)))
    (mtu,) = map(int, re.findall(r" mtu (\d+)", text))
    return Said(maps[:2], maps[2:], lossless, (int(ecn[0]), int(ecn[1]), round(float(ecn[2]) * 100)), mtu)  # type: ignore[arg-type]


def read_nvue(bundle: Bundle) -> Said:
    (patch,) = yaml.safe_load(bundle["compute/leaf/qos.yaml"])
    qos = patch["set"]["qos"]
    data, cnp = ((int(key), value["switch-priority"]) for key, value in qos["mapping"]["roce"]["dscp"].items())
    (marked,) = qos["congestion-control"]["roce"]["traffic-class"].items()
    ecn = tuple(marked[1][key] for key in ("min-threshold", "max-threshold", "probability"))
    assert int(marked[0]) == data[1] and marked[1]["ecn"] == "enable"
    (mtu,) = {port["link"]["mtu"] for port in patch["set"]["interface"].values()}
    return Said(data, cnp, frozenset(map(int, qos["pfc"]["roce"]["switch-priority"])), ecn, mtu)


def read_sonic(bundle: Bundle) -> Said:
    tables = json.loads(bundle["compute/leaf/qos.json"])
    mapped = {int(key): int(value) for key, value in tables["DSCP_TO_TC_MAP"]["ROCE"].items()}
    assert sorted(mapped) == list(range(64))
    data, cnp = sorted(((key, value) for key, value in mapped.items() if value), key=lambda item: item[1])
    marks = tables["WRED_PROFILE"]["ROCE_ECN"]
    ecn = tuple(int(marks[f"green_{key}"]) for key in ("min_threshold", "max_threshold", "drop_probability"))
    (lossless,) = {port["pfc_enable"] for key, port in tables["PORT_QOS_MAP"].items() if key != "global"}
    (mtu,) = {int(port["mtu"]) for port in tables["PORT"].values()}
    marked = {key.partition("|")[2] for key, queue in tables["QUEUE"].items() if "wred_profile" in queue}
    assert marked == {str(data[1])}
    return Said(data, cnp, frozenset(map(int, lossless.split(","))), ecn, mtu)  # type: ignore[arg-type]


READERS = {"eos": read_eos, "frr": read_frr, "nvue": read_nvue, "sonic": read_sonic}


@pytest.mark.parametrize("qos", [{}, ODD], ids=["as in the catalog", "declared"])
def test_all_dialects_and_nodes_have_the_same_qos_policy(qos: dict[str, Any]) -> None:
    plans = {dialect: build_plan(dialect, qos=qos) for dialect in DIALECTS}
    bundles = {dialect: render(plan, "roce") for dialect, plan in plans.items()}
    policies = {READERS[dialect](bundle) for dialect, bundle in bundles.items()}
    assert len(policies) == 1, policies
    (one,) = policies
    assert one.dscp == (qos.get("dscp", 26), qos.get("priority", 3))
    assert one.cnp == (qos.get("cnp_dscp", 48), qos.get("cnp_priority", 6))
    assert one.lossless == {one.dscp[1]}
    assert one.ecn == ((150_000, 3_000_000, 7) if qos else (1_000_000, 2_000_000, 5))
    assert one.mtu == qos.get("mtu", 9216)
    files = ("roce-qos.sh", "roce-rails.sh", "nccl.conf")
    nodes = {json.dumps([bundle[f"compute/nodes/train/{name}"] for name in files]) for bundle in bundles.values()}
    assert len(nodes) == 1  # nodes do not see what their switches run
    script, rails, nccl = json.loads(nodes.pop())
    assert f"--dscp2prio=set,{one.dscp[0]},{one.dscp[1]}\n" in script
    assert f"--dscp2prio=set,{one.cnp[0]},{one.cnp[1]}\n" in script
    flow = ",".join("1" if priority in one.lossless else "0" for priority in range(8))
    assert f"-f {flow}\n" in script and f"roce_np/enable/{one.dscp[1]}\n" in script
    assert f"echo {one.cnp[0]} >" in script and f"echo {one.cnp[1]} >" in script
    assert f"NCCL_IB_TC={one.dscp[0] * 4}\n" in nccl and f"echo {one.dscp[0] * 4} >" in script
    assert f"MTUBytes={qos.get('host_mtu', 9000)}" in rails and f"mtu {qos.get('host_mtu', 9000)}" in script
    (shares,) = re.findall(r" -s \S+ -t ([\d,]+)\n", script)
    assert sum(map(int, shares.split(","))) == 100


def test_oversubscribed_tiers_have_lower_ecn_thresholds() -> None:
    plan = build_plan("sonic", oversubscription={"leaf": 2}, leaf_up=None)
    bundle = render(plan, "roce")
    marks = {
        tier: json.loads(bundle[f"compute/{tier}/qos.json"])["WRED_PROFILE"]["ROCE_ECN"]["green_min_threshold"]
        for tier in ("leaf", "spine")
    }
    assert marks == {"leaf": "500000", "spine": "1000000"}
