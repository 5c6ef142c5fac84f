"""Node problem detector: driver errors in the kernel log become node conditions."""

from __future__ import annotations

import json

from ....plan.model.plan import Plan
from .manifest import Object

__all__ = ["build_values"]

_MONITOR_FILE = "accelerator-monitor.json"


def build_values(plan: Plan) -> Object:
    """Build the values of its chart: its default monitors, and an additional one for GPUs."""
    own = f"/custom-config/{_MONITOR_FILE}"
    found: Object = {
        "settings": {"log_monitors": ["/config/kernel-monitor.json", "/config/readonly-monitor.json"]},
        "metrics": {"enabled": True, "serviceMonitor": {"enabled": True}},
        "tolerations": [{"operator": "Exists"}],
    }
    if plan.scheduler.xids:
        found["settings"]["log_monitors"].append(own)
        found["settings"]["custom_monitor_definitions"] = {
            _MONITOR_FILE: json.dumps(_build_monitor(plan), indent=2) + "\n"
        }
    return found


def _build_monitor(plan: Plan) -> Object:
    """Build a condition for errors that make a GPU unusable, an event for others."""
    xids = plan.scheduler.xids
    assert xids is not None
    return {
        "plugin": "kmsg",
        "logPath": "/dev/kmsg",
        "lookback": "5m",
        "bufferSize": 10,
        "source": "accelerator-monitor",
        "conditions": [{"type": "GpuBroken", "reason": "GpuIsWell", "message": "no error of the driver"}],
        "rules": [
            {
                "type": "permanent",
                "condition": "GpuBroken",
                "reason": "GpuXid",
                "pattern": _build_pattern(xids.list_codes("critical")),
            },
            {"type": "temporary", "reason": "GpuXidWarning", "pattern": _build_pattern(xids.list_codes("warning"))},
        ],
    }


def _build_pattern(codes: tuple[int, ...]) -> str:
    # the device is in parentheses, with MIG also the instance: PCI:0000:3b:00 GPU-I:05. Users can write other parts of
    # the log: the kernel reports a crash with the name of the process (15 characters) first, and that of its file later
    return rf"(?m)^NVRM: Xid \(PCI:[0-9A-Fa-f][0-9A-Fa-f:.]*( GPU-I:[0-9]+)?\): ({'|'.join(map(str, codes))}),.*"
