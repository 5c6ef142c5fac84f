"""One cluster for all tests of this folder: two pools, two tenants, a real control plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kube_world import World

SPEC = """\
name: pod
site: {kind: onprem, location: stockholm}
scheduler: {kind: kubernetes, version: "1.36"}
pools:
  - {name: train, machine: dgx-h100, nodes: 64, fabrics: [compute]}
  - {name: nvl, machine: dgx-gb200, nodes: 36, fabrics: [domains]}
fabrics:
  - {name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
  - {name: domains, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
storage:
  - {name: scratch, kind: lustre, capacity: 2 PiB, tier: best, mount: /scratch}
tenants:
  - {name: llm, share: 30, priority: high}
  - {name: vision, share: 70, priority: high}
"""


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The cluster, with ann of tenant llm and bob of tenant vision."""
    people = {"ann": "supercloud:llm", "bob": "supercloud:vision"}
    with World(SPEC, tmp_path_factory.mktemp("pod"), people) as started, pytest.MonkeyPatch.context() as here:
        here.setenv("KUBECONFIG", str(started.lab.kubeconfig))
        yield started


@pytest.fixture
def cluster(world: World) -> Iterator[World]:
    """The same, with nothing on it."""
    world.clear()
    yield world
