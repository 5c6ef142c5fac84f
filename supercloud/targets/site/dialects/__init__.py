"""Configuration languages of switches.

A dialect is a module here with one object, a :class:`SwitchDialect`, its templates in ``templates/dialects/<name>/``,
and a line in ``DIALECTS``. Network systems of the catalog refer to it by that name. Modules are imported on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from ....errors import Finding, InputError
from ....plan.model.network import SwitchRun
from ....plan.model.plan import Plan
from ....primitives.templates import has_template
from .base import BridgedFiles, Files, RoutedFiles, SwitchDialect, Unsupported
from .views import HostPort, PeerPort, SwitchView, iter_switches

__all__ = [
    "DIALECTS",
    "BridgedFiles",
    "Files",
    "HostPort",
    "PeerPort",
    "RoutedFiles",
    "SwitchDialect",
    "SwitchView",
    "Unsupported",
    "iter_switches",
    "load_dialect",
    "select_dialects",
    "select_routed",
]

DIALECTS: dict[str, str] = {
    "eos": "supercloud.targets.site.dialects.eos:DIALECT",
    "frr": "supercloud.targets.site.dialects.frr:DIALECT",
    "nvue": "supercloud.targets.site.dialects.nvue:DIALECT",
    "sonic": "supercloud.targets.site.dialects.sonic:DIALECT",
}


def load_dialect(name: str) -> SwitchDialect:
    """Return a dialect of ``DIALECTS``; raises :class:`InputError` that says what it lacks if it is incomplete."""
    module, _, attribute = DIALECTS[name].partition(":")
    found = getattr(import_module(module), attribute, None)
    if not isinstance(found, SwitchDialect):
        raise InputError(f"switch dialect {name!r} is incomplete: {module} has no SwitchDialect {attribute!r}")
    if missing := [template for template in found.list_templates() if not has_template(template)]:
        raise InputError(
            f"switch dialect {name!r} is incomplete: missing {', '.join(f'templates/{item}' for item in missing)}"
        )
    return found


def select_dialects(plan: Plan, runs: Sequence[SwitchRun]) -> dict[str, SwitchDialect]:
    """Return the dialects of switches by name; raises :class:`InputError` with a finding for each unknown one."""
    found: dict[str, SwitchDialect] = {}
    findings: list[Finding] = []
    for run in runs:
        system = run.network_os
        if system is None or system.dialect in found:
            continue
        if system.dialect in DIALECTS:
            found[system.dialect] = load_dialect(system.dialect)
            continue
        problem = f"network system {system.name!r} has the unknown switch dialect {system.dialect!r}"
        findings.append(_build_finding(run, problem, f"correct dialect of {system.name} in the catalog"))
    _raise_findings(plan, findings)
    return found


def select_routed(plan: Plan, runs: Sequence[SwitchRun]) -> dict[str, RoutedFiles]:
    """Return the dialects of switches of routed fabrics by name; raises :class:`InputError` with a finding for each
    tier whose dialect is unknown or configures no routed fabrics.
    """
    found: dict[str, RoutedFiles] = {}
    dialects = select_dialects(plan, runs)
    findings: list[Finding] = []
    for run in runs:
        name = run.network_os.dialect if run.network_os else ""
        routed = dialects[name].routed
        if isinstance(routed, Unsupported):
            problem = f"the switch dialect {name!r} does not configure routed fabrics: {routed.reason}"
            findings.append(_build_finding(run, problem, "use a network system with another dialect"))
        else:
            found[name] = routed
    _raise_findings(plan, findings)
    return found


def _raise_findings(plan: Plan, findings: Sequence[Finding]) -> None:
    if findings:
        raise InputError(f"{plan.name}: the files of its switches cannot be rendered", list(dict.fromkeys(findings)))


def _build_finding(run: SwitchRun, problem: str, hint: str) -> Finding:
    """Build the finding on a tier's operating system, with the dialects that exist."""
    known = f"dialects: {', '.join(sorted(DIALECTS))}"
    return Finding("switch-dialect", "error", run.system_path, problem, f"{hint}; {known}")
