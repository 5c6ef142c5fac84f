"""Plans, stores and engines that job tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs.waiting import end_everything

from supercloud.jobs.engines.base import open_engine
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection
from supercloud.spec.loader import loads

PLAN = """
name: pod
site: {kind: onprem, location: stockholm}
scheduler:
  kind: slurm
  version: "22.05"
  partitions:
    - {name: batch, pools: [old, train], default: true}
    - {name: short, pools: [train], max_time: 8 h, max_nodes: 2}
    - {name: cpus, pools: [cpu], accounts: [llm]}
pools:
  - {name: old, machine: dgx-a100, nodes: 4}
  - {name: train, machine: dgx-h100, nodes: 127, spares: 3, fabrics: [compute]}
  - {name: cpu, machine: cpu-6740e, nodes: 3}
fabrics:
  - {name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
storage:
  - {name: scratch, kind: lustre, capacity: 2 PiB, tier: best, mount: /scratch}
tenants:
  - {name: llm, share: 70, priority: high}
  - {name: vision, share: 30, limits: {accelerators: 256, max_time: 1 d}}
"""


@pytest.fixture(scope="session")
def plan() -> Plan:
    """127 DGX H100 in units of 32, some older machines, some without accelerators."""
    return resolve(loads(PLAN))


@pytest.fixture
def job() -> Callable[..., JobSpec]:
    """A job from keywords."""

    def make(command: Any = ("true",), **fields: Any) -> JobSpec:
        if "script" not in fields:
            fields["command"] = list(command)
        return JobSpec.model_validate({"name": "job"} | fields)

    return make


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store whose local agent and jobs, if any were started, end with the test."""
    with Store(tmp_path / "jobs") as opened:
        yield opened
        end_everything(opened.folder)


@pytest.fixture
def fake(store: Store) -> FakeEngine:
    """The fake engine that belongs to the store."""
    engine = open_engine(Connection(engine="fake"), store.folder)
    assert isinstance(engine, FakeEngine)
    return engine
