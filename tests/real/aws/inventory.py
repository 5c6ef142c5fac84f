"""What an account of the emulator contains, asked of its own API."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping

from emulator import Emulator

QUERIES = {
    "ec2.describe_vpcs": "Vpcs[?!IsDefault].VpcId",
    "ec2.describe_instances": "Reservations[].Instances[?State.Name!='terminated'].InstanceId[]",
    # The emulator adds a root volume of its own, not encrypted, to an instance, and loses it where a template has one.
    "ec2.describe_volumes": "Volumes[?Encrypted].VolumeId",
    "ec2.describe_addresses": "Addresses[].AllocationId",
    "ec2.describe_launch_templates": "LaunchTemplates[].LaunchTemplateId",
    "ec2.describe_nat_gateways": "NatGateways[?State!='deleted'].NatGatewayId",
    "autoscaling.describe_auto_scaling_groups": "AutoScalingGroups[].AutoScalingGroupName",
    "iam.list_roles": "Roles[].RoleName",
    "iam.list_instance_profiles": "InstanceProfiles[].InstanceProfileName",
    "s3.list_buckets": "Buckets[].Name",
    "secretsmanager.list_secrets": "SecretList[].Name",
    "logs.describe_log_groups": "logGroups[].logGroupName",
    "fsx.describe_file_systems": "FileSystems[].FileSystemId",
    "efs.describe_file_systems": "FileSystems[].FileSystemId",
    "eks.list_clusters": "clusters",
    "route53.list_hosted_zones": "HostedZones[].Id",
    "sns.list_topics": "Topics[].TopicArn",
    "cloudwatch.describe_alarms": "MetricAlarms[].AlarmName",
    "elbv2.describe_load_balancers": "LoadBalancers[].LoadBalancerArn",
}
"""Call -> JMESPath of the identifiers in its answer."""

_LIST = """
import json, sys, boto3, jmespath
endpoint, region, queries = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
found = {}
for call, path in queries.items():
    service, name = call.split(".")
    client = boto3.client(service, region, endpoint_url=endpoint, aws_access_key_id="a", aws_secret_access_key="b")
    found[call] = sorted(jmespath.search(path, getattr(client, name)()) or [])
print(json.dumps(found))
"""


def list_left(emulator: Emulator, region: str = "us-east-1") -> dict[str, list[str]]:
    """Identifiers of everything that exists, by call."""
    command = [str(emulator.python), "-c", _LIST, emulator.endpoint, region, json.dumps(QUERIES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


_CALL = """
import json, sys, boto3, botocore.parsers
endpoint, call, parameters = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
service, name = call.split(".")
keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
config = botocore.config.Config(retries={"total_max_attempts": 1})
client = boto3.client(service, "us-east-1", endpoint_url=endpoint, config=config, **keys)
try:
    getattr(client, name)(**parameters)
except botocore.exceptions.ClientError as error:
    code = error.response["ResponseMetadata"]["HTTPStatusCode"]
    sys.exit("no such operation" if code in (404, 500, 501) else 0)
except botocore.parsers.ResponseParserError:
    sys.exit("no such operation")
"""


def has_operation(emulator: Emulator, call: str, parameters: Mapping[str, object]) -> bool:
    """Whether the emulator answers a call, also with an error of the service itself."""
    command = [str(emulator.python), "-c", _CALL, emulator.endpoint, call, json.dumps(parameters)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert not done.returncode or "no such operation" in done.stderr, done.stderr
    return not done.returncode
