"""Accelerators of vendors other than NVIDIA: labels of their nodes, drivers, metrics."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from kube_specs import ONPREM, VARIANTS, build_plan, list_bundle_objects, select_kind

from supercloud.targets import render

MI300X = {"name": "mi", "machine": "mi300x-8gpu", "nodes": 16}
BOTH = {"pools": [ONPREM["pools"][0], MI300X]}


@pytest.mark.parametrize(
    "changes, chart", [(VARIANTS["amd"], "amd-gpu-operator"), ({}, "gpu-operator"), (BOTH, "gpu-operator")]
)
def test_one_feature_discovery_labels_all_nodes(changes: dict[str, Any], chart: str) -> None:
    """Its workers did not tolerate the taint of AMD's nodes, which so got no labels; two overwrite each other's."""
    bundle = render(build_plan(changes), "kubernetes")
    enabled = {}
    for name in ("gpu-operator", "amd-gpu-operator", "network-operator"):
        if f"charts/{name}.yaml" in bundle:
            values = yaml.safe_load(bundle[f"charts/{name}.yaml"])
            key = "node-feature-discovery" if name == "amd-gpu-operator" else "nfd"
            if values[key]["enabled"]:
                enabled[name] = values["node-feature-discovery"]["worker"]["tolerations"]
    assert enabled == {chart: [{"operator": "Exists"}]}


def test_amd_gpus_use_the_driver_of_the_host_and_are_monitored() -> None:
    """Without an image in a registry the operator cannot install a driver."""
    bundle = render(build_plan(VARIANTS["amd"]), "kubernetes")
    objects = list_bundle_objects(bundle)
    [config] = select_kind(objects, "DeviceConfig").values()
    assert config["spec"]["driver"] == {"enable": False}
    assert config["spec"]["metricsExporter"]["prometheus"]["serviceMonitor"]["enable"] is True
    assert "need the driver (amdgpu) before they join" in bundle["INSTALL.md"]
    assert "AmdGpuMemoryError" in json.dumps(select_kind(objects, "PrometheusRule"))


def test_parts_that_cannot_be_scraped_have_no_alerts() -> None:
    """The chart's alerts on them (KubeProxyDown …) fired from the first day."""
    values = yaml.safe_load(render(build_plan(), "kubernetes")["charts/kube-prometheus-stack.yaml"])
    for name in ("kubeControllerManager", "kubeEtcd", "kubeProxy", "kubeScheduler"):
        assert values[name] == {"enabled": False}
