"""Ephemeral containers (debuggers) are subject to every admission rule on containers.

The rules are evaluated by a real API server in ``tests/real/kubernetes/test_kube_admission.py``; here it is tested that
each of them is about all containers of a pod, and that the policy is asked when a debugger is added to a running pod.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from kube_specs import VARIANTS, build_plan

from supercloud.targets.schedulers.kubernetes.pod_security import build_objects

VARIABLE = re.compile(r"variables\.(containers|debuggers)\b")


def find_policy(variant: str) -> dict[str, Any]:
    objects = build_objects(build_plan(VARIANTS[variant]), "tenant")
    name = "supercloud-tenant-pods"
    return next(
        item["spec"]
        for item in objects
        if item["kind"] == "ValidatingAdmissionPolicy" and item["metadata"]["name"] == name
    )


def check_debuggers(rule: str) -> bool:
    """Whether a rule requires of debuggers what it requires of other containers, term by term."""
    about = {kind: [] for kind in ("containers", "debuggers")}
    for found in VARIABLE.finditer(rule):
        about[found[1]].append(_read_call(rule, found.end()))
    return bool(about["containers"]) and about["containers"] == about["debuggers"]


def _read_call(rule: str, start: int) -> str:
    """The call after a variable: ``.all(c, …)`` up to its closing parenthesis."""
    depth = 0
    for index in range(start, len(rule)):
        depth += {"(": 1, ")": -1}.get(rule[index], 0)
        if depth == 0 and rule[index] == ")":
            return rule[start : index + 1]
    return rule[start:]


@pytest.mark.parametrize("variant", ["nobody", "roce", "sliced"])
def test_each_rule_on_containers_is_one_on_debuggers_too(variant: str) -> None:
    rules = [item["expression"] for item in find_policy(variant)["validations"]]
    about_all = [rule for rule in rules if "variables.containers.all(" in rule]
    assert len(about_all) >= 9
    assert [rule for rule in about_all if not check_debuggers(rule)] == []


def test_a_rule_that_omits_debuggers_is_found() -> None:
    rule = "variables.containers.all(c, c.?tty.orValue(false) == false)"
    assert not check_debuggers(rule)
    assert not check_debuggers(f"{rule} && variables.debuggers.all(c, true)")
    assert check_debuggers(f"{rule} && {rule.replace('containers', 'debuggers')}")


def test_the_policy_is_asked_when_a_debugger_is_added_to_a_running_pod() -> None:
    policy = find_policy("nobody")
    (rule,) = policy["matchConstraints"]["resourceRules"]
    assert {"pods", "pods/ephemeralcontainers"} <= set(rule["resources"]) and "UPDATE" in rule["operations"]
    variables = {item["name"]: item["expression"] for item in policy["variables"]}
    assert variables["debuggers"] == "object.spec.?ephemeralContainers.orValue([])"
