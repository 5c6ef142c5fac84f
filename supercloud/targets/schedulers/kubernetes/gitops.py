"""Wrappers for a GitOps controller: the charts and the folders of objects. Flux applies them in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....plan.model.plan import Plan
from ....primitives.names import NameRule, build_bounded_name
from ....spec.scheduler import GitOps
from . import charts
from .accessors import require_kubernetes_plan, require_kubernetes_spec
from .manifest import Object, build_object, render_documents

__all__ = ["NETWORK_CHART", "find_repository", "protect_data", "render_argocd", "render_flux"]

NETWORK_CHART = "cilium"
"""The chart without which no other pod starts, on-prem: it is installed before the controller."""
_FLUX, _ARGO = "flux-system", "argocd"
_NAME_RULE = NameRule(253, characters="a-z0-9-", starts="a-z0-9", ends="a-z0-9")
# Objects whose deletion deletes data -> the annotations that stop a controller from pruning them.
_KEPT_KINDS = ("Namespace", "PersistentVolume", "PersistentVolumeClaim")
_KEEP_ANNOTATIONS = {
    "flux": {"kustomize.toolkit.fluxcd.io/prune": "disabled"},
    "argocd": {"argocd.argoproj.io/sync-options": "Prune=false,Delete=false"},
}
_REPOSITORY_URL = "https://git.example.com/clusters.git"


def find_repository(plan: Plan) -> GitOps | None:
    """Return the controller and its repository, with a placeholder if the spec names none; None without GitOps."""
    declared = require_kubernetes_spec(plan).gitops
    if isinstance(declared, GitOps):
        return declared
    return None if declared == "none" else GitOps(kind=declared, url=_REPOSITORY_URL)


def _require_repository(plan: Plan) -> GitOps:
    found = find_repository(plan)
    assert found is not None, "only called with GitOps"
    return found


def _format_path(repository: GitOps, folder: str) -> str:
    return f"{repository.path}/{folder}" if repository.path else folder


def protect_data(plan: Plan, objects: Sequence[Object]) -> list[Object]:
    """Annotate namespaces and volumes, so that they stay when a tenant or a stage leaves the repository."""
    repository = find_repository(plan)
    if repository is None:
        return list(objects)
    annotations = _KEEP_ANNOTATIONS[repository.kind]
    return [_add_annotations(item, annotations) if item["kind"] in _KEPT_KINDS else item for item in objects]


def _add_annotations(item: Object, annotations: Mapping[str, str]) -> Object:
    metadata = item["metadata"]
    return {**item, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **annotations}}}


def render_flux(plan: Plan, stages: Sequence[str]) -> dict[str, str]:
    """Render sources and releases of the charts, and one Kustomization per stage; each waits for the one before.

    A further one applies the folder with all of them, so that an upgrade of a chart is a commit.
    """
    repository = _require_repository(plan)
    found: dict[str, list[Object]] = {"sources.yaml": [], "releases.yaml": [], "stages.yaml": []}
    seen: set[str] = set()
    omitted = require_kubernetes_plan(plan).omitted
    for chart in require_kubernetes_plan(plan).installed_charts:
        if chart.repository not in seen:
            seen.add(chart.repository)
            spec: Object = {"interval": "1h", "url": chart.repository}
            if chart.repository.startswith("oci://"):
                spec["type"] = "oci"
            found["sources.yaml"].append(
                build_object(
                    "source.toolkit.fluxcd.io/v1",
                    "HelmRepository",
                    _format_source_name(chart.repository),
                    _FLUX,
                    spec=spec,
                )
            )
        release: Object = {
            "interval": "1h",
            "releaseName": chart.name,
            "targetNamespace": chart.namespace,
            # retry without limit: a chart may be reconciled before its namespace or its dependencies exist
            "install": {"crds": "CreateReplace", "remediation": {"retries": -1}},
            "upgrade": {"crds": "CreateReplace", "remediation": {"retries": -1}},
            "chart": {
                "spec": {
                    "chart": chart.chart,
                    "version": chart.version,
                    "sourceRef": {"kind": "HelmRepository", "name": _format_source_name(chart.repository)},
                }
            },
            "values": charts.build_values(plan, chart),
        }
        if chart.name == NETWORK_CHART:  # installed by Helm before Flux, which looks for releases in its own namespace
            release["storageNamespace"] = chart.namespace
        if earlier := [{"name": name} for name in chart.after if name not in omitted]:
            release["dependsOn"] = earlier
        found["releases.yaml"].append(
            build_object("helm.toolkit.fluxcd.io/v2", "HelmRelease", chart.name, _FLUX, spec=release)
        )
    previous = None
    for stage in ["namespaces", *stages]:
        spec = {
            "interval": "10m",
            "path": f"./{_format_path(repository, stage)}",
            "prune": True,
            "wait": False,
            "retryInterval": "1m",
            "sourceRef": {"kind": "GitRepository", "name": plan.name},
        }
        if previous:
            spec["dependsOn"] = [{"name": f"{plan.name}-{previous}"}]
        previous = stage
        found["stages.yaml"].append(
            build_object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", f"{plan.name}-{stage}", _FLUX, spec=spec)
        )
    root: Object = {
        "interval": "10m",
        "path": f"./{_format_path(repository, 'gitops')}",
        "prune": True,
        "sourceRef": {"kind": "GitRepository", "name": plan.name},
    }
    found["root.yaml"] = [
        build_object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", plan.name, _FLUX, spec=root),
    ]
    found["repository.yaml"] = [
        build_object(
            "source.toolkit.fluxcd.io/v1",
            "GitRepository",
            plan.name,
            _FLUX,
            spec={"interval": "1m", "url": repository.url, "ref": {"branch": repository.branch}},
        ),
    ]
    return {name: render_documents(plan.name, objects) for name, objects in found.items()}


def _format_source_name(repository: str) -> str:
    """Format the name of a repository for Kubernetes: its host and path."""
    return build_bounded_name([repository.partition("://")[2].replace("/", "-").replace(".", "-").lower()], _NAME_RULE)


def render_argocd(plan: Plan, stages: Sequence[str]) -> dict[str, str]:
    """Render an Application for each chart and each stage, and one that applies all of them from the repository.

    Argo CD syncs all of them at once: waves order the objects of one Application only. Those that depend on another
    one fail, and are retried for an hour: with unlimited retries a commit that fixes one would not be synced, as the
    failing sync would continue.
    """
    repository = _require_repository(plan)
    found: list[Object] = []
    sync: Object = {
        "automated": {"prune": True, "selfHeal": True},
        "syncOptions": ["CreateNamespace=true", "ServerSideApply=true"],
        "retry": {"limit": 10, "backoff": {"duration": "30s", "factor": 2, "maxDuration": "10m"}},
    }

    def add_application(name: str, source: Object, namespace: str) -> None:
        found.append(
            build_object(
                "argoproj.io/v1alpha1",
                "Application",
                name,
                _ARGO,
                spec={
                    "project": "default",
                    "source": source,
                    "syncPolicy": sync,
                    "destination": {"server": "https://kubernetes.default.svc", "namespace": namespace},
                },
            )
        )

    def build_folder_source(path: str) -> Object:
        return {
            "repoURL": repository.url,
            "targetRevision": repository.branch,
            "path": _format_path(repository, path),
        }

    add_application(plan.name, build_folder_source("gitops"), _ARGO)
    add_application(f"{plan.name}-namespaces", build_folder_source("namespaces"), "default")
    for chart in require_kubernetes_plan(plan).installed_charts:
        source = {
            "repoURL": chart.repository.removeprefix("oci://"),
            "chart": chart.chart,
            "targetRevision": chart.version,
            "helm": {"releaseName": chart.name, "valuesObject": charts.build_values(plan, chart)},
        }
        add_application(chart.name, source, chart.namespace)
    for stage in stages:
        add_application(f"{plan.name}-{stage}", build_folder_source(stage), "default")
    return {"applications.yaml": render_documents(plan.name, found)}
