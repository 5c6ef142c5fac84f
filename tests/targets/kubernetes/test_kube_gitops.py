"""GitOps: the repository of the spec, upgrades by commit, data that stays, and the start of an on-prem cluster."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from kube_specs import build_plan, list_bundle_objects
from pydantic import ValidationError

from supercloud.primitives.bundle import Bundle
from supercloud.spec.scheduler import GitOps
from supercloud.targets import render

URL = "https://git.example.org/infra/clusters.git"
GUARDS = {
    "flux": ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
    "argocd": ("argocd.argoproj.io/sync-options", "Prune=false,Delete=false"),
}


def _render(kind: str) -> Bundle:
    gitops = {"kind": kind, "url": URL, "branch": "production", "path": "sites/pod1"}
    return render(
        build_plan({"scheduler": {"kind": "kubernetes", "version": "1.36", "gitops": gitops}}),
        "kubernetes",
    )


@pytest.mark.parametrize("gitops, noted", [("none", False), ("flux", True), ({"kind": "flux", "url": URL}, False)])
def test_a_placeholder_as_the_address_of_the_repository_is_noted(gitops: object, noted: bool) -> None:
    plan = build_plan({"scheduler": {"kind": "kubernetes", "version": "1.36", "gitops": gitops}})
    found = [finding for finding in plan.findings if finding.check == "kubernetes-gitops"]
    assert [(finding.level, finding.path) for finding in found] == [("note", "scheduler.gitops")] * noted


def _list_wrappers(bundle: Bundle) -> list[dict[str, Any]]:
    return [item for path, text in bundle.items() if path.startswith("gitops/") for item in yaml.safe_load_all(text)]


def test_flux_applies_its_own_wrappers_from_the_repository() -> None:
    """Otherwise a new version of a chart in the repository reaches no cluster."""
    items = _list_wrappers(_render("flux"))
    [source] = [item for item in items if item["kind"] == "GitRepository"]
    assert source["spec"]["url"] == URL and source["spec"]["ref"] == {"branch": "production"}
    paths = {item["metadata"]["name"]: item["spec"]["path"] for item in items if item["kind"] == "Kustomization"}
    assert paths["pod1"] == "./sites/pod1/gitops" and paths["pod1-tenants"] == "./sites/pod1/tenants"
    stored = {
        item["metadata"]["name"]: item["spec"].get("storageNamespace") for item in items if "chart" in item["spec"]
    }
    assert {name for name, namespace in stored.items() if namespace} == {"cilium"}


def test_argocd_applies_its_own_wrappers_from_the_repository() -> None:
    items = {item["metadata"]["name"]: item["spec"] for item in _list_wrappers(_render("argocd"))}
    for name, folder in (("pod1", "gitops"), ("pod1-tenants", "tenants")):
        assert items[name]["source"] == {
            "repoURL": URL,
            "targetRevision": "production",
            "path": f"sites/pod1/{folder}",
        }


@pytest.mark.parametrize("kind", GUARDS)
def test_what_has_data_is_not_pruned(kind: str) -> None:
    """A tenant that leaves the repository keeps its namespace, and so its claims and volumes."""
    key, value = GUARDS[kind]
    guarded = {
        item["kind"]
        for item in list_bundle_objects(_render(kind))
        if item["metadata"].get("annotations", {}).get(key) == value
    }
    assert guarded == {"Namespace", "PersistentVolume", "PersistentVolumeClaim"}


@pytest.mark.parametrize("kind", GUARDS)
def test_the_network_is_installed_before_the_controller(kind: str) -> None:
    """The pods of the controller need a network, which they would have installed."""
    guide = str(_render(kind)["INSTALL.md"])
    assert guide.index("helm upgrade --install cilium") < guide.index("kubectl apply --server-side -f gitops/")


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://user:secret@git.example.org/clusters.git"},
        {"url": "https://token@git.example.org/clusters.git"},
        {"path": "../other"},
        {"path": "/clusters"},
        {"path": "sites/../../x"},
        {"branch": "-x"},
    ],
)
def test_passwords_and_folders_outside_the_repository_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        GitOps.model_validate({"kind": "flux", "url": URL} | change)
