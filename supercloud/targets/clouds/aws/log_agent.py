"""Logs of machines: Systems Manager puts the CloudWatch agent on every instance of the cluster, new ones too.

The agent comes as a package of Systems Manager, which closed networks reach through their endpoints. It needs no right
but to write into the log group, which every role of machines has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pulumi_aws import cloudwatch, ssm

from ..work import CLUSTER_TAG, BuildContext

__all__ = ["LOG_FILES", "ship_logs"]

LOG_FILES = (
    "/var/log/supercloud/boot.log",
    "/var/log/slurm/scale.log",
    "/var/log/slurm/slurmctld.log",
    "/var/log/slurm/slurmd.log",
    "/var/log/slurm/slurmdbd.log",
)
"""What daemons and the boot script write; a machine has some of them."""
_SCHEDULE = "rate(1 hour)"
"""How often it is tried again where it failed; a machine on which it runs is left alone."""
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
    """A stream for each machine and file in the log group."""
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
    """Install the agent, and start it with our files unless it runs with them."""
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
