"""All files of the bundle: folders of objects in the order of their application, values of charts, instructions."""

from __future__ import annotations

from collections.abc import Iterable

from ....catalog.kubernetes_parts import Chart
from ....plan.build.fabric.rdma_devices import list_rdma_hosts
from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle, File
from ....primitives.templates import render_template
from ...header import format_header
from . import (
    accelerators,
    admission,
    autoscaling,
    charts,
    cloud_storage,
    control_plane,
    fabrics,
    gitops,
    labels,
    monitoring,
    pod_security,
    provisioning,
    queues,
    starts,
    storage,
    tenants,
    volcano,
)
from .accessors import require_kubernetes_plan, require_kubernetes_spec
from .manifest import Object, build_object, format_yaml, render_documents, render_kustomization

__all__ = ["render", "build_stages"]


def render(plan: Plan) -> Bundle:
    """Render the complete configuration of a Kubernetes cluster for batch jobs on accelerators."""
    folders = build_stages(plan)
    files: dict[str, File | str] = {"kustomization.yaml": render_kustomization(plan.name, list(folders))}
    for folder, parts in ({"namespaces": {"namespaces": _build_namespaces(plan)}} | folders).items():
        filled = cloud_storage.build_replacements(plan) if folder == "storage" else []
        files[f"{folder}/kustomization.yaml"] = render_kustomization(
            plan.name, [f"{name}.yaml" for name in parts], filled
        )
        for name, objects in parts.items():
            files[f"{folder}/{name}.yaml"] = render_documents(plan.name, gitops.protect_data(plan, objects))
    for name, values in charts.build_values_files(plan).items():
        files[name] = f"{format_header(plan.name)}\n{format_yaml(values)}"
    files["charts.lock.yaml"] = f"{format_header(plan.name)}\n{format_yaml(charts.build_lock(plan))}"
    files["install.sh"] = File(_render_file(plan, "install.sh.j2", folders), executable=True)
    if plan.site.kind == "onprem":
        files |= {f"control-plane/{name}": text for name, text in control_plane.render_files(plan).items()}
        join = _render_file(plan, "join-control-plane.sh.j2", folders)
        files["control-plane/join-control-plane.sh"] = File(join, executable=True)
        files |= {
            f"hosts/rail-names-{pool}.sh": File(_render_file(plan, "rail-names.sh.j2", folders, pairs=pairs), True)
            for pool, pairs in fabrics.build_rail_names(plan).items()
        }
    if repository := gitops.find_repository(plan):
        wrapper = {"flux": gitops.render_flux, "argocd": gitops.render_argocd}[repository.kind]
        files |= {f"gitops/{name}": text for name, text in wrapper(plan, list(folders)).items()}
    files["INSTALL.md"] = _render_file(plan, "INSTALL.md.j2", folders)
    return Bundle(files)


def build_stages(plan: Plan) -> dict[str, dict[str, list[Object]]]:
    """Folder -> file -> objects; a folder depends only on the folders before it and the charts."""
    kueue = require_kubernetes_spec(plan).queue == "kueue"
    found: dict[str, dict[str, list[Object]]] = {
        "definitions": _build_entry("autoscaler", autoscaling.build_objects(plan)),
        "nodes": {"labels": labels.build_objects(plan)} if plan.site.kind == "onprem" else {},
        "tenants": {},
        "accelerators": _build_entry("accelerators", accelerators.build_objects(plan)),
        "fabrics": _build_entry("fabrics", fabrics.build_objects(plan)),
        "storage": cloud_storage.build_files(plan) or _build_entry("volumes", storage.build_objects(plan)),
        "queues": queues.build_files(plan) if kueue else volcano.build_files(plan),
        "monitoring": _build_entry("monitoring", monitoring.build_objects(plan)),
    }
    if plan.tenants:
        policies = [*pod_security.build_objects(plan, tenants.TENANT_LABEL), *admission.build_objects(plan)]
        found["tenants"] = {"shared": tenants.build_shared_roles(plan), "policies": policies} | {
            f"tenant-{name}": objects for name, objects in tenants.build_files(plan).items()
        }
    if kueue:
        found["queues"] = {
            "topologies": found["queues"].pop("topologies"),
            **found["queues"],
            **_build_entry("starts", starts.build_objects(plan)),
        }
        if checks := list(provisioning.build_objects(plan)):
            found["queues"] = {"provisioning": checks, **found["queues"]}
    return {name: parts for name, parts in found.items() if parts}


def _build_entry(name: str, objects: Iterable[Object]) -> dict[str, list[Object]]:
    listed = list(objects)
    return {name: listed} if listed else {}


def _build_namespaces(plan: Plan) -> list[Object]:
    """Build the namespaces of the charts; those of tenants are built with their roles."""
    return [
        build_object(
            "v1",
            "Namespace",
            name,
            labels={"pod-security.kubernetes.io/enforce": "privileged" if privileged else "baseline"},
        )
        for name, privileged in sorted(charts.collect_namespaces(plan).items())
    ]


def _find_network_chart(plan: Plan) -> Chart | None:
    """Return the chart of the pods' network, or None if the bundle does not install one."""
    charts = require_kubernetes_plan(plan).installed_charts
    return next((chart for chart in charts if chart.name == gitops.NETWORK_CHART), None)


def _render_file(plan: Plan, template: str, folders: Iterable[str], **values: object) -> str:
    return render_template(
        f"kubernetes/{template}",
        head=format_header(plan.name).removeprefix("# "),
        plan=plan,
        facts=require_kubernetes_plan(plan),
        declared=require_kubernetes_spec(plan),
        folders=list(folders),
        repository=gitops.find_repository(plan),
        network=_find_network_chart(plan),
        host_driven=fabrics.list_host_driver_pools(plan),
        partly_mounted=storage.list_partly_mounted(plan),
        mounted=storage.list_mounted_storage(plan),
        rails=fabrics.build_rail_names(plan) if plan.site.kind == "onprem" else {},
        rdma=[item for item in list_rdma_hosts(plan) if item.has_kernel_names] if plan.site.kind == "onprem" else [],
        **values,
    )
