"""Sizes and rates have bounds in the language, whichever kind of storage, with and without servers."""

from __future__ import annotations

import pytest

from supercloud.errors import SpecError
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads

SPEC = """
name: a
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "24.11"}}
pools: [{{name: train, machine: dgx-h100, nodes: 4}}]
storage: [{{name: s, kind: {kind}, mount: /s, {fields}}}]
"""
KINDS = ("lustre", "weka", "storage-scale", "nfs", "object")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "fields, path",
    [
        ("capacity: 1e30 EB", "capacity"),
        ("capacity: 1001 EB", "capacity"),
        ("capacity: 1 PB, throughput: {read: 1e30 TB/s}", "throughput.read"),
        ("capacity: 1 PB, throughput: {write: 1001 PB/s}", "throughput.write"),
        ("capacity: 1 PB, throughput_per_tib: 1e40 GB/s", "throughput_per_tib"),
    ],
)
@pytest.mark.parametrize("servers", ["", ", servers: {machine: cpu-6740e}"])
def test_sizes_beyond_the_limits_are_rejected(kind: str, fields: str, path: str, servers: str) -> None:
    with pytest.raises(SpecError) as caught:
        loads(SPEC.format(kind=kind, fields=fields + servers))
    (finding,) = caught.value.findings
    assert finding.path == f"storage[0].{path}" and "the supported maximum" in finding.problem


def test_the_limits_themselves_are_accepted() -> None:
    loads(SPEC.format(kind="nfs", fields="capacity: 1000 EB, throughput: {read: 1000 PB/s}"))


@pytest.mark.parametrize(
    "checkpoint",
    [
        "{parameters: 1e15, bytes_per_parameter: 1e15, stall: 1 h}",
        "{parameters: 1e15, stall: 1 ms}",
        "{parameters: 1e15, stall: 1 d, keep: 10000000}",
    ],
)
def test_sizes_that_follow_from_checkpoints_are_bounded(checkpoint: str) -> None:
    plan = resolve(loads(SPEC.format(kind="nfs", fields=f"capacity: 1 PB, checkpoint: {checkpoint}")))
    (finding,) = (one for one in plan.errors if one.check == "storage-checkpoint-need")
    assert "1000 EB" in finding.problem
