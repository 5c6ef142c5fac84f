"""Logs, alarms and the budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import budgets, cloudwatch, ec2, sns

from ..build_context import CLUSTER_TAG, BuildContext
from .iam import allow, create_role
from .network import Network

__all__ = [
    "Monitoring",
    "AlarmRule",
    "create_alarm",
    "create_budget",
    "create_flow_logs",
    "create_log_group",
    "create_monitoring",
]

_LOG_RETENTION_DAYS = 90
_BUDGET_ALERTS = ((80.0, "FORECASTED"), (100.0, "ACTUAL"))
"""Percentages of the budget, and whether they are actual or forecasted."""


@dataclass(frozen=True)
class Monitoring:
    """The log group of machines and the topic of alarms."""

    logs: cloudwatch.LogGroup | None
    """Of Slurm machines; a managed Kubernetes has its own log group."""
    topic: sns.Topic


def create_monitoring(context: BuildContext) -> Monitoring:
    """Create the cluster's log group and the topic of its alarms, with a subscription for each mail address."""
    topic = sns.Topic(
        context.name_child("alarms", "topic"), tags=context.build_tags("alarms"), opts=context.build_options()
    )
    sns.TopicPolicy(
        context.name_child("alarms"),
        arn=topic.arn,
        policy=pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [_allow_publishing(topic)]}),
        opts=context.build_options(),
    )
    for address in context.existing.notify:
        sns.TopicSubscription(
            context.name_child(f"alarms-{address}"),
            topic=topic.arn,
            protocol="email",
            endpoint=address,
            opts=context.build_options(),
        )
    return Monitoring(create_log_group(context, "logs") if context.plan.scheduler.kind == "slurm" else None, topic)


def _allow_publishing(topic: sns.Topic) -> dict[str, object]:
    """Allow alarms and budgets of the account to publish to the topic."""
    return {
        "Effect": "Allow",
        "Principal": {"Service": ["cloudwatch.amazonaws.com", "budgets.amazonaws.com"]},
        "Action": "sns:Publish",
        "Resource": topic.arn,
        "Condition": {"StringEquals": {"aws:SourceAccount": topic.owner}},
    }


def create_log_group(
    context: BuildContext, key: str, *, name: pulumi.Input[str] | None = None, prefix: str | None = None
) -> cloudwatch.LogGroup:
    """Create a log group; with ``name``, or ``prefix`` if a service requires one."""
    return cloudwatch.LogGroup(
        context.name_child(key, "log-group"),
        name=name,
        name_prefix=prefix,
        retention_in_days=_LOG_RETENTION_DAYS,
        tags=context.build_tags(key),
        opts=context.build_options(),
    )


@dataclass(frozen=True)
class AlarmRule:
    """The condition of an alarm: a metric above or below a threshold."""

    metric: str
    """Namespace and name: ``AWS/EC2:StatusCheckFailed``."""
    description: str
    above: float | None = None
    below: float | None = None
    statistic: str = "Average"


def create_alarm(
    context: BuildContext,
    monitoring: Monitoring,
    key: str,
    dimensions: Mapping[str, pulumi.Input[str]],
    rule: AlarmRule,
) -> None:
    """Notify the topic when the condition is met for three periods of 5 min."""
    namespace, _, name = rule.metric.partition(":")
    cloudwatch.MetricAlarm(
        context.name_child(f"alarm-{key}", "alarm"),
        alarm_description=rule.description,
        namespace=namespace,
        metric_name=name,
        dimensions=dict(dimensions),
        comparison_operator="LessThanThreshold" if rule.above is None else "GreaterThanThreshold",
        threshold=rule.below if rule.above is None else rule.above,
        statistic=rule.statistic,
        period=300,
        evaluation_periods=3,
        alarm_actions=[monitoring.topic.arn],
        ok_actions=[monitoring.topic.arn],
        tags=context.build_tags(f"alarm-{key}"),
        opts=context.build_options(),
    )


def create_flow_logs(context: BuildContext, network: Network) -> None:
    """Create the flow logs of a created network."""
    if network.vpc is None:
        return
    logs = create_log_group(context, "flows")
    write = allow(
        ["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogGroups", "logs:DescribeLogStreams"],
        [logs.arn, pulumi.Output.concat(logs.arn, ":*")],
    )
    own = {"StringEquals": {"aws:SourceAccount": network.vpc.owner_id}}  # not for flow logs of other accounts
    role = create_role(context, "flows", "vpc-flow-logs.amazonaws.com", [write], conditions=own)
    ec2.FlowLog(
        context.name_child("flows"),
        vpc_id=network.id,
        traffic_type="REJECT",  # accepted traffic would include all packets of all jobs
        log_destination=logs.arn,
        iam_role_arn=role.arn,
        tags=context.build_tags("flows"),
        opts=context.build_options(),
    )


def create_budget(context: BuildContext, monitoring: Monitoring) -> None:
    """Create a monthly budget for all resources with the cluster's tag, if the plan has one."""
    limit = context.cloud.monthly_budget
    if limit is None:
        return
    budgets.Budget(
        context.name_child("budget", "budget"),
        budget_type="COST",
        limit_amount=f"{limit.to('USD'):.2f}",
        limit_unit="USD",
        time_unit="MONTHLY",
        cost_filters=[{"name": "TagKeyValue", "values": [f"user:{CLUSTER_TAG}${context.identity}"]}],
        notifications=[
            budgets.BudgetNotificationArgs(
                comparison_operator="GREATER_THAN",
                notification_type=kind,
                threshold=share,
                threshold_type="PERCENTAGE",
                subscriber_sns_topic_arns=[monitoring.topic.arn],
                subscriber_email_addresses=list(context.existing.notify) or None,
            )
            for share, kind in _BUDGET_ALERTS
        ],
        tags=context.build_tags("budget"),
        opts=context.build_options(),
    )
