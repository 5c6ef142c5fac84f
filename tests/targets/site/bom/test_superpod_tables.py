"""The published bill of the four-unit H100 SuperPOD (RA-11333-001 V11, tables 7 and 8), line by line from the spec."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import supercloud as sc
from supercloud.spec.loader import loads
from supercloud.targets import render

SPEC = Path(__file__).parents[4] / "examples" / "05-superpod-networks" / "cluster.yaml"


@pytest.fixture(scope="module")
def bill() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render(sc.resolve(sc.load(SPEC)), "bom")["bom.csv"])))


def count(bill: list[dict[str, str]], section: str, *words: str) -> int:
    return sum(
        int(row["count"])
        for row in bill
        if row["section"] == section and all(word in f"{row['item']} {row['product']}" for word in words)
    )


@pytest.mark.parametrize(
    "published, section, words",
    [
        (127, "machines", ["dgx-h100"]),
        (4, "machines", ["UFM 3.1 appliance"]),
        (4, "machines", ["mgmt"]),
        (38, "racks", ["rack, 48 units"]),
        (96, "racks", ["raritan-px3-5878i2r"]),
        (12, "racks", ["raritan-px3-5747v"]),
        (48, "switches", ["nvidia-qm9700", "compute"]),
        (16, "switches", ["nvidia-qm9700", "storage"]),
        (8, "switches", ["nvidia-sn4600c"]),
        (8, "switches", ["nvidia-sn2201"]),
        # compute: 2040 NDR (1016 + 1024), 2 NDR200, 1536 switch OSFP, 508 DGX OSFP, 4 UFM
        (1016, "cables of compute", ["nvidia-mfp7e10", "node to leaf"]),
        (1024, "cables of compute", ["nvidia-mfp7e10", "leaf to spine"]),
        (2, "cables of compute", ["nvidia-mfp7e20", "compute-manager to leaf"]),
        (1536, "cables of compute", ["finned top", "nvidia-mma4z00-ns"]),
        (508, "cables of compute", ["nvidia-mma4z00-ns-flt"]),
        (4, "cables of compute", ["QSFP112", "compute-manager"]),
        # storage: 494 NDR, 48 2x200 to storage, 2 and 4 for managers, 254 DGX QSFP112
        (494, "cables of storage", ["nvidia-mfp7e10"]),
        (48, "cables of storage", ["nvidia-980-9i117", "appliance to leaf"]),
        (2, "cables of storage", ["nvidia-mfp7e20", "storage-manager to leaf"]),
        (4, "cables of storage", ["nvidia-980-9i117", "mgmt to leaf"]),
        (369, "cables of storage", ["finned top", "nvidia-mma4z00-ns"]),
        (254, "cables of storage", ["QSFP112", "in node"]),
        (4, "cables of storage", ["QSFP112", "storage-manager"]),
        # in-band: 254 of 200 Gb/s, 8 management, 4 uplinks, 6 between leaves of copper, 8 NFS, 24 leaf to core
        (254, "cables of in-band", ["200 Gb/s active optical", "node to leaf"]),
        (8, "cables of in-band", ["nvidia-mfa1a00", "mgmt to leaf"]),
        (4, "cables of in-band", ["spine to building", "CWDM4"]),
        (6, "cables of in-band", ["passive copper", "leaf to leaf"]),
        (8, "cables of in-band", ["nvidia-mfa1a00", "nfs to leaf"]),
        (24, "cables of in-band", ["nvidia-mfa1a00", "leaf to spine"]),
        # out of band: 127 DGX, 64 InfiniBand and 8 Ethernet switches, 8 of managers, 2 from manager to manager, 108
        # PDU, 16 uplinks of 100G
        (1, "cables of management", ["compute-manager to compute-manager"]),
        (1, "cables of management", ["storage-manager to storage-manager"]),
        (317, "cables of management", ["cat6"]),
        (127, "cables of management", ["node to leaf"]),
        (48, "cables of management", [" compute-", "e to leaf"]),
        (108, "cables of management", ["pdu to leaf"]),
        (16, "cables of management", ["leaf to spine", "nvidia-mfa1a00"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_each_line_matches_the_published_table(
    bill: list[dict[str, str]], published: int, section: str, words: list[str]
) -> None:
    if words == [" compute-", "e to leaf"]:
        words = ["compute-"]
        assert count(bill, section, "compute-leaf to leaf") + count(bill, section, "compute-spine to leaf") == published
        return
    assert count(bill, section, *words) == published


def test_out_of_band_devices_match_the_published_table(bill: list[dict[str, str]]) -> None:
    section = "cables of management"
    infiniband = sum(
        count(bill, section, f"{network}-{tier} to leaf")
        for network in ("compute", "storage")
        for tier in ("leaf", "spine")
    )
    ethernet = sum(count(bill, section, f"in-band-{tier} to leaf") for tier in ("leaf", "spine"))
    managers = sum(count(bill, section, f"{name} to leaf") for name in ("compute-manager", "storage-manager", "mgmt"))
    assert (infiniband, ethernet, managers) == (64, 8, 8)


@pytest.mark.slow
def test_the_storage_switches_need_369_modules() -> None:
    """254 + 2 x 240 straight fibers need (254 + 2)/2 + 240 cages, as a rail of 127 nodes leaves half a cage empty; the
    52 active splitters bring their ends; the two splitters of fiber fill one cage, or take one each on two leaves.
    """

    def count_modules(*changes: tuple[str, str]) -> int:
        text = SPEC.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        plan = sc.resolve(loads(text, str(SPEC)))
        rows = list(csv.DictReader(io.StringIO(render(plan, "bom")["bom.csv"])))
        return count(rows, "cables of storage", "finned top")

    assert count_modules() == (254 + 2) // 2 + 240 + 1 == 369
    assert count_modules(("pack: true, ", "")) == 370
    fibers = (", cable: nvidia-980-9i117, non_blocking: true", ", non_blocking: true")
    assert count_modules(fibers) == 369 + 24 * 4 // 2, "two fibers of an appliance fill a cage of a leaf"


def test_the_spec_declares_no_number_of_the_tables() -> None:
    """Counts of racks, distribution units, switches and leaf ports follow from rules, machines and circuits."""
    text = SPEC.read_text()
    for word in ("racks:", "pdus:", "su:", "leaf_down:", "name: pdu"):
        assert word not in text


def test_part_numbers_are_listed_if_known(bill: list[dict[str, str]]) -> None:
    parts = {row["product"]: row["part_number"] for row in bill if row["part_number"]}
    assert parts["nvidia-qm9700"] and parts["nvidia-mma4z00-ns"] == "980-9I510-00NS00"
    assert parts["nvidia-mma4z00-ns-flt"] == "980-9I51A-00NS00"
    assert parts["nvidia-980-9i117"] == "980-9I117-00H030" and parts["qsfp28-cwdm4"] == "980-9I17Q-00CM00"
    assert parts["nvidia-sn4600c"] == "920-9N302-00F7-0C2" and parts["nvidia-sn2201"] == "920-9N110-00F1-0C0"


def test_spares_are_rounded_up_item_by_item() -> None:
    text = SPEC.read_text().replace("cabling: {media: [fiber]}", "cabling: {media: [fiber], spares: 0.02}")
    bill = list(csv.DictReader(io.StringIO(render(sc.resolve(loads(text, str(SPEC))), "bom")["bom.csv"])))
    node = next(row for row in bill if "nvidia-mma4z00-ns-flt" in row["product"])
    assert (node["count"], node["spares"]) == ("508", "11")
