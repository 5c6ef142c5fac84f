"""Logs of machines: Systems Manager installs the CloudWatch agent on every instance of the cluster, also on new ones.

The agent is a package of Systems Manager, which isolated networks reach through their endpoints. It only needs the
permission to write to the log group, which all roles of machines have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pulumi_aws import cloudwatch, ssm

from ..build_context import CLUSTER_TAG, BuildContext

__all__ = ["LOG_FILES", "ship_logs"]

LOG_FILES = (
    "/var/log/supercloud/boot.log",
    "/var/log/supercloud/script.log",
    "/var/log/slurm/scale.log",
    "/var/log/slurm/slurmctld.log",
    "/var/log/slurm/slurmd.log",
    "/var/log/slurm/slurmdbd.log",
)
"""Log files of daemons and of the boot script; a machine has some of them."""
_SCHEDULE = "rate(1 hour)"
"""Interval of retries after failures; a machine on which the agent runs is left unchanged."""
_AGENT_DIRECTORY = "/opt/aws/amazon-cloudwatch-agent"
_START_SCRIPT = f"""\
set -e
new=$(mktemp)
cat >"$new" <<'END'
@
END
known={_AGENT_DIRECTORY}/etc/supercloud.json
if cmp -s "$new" "$known" && systemctl -q is-active amazon-cloudwatch-agent; then rm "$new"; exit 0; fi
mv "$new" "$known"
chmod 644 "$known"
{_AGENT_DIRECTORY}/bin/amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s -c "file:$known"
"""


def ship_logs(context: BuildContext, logs: cloudwatch.LogGroup) -> None:
    """Send logs to the log group, with a stream for each machine and file."""
    document = ssm.Document(
        context.name_child("log-agent", "document"),
        document_type="Command",
        document_format="JSON",
        target_type="/AWS::EC2::Instance",
        content=logs.name.apply(lambda name: json.dumps(_build_document(name))),
        tags=context.build_tags("log-agent"),
        opts=context.build_options(),
    )
    ssm.Association(
        context.name_child("log-agent"),
        name=document.name,
        targets=[ssm.AssociationTargetArgs(key=f"tag:{CLUSTER_TAG}", values=[context.identity])],
        schedule_expression=_SCHEDULE,
        tags=context.build_tags("log-agent"),
        opts=context.build_options(),
    )


def _build_document(group: str) -> Mapping[str, Any]:
    """Build the document that installs the agent and starts it, unless it already runs with this configuration."""
    install = {"name": "AmazonCloudWatchAgent", "action": "Install"}
    script = _START_SCRIPT.replace("@", json.dumps(_build_agent_config(group), indent=1))
    return {
        "schemaVersion": "2.2",
        "description": "Logs of machines of the cluster",
        "mainSteps": [
            {"action": "aws:configurePackage", "name": "install", "inputs": install},
            {"action": "aws:runShellScript", "name": "start", "inputs": {"runCommand": script.splitlines()}},
        ],
    }


def _build_agent_config(group: str) -> Mapping[str, Any]:
    files = [
        {
            "file_path": path,
            "log_group_name": group,
            "log_stream_name": f"{{instance_id}}{path.removeprefix('/var/log')}",
        }
        for path in LOG_FILES
    ]
    return {"agent": {"run_as_user": "root"}, "logs": {"logs_collected": {"files": {"collect_list": files}}}}
