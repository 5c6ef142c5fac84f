"""The policies of an account of the emulator, and their evaluation by a simulator of IAM that is not of this project.

The simulator is ``@cloud-copilot/iam-simulate`` (npm). Of those that run without an account of AWS it is the one that
is maintained: its releases follow AWS's own list of actions, resources and condition keys, against which it validates
each request, and it evaluates trust and bucket policies, session tags and policy variables. Of the alternatives in
Python, Principal Mapper and IAMSpy have had no release on PyPI since 2022, and the emulator's own check leaves out
resources and conditions.
"""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator import Emulator
from real.pulumi.engine import Engine

HERE = Path(__file__).resolve().parent
ACCOUNT = "123456789012"
ALLOWED = "Allowed"
ALL_RIGHTS = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}

_READ = """
import json, sys, boto3
keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
iam = boto3.client("iam", sys.argv[2], endpoint_url=sys.argv[1], **keys)
roles = {}
for role in iam.list_roles()["Roles"]:
    name, own = role["RoleName"], {}
    for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
        own[policy] = iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
    for policy in iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]:
        version = iam.get_policy(PolicyArn=policy["PolicyArn"])["Policy"]["DefaultVersionId"]
        document = iam.get_policy_version(PolicyArn=policy["PolicyArn"], VersionId=version)["PolicyVersion"]["Document"]
        own[policy["PolicyName"]] = document
    roles[role["Arn"]] = {"trust": role["AssumeRolePolicyDocument"], "policies": own}
print(json.dumps(roles))
"""


@dataclass(frozen=True)
class Call:
    """A call of ``policies.yaml``. ``who``: a role of the cluster, or the principal of a service or another account."""

    who: str
    action: str
    resource: str
    why: str
    keys: Mapping[str, str | list[str]] = field(default_factory=dict)
    by_resource: bool = False
    """Whether the policy of the resource forbids the call, and not what the caller's policies lack."""


class Account:
    """The roles of a stack, as the emulator has them, its bucket policies, and its resources by logical name."""

    def __init__(self, engine: Engine, emulator: Emulator, region: str):
        command = [str(emulator.python), "-c", _READ, emulator.endpoint, region]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        self.emulator, self.region = emulator, region
        self.roles: Mapping[str, Any] = json.loads(done.stdout)
        self.resource_policies = {arn: row["trust"] for arn, row in self.roles.items()}
        group = f"arn:aws:autoscaling:{region}:{ACCOUNT}:autoScalingGroup:11111111-2222-3333-4444-555555555555"
        self.names = {"region": region, "account": ACCOUNT, "group": f"{group}:autoScalingGroupName/nodes"}
        for urn, item in engine.list_resources().items():
            self._add(item["type"].rsplit(":", 1)[1], urn.rsplit("::", 1)[1].removeprefix("lab-"), item)

    def _add(self, kind: str, name: str, item: Mapping[str, Any]) -> None:
        outputs = item.get("outputs", {})
        self.names[f"{kind} {name}"] = outputs.get("arn") or item.get("id", "")
        if kind == "Role":
            self.names["cluster"] = outputs["tags"]["supercloud:cluster"]
        if kind == "BucketPolicy":  # the emulator has only a part of it, as its own requests are without TLS
            self.resource_policies[f"arn:aws:s3:::{outputs['bucket']}"] = json.loads(outputs["policy"])
        if "masterUserSecrets" in outputs:
            self.names[f"Secret of {name}"] = outputs["masterUserSecrets"][0]["secretArn"]

    def fill(self, text: str) -> str:
        """Text with what exists for ``{TYPE NAME}``, ``{cluster}``, ``{region}`` and ``{account}``."""
        return re.sub(r"\{([\w -]+)\}", lambda found: self.names[found[1]], text)

    def build_request(self, call: Call, is_omnipotent: bool) -> dict[str, Any]:
        """The simulation of a call; ``is_omnipotent``: as if the caller's own policies allowed everything."""
        resource = self.fill(call.resource)
        role = self.names.get(f"Role {call.who}-role")
        bucket = ":".join(resource.split(":")[:6]).split("/")[0]
        policy = self.resource_policies.get(resource if call.action.startswith("sts:") else bucket)
        policies = self.roles[role]["policies"] if role else {}
        if is_omnipotent:
            policies = {"all": ALL_RIGHTS} if role else {}
        who = f"arn:aws:sts::{ACCOUNT}:assumed-role/{role.rsplit('/', 1)[1]}/session" if role else self.fill(call.who)
        own = {"aws:PrincipalArn": role, "aws:PrincipalAccount": ACCOUNT} if role else {}
        keys = {self.fill(key): self._fill_value(value) for key, value in call.keys.items()}
        return {
            "request": {
                "principal": who,
                "action": call.action,
                "resource": {"resource": resource, "accountId": ACCOUNT},
                "contextVariables": {"aws:SecureTransport": "true", **own, **keys},
            },
            "identityPolicies": [{"name": name, "policy": document} for name, document in policies.items()],
            **({"resourcePolicy": policy} if policy else {}),
        }

    def _fill_value(self, value: str | list[str]) -> str | list[str]:
        return self.fill(value) if isinstance(value, str) else [self.fill(item) for item in value]

    def evaluate(self, calls: Iterable[Call], *, is_omnipotent: bool = False) -> list[str]:
        """The result of each call: ``Allowed``, ``ImplicitlyDenied`` or ``ExplicitlyDenied``."""
        listed = list(calls)
        requests = [self.build_request(call, is_omnipotent) for call in listed]
        command = ["node", str(HERE / "simulator" / "simulate.mjs"), str(install_simulator())]
        done = subprocess.run(command, input=json.dumps(requests), capture_output=True, text=True, timeout=300)
        assert not done.returncode, done.stderr
        results = json.loads(done.stdout)
        wrong = [
            f"{call.action} {call.resource}: {row}"
            for call, row in zip(listed, results, strict=True)
            if "error" in row or {self.fill(key) for key in call.keys} & set(row["ignored"])
        ]
        assert not wrong, "requests that AWS does not have:\n" + "\n".join(wrong)
        return [row["result"] for row in results]

    @contextmanager
    def enforce_policies(self) -> Iterator[None]:
        """Within it the emulator refuses actions that the policies of the caller's role do not have."""
        self._set_free_calls("0")
        try:
            yield
        finally:
            self._set_free_calls("inf")

    def _set_free_calls(self, count: str) -> None:
        url, plain = f"{self.emulator.endpoint}/moto-api/reset-auth", {"Content-Type": "text/plain"}
        request = urllib.request.Request(url, count.encode(), plain, method="POST")
        urllib.request.urlopen(request, timeout=60).close()


def install_simulator() -> Path:
    """The folder that has the simulator, created on first use."""
    done = subprocess.run([HERE / "install_simulator.sh"], capture_output=True, text=True, timeout=600)
    assert not done.returncode, done.stderr[-4000:]
    return Path(done.stdout.splitlines()[-1])
