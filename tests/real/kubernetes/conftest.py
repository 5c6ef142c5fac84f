"""One cluster for all tests of this folder: two pools, two tenants, a real control plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kube_world import SPEC, World


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The cluster, with ann of tenant llm and bob of tenant vision."""
    people = {"ann": "supercloud:llm", "bob": "supercloud:vision"}
    with World(SPEC, tmp_path_factory.mktemp("pod"), people) as started, pytest.MonkeyPatch.context() as here:
        here.setenv("KUBECONFIG", str(started.lab.kubeconfig))
        yield started


@pytest.fixture
def cluster(world: World) -> Iterator[World]:
    """The same cluster without jobs."""
    world.clear()
    return world
