"""Stripes and copies: unsupported ones are reported, and there are as many servers as parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load

CATALOG = Path(__file__).parents[2] / "examples" / "07-storage" / "catalog"


def build_plan(folder: Path, kind: str, count: int | None = None, **protection: int) -> Plan:
    servers: dict[str, Any] = {"machine": "flash-24"} | ({"count": count} if count else {})
    data = {
        "name": "t",
        "catalog": str(CATALOG),
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": [{"name": "train", "machine": "dgx-h100", "nodes": 4}],
        "storage": [{"name": "s", "kind": kind, "capacity": "100 TiB", "servers": servers, "protection": protection}],
    }
    (folder / "cluster.yaml").write_text(yaml.safe_dump(data))
    return resolve(load(folder / "cluster.yaml"))


def list_errors(plan: Plan) -> list[tuple[str, str, str]]:
    return [(item.check, item.problem, item.hint) for item in plan.errors]


@pytest.mark.parametrize(
    "kind, protection, servers",
    [
        (
            "weka",
            {"data": 16, "parity": 4, "spares": 2},
            22,
        ),  # each part of a stripe on a separate server, and spares
        ("weka", {"data": 16}, 19),
        ("weka", {"parity": 4}, 8),
        ("weka", {}, 8),
        ("storage-scale", {"copies": 3}, 3),
        ("storage-scale", {}, 3),
        ("object", {"data": 12, "parity": 4}, 4),
    ],
)
def test_protection_needs_one_server_per_part(
    tmp_path: Path, kind: str, protection: dict[str, int], servers: int
) -> None:
    plan = build_plan(tmp_path, kind, **protection)
    assert not plan.errors and plan.servers[-1].count == servers


@pytest.mark.parametrize(
    "kind, protection, message, fix",
    [
        ("weka", {"data": 20}, "20 data parts of a stripe: 4 more than the 16 of weka", {"data": 16}),
        ("weka", {"data": 2}, "2 data parts of a stripe: 1 fewer than the 3 of weka", {"data": 3}),
        ("weka", {"parity": 5}, "5 parity parts of a stripe: 1 more than the 4 of weka", {"parity": 4}),
        ("weka", {"parity": 1}, "1 parity parts of a stripe: 1 fewer than the 2 of weka", {"parity": 2}),
        ("storage-scale", {"copies": 4}, "4 copies: 1 more than the 3 of storage-scale", {"copies": 3}),
        (
            "object",
            {"data": 20, "parity": 4},
            "20 data parts of a stripe: 8 more than the 12 of object",
            {"data": 12, "parity": 4},
        ),
    ],
)
def test_unsupported_protection_is_an_error_with_the_supported_one(
    tmp_path: Path, kind: str, protection: dict[str, int], message: str, fix: dict[str, int]
) -> None:
    ((check, problem, hint),) = list_errors(build_plan(tmp_path, kind, **protection))
    name = next(iter(protection))
    assert (check, problem, hint) == ("storage-protection", message, f"set {name}: {fix[name]}, or omit it")
    assert not list_errors(build_plan(tmp_path, kind, **fix))


@pytest.mark.parametrize(
    "kind, count, protection, needed",
    [
        ("weka", 10, {"data": 16, "parity": 4}, 21),
        ("weka", 3, {}, 8),
        ("storage-scale", 2, {"copies": 3}, 3),
        ("storage-scale", 1, {}, 3),
        ("lustre", 1, {}, 2),
        ("object", 2, {}, 4),
    ],
)
def test_too_few_servers_are_an_error_with_the_minimum(
    tmp_path: Path, kind: str, count: int, protection: dict[str, int], needed: int
) -> None:
    ((check, problem, hint),) = list_errors(build_plan(tmp_path, kind, count, **protection))
    assert check == "storage-minimum" and f"requires {needed}: {needed - count} too few" in problem
    assert hint == f"set count: {needed}, or omit it"
    assert not list_errors(build_plan(tmp_path, kind, needed, **protection))
