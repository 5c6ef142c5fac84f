"""Calls with the temporary keys of roles, at an emulator that enforces policies.

Except for S3 it does not know the resource of a request nor the condition keys, and refuses what a statement restricts
to resources: the statements of the roles are widened to all resources before, so that actions are what is compared.
"""

from __future__ import annotations

import json
import subprocess

from policies import Account

_TRY = """
import json, sys, boto3, botocore
endpoint, region, calls, names = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
config = botocore.config.Config(retries={"total_max_attempts": 1})
def connect(service, keys):
    return boto3.client(service, region, endpoint_url=endpoint, config=config, **keys)
owner = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
iam, roles = connect("iam", owner), {}
def widen(statement):
    is_known = all(action.startswith("s3:") for action in statement["Action"])
    return statement if is_known else {"Effect": statement["Effect"], "Action": statement["Action"], "Resource": "*"}
for role in {row[0] for row in calls}:
    own = names[f"Role {role}-role"].split("/")[-1]
    for policy in iam.list_role_policies(RoleName=own)["PolicyNames"]:
        found = iam.get_role_policy(RoleName=own, PolicyName=policy)["PolicyDocument"]
        wide = json.dumps({**found, "Statement": [widen(row) for row in found["Statement"]]})
        iam.put_role_policy(RoleName=own, PolicyName=policy, PolicyDocument=wide)
    given = connect("sts", owner).assume_role(RoleArn=names[f"Role {role}-role"], RoleSessionName="test")["Credentials"]
    roles[role] = dict(
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )
print("ready", flush=True)
sys.stdin.readline()
results = []
for role, call, parameters in calls:
    service, name = call.split(".")
    try:
        getattr(connect(service, roles[role]), name)(**parameters)
        results.append("done")
    except botocore.exceptions.ClientError as error:
        is_refused = error.response["ResponseMetadata"]["HTTPStatusCode"] == 403
        results.append("refused" if is_refused else error.response["Error"]["Code"])
print(json.dumps(results))
"""

Row = tuple[str, str, dict[str, object]]


def _list_needed(account: Account) -> list[Row]:
    """The calls of the scaler in its order, and of the boot, on what the stack has."""
    names = account.names
    bucket, group = (
        names["Bucket bucket-state"].removeprefix("arn:aws:s3:::"),
        names["Group cpu-on-demand"].split("/")[-1],
    )
    tags = [{"Name": "tag:supercloud:cluster", "Values": [names["cluster"]]}]
    return [
        ("controller", "autoscaling.describe_auto_scaling_groups", {"Filters": tags}),
        ("controller", "autoscaling.set_desired_capacity", {"AutoScalingGroupName": group, "DesiredCapacity": 2}),
        ("controller", "autoscaling.describe_scaling_activities", {"AutoScalingGroupName": group}),
        ("controller", "ec2.describe_instances", {"Filters": tags}),
        (
            "controller",
            "secretsmanager.put_secret_value",
            {"SecretId": names["Secret secret-auth"], "SecretString": "x"},
        ),
        ("controller", "secretsmanager.get_secret_value", {"SecretId": names["Secret secret-auth"]}),
        (
            "database",
            "secretsmanager.put_secret_value",
            {"SecretId": names["Secret secret-database"], "SecretString": "x"},
        ),
        ("controller", "s3.get_object", {"Bucket": bucket, "Key": "slurm/slurm.tar.gz"}),
        ("node", "s3.get_object", {"Bucket": bucket, "Key": "boot/boot.tar.gz"}),
    ]


def _list_forbidden(account: Account) -> list[Row]:
    names = account.names
    bucket, group = (
        names["Bucket bucket-state"].removeprefix("arn:aws:s3:::"),
        names["Group cpu-on-demand"].split("/")[-1],
    )
    instance, secret = names["Instance ctl1"].split("/")[-1], names["Secret secret-auth"]
    return [
        ("node", "secretsmanager.get_secret_value", {"SecretId": secret}),
        ("login", "secretsmanager.get_secret_value", {"SecretId": secret}),
        ("users", "secretsmanager.get_secret_value", {"SecretId": secret}),
        ("node", "autoscaling.set_desired_capacity", {"AutoScalingGroupName": group, "DesiredCapacity": 0}),
        ("login", "ec2.describe_instances", {}),
        ("controller", "ec2.terminate_instances", {"InstanceIds": [instance]}),
        ("controller", "ec2.run_instances", {"ImageId": "ami-1", "MinCount": 1, "MaxCount": 1}),
        ("controller", "s3.put_object", {"Bucket": bucket, "Key": "boot/boot.tar.gz", "Body": ""}),
        ("controller", "secretsmanager.delete_secret", {"SecretId": secret}),
        ("controller", "iam.list_roles", {}),
        ("controller", "sts.assume_role", {"RoleArn": names["Role users-role"], "RoleSessionName": "job"}),
    ]


def try_calls(account: Account) -> dict[str, dict[str, str]]:
    """``done``, ``refused`` or the code of another error, by call, of needed and of forbidden calls."""
    parts = {"needed": _list_needed(account), "forbidden": _list_forbidden(account)}
    rows = [row for part in parts.values() for row in part]
    emulator = account.emulator
    words = [
        str(emulator.python),
        "-c",
        _TRY,
        emulator.endpoint,
        account.region,
        json.dumps(rows),
        json.dumps(account.names),
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None and running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        with account.enforce_policies():
            out, _ = running.communicate("go\n", timeout=300)
    output = iter(json.loads(out))
    return {name: {f"{role} {call}": next(output) for role, call, _ in part} for name, part in parts.items()}
