"""All files of the bundle: folders of objects in the order they are applied in, values of charts, the way there."""

from __future__ import annotations

from collections.abc import Iterable

from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle, File
from ....primitives.templates import fill
from . import (
    accelerators,
    admission,
    charts,
    cloud_storage,
    control_plane,
    fabrics,
    gitops,
    labels,
    monitoring,
    pod_security,
    provisioning,  # fmt: skip
    queues,
    starts,
    storage,
    tenants,
    volcano,
)
from .given import declared_of, facts_of
from .manifest import Object, documents, head, kustomization, obj, yaml_text

__all__ = ["render", "stages"]


def render(plan: Plan) -> Bundle:
    """The whole configuration of a Kubernetes cluster for batch work on accelerators."""
    folders = stages(plan)
    files: dict[str, File | str] = {"kustomization.yaml": kustomization(plan.name, list(folders))}
    for folder, parts in ({"namespaces": {"namespaces": _namespaces(plan)}} | folders).items():
        filled = cloud_storage.replacements(plan) if folder == "storage" else []
        files[f"{folder}/kustomization.yaml"] = kustomization(plan.name, [f"{name}.yaml" for name in parts], filled)
        for name, objects in parts.items():
            files[f"{folder}/{name}.yaml"] = documents(plan.name, objects)
    for name, values in charts.files(plan).items():
        files[f"charts/{name}.yaml"] = f"{head(plan.name)}\n{yaml_text(values)}"
    files["charts.lock.yaml"] = f"{head(plan.name)}\n{yaml_text(charts.lock(plan))}"
    files["install.sh"] = File(_filled(plan, "install.sh.j2", folders), executable=True)
    if plan.site.kind == "onprem":
        files |= {f"control-plane/{name}": text for name, text in control_plane.files(plan).items()}
        files |= {f"hosts/rail-names-{pool}.sh": File(_filled(plan, "rail-names.sh.j2", folders, pairs=pairs), True)
                  for pool, pairs in fabrics.rail_names(plan).items()}  # fmt: skip
    wrapper = {"flux": gitops.flux, "argocd": gitops.argocd}.get(declared_of(plan).gitops)
    if wrapper:
        files |= {f"gitops/{name}": text for name, text in wrapper(plan, list(folders)).items()}
    files["INSTALL.md"] = _filled(plan, "INSTALL.md.j2", folders)
    return Bundle(files)


def stages(plan: Plan) -> dict[str, dict[str, list[Object]]]:
    """folder -> file -> objects; a folder only needs what stands before it, and the charts."""
    kueue = declared_of(plan).queue == "kueue"
    found: dict[str, dict[str, list[Object]]] = {
        "nodes": {"labels": labels.objects(plan)} if plan.site.kind == "onprem" else {},
        "tenants": {},
        "accelerators": _some("accelerators", accelerators.objects(plan)),
        "fabrics": _some("fabrics", fabrics.objects(plan)),
        "storage": cloud_storage.files(plan) or _some("volumes", storage.objects(plan)),
        "queues": queues.files(plan) if kueue else volcano.files(plan),
        "monitoring": _some("monitoring", monitoring.objects(plan)),
    }
    if plan.tenants:
        policies = [*pod_security.objects(plan, tenants.TENANT_LABEL), *admission.objects(plan)]
        found["tenants"] = {"shared": tenants.shared(plan), "policies": policies} | {
            f"tenant-{name}": objects for name, objects in tenants.files(plan).items()
        }
    if kueue:
        found["queues"] = {"topologies": found["queues"].pop("topologies"), **found["queues"],
                           **_some("starts", starts.objects(plan))}  # fmt: skip
        if checks := list(provisioning.objects(plan)):
            found["queues"] = {"provisioning": checks, **found["queues"]}
    return {name: parts for name, parts in found.items() if parts}


def _some(name: str, objects: Iterable[Object]) -> dict[str, list[Object]]:
    listed = list(objects)
    return {name: listed} if listed else {}


def _namespaces(plan: Plan) -> list[Object]:
    """Those of the charts; tenants' come with their rights."""
    return [
        obj("v1", "Namespace", name,
            labels={"pod-security.kubernetes.io/enforce": "privileged" if privileged else "baseline"})
        for name, privileged in sorted(charts.namespaces(plan).items())
    ]  # fmt: skip


def _filled(plan: Plan, template: str, folders: Iterable[str], **values: object) -> str:
    return fill(
        f"kubernetes/{template}",
        head=head(plan.name).removeprefix("# "),
        plan=plan,
        facts=facts_of(plan),
        declared=declared_of(plan),
        folders=list(folders),
        host_driven=fabrics.host_driven(plan),
        partly_mounted=storage.partly_mounted(plan),
        rails=fabrics.rail_names(plan) if plan.site.kind == "onprem" else {},
        **values,
    )
