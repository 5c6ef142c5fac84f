"""The file of MAC addresses is read, and its errors have their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from plan.network_plans import get_networks, list_problems, plan_file


@pytest.mark.slow
def test_mac_addresses_are_read_from_a_list(tmp_path: Path) -> None:
    (tmp_path / "macs.csv").write_text(
        "host,network,mac\n# nodes\ntrain-0001,in-band,02-00-00-00-00-01\ntrain-0001,bmc,02:00:00:00:00:0A\n"
        "compute-leaf-008,switch,02:00:00:00:00:0b\n\n"
    )
    plan = plan_file(tmp_path, network={"macs": "macs.csv"})
    assert not plan.errors
    assert get_networks(plan).macs == {
        ("train-0001", "in-band"): "02:00:00:00:00:01",
        ("train-0001", "bmc"): "02:00:00:00:00:0a",
        ("compute-leaf-008", "switch"): "02:00:00:00:00:0b",
    }


@pytest.mark.parametrize(
    "line, message",
    [
        ("train-0001,in-band", "2 columns"),
        ("train-0065,in-band,02:00:00:00:00:02", "unknown node or server 'train-0065'"),
        ("train-1,in-band,02:00:00:00:00:02", "unknown node or server 'train-1'"),
        ("train-0001,storage,02:00:00:00:00:02", "unknown network 'storage'"),
        ("train-0001,in-band,02:00:00:00:00", "not a unicast MAC address"),
        ("train-0001,in-band,01:00:00:00:00:02", "not a unicast MAC address"),
        ("train-0002,in-band,02:00:00:00:00:01", "already belongs to train-0001"),
        ("train-0001,in-band,02:00:00:00:00:02", "two MAC addresses on in-band"),
        ("compute-leaf-009,switch,02:00:00:00:00:02", "unknown switch 'compute-leaf-009'"),
        (f"train-{'9' * 5000},in-band,02:00:00:00:00:02", "unknown node or server 'train-999"),
        (f"train-0002,{'x' * 5000},02:00:00:00:00:02", "unknown network 'xxx"),
        (f"{'x' * 200_000},in-band,02:00:00:00:00:02", "this line is not CSV: field larger than field limit"),
        ("train-0002\x85,in-band,02:00:00:00:00", "not a unicast MAC address"),
    ],
)
def test_wrong_mac_addresses_are_errors(tmp_path: Path, line: str, message: str) -> None:
    given = "train-0001,in-band,02:00:00:00:00:01\n" if "0001,in-band,0" not in line or "two MAC" in message else ""
    (tmp_path / "macs.csv").write_text(f"host,network,mac\n{given}{line}\n")
    found = list_problems(plan_file(tmp_path, network={"macs": "macs.csv"}), "network-macs")
    assert (
        len(found) == 1
        and message in found[0][1]
        and len(found[0][1]) < 300
        and f"macs.csv:{3 if given else 2}:" in found[0][1]
    )


@pytest.mark.slow
def test_a_missing_list_of_mac_addresses_is_an_error(tmp_path: Path) -> None:
    assert list_problems(plan_file(tmp_path, network={"macs": "macs.csv"}), "network-macs")[0][0] == "network.macs"
    (tmp_path / "macs.csv").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in list_problems(plan_file(tmp_path, network={"macs": "macs.csv"}), "network-macs")[0][1]
    (tmp_path / "macs.csv").write_text("x,y,z\n" * 50)
    assert len(list_problems(plan_file(tmp_path, network={"macs": "macs.csv"}), "network-macs")) == 21
