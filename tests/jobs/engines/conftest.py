"""Jobs of a cluster under Kubernetes, as the objects that are sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jobs.engines.kubernetes_jobs import PLAN

from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.placement.place import Placement, place
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection
from supercloud.spec.loader import loads


@pytest.fixture(scope="module")
def kubernetes() -> Plan:
    return resolve(loads(PLAN))


@pytest.fixture
def made(kubernetes: Plan, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The object of a job from its fields."""

    def make(plan: Plan = kubernetes, key: str = "key", **fields: Any) -> dict[str, Any]:
        said = {"name": "job", "command": ["train"], "image": "registry.example.com/a:1", "tenant": "llm"}
        if "script" in fields:
            del said["command"]
        job = JobSpec.model_validate(said | fields)
        at = place(job, plan)
        assert isinstance(at, Placement), at
        assert Placement.from_json(at.to_json()) == at
        engine = KubernetesEngine(Connection(engine="kubernetes", context="lab"), tmp_path)
        submission = engine.prepare(job, at, key)
        assert submission.argv == ("kubectl", "--context=lab", "create", "--filename=-")
        body: dict[str, Any] = yaml.safe_load(submission.stdin)
        return body

    return make
