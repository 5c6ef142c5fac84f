"""Grafana dashboards, as ConfigMaps that its sidecar loads. They query only metrics of the catalog's sets."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ....plan.model.plan import Plan
from .accessors import require_kubernetes_plan
from .manifest import Object

__all__ = ["render_dashboards"]

_NODE_LABEL = "Hostname"
Panel = tuple[str, str, Sequence[tuple[str, str]]]
"""Title, unit, and queries with their legends."""


def render_dashboards(plan: Plan) -> dict[str, str]:
    """File -> JSON."""
    metrics = require_kubernetes_plan(plan).metrics
    found: dict[str, str] = {}
    if "dcgm" in metrics:
        found["accelerators.json"] = _render_dashboard("accelerators", "Accelerators", _build_gpu_panels())
    found["fabrics.json"] = _render_dashboard("fabrics", "Fabrics", _build_fabric_panels())
    if "kueue" in metrics:
        found["queues.json"] = _render_dashboard("queues", "Queues and quota", _build_queue_panels())
    return found


def _build_gpu_panels() -> list[Panel]:
    by_node = f"{{{{{_NODE_LABEL}}}}}"
    one = f"{by_node} gpu {{{{gpu}}}}"
    return [
        ("Utilization by node", "percent", [(f"avg by ({_NODE_LABEL}) (DCGM_FI_DEV_GPU_UTIL)", by_node)]),
        (
            "Tensor pipes active",
            "percentunit",
            [(f"avg by ({_NODE_LABEL}) (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE)", by_node)],
        ),
        ("Memory in use", "decmbytes", [(f"sum by ({_NODE_LABEL}) (DCGM_FI_DEV_FB_USED)", by_node)]),
        ("Power by node", "watt", [(f"sum by ({_NODE_LABEL}) (DCGM_FI_DEV_POWER_USAGE)", by_node)]),
        ("Hottest GPUs", "celsius", [("topk(20, DCGM_FI_DEV_GPU_TEMP)", one)]),
        ("Last XID", "none", [("DCGM_FI_DEV_XID_ERRORS > 0", one)]),
        (
            "Memory errors",
            "none",
            [
                ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL > 0", f"{one} uncorrectable"),
                ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL > 0", f"{one} corrected"),
                ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS > 0", f"{one} remapped rows"),
            ],
        ),
        (
            "NVLink errors",
            "none",
            [
                ("rate(DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL[5m]) > 0", f"{one} flits"),
                ("rate(DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL[5m]) > 0", f"{one} data"),
            ],
        ),
        (
            "Throttled by heat and by power",
            "percentunit",
            [
                ("rate(DCGM_FI_DEV_THERMAL_VIOLATION[5m]) / 1e6 > 0", f"{one} heat"),
                ("rate(DCGM_FI_DEV_POWER_VIOLATION[5m]) / 1e6 > 0", f"{one} power"),
            ],
        ),
    ]


def _build_fabric_panels() -> list[Panel]:
    port = "{{instance}} {{device}}"
    return [
        ("Sent over fabrics", "Bps", [("rate(node_infiniband_port_data_transmitted_bytes_total[2m])", port)]),
        ("Received over fabrics", "Bps", [("rate(node_infiniband_port_data_received_bytes_total[2m])", port)]),
        ("Links that are down", "none", [("node_infiniband_physical_state_id != 5", port)]),
        (
            "Link errors",
            "none",
            [
                ("increase(node_infiniband_link_downed_total[1h]) > 0", f"{port} down"),
                ("rate(node_infiniband_symbol_error_total[10m]) > 0", f"{port} symbols"),
            ],
        ),
        (
            "In-band network",
            "Bps",
            [
                ("sum by (instance) (rate(node_network_receive_bytes_total[2m]))", "{{instance}} in"),
                ("sum by (instance) (rate(node_network_transmit_bytes_total[2m]))", "{{instance}} out"),
            ],
        ),
    ]


def _build_queue_panels() -> list[Panel]:
    queue = "{{cluster_queue}}"
    return [
        ("Waiting workloads", "none", [("sum by (cluster_queue) (kueue_pending_workloads)", queue)]),
        ("Running workloads", "none", [("sum by (cluster_queue) (kueue_admitted_active_workloads)", queue)]),
        (
            "Quota in use",
            "none",
            [("sum by (cluster_queue, resource) (kueue_cluster_queue_resource_usage)", f"{queue} {{{{resource}}}}")],
        ),
        (
            "Own quota",
            "none",
            [("sum by (cluster_queue, resource) (kueue_cluster_queue_nominal_quota)", f"{queue} {{{{resource}}}}")],
        ),
        (
            "Evicted and preempted, per hour",
            "none",
            [
                (
                    "sum by (cluster_queue, reason) (increase(kueue_evicted_workloads_total[1h]))",
                    f"{queue} {{{{reason}}}}",
                ),
                ("sum by (reason) (increase(kueue_preempted_workloads_total[1h]))", "preempted {{reason}}"),
            ],
        ),
    ]


def _render_dashboard(uid: str, title: str, panels: Sequence[Panel]) -> str:
    found: Object = {
        "uid": f"supercloud-{uid}",
        "title": title,
        "tags": ["supercloud"],
        "timezone": "browser",
        "schemaVersion": 39,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [{"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}]
        },
        "panels": [_build_panel(number, panel) for number, panel in enumerate(panels)],
    }
    return json.dumps(found, indent=1) + "\n"


def _build_panel(number: int, panel: Panel) -> Object:
    title, unit, queries = panel
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number + 1,
        "title": title,
        "type": "timeseries",
        "datasource": source,
        "gridPos": {"x": 12 * (number % 2), "y": 8 * (number // 2), "w": 12, "h": 8},
        "fieldConfig": {"defaults": {"unit": unit, "custom": {"fillOpacity": 10}}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "expr": expr, "legendFormat": legend, "datasource": source}
            for index, (expr, legend) in enumerate(queries)
        ],
    }
