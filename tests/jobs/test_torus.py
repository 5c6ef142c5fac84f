from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supercloud.catalog import Catalog
from supercloud.jobs.placement.place import Placement, place
from supercloud.jobs.placement.torus import find_free_box, select_box
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.loader import load


@pytest.mark.parametrize(
    "chips, box",
    [
        (64, (4, 4, 4)),
        (128, (4, 4, 8)),
        (256, (4, 8, 8)),
        (512, (8, 8, 8)),
        (1024, (8, 8, 16)),
        (2048, (8, 16, 16)),
        (4096, (16, 16, 16)),
    ],
)
def test_slice_shapes_of_a_tpu_v5p_are_those_that_google_publishes(chips: int, box: tuple[int, ...]) -> None:
    """The shapes that Google publishes for v5p, in chips, out of a torus of 16 × 16 × 16."""
    found = select_box(chips, (16, 16, 16))
    assert found is not None and tuple(sorted(found)) == box


SPEC = """
name: tpu
site: {kind: onprem, location: oregon}
scheduler: {kind: slurm, version: "25.11"}
catalog: facts
pools: [{name: cube, machine: tpu-v5p-host, nodes: 1024, fabrics: [ici]}]
fabrics: [{name: ici, kind: roce, shape: torus, dims: [8, 8, 16]}]
"""
MACHINE = """
name: tpu-v5p-host
title: A host with four TPU v5p
source: [an example]
vendor: Google
provider: onprem
cpu: {arch: x86_64, sockets: 2, cores_per_socket: 52, threads_per_core: 2}
memory: 448 GB
accelerators: {type: tpu-v5p, count: 4}
adapters: [{role: compute, kind: ethernet, count: 6, speed: 800 Gb/s}]
power: 3 kW
"""


def test_a_tpu_v5p_slice_is_placed(tmp_path: Path, job: Callable[..., JobSpec]) -> None:
    """512 chips: 128 hosts of four, a box of 4 × 4 × 8 hosts, which are 8 × 8 × 8 chips (a host is 2 × 2 × 1)."""
    (tmp_path / "facts" / "machines").mkdir(parents=True)
    (tmp_path / "facts" / "machines" / "tpu-v5p-host.yaml").write_text(MACHINE)
    (tmp_path / "tpu.yaml").write_text(SPEC)
    plan = resolve(load(tmp_path / "tpu.yaml"))
    catalog = Catalog.load_default(tmp_path / "facts")
    at = place(
        job(parallelism={"data": 64, "tensor": 8}, accelerators={"count": 512, "type": "tpu-v5p"}), plan, catalog
    )
    assert isinstance(at, Placement), at
    assert (at.nodes, at.accelerators_per_node, at.shape) == (128, 4, (4, 4, 8))
    at = place(job(accelerators={"count": 64, "type": ">=tpu-v4"}), plan, catalog)
    assert isinstance(at, Placement) and at.shape == (2, 2, 4)  # one cube of 4 × 4 × 4 chips


def test_boxes_are_selected_where_nodes_are_free() -> None:
    dims, free = (4, 4, 2), [1] * 32
    first = find_free_box((2, 2, 2), dims, free)
    assert first == (0, 1, 2, 3, 8, 9, 10, 11)
    for node in first:
        free[node] = 0
    second = find_free_box((2, 2, 2), dims, free)
    assert second and not set(first) & set(second)
    assert find_free_box((4, 4, 2), dims, free) is None and find_free_box((2, 4, 2), dims, free) is not None
    assert select_box(7, dims) is None and select_box(5, (5,)) == (5,)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(dims=st.tuples(*[st.integers(1, 6)] * 3), nodes=st.integers(1, 64))
def test_a_selected_box_has_the_requested_nodes(dims: tuple[int, int, int], nodes: int) -> None:
    box = select_box(nodes, dims)
    fits = any(
        nodes % x == 0 and nodes // x % y == 0 and nodes // x // y <= dims[2]
        for x in range(1, dims[0] + 1)
        for y in range(1, dims[1] + 1)
    )
    assert (box is not None) == fits
    if box:
        assert box[0] * box[1] * box[2] == nodes and all(part <= side for part, side in zip(box, dims, strict=True))
        lying = find_free_box(box, dims, [1] * (dims[0] * dims[1] * dims[2]))
        assert lying is not None and len(set(lying)) == nodes
