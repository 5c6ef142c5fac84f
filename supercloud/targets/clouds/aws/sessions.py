"""Permissions for Systems Manager: shells without open ports, and the package that sends logs.

``AmazonSSMManagedInstanceCore`` would grant more: every machine could read all parameters of the account
(``ssm:GetParameter``), write inventories and get patches. Actions: the policy's own document
(docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonSSMManagedInstanceCore.html) without those; of sessions:
docs.aws.amazon.com/systems-manager/latest/userguide/getting-started-create-iam-instance-profile.html.
"""

from __future__ import annotations

from ..build_context import BuildContext
from .iam import Statement, allow

__all__ = ["allow_log_agent", "allow_sessions"]

_SESSION_ACTIONS = (
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)
_COMMAND_ACTIONS = (
    "ec2messages:AcknowledgeMessage",
    "ec2messages:DeleteMessage",
    "ec2messages:FailMessage",
    "ec2messages:GetEndpoint",
    "ec2messages:GetMessages",
    "ec2messages:SendReply",
    "ssm:DescribeAssociation",
    "ssm:GetManifest",
    "ssm:ListAssociations",
    "ssm:ListInstanceAssociations",
    "ssm:PutComplianceItems",
    "ssm:PutConfigurePackageResult",
    "ssm:UpdateAssociationStatus",
    "ssm:UpdateInstanceAssociationStatus",
)
"""Actions by which an association sends commands to an instance and receives results."""
_DOCUMENT_ACTIONS = ("ssm:DescribeDocument", "ssm:GetDocument")


def allow_sessions() -> Statement:
    """Allow Systems Manager sessions. These actions have no resource before a session exists."""
    return allow(_SESSION_ACTIONS)


def allow_log_agent(context: BuildContext) -> tuple[Statement, ...]:
    """Allow the association that installs the log agent: commands, and only the documents that it runs."""
    start = f"arn:{context.cloud.partition}:ssm:{context.cloud.region}:*:document"
    # Pulumi names this document after its logical name; packages of AWS have no account in their ARN
    own = [f"{start}/{context.name_child('log-agent', 'document')}-*", f"{start}/AmazonCloudWatchAgent"]
    return allow(_COMMAND_ACTIONS), allow(_DOCUMENT_ACTIONS, own)
