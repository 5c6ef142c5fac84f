"""Rendered bundles for real components: every example and variant of the hermetic tests, and their objects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from kube_binaries import build_module
from kube_lab import Lab
from kube_managers import load_documents
from samples import ROOT

sys.path.append(str(ROOT / "tests" / "targets" / "kubernetes"))

from kube_schemas import list_kinds  # noqa: E402
from kube_specs import build_plan, list_bundle_objects, render_all, select_kind  # noqa: E402

from supercloud.catalog.kubernetes_parts import Chart  # noqa: E402
from supercloud.jobs.engines.kubernetes.api import ApiClient  # noqa: E402
from supercloud.primitives.bundle import Bundle  # noqa: E402

__all__ = [
    "BUNDLES",
    "Served",
    "list_objects",
    "select_kind",
    "find_chart_folder",
    "list_charts",
    "list_cluster_objects",
    "define_custom_resources",
    "list_bundle_objects",
    "build_plan",
    "render_chart",
]

BUNDLES = render_all()


def list_cluster_objects(bundle: Bundle) -> list[dict[str, Any]]:
    """Objects that kustomize builds from the root: without namespaces of charts and local configuration."""
    before = len(list_bundle_objects(bundle, "namespaces"))
    local = "config.kubernetes.io/local-config"
    return [
        item for item in list_bundle_objects(bundle)[before:] if local not in item["metadata"].get("annotations", {})
    ]


def list_objects(bundle: Bundle) -> list[dict[str, Any]]:
    """Objects that are applied by hand or by a GitOps controller, and the objects of the controller."""
    wrappers = [path for path in bundle if path.startswith("gitops/")]
    return [*list_bundle_objects(bundle), *(item for path in wrappers for item in yaml.safe_load_all(bundle[path]))]


def define_custom_resources(lab: Lab) -> None:
    """Define the custom resources of bundles that do not belong to the managers of the lab."""
    files = sorted((build_module("tools") / "manifests" / "crds").glob("*/*.yaml"))
    crds = [item for item in load_documents(*files) if item["kind"] == "CustomResourceDefinition"]
    lab.apply(*crds)
    for item in crds:
        group, version = item["spec"]["group"], item["spec"]["versions"][-1]["name"]
        lab.wait_until(lambda path=f"/apis/{group}/{version}/{item['spec']['names']['plural']}": lab.api.get(path))  # type: ignore[misc]


def find_chart_folder(chart: str) -> Path | None:
    """The files of a chart; None if no Go module contains them."""
    found = [path.parent for path in (build_module("tools") / "manifests" / "charts" / chart).glob("*/Chart.yaml")]
    return found[0] if found else None


def render_chart(chart: Chart, release: str, values: str, folder: Path) -> list[dict[str, Any]]:
    """Render a chart with helm, with rendered values, for a release of Kubernetes."""
    (folder / "values.yaml").write_text(values)
    env = {**os.environ, **{f"HELM_{part}_HOME": str(folder) for part in ("CACHE", "CONFIG", "DATA")}}
    words = [
        build_module("tools") / "bin" / "helm",
        "template",
        chart.name,
        find_chart_folder(chart.name),
        "--include-crds",
        "--namespace",
        chart.namespace,
        "--kube-version",
        release,
        "--values",
        folder / "values.yaml",
    ]
    done = subprocess.run(list(map(str, words)), env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{chart.name}: {done.stderr}"
    return [item for item in yaml.load_all(done.stdout, yaml.CSafeLoader) if item]


def list_charts() -> dict[str, tuple[Chart, str, str]]:
    """Every available chart with each distinct rendering of its values, and a release of Kubernetes."""
    found: dict[str, tuple[Chart, str, str]] = {}
    seen: set[tuple[str, str, str]] = set()
    for name, (plan, bundle) in BUNDLES.items():
        facts = plan.scheduler.kubernetes
        assert facts and facts.release
        for chart in facts.charts:
            item = (chart.name, chart.version, bundle[f"charts/{chart.name}.yaml"].partition("\n")[2])
            if find_chart_folder(chart.name) and item not in seen:
                seen.add(item)
                found[f"{chart.name}-{name}"] = (chart, facts.release.patch, item[2])
    return found


class Served:
    """The kinds that an API server serves, read once, and the paths of objects."""

    def __init__(self, api: ApiClient):
        self.api = api
        self._groups: dict[str, dict[str, tuple[str, bool]]] = {}

    def find_path(self, item: dict[str, Any]) -> str | None:
        """The path of an object; None for kinds that the server does not serve."""
        version, kind = item["apiVersion"], item["kind"]
        if (version, kind) in list_kinds():
            return None
        found = self._list_kinds(version).get(kind)
        if found is None:
            return None
        plural, namespaced = found
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        space = f"/namespaces/{item['metadata'].get('namespace', 'default')}" if namespaced else ""
        return f"{root}{space}/{plural}/{item['metadata']['name']}"

    def _list_kinds(self, version: str) -> dict[str, tuple[str, bool]]:
        if version not in self._groups:
            group = version.partition("/")[0] if "/" in version else ""
            served = (
                {"v1"}
                if not group
                else {
                    f"{item['name']}/{one['version'].rpartition('/')[2] if '/' in one['version'] else one['version']}"
                    for item in self.api.get("/apis")["groups"]
                    for one in item["versions"]
                }
            )
            root = f"/apis/{version}" if group else f"/api/{version}"
            listed = self.api.get(root)["resources"] if version in served else []
            self._groups[version] = {
                entry["kind"]: (entry["name"], entry["namespaced"]) for entry in listed if "/" not in entry["name"]
            }
        return self._groups[version]

    def put(self, item: dict[str, Any], dry: bool) -> bool:
        """Server-side apply with strict validation; False if the server does not serve the kind."""
        path = self.find_path(item)
        if path is None:
            return False
        more = {"dryRun": "All"} if dry else {}
        self.api.patch(
            path,
            item,
            "application/apply-patch+yaml",
            fieldManager="bundle",
            force="true",
            fieldValidation="Strict",
            **more,
        )
        return True
