"""Charts that a cluster already has: no file installs them, and what needs them is reported."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from plan.test_resolve import plan_spec

from supercloud.plan.model.plan import Plan
from supercloud.targets import render

POOL = {"name": "train", "machine": "dgx-h100", "nodes": 4}
CASES = [
    (["gpu-operator"], "pods that request nvidia.com/gpu", "nvidia-dra-driver"),
    (["kube-prometheus-stack", "kueue"], "alert rules and dashboards", "gpu-operator"),
    (["cilium", "cert-manager"], "the network of pods", ""),
]


def plan_without(omit: list[str], gitops: Any = "none") -> Plan:
    scheduler = {"kind": "kubernetes", "version": "1.36", "omit": omit, "devices": "claims", "gitops": gitops}
    return plan_spec(scheduler=scheduler, pools=[POOL], fabrics=[], storage=[], tenants=[])


def render_texts(plan: Plan) -> dict[str, str]:
    files = render(plan, "kubernetes").files
    return {path: file if isinstance(file, str) else file.text for path, file in files.items()}


@pytest.mark.parametrize("omit, need, dependent", CASES)
def test_no_file_installs_an_omitted_chart(omit: list[str], need: str, dependent: str) -> None:
    plan = plan_without(omit)
    whole = render_texts(plan_without([]))
    files = render_texts(plan)
    had = [name for name in omit if f"charts/{name}.yaml" in whole]
    assert had and {f"omitted/{name}.yaml" for name in had} <= set(files)
    for name in had:
        assert f"charts/{name}.yaml" not in files and f"install {name} " not in files["install.sh"]
        assert files[f"omitted/{name}.yaml"] == whole[f"charts/{name}.yaml"]
        assert f"| {name} | " in files["INSTALL.md"]
    locked = yaml.safe_load(files["charts.lock.yaml"])["charts"]
    before = yaml.safe_load(whole["charts.lock.yaml"])["charts"]
    assert locked == [chart for chart in before if chart["name"] not in omit]
    assert need in files["INSTALL.md"]
    assert not dependent or f"the chart {dependent}" in files["INSTALL.md"]


@pytest.mark.parametrize("gitops", ["flux", "argocd"])
def test_gitops_installs_none_either(gitops: str) -> None:
    files = render_texts(plan_without(["gpu-operator", "cilium"], gitops=gitops))
    wrapped = "\n".join(text for path, text in files.items() if path.startswith("gitops/"))
    assert "kueue" in wrapped and "gpu-operator" not in wrapped and "cilium" not in wrapped
    assert "helm upgrade --install cilium" not in files["INSTALL.md"]


def test_namespaces_of_omitted_charts_are_not_changed() -> None:
    names = render_texts(plan_without(["gpu-operator"]))["namespaces/namespaces.yaml"]
    assert "kueue-system" in names and "name: gpu-operator" not in names


def test_notes_say_what_needs_a_chart() -> None:
    plan = plan_without(["gpu-operator", "volcano"])
    found = [item for item in plan.findings if item.check == "kubernetes-omitted"]
    assert [(item.level, item.path) for item in found] == [
        ("warning", "scheduler.omit[1]"),
        ("note", "scheduler.omit[0]"),
    ]
    assert "volcano has no effect: nothing in this cluster needs it" in found[0].problem
    assert "pods that request nvidia.com/gpu, and metrics of GPUs; the chart nvidia-dra-driver" in found[1].problem


def test_an_unknown_chart_has_a_suggestion() -> None:
    plan = plan_without(["gpu-operater"])
    (found,) = plan.errors
    assert (found.path, found.problem) == ("scheduler.omit[0]", "unknown chart 'gpu-operater'")
    assert "gpu-operator" in found.hint
    assert not [item for item in plan.findings if item.check == "kubernetes-omitted"]
