"""INSTALL.md of a Kubernetes cluster."""

from __future__ import annotations

from kube_specs import build_plan

from supercloud.targets import list_targets, render


def test_the_guide_names_the_storage_target_only_if_it_is_rendered() -> None:
    """Without servers in the plan there is no target storage, and the guide referred to it."""
    store = {"name": "home", "kind": "nfs", "mount": "/home", "capacity": "64 TB"}
    served = store | {"name": "work", "mount": "/work", "servers": {"machine": "management-server", "count": 1}}
    for declared in ([store], [store, served]):
        plan = build_plan({"storage": declared})
        guide = render(plan, "kubernetes")["INSTALL.md"]
        assert "- `/home`: the manual of your nfs (home): its servers are not in the plan" in guide
        assert ("storage" in list_targets(plan)) == ("- `/work`: `storage/INSTALL.md`" in guide) == (len(declared) == 2)
        assert ("storage/INSTALL.md" in guide) == (len(declared) == 2)
